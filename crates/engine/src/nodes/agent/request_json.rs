//! A call on its way along an edge: JSON that says everything the request says, and the way back.
//!
//! `tool` and `parameters` are what people and other nodes read and may change; `arguments` beside them keeps what a
//! plain object cannot: hints, references, and how a value was written.

use std::borrow::Cow;

use innkeeper_protocol::{
    Argument, Node, OnError, Protocol, Provider, Source, Span, Text, ToolCallRequest, Tree,
    TypeHint, Value,
};
use serde_json::{Map, Value as Json, json};

use crate::NodeError;
use crate::limits::MAX_CALL_DEPTH;

/// A call, and the number of the block that it stands in: what fails stops the rest of its block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) call: ToolCallRequest<'static>,
    pub(super) block: u64,
}

impl Request {
    pub(super) fn to_json(&self) -> Json {
        let call = &self.call;
        let mut json = json!({
            "tool": call.tool,
            "parameters": call.params(),
            "protocol": call.protocol.as_str(),
            "step": call.index,
            "block": self.block,
            "onError": call.on_error,
            "retry": call.retry,
            "span": call.span,
            "arguments": call.arguments.iter().map(argument_json).collect::<Vec<_>>(),
        });
        if let Protocol::Native(provider) = call.protocol {
            json["provider"] = provider.as_str().into();
        }
        if let Some(id) = &call.call_id {
            json["callId"] = id.as_ref().into();
        }
        if let Some(id) = &call.request_id {
            json["requestId"] = id.as_ref().into();
        }
        if !call.modifiers.is_empty() {
            json["modifiers"] = call.modifiers.iter().map(argument_json).collect();
        }
        json
    }

    /// Takes also what a person or another node wrote: a tool and its parameters are enough.
    pub(super) fn from_json(json: &Json) -> Result<Self, NodeError> {
        let bad =
            |what: &str| NodeError::invalid("tool_call.malformed", format!("a tool call {what}"));
        let text = |key: &str| json.get(key).and_then(Json::as_str);
        let tool = text("tool").or_else(|| text("name")).map(str::trim);
        let tool = tool.filter(|tool| !tool.is_empty());
        let tool = tool.ok_or_else(|| {
            bad("names no tool; it must be like {\"tool\": \"…\", \"parameters\": {…}}")
        })?;
        let mut call = ToolCallRequest::new(protocol(json), tool.to_owned());
        call.call_id = text("callId").map(|id| Cow::Owned(id.to_owned()));
        call.request_id = text("requestId").map(|id| Cow::Owned(id.to_owned()));
        let number = |key: &str| json.get(key).and_then(Json::as_u64);
        call.index = number("step")
            .and_then(|step| step.try_into().ok())
            .unwrap_or(1);
        call.retry = number("retry")
            .and_then(|times| times.try_into().ok())
            .unwrap_or(0);
        if let Some(word) = text("onError") {
            call.on_error = OnError::read(word)
                .ok_or_else(|| bad("has an onError that is neither stop nor continue"))?;
        }
        call.span = span(json);
        for (key, list) in [
            ("arguments", &mut call.arguments),
            ("modifiers", &mut call.modifiers),
        ] {
            for one in json.get(key).and_then(Json::as_array).into_iter().flatten() {
                list.push(argument(one).ok_or_else(|| bad("has an argument that cannot be read"))?);
            }
        }
        let written = match (json.get("parameters"), json.get("arguments")) {
            (Some(Json::Object(map)), _) | (None, Some(Json::Object(map))) => Some(map),
            (None | Some(Json::Null), _) => None,
            (Some(_), _) => return Err(bad("has parameters that are no object")),
        };
        if let Some(map) = written
            && call.params() != *map
        {
            // Somebody changed them on the way: what people read is what counts.
            call.arguments
                .retain(|argument| argument.source == Source::Uri);
            let exact = map.iter().map(|(name, value)| {
                Argument::exact(name.clone(), Value::Json(value.clone()), Span::default())
            });
            call.arguments.extend(exact);
        }
        Ok(Self {
            call,
            block: number("block").unwrap_or_default(),
        })
    }
}

fn protocol(json: &Json) -> Protocol {
    let text = |key: &str| json.get(key).and_then(Json::as_str);
    match text("protocol") {
        Some("tam") => Protocol::Tam,
        Some("action") => Protocol::Action,
        Some("tool-call") => Protocol::ToolCall,
        _ => Protocol::Native(match text("provider") {
            Some("anthropic") => Provider::Anthropic,
            Some("gemini") => Provider::Gemini,
            _ => Provider::OpenAi,
        }),
    }
}

fn span(json: &Json) -> Span {
    let at = |index: usize| {
        let number = json.get("span")?.get(index)?.as_u64()?;
        usize::try_from(number).ok()
    };
    Span::new(at(0).unwrap_or_default(), at(1).unwrap_or_default())
}

fn argument_json(argument: &Argument<'_>) -> Json {
    let mut json = Map::new();
    json.insert("name".into(), argument.name.as_ref().into());
    if argument.written != argument.name {
        json.insert("written".into(), argument.written.as_ref().into());
    }
    if argument.source == Source::Uri {
        json.insert("source".into(), "uri".into());
    }
    if let Some(hint) = argument.hint {
        json.insert("hint".into(), hint.as_str().into());
    }
    if argument.shared {
        json.insert("shared".into(), true.into());
    }
    if argument.span != Span::default() {
        json.insert("span".into(), json!(argument.span));
    }
    match &argument.value {
        // Without the layout of the block that it stood in.
        Value::Text(text) => json.insert("text".into(), text.verbatim().as_ref().into()),
        Value::Tree(tree) => json.insert("tree".into(), tree_json(tree)),
        Value::Json(value) => json.insert("json".into(), value.clone()),
    };
    json.into()
}

fn argument(json: &Json) -> Option<Argument<'static>> {
    let text = |key: &str| json.get(key).and_then(Json::as_str);
    let name = text("name")?.to_owned();
    let value = match (text("text"), json.get("tree"), json.get("json")) {
        // Between line breaks it is read back as it was, whatever blanks it begins and ends with.
        (Some(text), _, _) => Value::Text(Text::new(format!("\n{text}\n"), "")),
        (None, Some(tree), _) => Value::Tree(read_tree(tree, 0)?),
        (None, None, value) => Value::Json(value.cloned().unwrap_or_default()),
    };
    let hint = match text("hint") {
        Some(hint) => Some(TypeHint::read(hint)?),
        None => None,
    };
    Some(Argument {
        written: text("written").unwrap_or(&name).to_owned().into(),
        name: name.into(),
        source: match text("source") {
            Some("uri") => Source::Uri,
            _ => Source::Inline,
        },
        value,
        hint,
        shared: json.get("shared").and_then(Json::as_bool) == Some(true),
        span: span(json),
    })
}

fn tree_json(tree: &Tree<'_>) -> Json {
    let mut json = json!({"inner": tree.inner});
    match &tree.node {
        Node::Text(text) => json["text"] = text.as_ref().into(),
        Node::Array(items) => json["items"] = items.iter().map(tree_json).collect(),
        Node::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, tree)| json!([name, tree_json(tree)]));
            json["fields"] = fields.collect();
        }
    }
    json
}

fn read_tree(json: &Json, depth: usize) -> Option<Tree<'static>> {
    if depth > MAX_CALL_DEPTH {
        return None;
    }
    let list = |key: &str| json.get(key).and_then(Json::as_array);
    let node = if let Some(text) = json.get("text").and_then(Json::as_str) {
        Node::Text(text.to_owned().into())
    } else if let Some(items) = list("items") {
        let items = items.iter().map(|item| read_tree(item, depth + 1));
        Node::Array(items.collect::<Option<_>>()?)
    } else {
        let fields = list("fields")?.iter().map(|field| {
            let name = field.get(0)?.as_str()?.to_owned();
            Some((Cow::Owned(name), read_tree(field.get(1)?, depth + 1)?))
        });
        Node::Object(fields.collect::<Option<_>>()?)
    };
    let inner = json.get("inner").and_then(Json::as_str);
    Some(Tree {
        node,
        inner: inner.unwrap_or_default().to_owned().into(),
    })
}

#[cfg(test)]
#[path = "request_json_tests.rs"]
mod tests;
