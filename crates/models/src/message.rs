//! Conversations: messages, their roles and their parts.
//!
//! Owns the one shape that every provider's wire format is made from and read into. `chat` knows the shape in which
//! files and workflows hold the same.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// Tells the model how to behave, and is no part of the talk.
    pub const fn instructs(self) -> bool {
        matches!(self, Self::System | Self::Developer)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    /// Which of several people or characters in that role speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub parts: Vec<Part>,
}

/// A piece of a message. The order of parts is the order in which they were said, and providers that sign their
/// parts insist on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text {
        text: String,
    },
    /// What the model thought before it spoke.
    Reasoning {
        text: String,
    },
    ToolCall(ToolCall),
    ToolResult(ToolResult),
    Image(Image),
    /// Something that only its provider understands (a signature, an encrypted thought). It goes back to that
    /// provider as it came and to no other. One that belongs to a part stands right after it.
    Opaque {
        provider: String,
        value: Json,
    },
}

/// A native call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// JSON as the model wrote it, which need not be valid: what a model says is never lost. The parser of
    /// `innkeeper-protocol` reads it and says what is wrong with it.
    pub arguments: String,
}

/// What came of a native call. Images that belong to it follow it in its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call_id: String,
    /// The tool, for providers that know results by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub content: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// An address, or the image itself as a `data:` URL.
    pub url: String,
    /// How closely the model should look: `low`, `high`, `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Part {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::Reasoning { text: text.into() }
    }
}

impl ToolCall {
    /// The arguments, if they are the object they should be; nothing at all is an empty object.
    pub fn arguments_object(&self) -> Option<Map<String, Json>> {
        if self.arguments.trim().is_empty() {
            return Some(Map::new());
        }
        serde_json::from_str(&self.arguments).ok()
    }
}

impl Image {
    /// Media type and base64 of an image that is its own address.
    pub fn inline_data(&self) -> Option<(&str, &str)> {
        let (media_type, data) = self.url.strip_prefix("data:")?.split_once(',')?;
        Some((media_type.strip_suffix(";base64")?, data))
    }
}

impl Message {
    /// A message of nothing but text.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            name: None,
            parts: vec![Part::text(text)],
        }
    }

    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }

    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, text)
    }

    pub fn tool_result(call_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            role: Role::Tool,
            name: None,
            parts: vec![Part::ToolResult(ToolResult {
                call_id: call_id.into(),
                name: None,
                content: content.into(),
                is_error: false,
            })],
        }
    }

    /// What can be read of it, results of tools included: one line break between parts.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                Part::ToolResult(result) => Some(result.content.as_str()),
                Part::Reasoning { .. }
                | Part::ToolCall(_)
                | Part::Image(_)
                | Part::Opaque { .. } => None,
            })
            .collect();
        texts.join("\n")
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        tool_calls(&self.parts)
    }
}

pub(crate) fn tool_calls(parts: &[Part]) -> impl Iterator<Item = &ToolCall> {
    parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    })
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
