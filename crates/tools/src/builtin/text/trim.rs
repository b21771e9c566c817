//! `Text.Trim` and `Text.Dedent`: white space that is in the way.

use innkeeper_protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{check_size, object, text_output, text_parameter};
use crate::ToolError;
use crate::builtin::Tool;
use crate::builtin::declare::{Stop, compute, declare, example, words};

pub(super) fn tools() -> Vec<Tool> {
    let trim = ToolDefinition {
        tags: words(&["text", "read-only"]),
        examples: example(
            "No spaces at the ends of lines",
            json!({"text": "a  \nb \n", "side": "end", "each_line": true}),
        ),
        ..declare(
            "Text.Trim",
            "Trim text",
            "Take white space off the ends of a text, or of each of its lines.",
            object(
                json!({
                    "text": text_parameter(),
                    "side": {
                        "type": "string", "enum": ["both", "start", "end"], "default": "both",
                        "description": "Which end; both if left out"
                    },
                    "each_line": {"type": "boolean", "default": false, "description": "Do it for each line, and keep the line breaks"}
                }),
                &["text"],
            ),
            text_output(),
        )
    };
    let dedent = ToolDefinition {
        tags: words(&["text", "read-only"]),
        examples: example(
            "Code that stood inside a list",
            json!({"text": "    if x:\n        y\n"}),
        ),
        ..declare(
            "Text.Dedent",
            "Dedent text",
            "Take away the indentation that all lines of a text have in common. Blank lines do not count and become empty.",
            object(json!({"text": text_parameter()}), &["text"]),
            text_output(),
        )
    };
    vec![compute(trim, run_trim), compute(dedent, run_dedent)]
}

#[derive(Deserialize)]
struct TrimArguments {
    text: String,
    #[serde(default)]
    side: Side,
    #[serde(default)]
    each_line: bool,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Side {
    #[default]
    Both,
    Start,
    End,
}

impl Side {
    fn trim(self, text: &str) -> &str {
        match self {
            Self::Both => text.trim(),
            Self::Start => text.trim_start(),
            Self::End => text.trim_end(),
        }
    }
}

fn run_trim(asked: TrimArguments, _: &Stop) -> Result<Json, ToolError> {
    check_size(&asked.text)?;
    let text = match asked.each_line {
        false => asked.side.trim(&asked.text).to_owned(),
        true => lines(&asked.text)
            .flat_map(|(line, end)| [asked.side.trim(line), end])
            .collect(),
    };
    Ok(json!({"text": text}))
}

#[derive(Deserialize)]
struct DedentArguments {
    text: String,
}

fn run_dedent(DedentArguments { text }: DedentArguments, _: &Stop) -> Result<Json, ToolError> {
    check_size(&text)?;
    let mut common: Option<&str> = None;
    for (line, _) in lines(&text).filter(|(line, _)| !line.trim().is_empty()) {
        let indent = line.strip_suffix(line.trim_start()).unwrap_or_default();
        common = Some(common.map_or(indent, |common| shared(common, indent)));
    }
    let common = common.unwrap_or_default();
    let text: String = lines(&text)
        .flat_map(|(line, end)| match line.trim().is_empty() {
            true => ["", end],
            false => [line.strip_prefix(common).unwrap_or(line), end],
        })
        .collect();
    Ok(json!({"text": text}))
}

/// Each line, and what ends it.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_inclusive('\n').map(|line| {
        let content = line.strip_suffix('\n').unwrap_or(line);
        let content = content.strip_suffix('\r').unwrap_or(content);
        (content, line.strip_prefix(content).unwrap_or_default())
    })
}

/// The beginning that both have.
fn shared<'t>(one: &'t str, other: &str) -> &'t str {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    let length = same.map(|(character, _)| character.len_utf8()).sum();
    one.get(..length).unwrap_or_default()
}
