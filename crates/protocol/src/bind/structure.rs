//! Arrays and objects: from JSON, from XML, and from JSON written as text.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::coerce::Coercer;
use super::describe::describe;
use super::input::{Fit, Input, Misfit, Rank, TypeFit};
use super::members::{Lookup, Wanted};
use super::problem::{Faults, ProblemCode};
use super::scalar;
use super::schema::{Types, View};
use super::suggest::Nearest;
use crate::{Node, Tree};

impl<'s> Coercer<'s> {
    pub(super) fn fit_array(&mut self, view: &View<'s>, input: Input<'_>) -> TypeFit {
        match input {
            Input::Json(Json::Null) => Err(Misfit::Other),
            Input::Json(Json::Array(items)) => {
                Ok(self.fit_items(view, items.iter().map(Input::Json))?)
            }
            Input::Tree(tree) => match &tree.node {
                Node::Array(items) => Ok(self.fit_items(view, items.iter().map(Input::Tree))?),
                Node::Object(fields) => match self.wrapped_items(view, fields) {
                    Some(items) => self.fit_array(view, Input::Tree(items)),
                    None => self.fit_single(view, input),
                },
                Node::Text(text) => self.fit_array_text(view, text, input),
            },
            _ => match input.text() {
                Some(text) => self.fit_array_text(view, text, input),
                None => self.fit_single(view, input),
            },
        }
    }

    /// JSON, or else a single item: never a list in some notation of the model's own, since the text of
    /// one item may hold any comma.
    fn fit_array_text(&mut self, view: &View<'s>, text: &str, input: Input<'_>) -> TypeFit {
        self.charge(text.len() / 64)?;
        let body = scalar::unfenced(text);
        if body.is_empty() {
            return Ok(Fit::new(Vec::<Json>::new(), Rank::Wrapped));
        }
        if body.starts_with('[') {
            match serde_json::from_str::<Vec<Json>>(body) {
                Ok(items) => return Ok(self.fit_items(view, items.iter().map(Input::Json))?),
                Err(error) if body.ends_with(']') => return Err(self.bad_json(view, &error)),
                Err(_) => {}
            }
        }
        self.fit_single(view, input)
    }

    fn fit_single(&mut self, view: &View<'s>, input: Input<'_>) -> TypeFit {
        match self.fit_items(view, std::iter::once(input)) {
            Ok(fit) => Ok(Fit::new(fit.value, Rank::Wrapped)),
            // What is wrong inside matters only where there is an inside.
            Err(faults) if is_object(input) => Err(Misfit::Faulty(faults)),
            Err(_) => Err(Misfit::Other),
        }
    }

    fn fit_items<'v>(
        &mut self,
        view: &View<'s>,
        items: impl Iterator<Item = Input<'v>>,
    ) -> Result<Fit, Faults> {
        let mut out = Vec::new();
        let mut rank = Rank::Exact;
        let mut faults = Faults::default();
        for (at, item) in items.enumerate() {
            let Some(schema) = view.item(at) else {
                out.push(item.to_json());
                continue;
            };
            self.place.index(at);
            match self.fit(schema, item) {
                Ok(fit) => {
                    rank = rank.max(fit.rank);
                    out.push(fit.value);
                }
                Err(inner) => faults.extend(inner),
            }
            self.place.leave();
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Fit::new(out, rank))
    }

    /// `<tags><item>a</item></tags>` with a single item, and `<tags><tag>a</tag></tags>` where the items
    /// can be no objects: the one child is the list.
    fn wrapped_items<'v>(
        &self,
        view: &View<'s>,
        fields: &'v [(std::borrow::Cow<'v, str>, Tree<'v>)],
    ) -> Option<&'v Tree<'v>> {
        let [(name, tree)] = fields else { return None };
        let no_objects = || {
            let item = view.item(0).map(|item| self.view(item));
            item.is_some_and(|item| item.union.is_none() && !item.types().has(Types::OBJECT))
        };
        (name == "item" || no_objects()).then_some(tree)
    }

    pub(super) fn fit_object(&mut self, view: &View<'s>, input: Input<'_>) -> TypeFit {
        match input {
            Input::Json(Json::Object(fields)) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| (name.as_str(), Input::Json(value)));
                return Ok(self.fit_fields(view, fields)?);
            }
            Input::Tree(Tree {
                node: Node::Object(fields),
                ..
            }) => {
                let fields = fields
                    .iter()
                    .map(|(name, tree)| (name.as_ref(), Input::Tree(tree)));
                return Ok(self.fit_fields(view, fields)?);
            }
            _ => {}
        }
        let text = input.text().ok_or(Misfit::Other)?;
        self.charge(text.len() / 64)?;
        let body = scalar::unfenced(text);
        if body.is_empty() {
            let fit = self.fit_fields(view, std::iter::empty())?;
            return Ok(Fit::new(fit.value, Rank::Wrapped));
        }
        if !body.starts_with('{') {
            return Err(Misfit::Other);
        }
        let fields: Map<String, Json> =
            serde_json::from_str(body).map_err(|error| self.bad_json(view, &error))?;
        let fields = fields
            .iter()
            .map(|(name, value)| (name.as_str(), Input::Json(value)));
        Ok(self.fit_fields(view, fields)?)
    }

    fn fit_fields<'v>(
        &mut self,
        view: &View<'s>,
        fields: impl Iterator<Item = (&'v str, Input<'v>)>,
    ) -> Result<Fit, Faults> {
        let mut out = Map::new();
        let mut rank = Rank::Exact;
        let mut faults = Faults::default();
        let mut unfit: HashSet<&str> = HashSet::new();
        let mut strays: Vec<&str> = Vec::new();
        for (name, input) in fields {
            let wanted = match view.property(name) {
                Lookup::Declared(schema) => Wanted::Fitting(schema),
                Lookup::Open(wanted) => {
                    rank = rank.max(Rank::Near);
                    wanted
                }
                Lookup::Silent => {
                    strays.push(name);
                    rank = rank.max(stray_rank(input));
                    Wanted::Anything
                }
                Lookup::Unknown => {
                    self.unknown_field(view, name, &mut faults)?;
                    continue;
                }
            };
            if matches!(wanted, Wanted::Anything) {
                out.insert(name.to_owned(), input.to_json());
                continue;
            }
            self.place.name(name);
            match self.fit_wanted(wanted, input) {
                Ok(fit) => {
                    rank = rank.max(fit.rank);
                    out.insert(name.to_owned(), fit.value);
                }
                // Models write null for "not given".
                Err(_) if is_null(input) && !view.required().any(|needed| needed == name) => {
                    rank = rank.max(Rank::Loose);
                }
                Err(inner) => {
                    unfit.insert(name);
                    faults.extend(inner);
                }
            }
            self.place.leave();
        }
        for name in view.required() {
            let meant = |faults: &Faults| {
                faults.list().iter().any(|problem| {
                    problem.code == ProblemCode::UnknownParameter
                        && problem.suggestion.as_deref() == Some(name)
                })
            };
            if out.contains_key(name) || unfit.contains(name) || meant(&faults) {
                continue;
            }
            self.charge(strays.len())?;
            let nearest = Nearest::among(std::iter::once(name));
            // An open object takes any name, but where one is missing, a similar one was meant for it.
            if let Some(stray) = strays.iter().find(|stray| nearest.to(stray).is_some()) {
                self.misspelt(view, stray, name, &mut faults);
                continue;
            }
            self.place.name(name);
            faults.push(|| self.place.missing(self.describe_property(view, name)));
            self.place.leave();
        }
        if !faults.is_empty() {
            faults.add_strays(strays.len());
            return Err(faults);
        }
        Ok(Fit::new(out, rank))
    }

    fn misspelt(&mut self, view: &View<'s>, wrong: &str, right: &str, faults: &mut Faults) {
        self.place.name(wrong);
        let place = &self.place;
        faults.push(|| {
            let names = view.properties().map(|(name, _)| name);
            place.unknown(&place.words(), Some((right, right.to_owned())), names)
        });
        self.place.leave();
    }

    fn unknown_field(
        &mut self,
        view: &View<'s>,
        name: &str,
        faults: &mut Faults,
    ) -> Result<(), Faults> {
        self.charge(view.properties().count())?;
        self.place.name(name);
        let place = &self.place;
        faults.push(|| {
            let nearest = Nearest::among(view.properties().map(|(name, _)| name)).to(name);
            place.unknown(
                &place.words(),
                nearest.map(|nearest| (nearest, nearest.to_owned())),
                view.properties().map(|(name, _)| name),
            )
        });
        self.place.leave();
        Ok(())
    }

    pub(super) fn describe_property(&self, view: &View<'s>, name: &str) -> String {
        match view.property(name) {
            Lookup::Declared(schema) | Lookup::Open(Wanted::Fitting(schema)) => {
                describe(&self.view(schema))
            }
            Lookup::Open(_) | Lookup::Silent | Lookup::Unknown => "any value".to_owned(),
        }
    }

    fn bad_json(&self, view: &View<'s>, error: &serde_json::Error) -> Misfit {
        let received = format!("broken JSON ({error})");
        Misfit::Faulty(
            self.place
                .problem(ProblemCode::InvalidJson, describe(view), received)
                .into(),
        )
    }
}

/// Typed values with names that a schema does not mention fit it all the same. Of text, a schema that knows all
/// the names is the likelier one.
fn stray_rank(input: Input<'_>) -> Rank {
    match input {
        Input::Json(_) => Rank::Near,
        Input::Text(_) | Input::Tree(_) => Rank::Wrapped,
    }
}

fn is_null(input: Input<'_>) -> bool {
    matches!(input, Input::Json(Json::Null))
}

fn is_object(input: Input<'_>) -> bool {
    match input {
        Input::Json(value) if !value.is_string() => value.is_object(),
        Input::Tree(tree) if !matches!(tree.node, Node::Text(_)) => {
            matches!(tree.node, Node::Object(_))
        }
        input => input
            .text()
            .is_some_and(|text| text.trim_start().starts_with('{')),
    }
}
