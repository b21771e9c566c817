//! What is asked of a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{Message, RawPayload};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelRequest {
    /// The model's name as its provider knows it; empty for the default one.
    pub model: String,
    /// Whoever asks again and again keeps them, and what it has read of them.
    pub messages: Vec<Arc<Message>>,
    /// Tools that the model may call natively.
    pub tools: Vec<ToolSpec>,
    pub tool_choice: ToolChoice,
    pub sampling: Sampling,
    /// Fields that only this provider knows, put into its request as they are.
    pub extras: Map<String, Json>,
    /// The form that the answer must have, held by the server itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// Asks for pieces as they are made. Without it the whole comes at once, for servers that know no other way.
    pub stream: bool,
    /// A chat-completions body that is sent exactly as it is; of the other fields only `model` (to find the way)
    /// and `attempt` count then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawPayload>,
    /// How often this request has been sent, this time included. Whoever tries again counts.
    pub attempt: u32,
}

/// A tool as a provider is told of it: under the name that the provider can carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// JSON Schema of an object. Shared: it may be long, and every turn sends it again.
    #[serde(default)]
    pub parameters: Arc<Json>,
}

/// What holds an answer to a form while it is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// A grammar in GBNF.
    Grammar(String),
    /// The same where the server takes one. Elsewhere the answer is free.
    GrammarIfTaken(String),
    /// JSON of this schema.
    Json(Json),
    /// Any JSON object.
    JsonObject,
}

/// Whether the model may, must or must not call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    #[default]
    Auto,
    None,
    Required,
    /// This one, by its name.
    Tool(String),
}

/// How the model chooses its words. What is not given is left to the provider.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

impl Default for ModelRequest {
    fn default() -> Self {
        Self {
            model: String::new(),
            messages: Vec::new(),
            tools: Vec::new(),
            tool_choice: ToolChoice::default(),
            sampling: Sampling::default(),
            extras: Map::new(),
            constraint: None,
            stream: true,
            raw: None,
            attempt: 1,
        }
    }
}

impl ModelRequest {
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self {
            model: model.into(),
            messages: messages.into_iter().map(Arc::new).collect(),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_out_is_as_usual_and_comes_back_the_same() {
        let request: ModelRequest = serde_json::from_value(json!({
            "messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}],
            "tools": [{"name": "t"}],
            "tool_choice": {"tool": "t"},
            "sampling": {"temperature": 0.5, "stop": ["."]},
            "extras": {"min_p": 0.1},
        }))
        .unwrap();
        assert_eq!(request.attempt, 1);
        assert_eq!(request.messages, [Message::user("hi").into()]);
        assert_eq!(request.tool_choice, ToolChoice::Tool("t".into()));
        assert_eq!(request.sampling.temperature, Some(0.5));
        let json = serde_json::to_value(&request).unwrap();
        assert_eq!(
            serde_json::from_value::<ModelRequest>(json).unwrap(),
            request
        );
        let empty: ModelRequest = serde_json::from_value(json!({})).unwrap();
        assert_eq!(empty, ModelRequest::default());
    }
}
