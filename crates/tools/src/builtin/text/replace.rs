//! `Text.Replace`: something for something else.

use innkeeper_protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::pattern::compile;
use super::{check_size, object, text_parameter, too_much};
use crate::ToolError;
use crate::builtin::Tool;
use crate::builtin::declare::{Stop, compute, declare, example, words};
use crate::limits::MAX_TEXT_RESULT_BYTES;

pub(super) fn tools() -> Vec<Tool> {
    let definition = ToolDefinition {
        tags: words(&["text", "read-only"]),
        examples: example(
            "Another name",
            json!({"text": "Ann went to Ann", "find": "Ann", "replace": "Bo"}),
        ),
        ..declare(
            "Text.Replace",
            "Replace in text",
            "Replace all places of a text that are equal to 'find', or match it as a regular expression. The text itself is given back; no file is changed.",
            object(
                json!({
                    "text": text_parameter(),
                    "find": {
                        "type": "string", "minLength": 1, "x-verbatim": true,
                        "description": "What to replace: plain text, or a regular expression if 'regex' is true"
                    },
                    "replace": {
                        "type": "string", "x-verbatim": true,
                        "description": "What to put there. With 'regex': $1 or ${name} stand for groups, $$ for a dollar sign"
                    },
                    "regex": {"type": "boolean", "default": false, "description": "true if 'find' is a regular expression"},
                    "ignore_case": {"type": "boolean", "default": false, "description": "Whether A is the same as a"},
                    "limit": {"type": "integer", "minimum": 1, "description": "Replace only the first so many; all if left out"}
                }),
                &["text", "find", "replace"],
            ),
            object(
                json!({
                    "text": {"type": "string"},
                    "count": {"type": "integer", "description": "How many were replaced"}
                }),
                &["text", "count"],
            ),
        )
    };
    vec![compute(definition, run)]
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
    find: String,
    replace: String,
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    limit: Option<usize>,
}

fn run(asked: Arguments, stop: &Stop) -> Result<Json, ToolError> {
    check_size(&asked.text)?;
    let pattern = compile(&asked.find, asked.regex, asked.ignore_case)?;
    let mut result = String::new();
    let mut count = 0;
    let mut after = 0;
    for found in pattern
        .captures_iter(&asked.text)
        .take(asked.limit.unwrap_or(usize::MAX))
    {
        stop.check()?;
        let Some(whole) = found.get(0) else { continue };
        result.push_str(asked.text.get(after..whole.start()).unwrap_or_default());
        match asked.regex {
            true => found.expand(&asked.replace, &mut result),
            false => result.push_str(&asked.replace),
        }
        if result.len() > MAX_TEXT_RESULT_BYTES {
            return Err(too_much(MAX_TEXT_RESULT_BYTES));
        }
        after = whole.end();
        count += 1;
    }
    result.push_str(asked.text.get(after..).unwrap_or_default());
    match result.len() > MAX_TEXT_RESULT_BYTES {
        true => Err(too_much(MAX_TEXT_RESULT_BYTES)),
        false => Ok(json!({"text": result, "count": count})),
    }
}
