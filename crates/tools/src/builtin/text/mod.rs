//! `Text.*`: small operations on text that models are bad at doing in their heads: counting, cutting, replacing.
//!
//! Positions count characters (Unicode scalar values). Patterns are regular expressions that always end in time
//! proportional to the text; see `pattern.rs`.

mod case;
mod count;
mod find;
mod pattern;
mod replace;
mod slice;
mod split;
mod trim;

use serde_json::{Value as Json, json};

use super::Tool;
use crate::ToolError;
use crate::limits::MAX_TEXT_BYTES;

pub use count::{TextCount, count};

pub fn tools() -> Vec<Tool> {
    [
        count::tools(),
        slice::tools(),
        replace::tools(),
        find::tools(),
        split::tools(),
        case::tools(),
        trim::tools(),
    ]
    .concat()
}

/// The parameter that all of them have.
fn text_parameter() -> Json {
    json!({"type": "string", "x-verbatim": true, "description": "The text to work on, exactly as it is"})
}

/// What most of them answer.
fn text_output() -> Json {
    json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": false
    })
}

/// A schema of an object that knows no other properties.
fn object(properties: Json, required: &[&str]) -> Json {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn check_size(text: &str) -> Result<(), ToolError> {
    match text.len() > MAX_TEXT_BYTES {
        true => Err(too_large("The text", text.len())),
        false => Ok(()),
    }
}

fn too_large(what: &str, bytes: usize) -> ToolError {
    ToolError::invalid(format!(
        "{what} has {bytes} bytes; at most {MAX_TEXT_BYTES} can be worked on. Take it in parts"
    ))
    .because("text.too_large")
    .permanent()
}

fn too_much(limit: usize) -> ToolError {
    ToolError::invalid(format!("The result would have more than {limit} bytes"))
        .because("text.result_too_large")
        .permanent()
}

fn invalid(reason: &str, message: impl Into<String>) -> ToolError {
    ToolError::invalid(message).because(reason).permanent()
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
