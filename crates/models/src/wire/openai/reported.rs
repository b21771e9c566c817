//! Where a server puts an error inside an answer that began well. What it means is `trouble`'s.

use serde_json::{Map, Value as Json};

use crate::ModelError;
use crate::trouble::told;

/// The error that an answer or chunk carries, if it does.
pub(super) fn reported(answer: &Map<String, Json>) -> Option<ModelError> {
    let at_choice = || says_something(answer.get("choices")?.get(0)?.get("error")?);
    let error = answer.get("error").and_then(says_something);
    match error.or_else(at_choice) {
        Some(error) => Some(told(error)),
        // vLLM before it put errors into `error`.
        None if answer.get("object").is_some_and(|kind| kind == "error") => {
            Some(told(&Json::Object(answer.clone())))
        }
        None => None,
    }
}

/// Some send the field with every chunk, and nothing in it.
fn says_something(error: &Json) -> Option<&Json> {
    let nothing = match error {
        Json::Null | Json::Bool(_) => true,
        Json::String(text) => text.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        Json::Array(list) => list.is_empty(),
        Json::Number(_) => false,
    };
    (!nothing).then_some(error)
}

#[cfg(test)]
#[path = "reported_tests.rs"]
mod tests;
