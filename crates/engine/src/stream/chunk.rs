//! One piece of a stream, in the form that ComfyTavern sends it.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

use crate::Value;
use crate::value::weight;

/// One piece of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    pub kind: ChunkKind,
    pub content: Value,
    /// Further fields, beside `type` and `content`.
    pub extra: Option<Arc<Map<String, Json>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkKind {
    Text,
    ToolCall,
    FinishReason,
    Usage,
    Error,
    Custom,
}

impl ChunkKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text_chunk",
            Self::ToolCall => "tool_call_chunk",
            Self::FinishReason => "finish_reason_chunk",
            Self::Usage => "usage_chunk",
            Self::Error => "error_chunk",
            Self::Custom => "custom",
        }
    }
}

impl Chunk {
    pub fn new(kind: ChunkKind, content: impl Into<Value>) -> Self {
        Self {
            kind,
            content: content.into(),
            extra: None,
        }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(ChunkKind::Text, text.into())
    }

    /// A piece of any kind: a text is a text chunk.
    pub fn of(content: Value) -> Self {
        let kind = match content.as_json() {
            Json::String(_) => ChunkKind::Text,
            _ => ChunkKind::Custom,
        };
        Self::new(kind, content)
    }

    /// What belongs to the value of the stream; the rest tells about it.
    pub fn is_content(&self) -> bool {
        matches!(self.kind, ChunkKind::Text | ChunkKind::Custom)
    }

    pub(super) fn bytes(&self) -> usize {
        64 + self.content.weight() + self.extra_bytes()
    }

    /// About how many bytes the further fields take.
    pub(crate) fn extra_bytes(&self) -> usize {
        let fields = self.extra.iter().flat_map(|extra| extra.iter());
        fields.map(|(key, value)| key.len() + weight(value)).sum()
    }
}

impl Serialize for Chunk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind.as_str())?;
        map.serialize_entry("content", &self.content)?;
        for (key, value) in self.extra.iter().flat_map(|extra| extra.iter()) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
