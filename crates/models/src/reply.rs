//! A whole reply, and how it is put together from pieces.
//!
//! The parts are the one truth; text, reasoning and calls are read from them. How the pieces were cut leaves no trace.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::chat::messages_to_chat;
use crate::limits::{MAX_REPLY_BYTES, MAX_REPLY_PARTS, MAX_TOOL_CALLS};
use crate::message::tool_calls;
use crate::wire::without_halves;
use crate::{
    FinishReason, Message, ModelError, ModelErrorKind, ModelEvent, Part, Role, ToolCall, Usage,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// In the order in which they came: what goes back into the conversation.
    pub parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    pub finish_reason: FinishReason,
    /// Who answered, by its own account.
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

impl ModelReply {
    /// Everything the model said in words.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Everything it thought aloud.
    pub fn reasoning(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Reasoning { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Its native calls. Calls in its text are found by the parser of `innkeeper-protocol`.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        tool_calls(&self.parts)
    }

    /// The next message of the conversation.
    pub fn into_message(self) -> Message {
        Message {
            role: Role::Assistant,
            name: None,
            parts: self.parts,
        }
    }

    /// The `StandardResponse` of workflows: `text`, `choices`, `usage`, `model`, and `tool_calls` where there are any.
    /// `innkeeper_protocol::parse_response` reads it.
    pub fn to_standard_response(&self) -> Json {
        let message = messages_to_chat(&[self.clone().into_message()]);
        let mut message = message.get(0).cloned().unwrap_or_default();
        let text = self.text();
        // Words before and after a call are one text to whoever parses it.
        if let Some(content) = message.get_mut("content")
            && !text.is_empty()
        {
            *content = json!(text);
        }
        let mut response = json!({
            "text": text,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
            "model": self.model,
        });
        if let Some(calls) = message.get("tool_calls") {
            response["tool_calls"] = calls.clone();
        }
        let reasoning = self.reasoning();
        if !reasoning.is_empty() {
            response["reasoning"] = reasoning.into();
        }
        if let Some(usage) = &self.usage {
            response["usage"] = json!(usage);
        }
        if let Some(id) = &self.response_id {
            response["response_id"] = json!(id);
        }
        response
    }
}

/// Pieces on their way to a reply.
#[derive(Debug)]
pub(crate) struct Assembler {
    model: String,
    response_id: Option<String>,
    parts: Vec<Part>,
    /// Index of a call, and where it stands in `parts`.
    calls: Vec<(u32, usize)>,
    usage: Option<Usage>,
    finish_reason: Option<FinishReason>,
    bytes: usize,
}

impl Assembler {
    pub(crate) fn new(model: String) -> Self {
        Self {
            model,
            response_id: None,
            parts: Vec::new(),
            calls: Vec::new(),
            usage: None,
            finish_reason: None,
            bytes: 0,
        }
    }

    pub(crate) fn add(&mut self, event: &ModelEvent) -> Result<(), ModelError> {
        match event {
            ModelEvent::Started { model, response_id } => {
                self.weigh(model.len() + response_id.as_ref().map_or(0, String::len))?;
                // Not every server says who it is.
                if !model.is_empty() {
                    self.model.clone_from(model);
                }
                self.response_id.clone_from(response_id);
            }
            ModelEvent::Text(piece) => {
                self.weigh(piece.len())?;
                match self.parts.last_mut() {
                    _ if piece.is_empty() => {}
                    Some(Part::Text { text }) => text.push_str(piece),
                    _ => self.push(Part::text(piece))?,
                }
            }
            ModelEvent::Reasoning(piece) => {
                self.weigh(piece.len())?;
                match self.parts.last_mut() {
                    _ if piece.is_empty() => {}
                    Some(Part::Reasoning { text }) => text.push_str(piece),
                    _ => self.push(Part::reasoning(piece))?,
                }
            }
            ModelEvent::ToolCall {
                index,
                id,
                name,
                arguments_delta,
            } => {
                let [id, name] = [id, name].map(|word| word.as_deref().unwrap_or_default());
                self.weigh(id.len() + name.len() + arguments_delta.len())?;
                let call = self.call(*index)?;
                if call.id.is_empty() {
                    id.clone_into(&mut call.id);
                }
                if call.name.is_empty() {
                    name.clone_into(&mut call.name);
                }
                call.arguments.push_str(arguments_delta);
            }
            ModelEvent::Opaque { provider, value } => {
                self.weigh(provider.len() + value.to_string().len())?;
                self.push(Part::Opaque {
                    provider: provider.clone(),
                    value: value.clone(),
                })?;
            }
            ModelEvent::Usage(usage) => self.usage.get_or_insert_default().update(usage),
            ModelEvent::Finish(reason) => self.finish_reason = Some(reason.clone()),
        }
        Ok(())
    }

    /// Nothing has come that a person could have seen.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn finish(self) -> ModelReply {
        let mut parts = self.parts;
        name_calls(&mut parts);
        for part in &mut parts {
            if let Part::ToolCall(call) = part
                && let Some(arguments) = without_halves(&call.arguments)
            {
                call.arguments = arguments;
            }
        }
        // Some servers never say why they stopped.
        let reason = self.finish_reason.unwrap_or(match self.calls.is_empty() {
            true => FinishReason::Stop,
            false => FinishReason::ToolCalls,
        });
        ModelReply {
            parts,
            usage: self.usage,
            finish_reason: reason,
            model: self.model,
            response_id: self.response_id,
        }
    }

    fn call(&mut self, index: u32) -> Result<&mut ToolCall, ModelError> {
        // The last one is the one that grows, nearly always.
        let known = self.calls.iter().rev().find(|(known, _)| *known == index);
        let at = match known {
            Some((_, at)) => *at,
            None => {
                if self.calls.len() >= MAX_TOOL_CALLS {
                    return Err(too_large(format!("more than {MAX_TOOL_CALLS} tool calls")));
                }
                self.push(Part::ToolCall(ToolCall {
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                }))?;
                self.calls.push((index, self.parts.len() - 1));
                self.parts.len() - 1
            }
        };
        match self.parts.get_mut(at) {
            Some(Part::ToolCall(call)) => Ok(call),
            _ => Err(ModelError::new(
                ModelErrorKind::Malformed,
                format!("the reply lost its tool call {index}"),
            )),
        }
    }

    fn push(&mut self, part: Part) -> Result<(), ModelError> {
        if self.parts.len() >= MAX_REPLY_PARTS {
            return Err(too_large(format!("more than {MAX_REPLY_PARTS} parts")));
        }
        self.parts.push(part);
        Ok(())
    }

    fn weigh(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes > MAX_REPLY_BYTES {
            true => Err(too_large(format!("more than {MAX_REPLY_BYTES} bytes"))),
            false => Ok(()),
        }
    }
}

fn too_large(what: String) -> ModelError {
    ModelError::new(
        ModelErrorKind::TooLarge,
        format!(
            "the reply has {what} and was stopped there; set `max_tokens` to keep replies short"
        ),
    )
}

/// Results are matched to calls by id, so every call needs one of its own.
fn name_calls(parts: &mut [Part]) {
    let mut taken: HashSet<String> = tool_calls(parts).map(|call| call.id.clone()).collect();
    let mut seen = HashSet::new();
    let calls = parts.iter_mut().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    });
    for (number, call) in (1..).zip(calls) {
        if call.id.is_empty() || seen.contains(&call.id) {
            let base = match call.id.as_str() {
                "" => "call".to_owned(),
                id => id.to_owned(),
            };
            call.id = (number..)
                .map(|n: usize| format!("{base}_{n}"))
                .find(|id| !taken.contains(id))
                .unwrap_or(base);
            taken.insert(call.id.clone());
        }
        seen.insert(call.id.clone());
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
