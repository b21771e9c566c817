//! How many tokens messages and tools probably have. Estimates, for nobody here knows the model's own count.

use std::sync::Arc;

use innkeeper_models::{Estimate, ModelRequest, ToolSpec, messages_from_chat};
use innkeeper_protocol::ToolDefinition;
use serde_json::Value as Json;

/// Of one message in the chat form.
pub fn tokens(message: &Json) -> u64 {
    let read = messages_from_chat(&Json::Array(vec![message.clone()]));
    match read {
        Ok(messages) => {
            let request = ModelRequest {
                messages: messages.into_iter().map(Arc::new).collect(),
                ..ModelRequest::default()
            };
            Estimate::of_request(&request).likely
        }
        // Nobody will take it either; that is said where it is sent.
        Err(_) => Estimate::of_text(&message.to_string()).likely,
    }
}

/// No fewer than `tokens` would say of these, told from their lengths alone: most requests are far from any bound.
pub fn at_most<'m>(messages: impl IntoIterator<Item = &'m Json>) -> u64 {
    let bytes = |message| 64_u64.saturating_add(length(message));
    messages.into_iter().map(bytes).fold(0, u64::saturating_add)
}

/// A picture is told by its address or its data, and may weigh more than that.
fn length(value: &Json) -> u64 {
    const PICTURE: u64 = 1_024;
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => 24,
        // Control characters are spelled out where a text stands in another.
        Json::String(text) => 8 + 2 * text.len() as u64,
        Json::Array(list) => list.iter().map(|value| PICTURE + length(value)).sum(),
        Json::Object(map) => map
            .iter()
            .map(|(key, value)| 8 + key.len() as u64 + length(value))
            .sum(),
    }
}

/// Of tools that are declared beside the messages.
pub fn tokens_of_tools(tools: &[Arc<ToolDefinition>]) -> u64 {
    if tools.is_empty() {
        return 0;
    }
    let spec = |tool: &Arc<ToolDefinition>| ToolSpec {
        name: tool.id.to_string(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone().into(),
    };
    let request = ModelRequest {
        tools: tools.iter().map(spec).collect(),
        ..ModelRequest::default()
    };
    Estimate::of_request(&request).likely
}
