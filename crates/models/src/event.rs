//! What a model says, piece by piece.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value as Json, json};

use crate::Cost;

/// One piece of a reply.
///
/// Texts and arguments may be cut anywhere between two characters, and empty pieces mean nothing. Ids and names come
/// whole.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The provider has begun to answer, and says as whom.
    Started {
        model: String,
        response_id: Option<String>,
    },
    Text(String),
    Reasoning(String),
    /// A piece of a native call. `index` tells the calls of one reply apart; the first id and the first name
    /// that come for it count.
    ToolCall {
        index: u32,
        id: Option<String>,
        name: Option<String>,
        arguments_delta: String,
    },
    /// A part that only its provider understands: see [`crate::Part::Opaque`].
    Opaque {
        provider: String,
        value: Json,
    },
    /// May come more than once; a later count replaces an earlier one.
    Usage(Usage),
    /// The model has finished. Counts may still follow.
    Finish(FinishReason),
}

impl ModelEvent {
    /// As the chunk of a workflow's stream, `{type, content}`.
    pub fn to_chunk(&self) -> Json {
        let (kind, content) = match self {
            Self::Text(text) => ("text_chunk", json!(text)),
            Self::ToolCall {
                index,
                id,
                name,
                arguments_delta,
            } => (
                "tool_call_chunk",
                json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments_delta}}),
            ),
            Self::Usage(usage) => ("usage_chunk", json!(usage)),
            Self::Finish(reason) => ("finish_reason_chunk", json!(reason)),
            Self::Reasoning(text) => ("custom", json!({"kind": "reasoning", "text": text})),
            Self::Started { model, response_id } => (
                "custom",
                json!({"kind": "started", "model": model, "response_id": response_id}),
            ),
            Self::Opaque { provider, value } => (
                "custom",
                json!({"kind": "opaque", "provider": provider, "value": value}),
            ),
        };
        json!({"type": kind, "content": content})
    }
}

/// Tokens of one request. What the provider does not tell is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Of what was sent.
    pub prompt_tokens: Option<u64>,
    /// Of what came back, thinking included.
    pub completion_tokens: Option<u64>,
    /// Those of the prompt that the provider still remembered.
    pub cached_tokens: Option<u64>,
    /// Those of the answer that were thinking.
    pub reasoning_tokens: Option<u64>,
    /// What the request cost, by the provider's account or by the price table.
    pub cost: Option<Cost>,
}

impl Usage {
    pub fn total_tokens(&self) -> Option<u64> {
        match (self.prompt_tokens, self.completion_tokens) {
            (None, None) => None,
            (sent, received) => Some(
                sent.unwrap_or_default()
                    .saturating_add(received.unwrap_or_default()),
            ),
        }
    }

    /// Takes over what the later count tells.
    pub(crate) fn update(&mut self, later: &Self) {
        self.prompt_tokens = later.prompt_tokens.or(self.prompt_tokens);
        self.completion_tokens = later.completion_tokens.or(self.completion_tokens);
        self.cached_tokens = later.cached_tokens.or(self.cached_tokens);
        self.reasoning_tokens = later.reasoning_tokens.or(self.reasoning_tokens);
        self.cost = later.cost.or(self.cost);
    }
}

impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = |count: Option<u64>| count.map(Json::from);
        let counts = [
            ("prompt_tokens", count(self.prompt_tokens)),
            ("completion_tokens", count(self.completion_tokens)),
            ("total_tokens", count(self.total_tokens())),
            ("cached_tokens", count(self.cached_tokens)),
            ("reasoning_tokens", count(self.reasoning_tokens)),
            ("cost", self.cost.map(|cost| cost.dollars().into())),
        ];
        serializer.collect_map(
            counts
                .into_iter()
                .filter_map(|(name, count)| Some((name, count?))),
        )
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    Stop,
    /// It was cut off: the answer may be incomplete.
    Length,
    ToolCalls,
    ContentFilter,
    /// In the provider's own words.
    Other(String),
}

impl FinishReason {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Other(other) => other,
        }
    }

    /// Reads what OpenAI, Anthropic and Gemini call it.
    pub fn read(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "stop" | "end_turn" | "stop_sequence" => Self::Stop,
            "length" | "max_tokens" | "max_output_tokens" | "model_context_window_exceeded" => {
                Self::Length
            }
            "tool_calls" | "tool_use" | "function_call" => Self::ToolCalls,
            "content_filter" | "refusal" | "safety" | "recitation" | "blocklist"
            | "prohibited_content" => Self::ContentFilter,
            _ => Self::Other(word.to_owned()),
        }
    }
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FinishReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|word| Self::read(&word))
    }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
