//! `enum` and `const`: values that a schema lists.

use serde_json::Value as Json;

use super::coerce::Coercer;
use super::describe::describe;
use super::input::{Fit, Input, Rank};
use super::problem::{Faults, ProblemCode, quote_name};
use super::scalar;
use super::schema::View;
use super::suggest::Nearest;
use crate::Node;

impl<'s> Coercer<'s> {
    /// Text meets a listed value by its JSON form, so `3` finds the number 3. Letter case counts.
    pub(super) fn fit_choice(
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
}

fn is_same(choice: &Json, input: Input<'_>) -> bool {
    match input {
        Input::Text(_) => false,
        Input::Tree(tree) => !matches!(tree.node, Node::Text(_)) && equal(choice, &tree.to_json()),
        Input::Json(value) => equal(choice, value),
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
            scalar::number(text).is_ok_and(|reading| scalar::equal(choice, &reading.value))
        }
        Json::Array(_) | Json::Object(_) => {
            scalar::json(text).is_ok_and(|value| equal(choice, &value))
        }
    }
}

/// Equal as JSON Schema has it: numbers by value at every depth, objects whatever their order. The listed
/// value bounds the recursion.
fn equal(choice: &Json, value: &Json) -> bool {
    match (choice, value) {
        (Json::Number(choice), Json::Number(value)) => scalar::equal(choice, value),
        (Json::Array(choice), Json::Array(value)) => {
            choice.len() == value.len() && choice.iter().zip(value).all(|(c, v)| equal(c, v))
        }
        (Json::Object(choice), Json::Object(value)) => {
            choice.len() == value.len()
                && choice
                    .iter()
                    .all(|(name, c)| value.get(name).is_some_and(|v| equal(c, v)))
        }
        (choice, value) => choice == value,
    }
}
