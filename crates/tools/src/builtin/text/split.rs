//! `Text.Split` and `Text.Join`: one text to many, and back.

use innkeeper_protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::pattern::compile;
use super::{check_size, invalid, object, text_output, text_parameter, too_much};
use crate::ToolError;
use crate::builtin::Tool;
use crate::builtin::declare::{Stop, compute, declare, example, words};
use crate::limits::{MAX_TEXT_PARTS, MAX_TEXT_RESULT_BYTES};

pub(super) fn tools() -> Vec<Tool> {
    let split = ToolDefinition {
        tags: words(&["text", "read-only"]),
        examples: example(
            "A list with commas",
            json!({"text": "a, b, c", "separator": ",", "trim": true}),
        ),
        ..declare(
            "Text.Split",
            "Split text",
            "Split a text into a list of parts: at line breaks, or at another separator.",
            object(
                json!({
                    "text": text_parameter(),
                    "separator": {
                        "type": "string", "minLength": 1, "default": "\n", "x-verbatim": true,
                        "description": "What stands between the parts; a line break if left out"
                    },
                    "regex": {"type": "boolean", "default": false, "description": "true if the separator is a regular expression"},
                    "limit": {"type": "integer", "minimum": 1, "description": "At most so many parts; the last keeps the rest"},
                    "trim": {"type": "boolean", "default": false, "description": "Take white space off both ends of each part"},
                    "skip_empty": {"type": "boolean", "default": false, "description": "Leave out parts that are empty"}
                }),
                &["text"],
            ),
            object(
                json!({"parts": {"type": "array", "items": {"type": "string"}}, "count": {"type": "integer"}}),
                &["parts", "count"],
            ),
        )
    };
    let join = ToolDefinition {
        tags: words(&["text", "read-only"]),
        examples: example(
            "One line of many words",
            json!({"parts": ["a", "b"], "separator": " "}),
        ),
        ..declare(
            "Text.Join",
            "Join texts",
            "Put a list of texts together into one, with a separator between them.",
            object(
                json!({
                    "parts": {
                        "type": "array", "maxItems": MAX_TEXT_PARTS,
                        "items": {"type": ["string", "number", "boolean"]},
                        "description": "The texts, in order"
                    },
                    "separator": {
                        "type": "string", "default": "\n", "x-verbatim": true,
                        "description": "What to put between them; a line break if left out"
                    }
                }),
                &["parts"],
            ),
            text_output(),
        )
    };
    vec![compute(split, run_split), compute(join, run_join)]
}

fn line_break() -> String {
    "\n".to_owned()
}

#[derive(Deserialize)]
struct SplitArguments {
    text: String,
    #[serde(default = "line_break")]
    separator: String,
    #[serde(default)]
    regex: bool,
    limit: Option<usize>,
    #[serde(default)]
    trim: bool,
    #[serde(default)]
    skip_empty: bool,
}

fn run_split(asked: SplitArguments, stop: &Stop) -> Result<Json, ToolError> {
    check_size(&asked.text)?;
    let text = asked.text.as_str();
    let pattern;
    let parts: Box<dyn Iterator<Item = &str>>;
    match asked.separator.as_str() {
        // However lines end, and without an empty one after the last.
        "\n" if asked.limit.is_none() && !asked.regex => parts = Box::new(text.lines()),
        separator => {
            pattern = compile(separator, asked.regex, false)?;
            parts = Box::new(pattern.splitn(text, asked.limit.unwrap_or(usize::MAX)));
        }
    }
    let mut list = Vec::new();
    for part in parts {
        stop.check()?;
        let part = if asked.trim { part.trim() } else { part };
        if asked.skip_empty && part.is_empty() {
            continue;
        }
        if list.len() == MAX_TEXT_PARTS {
            return Err(invalid(
                "text.too_many_parts",
                format!(
                    "There are more than {MAX_TEXT_PARTS} parts; use 'limit' or another separator"
                ),
            ));
        }
        list.push(part);
    }
    Ok(json!({"count": list.len(), "parts": list}))
}

#[derive(Deserialize)]
struct JoinArguments {
    parts: Vec<Json>,
    #[serde(default = "line_break")]
    separator: String,
}

fn run_join(asked: JoinArguments, _: &Stop) -> Result<Json, ToolError> {
    let mut text = String::new();
    for (index, part) in asked.parts.iter().enumerate() {
        if index > 0 {
            text.push_str(&asked.separator);
        }
        match part {
            Json::String(part) => text.push_str(part),
            part => text.push_str(&part.to_string()),
        }
        if text.len() > MAX_TEXT_RESULT_BYTES {
            return Err(too_much(MAX_TEXT_RESULT_BYTES));
        }
    }
    Ok(json!({"text": text}))
}
