//! OpenAI's chat completions, as most others follow them.
//!
//! `encode` writes a request, `decode` reads an answer, in pieces or whole. In what servers differ when they are asked is
//! data ([`crate::provider::Quirks`]); in what they differ when they answer is put up with here, for all of them.
//!
//! Thoughts that a model writes into its text (`<think>…</think>`) stay text: a person may have asked about the tag.

mod calls;
mod decode;
mod encode;
mod kept;
mod messages;
mod plain;
mod quick;
mod reported;
#[cfg(test)]
mod test_reading;
mod usage;

pub(super) use self::decode::Decode;
pub(super) use self::encode::encode;
use crate::chat::{CALL, CONTENT, MESSAGE};

/// A text that says something.
fn text<'a>(fields: &'a serde_json::Map<String, serde_json::Value>, name: &str) -> Option<&'a str> {
    let text = fields.get(name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}
