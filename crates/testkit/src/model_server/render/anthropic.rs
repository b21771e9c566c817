//! Anthropic's messages.

use serde_json::{Value as Json, json};

use super::{Events, error, merge};
use crate::model_server::request::Format;
use crate::model_server::say::{Count, Finish, Piece, PieceKind, Say};

pub(super) fn whole(say: &Say) -> Json {
    if let Some((status, message)) = &say.error {
        return error(Format::Anthropic, *status, message);
    }
    let blocks: Vec<Json> = say.pieces.iter().map(block).collect();
    let mut message = message(say, &blocks);
    if !say.quirks.no_finish {
        merge(&mut message, &json!({"stop_reason": word(say)}));
    }
    if let Some(count) = &say.usage {
        merge(&mut message, &usage(count, count.completion));
    }
    message
}

pub(super) fn stream(say: &Say) -> Vec<u8> {
    let mut events = Events::new(&say.quirks);
    let mut start = message(say, &[]);
    if let Some(count) = &say.usage {
        merge(&mut start, &usage(count, count.completion.min(1)));
    }
    send(&mut events, "message_start", json!({"message": start}));
    for (index, piece) in say.pieces.iter().enumerate() {
        let start = json!({"index": index, "content_block": empty(piece)});
        send(&mut events, "content_block_start", start);
        if index == 0 || say.quirks.pings {
            send(&mut events, "ping", json!({}));
        }
        for delta in deltas(piece) {
            let delta = json!({"index": index, "delta": delta});
            send(&mut events, "content_block_delta", delta);
        }
        send(&mut events, "content_block_stop", json!({"index": index}));
    }
    if let Some((status, message)) = &say.error {
        let data = error(Format::Anthropic, *status, message);
        events.event(Some("error"), &data.to_string());
        return events.finish();
    }
    if !say.quirks.no_finish {
        let delta = json!({"stop_reason": word(say), "stop_sequence": null});
        let mut data = json!({"delta": delta});
        if let Some(count) = &say.usage {
            let usage = json!({"output_tokens": count.completion});
            merge(&mut data, &json!({"usage": usage}));
        }
        send(&mut events, "message_delta", data);
    }
    if !say.quirks.no_done {
        send(&mut events, "message_stop", json!({}));
    }
    events.finish()
}

/// Every event says its name twice: on a line of its own and as `type`.
fn send(events: &mut Events<'_>, name: &str, fields: Json) {
    let mut data = json!({"type": name});
    merge(&mut data, &fields);
    events.event(Some(name), &data.to_string());
}

fn message(say: &Say, content: &[Json]) -> Json {
    json!({
        "id": say.id, "type": "message", "role": "assistant", "model": say.model, "content": content,
        "stop_reason": null, "stop_sequence": null,
    })
}

fn block(piece: &Piece) -> Json {
    let mut block = empty(piece);
    let whole = piece.whole();
    match &piece.kind {
        PieceKind::Text => merge(&mut block, &json!({"text": whole})),
        PieceKind::Reasoning => {
            let signature = piece.signature.as_deref().unwrap_or_default();
            merge(
                &mut block,
                &json!({"thinking": whole, "signature": signature}),
            );
        }
        PieceKind::Call { .. } => merge(&mut block, &json!({"input": piece.arguments()})),
        PieceKind::Opaque(_) => {}
    }
    block
}

/// The block as it starts.
fn empty(piece: &Piece) -> Json {
    let mut block = match &piece.kind {
        PieceKind::Text => json!({"type": "text", "text": ""}),
        PieceKind::Reasoning => json!({"type": "thinking", "thinking": "", "signature": ""}),
        PieceKind::Call { id, name } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": {}})
        }
        PieceKind::Opaque(block) => block.clone(),
    };
    merge(&mut block, &piece.fields.clone().into());
    block
}

fn deltas(piece: &Piece) -> Vec<Json> {
    let delta = |delta: &String| match &piece.kind {
        PieceKind::Text => json!({"type": "text_delta", "text": delta}),
        PieceKind::Reasoning => json!({"type": "thinking_delta", "thinking": delta}),
        PieceKind::Call { .. } => json!({"type": "input_json_delta", "partial_json": delta}),
        PieceKind::Opaque(_) => json!({"type": "text_delta", "text": delta}),
    };
    let mut deltas: Vec<Json> = piece.deltas.iter().map(delta).collect();
    match (&piece.kind, &piece.signature) {
        (PieceKind::Reasoning, Some(signature)) => {
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
        }
        (PieceKind::Call { .. }, _) => deltas.insert(0, delta(&String::new())),
        _ => {}
    }
    deltas
}

fn word(say: &Say) -> &str {
    match &say.finish {
        Some(Finish::Word(word)) => word,
        _ => match say.finish_or_default() {
            Finish::Length => "max_tokens",
            Finish::ToolCalls => "tool_use",
            Finish::Filter => "refusal",
            Finish::Stop | Finish::Word(_) => "end_turn",
        },
    }
}

/// What was read from the cache is not among the `input_tokens`.
fn usage(count: &Count, output: u64) -> Json {
    json!({"usage": {
        "input_tokens": count.prompt.saturating_sub(count.cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": count.cached,
        "output_tokens": output,
    }})
}
