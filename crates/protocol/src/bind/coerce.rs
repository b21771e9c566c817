//! Turns what a model wrote into what a schema declares.
//!
//! Owns the choice between readings: every type that a schema allows is tried, and the reading that
//! guesses least is taken. Arrays and objects are in `structure`.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::describe::describe;
use super::problem::{Faults, Place, ProblemCode, quote_json, quote_name, quote_text};
use super::scalar::{self, NumberError};
use super::schema::{Types, View};
use super::suggest::Nearest;
use crate::limits::{MAX_BIND_STEPS, MAX_SCHEMA_DEPTH};
use crate::{Node, Tree};

/// A value on its way to its type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input<'v> {
    /// Text that may stand for any type.
    Text(&'v str),
    Tree(&'v Tree<'v>),
    /// Already typed, though models get types wrong in JSON too.
    Json(&'v Json),
}

/// How much of a reading is a guess, the least first. It decides between the types of a union.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A listed value.
    Choice,
    /// Written the way JSON writes this type.
    Exact,
    /// Exact, but with names that only an open object takes.
    Open,
    /// Text taken as the string it is.
    Text,
    /// `yes` for true, `1e3` for an integer, `null` written out, a number for a string.
    Loose,
    /// A single value for an array.
    Wrapped,
    /// The schema says nothing.
    Untyped,
}

#[derive(Debug)]
pub(super) struct Fit {
    pub(super) value: Json,
    pub(super) rank: Rank,
}

/// Why a value is not of one type: plainly something else, or the right thing with faults inside.
pub(super) enum Misfit {
    Other,
    Faulty(Faults),
}

pub(super) type TypeFit = Result<Fit, Misfit>;

impl Fit {
    pub(super) fn new(value: impl Into<Json>, rank: Rank) -> Self {
        Self {
            value: value.into(),
            rank,
        }
    }
}

impl<'v> Input<'v> {
    pub(super) fn to_json(self) -> Json {
        match self {
            Self::Text(text) => text.into(),
            Self::Tree(tree) => tree.to_json(),
            Self::Json(json) => json.clone(),
        }
    }

    /// The text of a value that is nothing but text.
    pub(super) fn text(self) -> Option<&'v str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(Json::String(text)) => Some(text),
            Self::Tree(tree) => match &tree.node {
                Node::Text(text) => Some(text),
                Node::Array(_) | Node::Object(_) => None,
            },
            Self::Json(_) => None,
        }
    }

    /// Text, also of a JSON number or boolean.
    fn scalar_text(self) -> Option<Cow<'v, str>> {
        match self {
            Self::Json(value @ (Json::Number(_) | Json::Bool(_))) => {
                Some(Cow::Owned(value.to_string()))
            }
            input => input.text().map(Cow::Borrowed),
        }
    }

    pub(super) fn quote(self) -> String {
        match self {
            Self::Text(text) => quote_text(text),
            Self::Json(value) => quote_json(value),
            Self::Tree(tree) => match &tree.node {
                Node::Text(text) => quote_text(text),
                Node::Array(_) => "an array".to_owned(),
                Node::Object(_) => "an object".to_owned(),
            },
        }
    }

    /// What the value looks like, to tell which branch of a union was meant.
    fn looks_like(self) -> Types {
        match self {
            Self::Json(value) if !value.is_string() => Types::of(value),
            Self::Tree(tree) if matches!(tree.node, Node::Array(_)) => Types::ARRAY,
            Self::Tree(tree) if matches!(tree.node, Node::Object(_)) => Types::OBJECT,
            input => match input.text().and_then(|text| text.trim().chars().next()) {
                Some('{') => Types::OBJECT,
                Some('[') => Types::ARRAY,
                _ => Types::STRING,
            },
        }
    }
}

/// Fits the values of one call. The work is bounded whatever the schema: unions within unions could
/// otherwise double it at every level.
pub(super) struct Coercer<'s> {
    pub(super) root: &'s Json,
    pub(super) place: Place,
    steps: usize,
    depth: usize,
}

impl<'s> Coercer<'s> {
    pub(super) fn new(root: &'s Json) -> Self {
        Self {
            root,
            place: Place::default(),
            steps: 0,
            depth: 0,
        }
    }

    pub(super) fn view(&self, schema: &'s Json) -> View<'s> {
        View::read(self.root, schema)
    }

    pub(super) fn fit(&mut self, schema: &'s Json, input: Input<'_>) -> Result<Fit, Faults> {
        let view = self.view(schema);
        self.deeper(view.size(), |this| this.fit_view(&view, input))
    }

    fn deeper<T>(
        &mut self,
        cost: usize,
        go: impl FnOnce(&mut Self) -> Result<T, Faults>,
    ) -> Result<T, Faults> {
        self.charge(1 + cost)?;
        if self.depth >= MAX_SCHEMA_DEPTH {
            return Err(self.too_complex());
        }
        self.depth += 1;
        let result = go(self);
        self.depth -= 1;
        result
    }

    pub(super) fn charge(&mut self, steps: usize) -> Result<(), Faults> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_BIND_STEPS {
            return Err(self.too_complex());
        }
        Ok(())
    }

    fn too_complex(&self) -> Faults {
        let code = ProblemCode::TooComplex;
        self.place
            .problem(
                code,
                "smaller and less deeply nested",
                "more than can be checked",
            )
            .into()
    }

    fn fit_view(&mut self, view: &View<'s>, input: Input<'_>) -> Result<Fit, Faults> {
        if view.nullable && matches!(input, Input::Json(Json::Null)) {
            return Ok(Fit::new(Json::Null, Rank::Exact));
        }
        if let Some(branches) = view.union {
            return self.fit_union(view, branches, input);
        }
        if let Some(choices) = view.choices {
            return self.fit_choice(view, choices, input);
        }
        let types = view.types();
        if types == Types::ANY {
            return Ok(Fit::new(input.to_json(), Rank::Untyped));
        }
        let mut best: Option<Fit> = None;
        let mut faulty = Vec::new();
        for one in types.each() {
            match self.fit_type(one, view, input) {
                Ok(fit) if best.as_ref().is_none_or(|best| fit.rank < best.rank) => {
                    best = Some(fit);
                }
                Ok(_) | Err(Misfit::Other) => {}
                Err(Misfit::Faulty(faults)) => faulty.push(faults),
            }
        }
        match (best, faulty.pop()) {
            (Some(best), _) => Ok(best),
            (None, Some(faults)) if faulty.is_empty() => Err(faults),
            (None, _) => Err(self.wrong_type(view, input)),
        }
    }

    fn fit_type(&mut self, one: Types, view: &View<'s>, input: Input<'_>) -> TypeFit {
        let mut fit = self.read_as(one, view, input)?;
        // A JSON string is a string first; anything else read from it is a guess.
        if one != Types::STRING && matches!(input, Input::Json(Json::String(_))) {
            fit.rank = fit.rank.max(Rank::Loose);
        }
        Ok(fit)
    }

    fn read_as(&mut self, one: Types, view: &View<'s>, input: Input<'_>) -> TypeFit {
        match one {
            Types::NULL => match input {
                Input::Json(Json::Null) => Ok(Fit::new(Json::Null, Rank::Exact)),
                _ if input.text().map(str::trim) == Some("null") => {
                    Ok(Fit::new(Json::Null, Rank::Loose))
                }
                _ => Err(Misfit::Other),
            },
            Types::BOOLEAN => fit_boolean(input),
            // Where fractions are allowed too, they have the last word on what is out of range.
            Types::INTEGER if view.types().has(Types::FRACTION) => {
                self.fit_integer(input).map_err(|_| Misfit::Other)
            }
            Types::INTEGER => self.fit_integer(input),
            Types::FRACTION => self.fit_number(input),
            Types::STRING => fit_string(input),
            Types::ARRAY => self.fit_array(view, input),
            _ => self.fit_object(view, input),
        }
    }

    fn fit_integer(&self, input: Input<'_>) -> TypeFit {
        match input {
            Input::Json(Json::Number(number)) => scalar::whole(number)
                .map(|number| Fit::new(Json::Number(number), Rank::Exact))
                .ok_or(Misfit::Other),
            _ => self.read_number(input, "a 64-bit integer", scalar::integer),
        }
    }

    fn fit_number(&self, input: Input<'_>) -> TypeFit {
        match input {
            Input::Json(number @ Json::Number(_)) => Ok(Fit::new(number.clone(), Rank::Exact)),
            _ => self.read_number(input, "a 64-bit number", scalar::number),
        }
    }

    fn read_number(
        &self,
        input: Input<'_>,
        expected: &str,
        read: fn(&str) -> Result<scalar::Reading<serde_json::Number>, NumberError>,
    ) -> TypeFit {
        match read(input.text().ok_or(Misfit::Other)?) {
            Ok(reading) => Ok(Fit::new(
                Json::Number(reading.value),
                rank(reading.canonical),
            )),
            Err(NumberError::NotANumber) => Err(Misfit::Other),
            Err(NumberError::OutOfRange) => Err(Misfit::Faulty(
                self.place
                    .problem(ProblemCode::OutOfRange, expected, input.quote())
                    .into(),
            )),
        }
    }

    /// Text meets a listed value by its JSON form, so `3` finds the number 3. Letter case counts.
    fn fit_choice(
        &mut self,
        view: &View<'s>,
        choices: &'s [Json],
        input: Input<'_>,
    ) -> Result<Fit, Faults> {
        self.charge(choices.len())?;
        if let Some(choice) = choices.iter().find(|choice| is_same(choice, input)) {
            return Ok(Fit::new(choice.clone(), Rank::Choice));
        }
        let found = input.scalar_text().and_then(|text| {
            choices
                .iter()
                .find(|choice| choice.as_str() == Some(&*text))
                .or_else(|| choices.iter().find(|choice| means(choice, &text)))
        });
        if let Some(choice) = found {
            let is_typed = matches!(input, Input::Json(_));
            let rank = if is_typed { Rank::Loose } else { Rank::Choice };
            return Ok(Fit::new(choice.clone(), rank));
        }
        if view.nullable && input.text().map(str::trim) == Some("null") {
            return Ok(Fit::new(Json::Null, Rank::Loose));
        }
        let mut problem =
            self.place
                .problem(ProblemCode::InvalidValue, describe(view), input.quote());
        let nearest = input
            .text()
            .and_then(|text| Nearest::among(choices.iter().filter_map(Json::as_str)).to(text));
        if let Some(nearest) = nearest {
            problem
                .message
                .push_str(&format!(", did you mean {}?", quote_name(nearest)));
            problem.suggestion = Some(nearest.to_owned());
        }
        Err(problem.into())
    }

    fn fit_union(
        &mut self,
        base: &View<'s>,
        branches: &'s [Json],
        input: Input<'_>,
    ) -> Result<Fit, Faults> {
        let mut best: Option<Fit> = None;
        let mut likely: Vec<Faults> = Vec::new();
        for branch in branches {
            let view = base.branch(branch);
            match self.deeper(view.size(), |this| this.fit_view(&view, input)) {
                Ok(fit) => {
                    if best.as_ref().is_none_or(|best| fit.rank < best.rank) {
                        best = Some(fit);
                    }
                    if best.as_ref().is_some_and(|best| best.rank <= Rank::Exact) {
                        break;
                    }
                }
                Err(faults) if view.types().has(input.looks_like()) => likely.push(faults),
                Err(_) => {}
            }
        }
        if let Some(best) = best {
            return Ok(best);
        }
        // What is wrong with the one branch that was clearly meant says more than "none fits".
        likely.sort_by_key(Faults::count);
        let mut likely = likely.into_iter();
        match (likely.next(), likely.next()) {
            (Some(first), None) => Err(first),
            (Some(first), Some(second)) if first.count() < second.count() => Err(first),
            _ => Err(self.wrong_type(base, input)),
        }
    }

    pub(super) fn wrong_type(&self, view: &View<'s>, input: Input<'_>) -> Faults {
        let code = ProblemCode::WrongType;
        self.place
            .problem(code, describe(view), input.quote())
            .into()
    }
}

fn rank(canonical: bool) -> Rank {
    if canonical { Rank::Exact } else { Rank::Loose }
}

fn fit_boolean(input: Input<'_>) -> TypeFit {
    if let Input::Json(value @ Json::Bool(_)) = input {
        return Ok(Fit::new(value.clone(), Rank::Exact));
    }
    let text = input.scalar_text().ok_or(Misfit::Other)?;
    let reading = scalar::boolean(&text).ok_or(Misfit::Other)?;
    Ok(Fit::new(reading.value, rank(reading.canonical)))
}

/// Markup for a string is the markup as written.
fn fit_string(input: Input<'_>) -> TypeFit {
    match input {
        Input::Text(text) => Ok(Fit::new(text, Rank::Text)),
        Input::Json(Json::String(text)) => Ok(Fit::new(text.as_str(), Rank::Exact)),
        Input::Json(value @ (Json::Number(_) | Json::Bool(_))) => {
            Ok(Fit::new(value.to_string(), Rank::Loose))
        }
        Input::Json(_) => Err(Misfit::Other),
        Input::Tree(tree) => match &tree.node {
            Node::Text(text) => Ok(Fit::new(text.as_ref(), Rank::Text)),
            _ if tree.inner.trim().is_empty() => Err(Misfit::Other),
            _ => Ok(Fit::new(tree.inner.as_ref(), Rank::Loose)),
        },
    }
}

fn is_same(choice: &Json, input: Input<'_>) -> bool {
    match input {
        Input::Text(_) => false,
        Input::Tree(tree) => !matches!(tree.node, Node::Text(_)) && tree.to_json() == *choice,
        Input::Json(Json::Number(number)) => choice
            .as_number()
            .is_some_and(|choice| equal(choice, number)),
        Input::Json(value) => value == choice,
    }
}

/// Whether text is how a listed value that is no string would be written.
fn means(choice: &Json, text: &str) -> bool {
    match choice {
        Json::String(choice) => choice == text.trim(),
        Json::Null => text.trim() == "null",
        Json::Bool(choice) => scalar::boolean(text)
            .is_some_and(|reading| reading.canonical && reading.value == *choice),
        Json::Number(choice) => {
            scalar::number(text).is_ok_and(|reading| equal(choice, &reading.value))
        }
        Json::Array(_) | Json::Object(_) => scalar::json(text).is_ok_and(|value| value == *choice),
    }
}

/// 1 and 1.0 are the same number.
fn equal(one: &serde_json::Number, other: &serde_json::Number) -> bool {
    one == other
        || matches!(
            (scalar::whole(one), scalar::whole(other)),
            (Some(one), Some(other)) if one == other
        )
}
