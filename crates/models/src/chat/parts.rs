//! `innkeeper_parts` of an assistant's message: its parts as they came.
//!
//! The chat-completions shape has no place for other providers' signatures, and none for the order of words and calls.
//! Whoever holds a conversation in that shape keeps them in this field. It is never sent to anybody.

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::limits::MAX_REPLY_PARTS;
use crate::message::tool_calls;
use crate::{Part, ToolCall};

/// Where they stand in the message.
pub const PARTS_FIELD: &str = "innkeeper_parts";

/// The value of the field; nothing where the message itself tells all.
pub fn parts_to_chat(parts: &[Part]) -> Option<Json> {
    let signed = parts.iter().any(|part| matches!(part, Part::Opaque { .. }));
    signed.then(|| json!(parts))
}

/// What was kept, if the message still says the same. Somebody may have edited it, and signatures hold for what was
/// signed only.
pub(super) fn restored(fields: &Map<String, Json>, visible: &[Part]) -> Option<Vec<Part>> {
    let Some(Json::Array(kept)) = fields.get(PARTS_FIELD) else {
        return None;
    };
    if kept.len() > MAX_REPLY_PARTS {
        return None;
    }
    let parts: Result<Vec<Part>, _> = kept.iter().map(Part::deserialize).collect();
    let mut parts = parts.ok()?;
    let same_words = text(&parts) == text(visible);
    let same_calls = tool_calls(&parts).count() == tool_calls(visible).count()
        && tool_calls(&parts)
            .zip(tool_calls(visible))
            .all(|(kept, shown)| kept.name == shown.name && arguments(kept) == arguments(shown));
    if !same_words || !same_calls {
        return None;
    }
    // Results are known by the ids that the message shows.
    let mut shown = tool_calls(visible);
    for part in &mut parts {
        if let Part::ToolCall(call) = part
            && let Some(shown) = shown.next()
        {
            call.id.clone_from(&shown.id);
        }
    }
    Some(parts)
}

fn text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Nothing at all is an empty object.
fn arguments(call: &ToolCall) -> &str {
    match call.arguments.trim() {
        "" => "{}",
        arguments => arguments,
    }
}

#[cfg(test)]
#[path = "parts_tests.rs"]
mod tests;
