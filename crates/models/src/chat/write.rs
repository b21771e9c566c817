//! Into the chat-completions shape.

use serde_json::{Map, Value as Json, json};

use super::{CALL, CONTENT, MESSAGE};
use crate::{Message, Part, Role, ToolResult};

/// A list of messages. Results of tools are messages of their own there, so it may be longer than what was given.
/// Parts of other providers have no place in it and are left out.
pub fn messages_to_chat(messages: &[Message]) -> Json {
    messages.iter().flat_map(message).collect()
}

fn message(message: &Message) -> Vec<Json> {
    let mut written = Vec::new();
    let mut open = Open::new(message.role, message.name.as_deref());
    for part in &message.parts {
        if let Part::ToolResult(result) = part {
            written.extend(open.close());
            open = Open::result(result);
        } else {
            open.add(part);
        }
    }
    // A message that says nothing is still a turn.
    if written.is_empty() && open.is_empty() && open.result.is_none() {
        open.content.push(json!({"type": "text", "text": ""}));
    }
    written.extend(open.close());
    written
}

/// A message that is being written.
struct Open<'m> {
    role: Role,
    name: Option<&'m str>,
    result: Option<&'m ToolResult>,
    reasoning: String,
    content: Vec<Json>,
    calls: Vec<Json>,
    kept: Map<String, Json>,
}

impl<'m> Open<'m> {
    fn new(role: Role, name: Option<&'m str>) -> Self {
        Self {
            role,
            name,
            result: None,
            reasoning: String::new(),
            content: Vec::new(),
            calls: Vec::new(),
            kept: Map::new(),
        }
    }

    fn result(result: &'m ToolResult) -> Self {
        let mut open = Self::new(Role::Tool, result.name.as_deref());
        open.result = Some(result);
        open.content
            .push(json!({"type": "text", "text": result.content}));
        open
    }

    fn is_empty(&self) -> bool {
        self.reasoning.is_empty()
            && self.content.is_empty()
            && self.calls.is_empty()
            && self.kept.is_empty()
    }

    fn add(&mut self, part: &Part) {
        match part {
            Part::Text { text } => self.content.push(json!({"type": "text", "text": text})),
            Part::Reasoning { text } => self.reasoning.push_str(text),
            Part::ToolCall(call) => self.calls.push(json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })),
            Part::Image(image) => {
                let mut address = json!({"url": image.url});
                if let Some(detail) = &image.detail {
                    address["detail"] = json!(detail);
                }
                self.content
                    .push(json!({"type": "image_url", "image_url": address}));
            }
            Part::Opaque { provider, value } => match (provider.as_str(), value) {
                (CONTENT, value) => self.content.push(value.clone()),
                (MESSAGE, Json::Object(fields)) => self.kept.extend(fields.clone()),
                (CALL, Json::Object(fields)) => {
                    if let Some(Json::Object(call)) = self.calls.last_mut() {
                        call.extend(fields.clone());
                    }
                }
                _ => {}
            },
            Part::ToolResult(_) => {}
        }
    }

    fn close(self) -> Option<Json> {
        if self.is_empty() {
            return None;
        }
        let mut fields = Map::new();
        fields.insert("role".into(), self.role.as_str().into());
        if let Some(result) = self.result {
            fields.insert("tool_call_id".into(), result.call_id.as_str().into());
        }
        if let Some(name) = self.name {
            fields.insert("name".into(), name.into());
        }
        if !self.reasoning.is_empty() {
            fields.insert("reasoning_content".into(), self.reasoning.into());
        }
        let only_text = match self.content.as_slice() {
            [] => Some(Json::Null),
            [only] if only.get("type").is_some_and(|kind| kind == "text") => {
                only.get("text").cloned()
            }
            _ => None,
        };
        fields.insert(
            "content".into(),
            only_text.unwrap_or(Json::Array(self.content)),
        );
        if !self.calls.is_empty() {
            fields.insert("tool_calls".into(), Json::Array(self.calls));
        }
        fields.extend(self.kept);
        Some(Json::Object(fields))
    }
}
