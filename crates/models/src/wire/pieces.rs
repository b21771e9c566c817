//! For tests: answers put together from events, and conversations that every format must carry.

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::quick::testing::both_ways;
use super::{SseEvent, WireFormat};
use crate::reply::Assembler;
use crate::{
    Image, Message, ModelError, ModelEvent, ModelReply, ModelRequest, Part, Role, ToolCall,
    ToolResult,
};

/// The events of a stream as it is written; enough for streams that are well made.
pub(super) fn sse(text: &str) -> Vec<SseEvent<'static>> {
    let field = |line: &str, name: &str| Some(line.strip_prefix(name)?.trim_start().to_owned());
    text.split("\n\n")
        .filter(|event| !event.trim().is_empty())
        .map(|event| SseEvent {
            event: event
                .lines()
                .find_map(|line| field(line, "event:"))
                .unwrap_or_default()
                .into(),
            data: event
                .lines()
                .find_map(|line| field(line, "data:"))
                .unwrap_or_default()
                .into(),
        })
        .collect()
}

/// Events with this data, which names its own type.
pub(super) fn events(data: &[Json]) -> Vec<SseEvent<'static>> {
    data.iter()
        .map(|data| SseEvent {
            event: "".into(),
            data: data.to_string().into(),
        })
        .collect()
}

/// What a whole stream makes, and how it ended.
pub(super) fn streamed(
    format: WireFormat,
    events: &[SseEvent<'_>],
) -> (ModelReply, Result<(), ModelError>) {
    let (out, ended) = both_ways(|| {
        let mut decoder = format.decoder();
        let mut out = Vec::new();
        let read = events
            .iter()
            .try_for_each(|event| decoder.event(event, &mut out));
        let ended = read.and_then(|()| decoder.end(&mut out));
        (out, ended)
    });
    (assemble(&out), ended)
}

pub(super) fn at_once(format: WireFormat, body: &Json) -> (ModelReply, Result<(), ModelError>) {
    let mut decoder = format.decoder();
    let mut out = Vec::new();
    let read = decoder.whole(body.to_string().as_bytes(), &mut out);
    let ended = read.and_then(|()| decoder.end(&mut out));
    (assemble(&out), ended)
}

pub(super) fn assemble(events: &[ModelEvent]) -> ModelReply {
    let mut assembler = Assembler::new("asked".into());
    for event in events {
        assembler.add(event).unwrap();
    }
    assembler.finish()
}

pub(super) fn body(format: WireFormat, request: &ModelRequest) -> Json {
    let request = format
        .encode(request, &crate::provider::Quirks::default())
        .unwrap();
    serde_json::from_slice(&request.body).unwrap()
}

pub(super) fn message(role: Role, parts: Vec<Part>) -> Message {
    Message {
        role,
        name: None,
        parts,
    }
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    })
}

pub(super) fn result(id: &str, content: &str, is_error: bool) -> Part {
    Part::ToolResult(ToolResult {
        call_id: id.into(),
        name: None,
        content: content.into(),
        is_error,
    })
}

pub(super) fn opaque(provider: &str, value: Json) -> Part {
    Part::Opaque {
        provider: provider.into(),
        value,
    }
}

pub(super) fn shown(url: &str) -> Part {
    Part::Image(Image {
        url: url.into(),
        detail: None,
    })
}

/// Id, name and arguments of each call.
pub(super) fn calls_of(reply: &ModelReply) -> Vec<(&str, &str, &str)> {
    let calls = reply.tool_calls();
    calls
        .map(|call| (&*call.id, &*call.name, &*call.arguments))
        .collect()
}

/// Any JSON, in which words of the formats are frequent.
pub(super) fn any_json() -> impl Strategy<Value = Json> {
    let word = prop::sample::select(vec![
        "type",
        "index",
        "delta",
        "content_block",
        "message",
        "usage",
        "error",
        "text",
        "thinking",
        "signature",
        "input",
        "partial_json",
        "id",
        "name",
        "stop_reason",
        "content",
        "candidates",
        "parts",
        "functionCall",
        "args",
        "thoughtSignature",
        "thought",
        "finishReason",
        "usageMetadata",
        "promptFeedback",
        "blockReason",
        "properties",
        "required",
        "items",
        "anyOf",
        "allOf",
        "$ref",
        "$defs",
        "enum",
        "const",
        "part",
        "tail",
        "object",
        "array",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "tool_use",
        "text_delta",
        "input_json_delta",
        "thinking_delta",
        "STOP",
        "#/$defs/a",
        "a",
        "é",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        (0_u64..4).prop_map(Json::from),
        word.clone().prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec((word.clone(), inner), 0..6).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Json::Object(fields.collect::<Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    /// Nothing that a provider says makes us panic, and what was read can be sent back.
    #[test]
    fn no_answer_is_too_odd(data in prop::collection::vec(any_json(), 0..8)) {
        for format in [WireFormat::Anthropic, WireFormat::Gemini] {
            let (streamed, _) = streamed(format, &events(&data));
            let (whole, _) = at_once(format, &json!(data));
            let _ = at_once(format, data.first().unwrap_or(&Json::Null));
            let messages = vec![streamed.into_message(), whole.into_message()];
            body(format, &ModelRequest::new("gemini-3-pro", messages));
        }
    }

    #[test]
    fn no_request_is_too_odd(
        schema in any_json(), value in any_json(), text in ".{0,12}", ids in prop::collection::vec("[a.]{0,2}", 0..6),
        roles in prop::collection::vec(0_usize..5, 0..8),
    ) {
        let all = [Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool];
        let parts = |number: usize| {
            let id = |n: usize| ids.get(n % ids.len().max(1)).cloned().unwrap_or_default();
            vec![
                Part::text(&text),
                opaque("anthropic", value.clone()),
                opaque("gemini", value.clone()),
                call(&id(number), &text, &text),
                result(&id(number + 1), &text, number.is_multiple_of(2)),
                Part::reasoning(&text),
                opaque("gemini", json!({"thoughtSignature": text, "tail": number})),
            ]
        };
        let messages = roles.iter().enumerate().map(|(number, role)| message(all[*role], parts(number)));
        let mut request = ModelRequest::new("gemini-3-pro", messages.collect());
        request.tools.push(crate::ToolSpec { name: "t".into(), description: String::new(), parameters: schema.clone().into() });
        request.constraint = Some(crate::Constraint::Json(schema));
        for format in [WireFormat::Anthropic, WireFormat::Gemini] {
            if format.encode(&request, &crate::provider::Quirks::default()).is_err() {
                // An open object, which it cannot be held to.
                prop_assert_eq!(format, WireFormat::Anthropic);
                let held = request.constraint.take();
                prop_assert!(held.is_some());
            }
            let body = body(format, &request);
            let turns = body.get("messages").or(body.get("contents")).and_then(Json::as_array).unwrap();
            // The two sides take turns, and the user begins.
            for (number, turn) in turns.iter().enumerate() {
                prop_assert_eq!(turn["role"] == "user", number.is_multiple_of(2), "{}", body);
            }
        }
    }
}
