//! Chat completions.

use serde_json::{Value as Json, json};

use super::{Events, error, merge};
use crate::model_server::quirks::{Ids, UsageAt};
use crate::model_server::request::Format;
use crate::model_server::say::{Count, Finish, Piece, PieceKind, Say};

const CREATED: u64 = 1_750_000_000;
/// How aggregators call a thought that is no secret.
const THOUGHT: &str = "reasoning.text";

pub(super) fn whole(say: &Say) -> Json {
    if let Some((status, message)) = &say.error {
        return error(Format::OpenAi, *status, message);
    }
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    let mut details = Vec::new();
    let mut calls = Vec::new();
    for piece in &say.pieces {
        match &piece.kind {
            PieceKind::Text => append(&mut message, "content", &piece.whole()),
            PieceKind::Reasoning => {
                append(&mut message, say.quirks.reasoning_field, &piece.whole());
                details.extend(piece.signature.as_ref().map(|signature| {
                    json!({"type": THOUGHT, "text": piece.whole(), "signature": signature, "index": details.len()})
                }));
            }
            PieceKind::Call { .. } => {
                let arguments = match say.quirks.object_arguments {
                    true => piece.arguments(),
                    false => piece.whole().into(),
                };
                calls.push(call(say, piece, arguments));
            }
            PieceKind::Opaque(fields) => merge(&mut message, fields),
        }
        if !matches!(piece.kind, PieceKind::Call { .. }) {
            merge(&mut message, &piece.fields.clone().into());
        }
    }
    if calls.is_empty() {
        append(&mut message, "content", "");
    } else {
        merge(&mut message, &json!({"tool_calls": calls}));
    }
    if !details.is_empty() {
        merge(&mut message, &json!({"reasoning_details": details}));
    }
    let mut choice = json!({"index": 0, "message": message, "logprobs": null});
    if !say.quirks.no_finish {
        merge(&mut choice, &json!({"finish_reason": word(say)}));
    }
    let mut answer = json!({
        "id": say.id, "object": "chat.completion", "created": CREATED, "model": say.model, "choices": [choice],
    });
    if let (Some(count), true) = (&say.usage, say.quirks.usage != UsageAt::Nowhere) {
        merge(&mut answer, &json!({"usage": usage(count)}));
    }
    answer
}

pub(super) fn stream(say: &Say) -> Vec<u8> {
    let mut events = Events::new(&say.quirks);
    if say.quirks.empty_first {
        let mut first = chunk(say, None);
        merge(&mut first, &json!({"prompt_filter_results": []}));
        events.data(&first);
    }
    let role = json!({"role": "assistant", "content": ""});
    events.data(&chunk(say, Some((role, None))));
    for delta in deltas(say) {
        events.data(&chunk(say, Some((delta, None))));
    }
    if let Some((status, message)) = &say.error {
        events.data(&error(Format::OpenAi, *status, message));
        return events.finish();
    }
    if !say.quirks.no_finish {
        let mut last = chunk(say, Some((json!({}), Some(word(say)))));
        if let (Some(count), UsageAt::WithFinish) = (&say.usage, say.quirks.usage) {
            merge(&mut last, &json!({"usage": usage(count)}));
        }
        events.data(&last);
    }
    if let (Some(count), UsageAt::AsAsked | UsageAt::Last) = (&say.usage, say.quirks.usage) {
        let mut last = chunk(say, None);
        merge(&mut last, &json!({"usage": usage(count)}));
        events.data(&last);
    }
    if !say.quirks.no_done {
        events.event(None, "[DONE]");
    }
    events.finish()
}

fn chunk(say: &Say, choice: Option<(Json, Option<&str>)>) -> Json {
    let choices: Vec<Json> = choice
        .into_iter()
        .map(|(delta, finish)| {
            json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish})
        })
        .collect();
    let mut chunk = json!({
        "id": say.id, "object": "chat.completion.chunk", "created": CREATED, "model": say.model, "choices": choices,
    });
    match (&say.usage, say.quirks.usage) {
        (Some(count), UsageAt::Everywhere) => merge(&mut chunk, &json!({"usage": usage(count)})),
        (Some(_), UsageAt::AsAsked | UsageAt::Last) => merge(&mut chunk, &json!({"usage": null})),
        _ => {}
    }
    chunk
}

/// The `delta` objects between the first, which says the role, and the last.
fn deltas(say: &Say) -> Vec<Json> {
    let mut deltas = Vec::new();
    let mut calls: Vec<Vec<Json>> = Vec::new();
    let mut signed = 0;
    for piece in &say.pieces {
        let before = deltas.len();
        match &piece.kind {
            PieceKind::Text => {
                deltas.extend(piece.deltas.iter().map(|delta| json!({"content": delta})));
            }
            PieceKind::Reasoning => {
                deltas.extend(thoughts(say, piece, signed));
                signed += usize::from(piece.signature.is_some());
            }
            PieceKind::Call { .. } => {
                calls.push(fragments(say, piece, calls.len()));
                if !say.quirks.interleaved {
                    deltas.extend(calls.iter_mut().flat_map(|call| call.drain(..)));
                }
                continue;
            }
            PieceKind::Opaque(fields) => deltas.push(fields.clone()),
        }
        if let (true, Some(last)) = (deltas.len() > before, deltas.last_mut()) {
            merge(last, &piece.fields.clone().into());
        }
    }
    let mut calls: Vec<_> = calls.into_iter().map(Vec::into_iter).collect();
    loop {
        let round: Vec<Json> = calls.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            return deltas;
        }
        deltas.extend(round);
    }
}

fn fragments(say: &Say, piece: &Piece, index: usize) -> Vec<Json> {
    let quirks = &say.quirks;
    let in_delta = |mut fragment: Json| {
        if !quirks.no_index {
            let mut numbered = json!({"index": index});
            merge(&mut numbered, &fragment);
            fragment = numbered;
        }
        json!({"tool_calls": [fragment]})
    };
    if quirks.object_arguments {
        return vec![in_delta(call(say, piece, piece.arguments()))];
    }
    let first = call(say, piece, "".into());
    let rest = piece.deltas.iter().map(|delta| match quirks.ids {
        Ids::Repeated => call(say, piece, delta.as_str().into()),
        _ => json!({"function": {"arguments": delta}}),
    });
    std::iter::once(first).chain(rest).map(in_delta).collect()
}

fn call(say: &Say, piece: &Piece, arguments: Json) -> Json {
    let PieceKind::Call { id, name } = &piece.kind else {
        return Json::Null;
    };
    let mut call = json!({});
    if let Some(id) = say.wire_id(id) {
        merge(&mut call, &json!({"id": id}));
    }
    let function = json!({"name": name, "arguments": arguments});
    merge(
        &mut call,
        &json!({"type": "function", "function": function}),
    );
    if let Some(signature) = &piece.signature {
        let extra = json!({"google": {"thought_signature": signature}});
        merge(&mut call, &json!({"extra_content": extra}));
    }
    merge(&mut call, &piece.fields.clone().into());
    call
}

/// A signed thought comes twice: in its field, and as the details in which aggregators hand signatures on.
fn thoughts(say: &Say, piece: &Piece, index: usize) -> Vec<Json> {
    let mut deltas = Vec::new();
    for text in &piece.deltas {
        let mut delta = json!({say.quirks.reasoning_field: text});
        if piece.signature.is_some() {
            let detail = json!({"type": THOUGHT, "text": text, "index": index});
            merge(&mut delta, &json!({"reasoning_details": [detail]}));
        }
        deltas.push(delta);
    }
    if let Some(signature) = &piece.signature {
        let detail = json!({"type": THOUGHT, "signature": signature, "index": index});
        deltas.push(json!({"reasoning_details": [detail]}));
    }
    deltas
}

fn append(message: &mut Json, field: &str, text: &str) {
    let before = message.get(field).and_then(Json::as_str);
    let all = format!("{}{text}", before.unwrap_or_default());
    merge(message, &json!({field: all}));
}

fn word(say: &Say) -> &str {
    match &say.finish {
        Some(Finish::Word(word)) => word,
        _ => match say.finish_or_default() {
            Finish::Length => "length",
            Finish::ToolCalls => "tool_calls",
            Finish::Filter => "content_filter",
            Finish::Stop | Finish::Word(_) => "stop",
        },
    }
}

fn usage(count: &Count) -> Json {
    json!({
        "prompt_tokens": count.prompt,
        "completion_tokens": count.completion,
        "total_tokens": count.prompt + count.completion,
        "prompt_tokens_details": {"cached_tokens": count.cached},
        "completion_tokens_details": {"reasoning_tokens": count.reasoning},
    })
}
