//! Turns what a model wrote into what a schema declares.
//!
//! Owns the choice between readings: every type that a schema allows is tried, and the reading that
//! guesses least is taken. Arrays and objects are in `structure`, listed values in `choice`.

use serde_json::Value as Json;

use super::describe::describe;
use super::input::{Fit, Input, Misfit, Rank, TypeFit};
use super::members::Wanted;
use super::problem::{Faults, Place, ProblemCode};
use super::scalar::{self, NumberError};
use super::schema::{Types, View};
use crate::Node;
use crate::limits::{MAX_BIND_STEPS, MAX_SCHEMA_DEPTH};

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

    pub(super) fn fit_wanted(
        &mut self,
        wanted: Wanted<'s>,
        input: Input<'_>,
    ) -> Result<Fit, Faults> {
        let as_it_is = || Fit::new(input.to_json(), Rank::Plain);
        match (wanted, input) {
            (Wanted::Fitting(schema), _) => self.fit(schema, input),
            (Wanted::Anything, _) | (Wanted::Perhaps(_), Input::Json(_)) => Ok(as_it_is()),
            (Wanted::Perhaps(schema), Input::Text(_) | Input::Tree(_)) => {
                Ok(self.fit(schema, input).unwrap_or_else(|_| as_it_is()))
            }
        }
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
        if types == Types::ANY || is_passed_over(view, types, input) {
            return Ok(Fit::new(input.to_json(), Rank::Plain));
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
            Input::Json(Json::Number(number)) => {
                let rank = if number.is_f64() {
                    Rank::Near
                } else {
                    Rank::Exact
                };
                let whole = scalar::whole(number).ok_or(Misfit::Other)?;
                Ok(Fit::new(Json::Number(whole), rank))
            }
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
        likely.sort_by_key(Faults::weight);
        let mut likely = likely.into_iter();
        match (likely.next(), likely.next()) {
            (Some(first), None) => Err(first),
            (Some(first), Some(second)) if first.weight() < second.weight() => Err(first),
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

/// Without `type`, what a schema says of objects or arrays is for these alone: any other typed value is welcome.
/// Text still has no type, and is read as what the schema speaks of.
fn is_passed_over(view: &View<'_>, types: Types, input: Input<'_>) -> bool {
    match input {
        Input::Json(value) => !view.is_typed() && !types.has(Types::of(value)),
        Input::Text(_) | Input::Tree(_) => false,
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
        Input::Text(text) => Ok(Fit::new(text, Rank::Plain)),
        Input::Json(Json::String(text)) => Ok(Fit::new(text.as_str(), Rank::Exact)),
        Input::Json(value @ (Json::Number(_) | Json::Bool(_))) => {
            Ok(Fit::new(value.to_string(), Rank::Loose))
        }
        Input::Json(_) => Err(Misfit::Other),
        Input::Tree(tree) => match &tree.node {
            Node::Text(text) => Ok(Fit::new(text.as_ref(), Rank::Plain)),
            _ if tree.inner.trim().is_empty() => Err(Misfit::Other),
            _ => Ok(Fit::new(tree.inner.as_ref(), Rank::Loose)),
        },
    }
}
