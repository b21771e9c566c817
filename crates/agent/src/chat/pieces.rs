//! A piece of a text that a model asks for by characters, within what one call may give. For messages and entries alike.

use innkeeper_protocol::ErrorCode;
use innkeeper_tools::ToolError;
use innkeeper_tools::builtin::text::{TextCount, count};
use serde_json::{Map, Value as Json, json};

use crate::declare::number;
use crate::limits::{MAX_ITEM_CHARS, MAX_ITEMS_CHARS};
use crate::workspace::fault;

/// Which code says what, and what a thing is called.
pub(crate) struct Words {
    pub(crate) thing: &'static str,
    pub(crate) range: (ErrorCode, &'static str),
    pub(crate) size: (ErrorCode, &'static str),
}

pub(crate) struct Piece {
    text: String,
    start: usize,
    end: usize,
    counted: TextCount,
    total: TextCount,
}

/// `asked`: an object with `start_char` and `max_chars`, or without. `left`: what the call may still give, which
/// becomes less.
pub(crate) fn piece(
    words: &Words,
    name: &str,
    text: &str,
    asked: &Json,
    left: &mut usize,
) -> Result<Piece, ToolError> {
    let thing = words.thing;
    let invalid = |message: String| fault(words.range.0, words.range.1, message);
    let too_large = |message: String| fault(words.size.0, words.size.1, message);
    let total = count(text);
    let start = number(asked.get("start_char"));
    let most = number(asked.get("max_chars"));
    if most.is_some_and(|most| most > MAX_ITEM_CHARS as i64) {
        return Err(too_large(format!("max_chars is at most {MAX_ITEM_CHARS}")));
    }
    let from = usize::try_from(start.unwrap_or(0)).ok();
    let Some(from) = from.filter(|from| *from < total.chars.max(1)) else {
        return Err(invalid(format!(
            "{thing} {name} has {} characters, counted from 0: choose a start_char within them",
            total.chars
        )));
    };
    if most.is_some_and(|most| most < 1) {
        return Err(invalid("max_chars is at least 1".to_owned()));
    }
    if start.is_none() && most.is_none() && total.chars > MAX_ITEM_CHARS {
        return Err(too_large(format!(
            "{thing} {name} has {} characters, and at most {MAX_ITEM_CHARS} are read at once: read a part with start_char and max_chars",
            total.chars
        )));
    }
    let most = most.map_or(MAX_ITEM_CHARS, |most| usize::try_from(most).unwrap_or(1));
    let text: String = text.chars().skip(from).take(most).collect();
    let counted = count(&text);
    let Some(rest) = left.checked_sub(counted.chars) else {
        return Err(too_large(format!(
            "All that this call reads is more than {MAX_ITEMS_CHARS} characters: read less at once"
        )));
    };
    *left = rest;
    Ok(Piece {
        start: from,
        end: from + counted.chars,
        text,
        counted,
        total,
    })
}

impl Piece {
    /// `field`: under which name the text stands.
    pub(crate) fn tell(self, into: &mut Map<String, Json>, field: &str) {
        for (name, value) in [
            ("bytes", json!(self.counted.bytes)),
            ("chars", json!(self.counted.chars)),
            ("words", json!(self.counted.words)),
            ("totalBytes", json!(self.total.bytes)),
            ("totalChars", json!(self.total.chars)),
            ("totalWords", json!(self.total.words)),
            ("startChar", json!(self.start)),
            ("endChar", json!(self.end)),
            ("truncated", json!(self.end < self.total.chars)),
            (field, json!(self.text)),
        ] {
            into.insert(name.to_owned(), value);
        }
    }

    pub(crate) fn range(&self) -> (usize, usize) {
        (self.start, self.end)
    }
}

/// How a list of pieces is asked for.
pub(crate) fn list_schema(name: &str, key: (&str, Json), description: &str) -> Json {
    let (key, schema) = key;
    let range = |text: &str| json!({"type": "integer", "description": text});
    json!({
        name: {
            "type": "array",
            "maxItems": crate::limits::MAX_READ_ITEMS,
            "description": description,
            "items": {
                "type": "object",
                "additionalProperties": false,
                "required": [key],
                "properties": {
                    key: schema,
                    "start_char": range("The first character to read, counted from 0."),
                    "max_chars": range(&format!("How many characters to read, at most {MAX_ITEM_CHARS}."))
                }
            }
        }
    })
}
