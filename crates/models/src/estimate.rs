//! How many tokens a request has, before anybody has counted them.
//!
//! No tokenizer: there is one per family of models, and each is megabytes large. Characters are counted by class
//! instead. Three numbers come of it: `likely` is within a third of the true count for ordinary prose, code and JSON
//! in most languages; `low` is what no tokenizer in use stays below, and `high` what none exceeds, for texts that
//! people write. Only `low` may refuse a request.

use std::ops::AddAssign;

use serde_json::Value as Json;

use crate::{Constraint, Message, ModelRequest, Part, ToolSpec};

/// Tokens, from the fewest to the most that it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    pub low: u64,
    pub likely: u64,
    pub high: u64,
}

/// Thousandths of tokens.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    low: u64,
    likely: u64,
    high: u64,
}

const fn weight(low: u64, likely: u64, high: u64) -> Weight {
    Weight { low, likely, high }
}

// Per character.
/// English is about four letters a token; common long words, each one token, reach ten.
const LETTER: Weight = weight(100, 250, 500);
/// Alone or in groups of three.
const DIGIT: Weight = weight(330, 700, 1_000);
/// Often joined with its neighbours in code.
const MARK: Weight = weight(200, 500, 1_000);
/// Mostly part of the word that follows.
const BLANK: Weight = weight(0, 130, 300);
/// Han, kana and Hangul: old tokenizers take two or three for one, new ones join common words.
const EAST_ASIAN: Weight = weight(400, 1_000, 2_500);
/// Latin with accents, Greek, Cyrillic, Arabic, Hebrew and the scripts of India and around.
const OTHER_LETTER: Weight = weight(150, 450, 2_000);
/// Emoji and rare signs are spelled byte by byte.
const RARE: Weight = weight(300, 1_500, 4_000);
/// Each of a row of the same sign beyond the fourth: `-----` and indentation are one token.
const REPEATED: Weight = weight(10, 60, 500);

// Per thing.
/// Marks around a message.
const MESSAGE: Weight = weight(1_000, 4_000, 8_000);
const TOOL: Weight = weight(2_000, 10_000, 20_000);
/// From OpenAI's `low` detail and small models to a large picture in tiles.
const IMAGE: Weight = weight(60_000, 800_000, 2_500_000);

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.low = self.low.saturating_add(other.low);
        self.likely = self.likely.saturating_add(other.likely);
        self.high = self.high.saturating_add(other.high);
    }
}

impl From<Weight> for Estimate {
    fn from(weight: Weight) -> Self {
        Self {
            low: weight.low / 1_000,
            likely: weight.likely.div_ceil(1_000),
            high: weight.high.div_ceil(1_000),
        }
    }
}

impl Estimate {
    pub fn of_text(text: &str) -> Self {
        text_weight(text).into()
    }

    pub fn of_request(request: &ModelRequest) -> Self {
        // A raw body is sent as it is and never refused here; what in it is text and what a picture is not looked at.
        if let Some(raw) = &request.raw {
            let whole = text_weight(raw.as_str());
            return Weight { low: 0, ..whole }.into();
        }
        let mut sum = Weight::default();
        for message in &request.messages {
            add_message(&mut sum, message);
        }
        for tool in &request.tools {
            add_tool(&mut sum, tool);
        }
        // Some servers show the form to the model, others only hold it to it.
        let form = match &request.constraint {
            Some(Constraint::Json(schema)) => json_weight(schema),
            Some(
                Constraint::Grammar(_) | Constraint::GrammarIfTaken(_) | Constraint::JsonObject,
            )
            | None => Weight::default(),
        };
        sum += Weight { low: 0, ..form };
        sum.into()
    }
}

/// No fewer tokens than are likely, told from the lengths alone: most requests are far from what a model holds, and need
/// not be looked at letter by letter.
pub(crate) fn at_most(request: &ModelRequest) -> u64 {
    let mut sum = Most::default();
    if let Some(raw) = &request.raw {
        sum.bytes(raw.as_str().len());
        return sum.tokens();
    }
    for message in &request.messages {
        sum.thing(MESSAGE);
        sum.bytes(message.name.as_ref().map_or(0, String::len));
        for part in &message.parts {
            match part {
                Part::Text { text } | Part::Reasoning { text } => sum.bytes(text.len()),
                Part::ToolCall(call) => sum.bytes(call.name.len() + call.arguments.len()),
                Part::ToolResult(result) => sum.bytes(result.content.len()),
                Part::Image(_) => sum.thing(IMAGE),
                Part::Opaque { value, .. } => sum.bytes(json_length(value)),
            }
        }
    }
    for tool in &request.tools {
        sum.thing(TOOL);
        sum.bytes(tool.name.len() + tool.description.len() + json_length(&tool.parameters));
    }
    if let Some(Constraint::Json(schema)) = &request.constraint {
        sum.bytes(json_length(schema));
    }
    sum.tokens()
}

/// Thousandths of tokens.
#[derive(Default)]
struct Most(u64);

impl Most {
    fn thing(&mut self, weight: Weight) {
        self.0 = self.0.saturating_add(weight.likely);
    }

    fn bytes(&mut self, count: usize) {
        // No character has more for each of its bytes than a digit.
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.0 = self.0.saturating_add(count.saturating_mul(DIGIT.likely));
    }

    fn tokens(&self) -> u64 {
        self.0.div_ceil(1_000)
    }
}

/// Of its text, or a little more.
fn json_length(value: &Json) -> usize {
    match value {
        Json::Null | Json::Bool(_) => "false".len(),
        Json::Number(number) => number.to_string().len(),
        Json::String(text) => text_length(text),
        Json::Array(list) => {
            list.iter()
                .map(|value| json_length(value) + 1)
                .sum::<usize>()
                + 2
        }
        Json::Object(map) => {
            let fields = map
                .iter()
                .map(|(key, value)| text_length(key) + json_length(value) + 2);
            fields.sum::<usize>() + 2
        }
    }
}

fn text_length(text: &str) -> usize {
    let escaped = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
    // `\u001b` has five more.
    text.len() + 2 + 5 * text.as_bytes().iter().filter(|byte| escaped(byte)).count()
}

fn add_message(sum: &mut Weight, message: &Message) {
    *sum += MESSAGE;
    if let Some(name) = &message.name {
        *sum += text_weight(name);
    }
    for part in &message.parts {
        let weight = match part {
            Part::Text { text } => text_weight(text),
            // Many providers throw away what was thought before.
            Part::Reasoning { text } => Weight {
                low: 0,
                ..text_weight(text)
            },
            Part::ToolCall(call) => {
                *sum += text_weight(&call.name);
                text_weight(&call.arguments)
            }
            Part::ToolResult(result) => text_weight(&result.content),
            Part::Image(_) => IMAGE,
            Part::Opaque { value, .. } => Weight {
                low: 0,
                ..json_weight(value)
            },
        };
        *sum += weight;
    }
}

fn add_tool(sum: &mut Weight, tool: &ToolSpec) {
    *sum += TOOL;
    *sum += text_weight(&tool.name);
    *sum += text_weight(&tool.description);
    // Servers write schemas in forms of their own, some far shorter than JSON.
    let schema = json_weight(&tool.parameters);
    *sum += Weight {
        low: schema.low / 4,
        ..schema
    };
}

fn json_weight(value: &Json) -> Weight {
    text_weight(&value.to_string())
}

fn text_weight(text: &str) -> Weight {
    let mut sum = Weight::default();
    let (mut last, mut row) = (None, 0_usize);
    for c in text.chars() {
        row = if last == Some(c) { row + 1 } else { 1 };
        last = Some(c);
        sum += if row > 4 { REPEATED } else { class(c) };
    }
    sum
}

fn class(c: char) -> Weight {
    match c {
        'a'..='z' | 'A'..='Z' => LETTER,
        '0'..='9' => DIGIT,
        ' ' | '\t' | '\n' | '\r' => BLANK,
        '\u{0}'..='\u{7f}' => MARK,
        // Hangul Jamo, kana, Han with its extensions, Hangul, full-width forms.
        '\u{1100}'..='\u{11ff}'
        | '\u{2e80}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}'
        | '\u{20000}'..='\u{3ffff}' => EAST_ASIAN,
        c if c.is_alphabetic() => OTHER_LETTER,
        '\u{80}'..='\u{2fff}' => MARK,
        _ => RARE,
    }
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
