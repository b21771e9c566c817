//! Native tool calls in the shapes of OpenAI, Anthropic and Gemini: whole responses, single messages, or the
//! bare list of calls. What a response says in words is parsed too, and its text calls come first.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::notes::{Notes, quote};
use super::parse;
use crate::limits::MAX_CALLS;
use crate::{
    Argument, Block, Code, Protocol, Provider, Reply, Source, Span, ToolCallRequest, Value,
};

/// Reads a provider's response. `None` if it has none of the known shapes.
pub fn parse_response(response: &Json) -> Option<Reply<'static>> {
    let found = Found::in_response(response)?;
    let text = found.text.join("\n");
    let mut reply = parse(&text).into_owned();
    if let Some(block) = found.block(&mut reply) {
        reply.blocks.push(block);
    }
    Some(reply)
}

/// Adds the native calls of a response to what was parsed from its text. A call that stands in both is kept
/// once, as text.
pub fn add_native_calls(reply: &mut Reply<'_>, response: &Json) {
    if let Some(block) = Found::in_response(response).and_then(|found| found.block(reply)) {
        reply.blocks.push(block);
    }
}

struct Found<'j> {
    provider: Provider,
    calls: Vec<RawCall<'j>>,
    text: Vec<&'j str>,
}

/// A call in whichever shape, taken apart.
struct RawCall<'j> {
    id: Option<&'j str>,
    name: Option<&'j str>,
    arguments: Option<&'j Json>,
}

impl<'j> Found<'j> {
    fn in_response(json: &'j Json) -> Option<Self> {
        Self::openai(json)
            .or_else(|| Self::anthropic(json))
            .or_else(|| Self::gemini(json))
    }

    fn openai(json: &'j Json) -> Option<Self> {
        let mut found = Self::new(Provider::OpenAi);
        if let Some(output) = json.get("output").and_then(Json::as_array) {
            found.openai_items(output);
            return found.known(output.is_empty());
        }
        if let Some(choices) = json.get("choices").and_then(Json::as_array) {
            for choice in choices.iter().take(1) {
                let message = choice
                    .get("message")
                    .or_else(|| choice.get("delta"))
                    .unwrap_or(choice);
                found.openai_message(message);
                if let Some(text) = choice.get("text").and_then(Json::as_str) {
                    found.text.push(text);
                }
            }
            return Some(found);
        }
        if let Some(list) = json.as_array() {
            let chat = |item: &Json| item.get("function").is_some();
            let item = |item: &Json| item.get("type").is_some_and(|kind| kind == "function_call");
            if !list.is_empty() && list.iter().all(|entry| chat(entry) || item(entry)) {
                found.openai_items(list);
                return Some(found);
            }
            return None;
        }
        let has_calls = json.get("tool_calls").is_some_and(Json::is_array)
            || json.get("function_call").is_some_and(Json::is_object);
        let single = json.get("function").is_some_and(Json::is_object);
        if single {
            found.openai_items(std::slice::from_ref(json));
        } else if has_calls {
            found.openai_message(json);
        }
        (has_calls || single).then_some(found)
    }

    fn openai_message(&mut self, message: &'j Json) {
        self.content(message.get("content").or_else(|| message.get("text")));
        if let Some(calls) = message.get("tool_calls").and_then(Json::as_array) {
            self.openai_items(calls);
        } else if let Some(call) = message.get("function_call") {
            self.calls.push(RawCall {
                id: None,
                name: text_at(call, "name"),
                arguments: call.get("arguments"),
            });
        }
    }

    fn openai_items(&mut self, items: &'j [Json]) {
        for item in items {
            if item.get("type").is_some_and(|kind| kind == "message") {
                self.content(item.get("content"));
                continue;
            }
            let function = item.get("function").or_else(|| item.get("custom"));
            let kind = item.get("type").and_then(Json::as_str);
            if function.is_none() && !matches!(kind, Some("function_call" | "custom_tool_call")) {
                continue;
            }
            let source = function.unwrap_or(item);
            self.calls.push(RawCall {
                id: text_at(item, "call_id").or_else(|| text_at(item, "id")),
                name: text_at(source, "name"),
                arguments: source.get("arguments").or_else(|| source.get("input")),
            });
        }
    }

    fn anthropic(json: &'j Json) -> Option<Self> {
        let content = json.get("content").unwrap_or(json);
        let parts = match content.as_array() {
            Some(parts) => parts.as_slice(),
            None => std::slice::from_ref(content),
        };
        let is_use = |part: &Json| {
            part.get("type")
                .is_some_and(|kind| kind == "tool_use" || kind == "server_tool_use")
        };
        let is_message =
            json.get("role").is_some() && json.get("content").is_some_and(Json::is_array);
        if !parts.iter().any(is_use) && !is_message {
            return None;
        }
        let mut found = Self::new(Provider::Anthropic);
        found.content(Some(content).filter(|content| content.is_array()));
        for part in parts.iter().filter(|part| is_use(part)) {
            found.calls.push(RawCall {
                id: text_at(part, "id"),
                name: text_at(part, "name"),
                arguments: part.get("input"),
            });
        }
        Some(found)
    }

    fn gemini(json: &'j Json) -> Option<Self> {
        let content = json
            .get("candidates")
            .and_then(|candidates| candidates.get(0))
            .map(|candidate| candidate.get("content").unwrap_or(candidate))
            .unwrap_or(json);
        let parts = content.get("parts").unwrap_or(content);
        let parts = match parts.as_array() {
            Some(parts) => parts.as_slice(),
            None => std::slice::from_ref(parts),
        };
        fn call(part: &Json) -> Option<&Json> {
            part.get("functionCall")
                .or_else(|| part.get("function_call"))
        }
        if json.get("candidates").is_none() && !parts.iter().any(|part| call(part).is_some()) {
            return None;
        }
        let mut found = Self::new(Provider::Gemini);
        for part in parts {
            if let Some(call) = call(part) {
                found.calls.push(RawCall {
                    id: text_at(call, "id"),
                    name: text_at(call, "name"),
                    arguments: call.get("args"),
                });
            } else if part.get("thought").is_none_or(|thought| thought == false)
                && let Some(text) = text_at(part, "text")
            {
                found.text.push(text);
            }
        }
        Some(found)
    }

    fn new(provider: Provider) -> Self {
        Self {
            provider,
            calls: Vec::new(),
            text: Vec::new(),
        }
    }

    fn known(self, empty: bool) -> Option<Self> {
        (empty || !self.calls.is_empty() || !self.text.is_empty()).then_some(self)
    }

    /// Text, or a list of parts of which the textual ones count.
    fn content(&mut self, content: Option<&'j Json>) {
        match content {
            Some(Json::String(text)) => self.text.push(text),
            Some(Json::Array(parts)) => {
                for part in parts {
                    let kind = part.get("type").and_then(Json::as_str).unwrap_or("text");
                    if matches!(kind, "text" | "output_text")
                        && let Some(text) = text_at(part, "text")
                    {
                        self.text.push(text);
                    }
                }
            }
            _ => {}
        }
    }

    fn block(self, reply: &mut Reply<'_>) -> Option<Block<'static>> {
        if self.calls.is_empty() {
            return None;
        }
        let protocol = Protocol::Native(self.provider);
        let mut notes = Notes::default();
        if self.calls.len() > MAX_CALLS {
            notes.add_with(Code::TooManyCalls, Span::default(), || {
                format!("The reply has more than {MAX_CALLS} calls; send fewer at a time.")
            });
        }
        let said: HashSet<String> = reply.calls().map(fingerprint).collect();
        let mut calls = Vec::new();
        for (index, raw) in (1..).zip(self.calls.iter().take(MAX_CALLS)) {
            let Some(mut call) = raw.read(protocol, &mut notes) else {
                continue;
            };
            call.index = index;
            if said.contains(&fingerprint(&call)) {
                notes.add_with(Code::RepeatedNativeCall, Span::default(), || {
                    format!(
                        "'{}' was called in the text and natively; it runs once.",
                        quote(&call.tool)
                    )
                });
                continue;
            }
            calls.push(call);
        }
        if !reply.blocks.is_empty() && !calls.is_empty() {
            notes.add(
                Code::MixedProtocolsUsed,
                Span::default(),
                "The reply calls tools in its text and natively; text calls run first.",
            );
        }
        if calls.is_empty() && !notes.has_errors() {
            reply.diagnostics.extend(notes.finish());
            return None;
        }
        Some(Block {
            protocol,
            request_id: None,
            comments: Vec::new(),
            keys: Vec::new(),
            calls,
            diagnostics: notes.finish(),
            span: Span::default(),
        })
    }
}

/// The tool and its arguments, alike for a call that was written as text and one that came natively: text holds
/// `5` where JSON may hold a number.
fn fingerprint(call: &ToolCallRequest<'_>) -> String {
    let mut arguments: Vec<String> = call
        .arguments
        .iter()
        .map(|argument| {
            let by = match argument.source {
                Source::Inline => "=",
                Source::Uri => "@",
            };
            format!("{}{by}{}", argument.name, plain(&argument.to_json()))
        })
        .collect();
    arguments.sort_unstable();
    format!("{}\0{}", call.tool, arguments.join("\0"))
}

/// A value as text would write it, scalars without quotes.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => match serde_json::from_str::<Json>(text) {
            Ok(inner @ (Json::Object(_) | Json::Array(_))) => plain(&inner),
            _ => text.clone(),
        },
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(","))
        }
        Json::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", plain(value)))
                .collect();
            fields.sort_unstable();
            format!("{{{}}}", fields.join(","))
        }
        scalar => scalar.to_string(),
    }
}

fn text_at<'j>(json: &'j Json, key: &str) -> Option<&'j str> {
    json.get(key).and_then(Json::as_str)
}

impl RawCall<'_> {
    fn read(&self, protocol: Protocol, notes: &mut Notes) -> Option<ToolCallRequest<'static>> {
        let span = Span::default();
        let Some(name) = self.name.map(str::trim).filter(|name| !name.is_empty()) else {
            notes.add(
                Code::MissingTool,
                span,
                "A tool call of the response has no name.",
            );
            return None;
        };
        let mut call = ToolCallRequest::new(protocol, Cow::Owned(name.to_owned()));
        call.call_id = self.id.map(|id| Cow::Owned(id.to_owned()));
        call.arguments = arguments(name, self.arguments, notes, span)
            .into_iter()
            .map(|(name, value)| Argument::exact(name, Value::Json(value), span))
            .collect();
        Some(call)
    }
}

/// Arguments as an object, or as text that holds one.
fn arguments(tool: &str, json: Option<&Json>, notes: &mut Notes, span: Span) -> Map<String, Json> {
    let mut complain = |what: String| {
        notes.add_with(Code::InvalidJson, span, || {
            format!(
                "The arguments of '{}' {what}; send one JSON object.",
                quote(tool)
            )
        });
        Map::new()
    };
    match json {
        None | Some(Json::Null) => Map::new(),
        Some(Json::Object(map)) => map.clone(),
        Some(Json::String(text)) if text.trim().is_empty() => Map::new(),
        Some(Json::String(text)) => match serde_json::from_str(text) {
            Ok(Json::Object(map)) => map,
            Ok(Json::Null) => Map::new(),
            Ok(_) => complain(format!("are no object: {}", quote(text))),
            Err(error) => complain(format!("cannot be read as JSON: {error}")),
        },
        Some(other) => complain(format!("are no object: {}", quote(&other.to_string()))),
    }
}

/// `{"name": …, "arguments": …}` with the other names that local models use.
pub(super) fn loose_call<'t>(
    json: &Json,
    protocol: Protocol,
    notes: &mut Notes,
    span: Span,
) -> Option<ToolCallRequest<'t>> {
    let source = json
        .get("function")
        .filter(|function| function.is_object())
        .unwrap_or(json);
    let name = ["name", "tool", "tool_name", "function", "toolName"]
        .into_iter()
        .find_map(|key| text_at(source, key));
    let arguments_json = ["arguments", "parameters", "args", "input", "params"]
        .into_iter()
        .find_map(|key| source.get(key));
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else {
        notes.add(
            Code::MissingTool,
            span,
            "The JSON names no tool; write {\"name\": \"ToolID\", \"arguments\": {…}}.",
        );
        return None;
    };
    let mut call = ToolCallRequest::new(protocol, Cow::Owned(name.to_owned()));
    call.call_id = text_at(json, "id").map(|id| Cow::Owned(id.to_owned()));
    call.arguments = arguments(name, arguments_json, notes, span)
        .into_iter()
        .map(|(name, value)| Argument::exact(name, Value::Json(value), span))
        .collect();
    Some(call)
}
