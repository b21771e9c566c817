//! `Text.Match`: where something stands in a text.

use innkeeper_protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::pattern::compile;
use super::{check_size, object, text_parameter};
use crate::ToolError;
use crate::builtin::Tool;
use crate::builtin::declare::{Stop, compute, declare, example, words};
use crate::limits::{
    DEFAULT_TEXT_MATCHES, MAX_TEXT_MATCH_CHARS, MAX_TEXT_MATCHES, MAX_TEXT_RESULT_BYTES,
};

pub(super) fn tools() -> Vec<Tool> {
    let definition = ToolDefinition {
        tags: words(&["text", "read-only"]),
        examples: example(
            "All years in a text",
            json!({"text": "From 1998 to 2004", "pattern": r"\b(?P<year>\d{4})\b"}),
        ),
        ..declare(
            "Text.Match",
            "Find in text",
            "Find all places in a text that match a regular expression or a plain text, with line and column. Finding nothing is no error.",
            object(
                json!({
                    "text": text_parameter(),
                    "pattern": {
                        "type": "string", "minLength": 1, "x-verbatim": true,
                        "description": "A regular expression (no look-around, no back-references; '(?m)' makes ^ and $ match at lines), or plain text if 'regex' is false"
                    },
                    "regex": {"type": "boolean", "default": true, "description": "false to look for the plain text"},
                    "ignore_case": {"type": "boolean", "default": false, "description": "Whether A is the same as a"},
                    "max_matches": {
                        "type": "integer", "minimum": 1, "maximum": MAX_TEXT_MATCHES, "default": DEFAULT_TEXT_MATCHES,
                        "description": "Stop after that many"
                    }
                }),
                &["text", "pattern"],
            ),
            object(
                json!({
                    "count": {"type": "integer", "description": "How many are listed"},
                    "truncated": {"type": "boolean", "description": "There are more"},
                    "matches": {"type": "array", "items": object(
                        json!({
                            "text": {"type": "string"},
                            "line": {"type": "integer", "description": "1 is the first"},
                            "column": {"type": "integer", "description": "In characters; 1 is the first"},
                            "start": {"type": "integer", "description": "In characters from the beginning; 0 is the first"},
                            "length": {"type": "integer", "description": "In characters"},
                            "groups": {"type": "object", "description": "What groups matched, by name or number"}
                        }),
                        &["text", "line", "column", "start", "length"],
                    )}
                }),
                &["count", "truncated", "matches"],
            ),
        )
    };
    vec![compute(definition, run)]
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
    pattern: String,
    #[serde(default = "yes")]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    max_matches: Option<usize>,
}

fn yes() -> bool {
    true
}

fn shown(text: &str) -> String {
    text.chars().take(MAX_TEXT_MATCH_CHARS).collect()
}

fn run(asked: Arguments, stop: &Stop) -> Result<Json, ToolError> {
    check_size(&asked.text)?;
    let pattern = compile(&asked.pattern, asked.regex, asked.ignore_case)?;
    let most = asked
        .max_matches
        .unwrap_or(DEFAULT_TEXT_MATCHES)
        .min(MAX_TEXT_MATCHES);
    let names: Vec<Option<&str>> = pattern.capture_names().collect();
    let mut matches = Vec::new();
    let mut truncated = false;
    let mut room = MAX_TEXT_RESULT_BYTES;
    let mut place = Place::default();
    for found in pattern.captures_iter(&asked.text) {
        stop.check()?;
        let Some(whole) = found.get(0) else { continue };
        place.advance(&asked.text, whole.start());
        let text = shown(whole.as_str());
        let mut used = text.len() + 100;
        let mut record = json!({
            "line": place.line,
            "column": place.column,
            "start": place.characters,
            "length": whole.as_str().chars().count(),
            "text": text,
        });
        if names.len() > 1 {
            let groups: Map<String, Json> = names
                .iter()
                .enumerate()
                .skip(1)
                .map(|(number, name)| {
                    let name = name.map_or_else(|| number.to_string(), str::to_owned);
                    let text = found.get(number).map(|group| shown(group.as_str()));
                    used += name.len() + text.as_ref().map_or(4, String::len);
                    (name, text.into())
                })
                .collect();
            record["groups"] = Json::Object(groups);
        }
        let left = room.checked_sub(used).filter(|_| matches.len() < most);
        let Some(left) = left else {
            truncated = true;
            break;
        };
        room = left;
        matches.push(record);
    }
    Ok(json!({"count": matches.len(), "truncated": truncated, "matches": matches}))
}

/// Where we are, so that the text is gone through once.
struct Place {
    byte: usize,
    line: usize,
    column: usize,
    characters: usize,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            byte: 0,
            line: 1,
            column: 1,
            characters: 0,
        }
    }
}

impl Place {
    fn advance(&mut self, text: &str, to: usize) {
        for character in text.get(self.byte..to).unwrap_or_default().chars() {
            self.characters += 1;
            self.column += 1;
            if character == '\n' {
                self.line += 1;
                self.column = 1;
            }
        }
        self.byte = to;
    }
}
