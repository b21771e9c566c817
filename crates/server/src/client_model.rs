//! A model that a client brings: what is asked under `client/<name>` is asked of whoever offers that model over the socket. Its keys
//! never come here.

use innkeeper_models::{
    FinishReason, Message, Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest,
    ModelStream, Part, Usage, messages_from_chat, messages_to_chat,
};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use crate::clients::{CallFault, Clients};
use crate::limits::GENERATE_CALL_TIMEOUT;

/// How models of clients are named, before the `/`.
pub const CLIENT_MODELS: &str = "client";

pub(crate) struct ClientModel(pub(crate) Clients);

impl Model for ClientModel {
    fn id(&self) -> &str {
        CLIENT_MODELS
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let clients = self.0.clone();
        let name = request.model.clone();
        let events = async move {
            match generate(&clients, &request).await {
                Ok(events) => events.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            }
        };
        let events = futures_util::stream::once(events);
        let events = futures_util::StreamExt::flat_map(events, futures_util::stream::iter);
        ModelStream::new(name, cancel, events)
    }
}

async fn generate(
    clients: &Clients,
    request: &ModelRequest,
) -> Result<Vec<ModelEvent>, ModelError> {
    let asked = request.model.trim();
    let name = asked
        .strip_prefix(CLIENT_MODELS)
        .and_then(|rest| rest.strip_prefix(['/', ':']))
        .unwrap_or(asked);
    let Some(client) = clients.with_model(name) else {
        let there = clients.models();
        let known = match there.is_empty() {
            true => "no page that brings models is open".to_owned(),
            false => format!("those that are open bring {}", there.join(", ")),
        };
        let message = format!("no client brings the model '{name}': {known}");
        return Err(ModelError::new(ModelErrorKind::ServerError, message));
    };
    let params = match &request.raw {
        Some(raw) => json!({ "model": name, "payload": raw }),
        None => {
            let messages: Vec<Message> =
                request.messages.iter().map(|one| (**one).clone()).collect();
            json!({
                "model": name,
                "messages": messages_to_chat(&messages),
                "tools": request.tools,
                "toolChoice": request.tool_choice,
                "sampling": request.sampling,
                "extras": request.extras,
                "constraint": request.constraint,
            })
        }
    };
    let answer = client
        .call("model.generate", params, GENERATE_CALL_TIMEOUT)
        .await
        .map_err(|fault| {
            let kind = match fault {
                CallFault::TimedOut(_) => ModelErrorKind::Timeout,
                CallFault::Busy => ModelErrorKind::RateLimited,
                CallFault::Gone => ModelErrorKind::ServerError,
                CallFault::Refused(_) => ModelErrorKind::Refused,
            };
            ModelError::new(kind, fault.to_string())
        })?;
    read(name, &answer)
}

/// A chat completion, or `{text, reasoning?, toolCalls?: [{id, name, arguments}], usage?, finishReason?, model?}`.
fn read(name: &str, answer: &Json) -> Result<Vec<ModelEvent>, ModelError> {
    let malformed = |why: &str| {
        let message = format!("the client's answer for '{name}' cannot be read: {why}");
        ModelError::new(ModelErrorKind::Malformed, message)
    };
    let text = |name: &str| answer.get(name).and_then(Json::as_str);
    let mut events = vec![ModelEvent::Started {
        model: text("model").unwrap_or(name).to_owned(),
        response_id: text("id").map(str::to_owned),
    }];
    let finish = match answer.pointer("/choices/0") {
        Some(choice) => {
            let said = choice.get("message").cloned().unwrap_or_default();
            let messages = messages_from_chat(&json!([said]))
                .map_err(|error| malformed(&error.to_string()))?;
            let parts = messages.into_iter().flat_map(|message| message.parts);
            let mut calls = 0;
            for part in parts {
                events.extend(event_of(part, &mut calls));
            }
            choice.get("finish_reason").and_then(Json::as_str)
        }
        None => {
            let said = text("text");
            let calls = answer.get("toolCalls").and_then(Json::as_array);
            if said.is_none() && calls.is_none() {
                return Err(malformed("it has neither text nor toolCalls nor choices"));
            }
            let reasoning = text("reasoning").map(str::to_owned);
            events.extend(reasoning.map(ModelEvent::Reasoning));
            events.extend(said.map(|said| ModelEvent::Text(said.to_owned())));
            for (index, call) in (0..).zip(calls.into_iter().flatten()) {
                let arguments = match call.get("arguments") {
                    Some(Json::String(text)) => text.clone(),
                    Some(arguments) => arguments.to_string(),
                    None => "{}".to_owned(),
                };
                let word = |name: &str| call.get(name)?.as_str().map(str::to_owned);
                let tool = word("name").ok_or_else(|| malformed("a call has no name"))?;
                events.push(ModelEvent::ToolCall {
                    index,
                    id: word("id").or_else(|| Some(format!("call_{index}"))),
                    name: Some(tool),
                    arguments_delta: arguments,
                });
            }
            text("finishReason")
        }
    };
    let usage = answer.get("usage").filter(|usage| usage.is_object());
    if let Some(usage) = usage {
        let usage: Usage =
            serde_json::from_value(usage.clone()).map_err(|error| malformed(&error.to_string()))?;
        events.push(ModelEvent::Usage(usage));
    }
    events.push(ModelEvent::Finish(FinishReason::read(
        finish.unwrap_or("stop"),
    )));
    Ok(events)
}

fn event_of(part: Part, calls: &mut u32) -> Option<ModelEvent> {
    match part {
        Part::Text { text } => Some(ModelEvent::Text(text)),
        Part::Reasoning { text } => Some(ModelEvent::Reasoning(text)),
        Part::ToolCall(call) => {
            let index = *calls;
            *calls += 1;
            Some(ModelEvent::ToolCall {
                index,
                id: Some(call.id),
                name: Some(call.name),
                arguments_delta: call.arguments,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_answer_are_read() {
        let plain = json!({
            "text": "hi", "toolCalls": [{ "id": "a", "name": "dice", "arguments": { "n": 1 } }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 4 }, "finishReason": "tool_calls",
        });
        let call = json!({ "id": "a", "type": "function", "function": { "name": "dice", "arguments": "{\"n\":1}" } });
        let completion = json!({
            "choices": [{ "message": { "role": "assistant", "content": "hi", "tool_calls": [call] }, "finish_reason": "tool_calls" }],
            "usage": { "prompt_tokens": 3, "completion_tokens": 4 },
        });
        let read_plain = read("m", &plain).unwrap();
        assert_eq!(read_plain, read("m", &completion).unwrap());
        assert_eq!(read_plain.len(), 5);
        for bad in [
            json!({}),
            json!("hi"),
            json!({ "toolCalls": [{}] }),
            json!({ "choices": [{ "message": { "role": 3 } }] }),
        ] {
            let error = read("m", &bad).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Malformed, "{bad}");
        }
    }
}
