//! `Text.Slice`: a part of a text, by characters or by lines.

use innkeeper_protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{check_size, object, text_parameter};
use crate::ToolError;
use crate::builtin::Tool;
use crate::builtin::declare::{Stop, compute, declare, example, words};

pub(super) fn tools() -> Vec<Tool> {
    let definition = ToolDefinition {
        tags: words(&["text", "read-only"]),
        examples: example(
            "The last two lines",
            json!({"text": "a\nb\nc\n", "unit": "lines", "start": -2}),
        ),
        ..declare(
            "Text.Slice",
            "Slice text",
            "Take a part of a text by positions. The first character or line is 0; negative numbers count from the end. What lies outside the text is left out.",
            object(
                json!({
                    "text": text_parameter(),
                    "start": {"type": "integer", "default": 0, "description": "Where to begin; 0 if left out"},
                    "end": {"type": "integer", "description": "Where to stop, itself not included; the end if left out"},
                    "unit": {
                        "type": "string", "enum": ["characters", "lines"], "default": "characters",
                        "description": "What is counted; characters if left out"
                    }
                }),
                &["text"],
            ),
            object(
                json!({
                    "text": {"type": "string"},
                    "start": {"type": "integer"},
                    "end": {"type": "integer"},
                    "total": {"type": "integer", "description": "Characters or lines of the whole text"}
                }),
                &["text", "start", "end", "total"],
            ),
        )
    };
    vec![compute(definition, run)]
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
    #[serde(default)]
    start: i64,
    end: Option<i64>,
    #[serde(default)]
    unit: Unit,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Characters,
    Lines,
}

fn run(asked: Arguments, _: &Stop) -> Result<Json, ToolError> {
    check_size(&asked.text)?;
    let text = asked.text.as_str();
    let (total, part): (usize, Box<dyn Fn(usize, usize) -> String>) = match asked.unit {
        Unit::Characters => (
            text.chars().count(),
            Box::new(|start, length| text.chars().skip(start).take(length).collect()),
        ),
        // With their breaks, so that slices side by side are the text again.
        Unit::Lines => (
            text.split_inclusive('\n').count(),
            Box::new(|start, length| {
                text.split_inclusive('\n')
                    .skip(start)
                    .take(length)
                    .collect()
            }),
        ),
    };
    let start = position(asked.start, total);
    let end = asked
        .end
        .map_or(total, |end| position(end, total))
        .max(start);
    Ok(json!({"text": part(start, end - start), "start": start, "end": end, "total": total}))
}

fn position(asked: i64, total: usize) -> usize {
    let size = usize::try_from(asked.unsigned_abs()).unwrap_or(usize::MAX);
    match asked < 0 {
        true => total.saturating_sub(size),
        false => size.min(total),
    }
}
