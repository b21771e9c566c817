//! `Text.Count`, and how the whole house counts words.

use innkeeper_protocol::ToolDefinition;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{check_size, object, text_parameter};
use crate::ToolError;
use crate::builtin::Tool;
use crate::builtin::declare::{Stop, compute, declare, example, words};

pub(super) fn tools() -> Vec<Tool> {
    let integer = json!({"type": "integer"});
    let definition = ToolDefinition {
        tags: words(&["text", "read-only"]),
        examples: example("How long a paragraph is", json!({"text": "Two words"})),
        ..declare(
            "Text.Count",
            "Count text",
            "Count the characters, words, lines and bytes of a text. Each Chinese, Japanese or Korean character is a word.",
            object(json!({"text": text_parameter()}), &["text"]),
            object(
                json!({"chars": integer, "words": integer, "lines": integer, "bytes": integer}),
                &["chars", "words", "lines", "bytes"],
            ),
        )
    };
    vec![compute(definition, run)]
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
}

fn run(Arguments { text }: Arguments, _: &Stop) -> Result<Json, ToolError> {
    check_size(&text)?;
    Ok(json!(count(&text)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TextCount {
    /// Unicode scalar values.
    pub chars: usize,
    /// Runs of letters and digits; each CJK, kana or hangul character by itself.
    pub words: usize,
    /// A line break at the end does not begin another line.
    pub lines: usize,
    pub bytes: usize,
}

pub fn count(text: &str) -> TextCount {
    let mut counted = TextCount {
        lines: text.lines().count(),
        bytes: text.len(),
        ..TextCount::default()
    };
    let mut in_word = false;
    for character in text.chars() {
        counted.chars += 1;
        let alone = stands_alone(character);
        let part = character.is_alphanumeric() && !alone;
        counted.words += usize::from(alone || (part && !in_word));
        in_word = part;
    }
    counted
}

/// Scripts that are written without spaces.
fn stands_alone(character: char) -> bool {
    character.is_alphanumeric()
        && matches!(u32::from(character),
            0x1100..=0x11ff | 0x3005..=0x3007 | 0x3040..=0x30ff | 0x3130..=0x318f | 0x31f0..=0x31ff
            | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xa960..=0xa97f | 0xac00..=0xd7ff | 0xf900..=0xfaff
            | 0xff66..=0xff9f | 0xffa0..=0xffdc | 0x1_b000..=0x1_b16f | 0x2_0000..=0x3_ffff)
}
