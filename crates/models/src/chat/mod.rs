//! Conversations in the chat-completions shape, `{"role": "user", "content": "…"}`: how files, workflows and other
//! programs hold them.
//!
//! Reading is lenient about what people and programs write differently, and names the place of what it cannot
//! understand. Fields of the application's own (ids, times) are not the model's business and are left out.

mod parts;
mod read;
mod write;

pub use parts::{PARTS_FIELD, parts_to_chat};
pub use read::{messages_from_chat, messages_from_chat_after};
pub use write::messages_to_chat;

/// Whose parts [`crate::Part::Opaque`] holds: a part of `content`, fields of a message, fields of a call.
pub(crate) const CONTENT: &str = "openai";
pub(crate) const MESSAGE: &str = "openai.message";
pub(crate) const CALL: &str = "openai.tool_call";

/// Fields of a message that some provider wants back as they were.
const KEPT_OF_MESSAGE: [&str; 4] = ["reasoning_details", "thinking_blocks", "refusal", "audio"];
/// Fields of a call that some provider wants back as they were.
const KEPT_OF_CALL: [&str; 1] = ["extra_content"];

/// What cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("messages{}{field}: {message}", .index.map(|index| format!("[{index}]")).unwrap_or_default())]
pub struct ChatError {
    /// Which message, counted from 0; `None` where it is about the whole list.
    pub index: Option<usize>,
    /// `.content[1].type`; empty where it is about the message itself.
    pub field: String,
    pub message: String,
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
