//! One question to a model: what is asked, put together from a node's inputs, and the answer, whole and as it comes.

use futures_util::StreamExt;
use serde_json::{Map, Value as Json, json};

use crate::limits::{MAX_MODEL_CALLS, MAX_MODEL_REPLY_BYTES};
use crate::node::{NodeContext, Writer};
use crate::port::{MODEL_ROLE, Messages, ModelCall, PARTS_FIELD, PARTS_ROLE};
use crate::stream::{Chunk, ChunkKind};
use crate::{NodeError, Trace, Value};

/// Where the pieces of an answer go while they come.
#[derive(Default)]
pub(in crate::nodes) struct Live {
    pub(in crate::nodes) text: Option<Writer>,
    pub(in crate::nodes) reasoning: Option<Writer>,
    /// Otherwise the text comes in one piece, when it is whole.
    pub(in crate::nodes) in_pieces: bool,
}

/// What a model answered.
#[derive(Debug, Default)]
pub(in crate::nodes) struct Answer {
    pub(in crate::nodes) text: String,
    pub(in crate::nodes) reasoning: String,
    /// As OpenAI writes them.
    pub(in crate::nodes) tool_calls: Vec<Json>,
    pub(in crate::nodes) usage: Json,
    pub(in crate::nodes) finish_reason: Option<String>,
    pub(in crate::nodes) model: String,
    /// What only the provider can read goes back to it with this; nothing where there is nothing such.
    pub(in crate::nodes) parts: Json,
}

pub(in crate::nodes) async fn ask(
    context: &NodeContext,
    call: ModelCall,
    live: Live,
) -> Result<Answer, NodeError> {
    let models = context.models()?;
    if call.messages.is_empty() {
        let message = "there is nothing to ask: 'messages' is empty";
        return Err(NodeError::invalid("llm.no_messages", message));
    }
    let model = call.model.clone();
    context.trace(Trace::Thinking {
        model: model.clone(),
    });
    let cancel = context.cancel.child_token();
    // A node that ran out of time is dropped, and the request must not go on without it.
    let _stop = cancel.clone().drop_guard();
    let mut chunks = models.stream(call, cancel).await?;
    let mut taking = Taking {
        answer: Answer {
            model,
            ..Answer::default()
        },
        calls: Vec::new(),
        bytes: 0,
    };
    while let Some(chunk) = chunks.next().await {
        taking.take(chunk?, &live).await?;
    }
    let answer = taking.whole();
    if let (Some(writer), false) = (&live.text, live.in_pieces)
        && !answer.text.is_empty()
    {
        let pause = match answer.tool_calls.is_empty() {
            true => "",
            false => pause_after(&answer.text),
        };
        writer.text(format!("{}{pause}", answer.text)).await?;
    }
    Ok(answer)
}

/// What comes between words and a native call: whoever reads the stream of several turns sees where one ends.
fn pause_after(text: &str) -> &'static str {
    match text {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    }
}

struct Taking {
    answer: Answer,
    calls: Vec<Piece>,
    bytes: usize,
}

/// A native call, as far as it has come.
struct Piece {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Taking {
    async fn take(&mut self, chunk: Chunk, live: &Live) -> Result<(), NodeError> {
        let role = chunk.extra.as_ref().and_then(|extra| extra.get("role"));
        let role = role.and_then(Json::as_str).unwrap_or_default();
        if chunk.kind == ChunkKind::Custom && role == PARTS_ROLE {
            // It repeats what was counted already.
            self.answer.parts = chunk.content.into_json();
            return Ok(());
        }
        self.bytes += chunk.content.weight();
        if self.bytes > MAX_MODEL_REPLY_BYTES {
            let message =
                format!("the model's answer is longer than {MAX_MODEL_REPLY_BYTES} bytes");
            return Err(NodeError::invalid("llm.too_long", message));
        }
        match chunk.kind {
            ChunkKind::Text => {
                self.answer.text.push_str(&chunk.content.to_text());
                if let (Some(writer), true) = (&live.text, live.in_pieces) {
                    writer.send(chunk).await?;
                }
            }
            ChunkKind::Custom => {
                if role == MODEL_ROLE {
                    self.answer.model = chunk.content.to_text();
                }
                if role == "reasoning" {
                    let text = chunk.content.to_text();
                    self.answer.reasoning.push_str(&text);
                    if let Some(writer) = &live.reasoning {
                        writer.text(text).await?;
                    }
                }
            }
            ChunkKind::ToolCall => {
                let pause = pause_after(&self.answer.text);
                if let (Some(writer), true) = (&live.text, live.in_pieces)
                    && self.calls.is_empty()
                    && !pause.is_empty()
                {
                    writer.text(pause).await?;
                }
                self.take_call(chunk.content.as_json())?;
            }
            ChunkKind::Usage => self.answer.usage = chunk.content.into_json(),
            ChunkKind::FinishReason => {
                let reason = match chunk.content.as_json() {
                    Json::Object(map) => map.get("finish_reason").and_then(Json::as_str),
                    other => other.as_str(),
                };
                self.answer.finish_reason = reason.map(str::to_owned);
            }
            ChunkKind::Error => {
                let said = match chunk.content.as_json() {
                    Json::Object(map) => map.get("message").and_then(Json::as_str),
                    other => other.as_str(),
                };
                let message = format!(
                    "the model failed: {}",
                    said.unwrap_or("it does not say why")
                );
                return Err(NodeError::failed("model.request_failed", message));
            }
        }
        Ok(())
    }

    /// `{index, id?, name?, arguments?}`: the name comes whole, the arguments in pieces.
    fn take_call(&mut self, piece: &Json) -> Result<(), NodeError> {
        let number = piece.get("index").and_then(Json::as_u64);
        let number = number.unwrap_or(self.calls.len() as u64);
        let known = self.calls.iter().position(|call| call.index == number);
        let at = match known {
            Some(at) => at,
            None if self.calls.len() >= MAX_MODEL_CALLS => {
                let message =
                    format!("the model asks for more than {MAX_MODEL_CALLS} tools at once");
                return Err(NodeError::invalid("llm.too_many_calls", message));
            }
            None => {
                self.calls.push(Piece {
                    index: number,
                    id: String::new(),
                    name: String::new(),
                    arguments: String::new(),
                });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else {
            return Ok(());
        };
        let text = |key: &str| piece.get(key).and_then(Json::as_str);
        if let Some(id) = text("id") {
            call.id = id.to_owned();
        }
        if let Some(name) = text("name") {
            call.name = name.to_owned();
        }
        match piece.get("arguments") {
            Some(Json::String(part)) => call.arguments.push_str(part),
            Some(Json::Null) | None => {}
            Some(whole) => call.arguments = whole.to_string(),
        }
        Ok(())
    }

    fn whole(self) -> Answer {
        let mut answer = self.answer;
        let mut calls = self.calls;
        calls.sort_by_key(|call| call.index);
        let calls = calls.into_iter().map(|call| {
            // Whoever answers a call has to name it.
            let id = match call.id.is_empty() {
                true => format!("call_{}", call.index),
                false => call.id,
            };
            let arguments = match call.arguments.is_empty() {
                true => "{}".to_owned(),
                false => call.arguments,
            };
            json!({"id": id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        });
        answer.tool_calls = calls.collect();
        answer
    }
}

impl Answer {
    /// As it stands in a conversation.
    pub(in crate::nodes) fn message(&self) -> Json {
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.tool_calls.is_empty() {
            message["tool_calls"] = json!(self.tool_calls);
        }
        if !self.parts.is_null() {
            message[PARTS_FIELD] = self.parts.clone();
        }
        message
    }

    /// The form that nodes pass on: StandardResponse.
    pub(in crate::nodes) fn response(&self) -> Json {
        let message = self.message();
        let mut response = json!({
            "text": self.text,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
            "usage": self.usage,
            "tool_calls": self.tool_calls,
            "model": self.model,
            "finish_reason": self.finish_reason,
        });
        if let Some(cost) = self.usage.get("cost") {
            response["cost"] = cost.clone();
        }
        if !self.reasoning.is_empty() {
            response["reasoning"] = json!(self.reasoning);
        }
        response
    }

    pub(in crate::nodes) fn usage_object(&self) -> Map<String, Json> {
        self.usage.as_object().cloned().unwrap_or_default()
    }
}

/// The same as [`messages`], for whoever only hands them on: a list goes as it is.
pub(in crate::nodes) fn conversation(value: &Value, slot: &str) -> Result<Messages, NodeError> {
    match Messages::of(value.clone()) {
        Some(list) => {
            have_roles(&list, slot)?;
            Ok(list)
        }
        None => Ok(messages(value, slot)?.into()),
    }
}

/// Messages as nodes are given them: a list, one message, JSON text of either, or simply what the user says.
pub(in crate::nodes) fn messages(value: &Value, slot: &str) -> Result<Vec<Json>, NodeError> {
    let said = |text: &str| vec![json!({"role": "user", "content": text})];
    let json = match value.as_json() {
        Json::String(text) if text.trim().is_empty() => return Ok(Vec::new()),
        Json::String(text) => match serde_json::from_str::<Json>(text) {
            Ok(json) if json.is_array() || json.is_object() => json,
            _ => return Ok(said(text)),
        },
        other => other.clone(),
    };
    let list = match json {
        Json::Null => Vec::new(),
        Json::Array(list) => list,
        one => vec![one],
    };
    have_roles(&list, slot)?;
    Ok(list)
}

fn have_roles(list: &[Json], slot: &str) -> Result<(), NodeError> {
    for (number, message) in list.iter().enumerate() {
        let role = message.get("role").and_then(Json::as_str);
        if role.is_none_or(str::is_empty) {
            let message = format!(
                "message {} of '{slot}' has no role; each must be like {{\"role\": \"user\", \"content\": \"…\"}}",
                number + 1
            );
            return Err(NodeError::invalid("llm.message", message));
        }
    }
    Ok(())
}

/// An object, also where it came as JSON text.
pub(in crate::nodes) fn object_of(
    value: &Value,
    slot: &str,
) -> Result<Map<String, Json>, NodeError> {
    let bad = || {
        let message = format!("'{slot}' has to be an object, or JSON text of one");
        NodeError::invalid("llm.object", message)
    };
    match value.as_json() {
        Json::Null => Ok(Map::new()),
        Json::Object(map) => Ok(map.clone()),
        Json::String(text) if text.trim().is_empty() => Ok(Map::new()),
        Json::String(text) => match serde_json::from_str(text) {
            Ok(Json::Object(map)) => Ok(map),
            _ => Err(bad()),
        },
        _ => Err(bad()),
    }
}
