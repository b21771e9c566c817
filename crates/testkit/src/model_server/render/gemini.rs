//! Gemini's `generateContent`.

use serde_json::{Value as Json, json};

use super::{Events, error, merge};
use crate::model_server::request::Format;
use crate::model_server::say::{Count, Finish, Piece, PieceKind, Say};

pub(super) fn whole(say: &Say) -> Json {
    if let Some((status, message)) = &say.error {
        return error(Format::Gemini, *status, message);
    }
    let parts = |piece| parts(say, piece, &[Piece::whole(piece)]);
    answer(say, say.pieces.iter().flat_map(parts).collect(), true)
}

pub(super) fn stream(say: &Say) -> Vec<u8> {
    let mut events = Events::new(&say.quirks);
    for chunk in chunks(say) {
        events.data(&chunk);
    }
    events.finish()
}

/// One for each part; the last says why it ended.
pub(super) fn chunks(say: &Say) -> Vec<Json> {
    let deltas = |piece| parts(say, piece, &piece.deltas);
    let parts: Vec<Json> = say.pieces.iter().flat_map(deltas).collect();
    let fails = say.error.is_some();
    let last = parts.len().saturating_sub(1);
    let chunk = |(at, part)| answer(say, vec![part], at == last && !fails);
    let mut chunks: Vec<Json> = parts.into_iter().enumerate().map(chunk).collect();
    if let Some((status, message)) = &say.error {
        chunks.push(error(Format::Gemini, *status, message));
    } else if chunks.is_empty() {
        chunks.push(answer(say, Vec::new(), true));
    }
    chunks
}

fn answer(say: &Say, parts: Vec<Json>, last: bool) -> Json {
    let content = match parts.is_empty() {
        true => json!({"role": "model"}),
        false => json!({"parts": parts, "role": "model"}),
    };
    let mut candidate = json!({"content": content});
    if last && !say.quirks.no_finish {
        merge(&mut candidate, &json!({"finishReason": word(say)}));
    }
    merge(&mut candidate, &json!({"index": 0}));
    let mut answer = json!({"candidates": [candidate]});
    if let Some(count) = &say.usage {
        merge(&mut answer, &json!({"usageMetadata": usage(count, last)}));
    }
    let by = json!({"modelVersion": say.model, "responseId": say.id});
    merge(&mut answer, &by);
    answer
}

/// A part for each delta; the signature is on the last. Calls are never cut.
fn parts(say: &Say, piece: &Piece, deltas: &[String]) -> Vec<Json> {
    let mut parts: Vec<Json> = match &piece.kind {
        PieceKind::Text => deltas.iter().map(|text| json!({"text": text})).collect(),
        PieceKind::Reasoning => {
            let thought = |text| json!({"text": text, "thought": true});
            deltas.iter().map(thought).collect()
        }
        PieceKind::Call { id, name } => {
            let mut call = json!({"name": name, "args": piece.arguments()});
            if let Some(id) = say.wire_id(id) {
                merge(&mut call, &json!({"id": id}));
            }
            vec![json!({"functionCall": call})]
        }
        PieceKind::Opaque(part) => vec![part.clone()],
    };
    if say.quirks.signatures_apart && piece.signature.is_some() {
        parts.push(json!({"text": ""}));
    }
    if let Some(last) = parts.last_mut() {
        if let Some(signature) = &piece.signature {
            merge(last, &json!({"thoughtSignature": signature}));
        }
        merge(last, &piece.fields.clone().into());
    }
    parts
}

/// Calls are no reason of their own here.
fn word(say: &Say) -> &str {
    match &say.finish {
        Some(Finish::Word(word)) => word,
        Some(Finish::Length) => "MAX_TOKENS",
        Some(Finish::Filter) => "SAFETY",
        Some(Finish::Stop | Finish::ToolCalls) | None => "STOP",
    }
}

/// Thoughts are not among the candidates' tokens. What was said is counted only at the end.
fn usage(count: &Count, last: bool) -> Json {
    let mut usage = json!({"promptTokenCount": count.prompt});
    if last {
        let said =
            json!({"candidatesTokenCount": count.completion.saturating_sub(count.reasoning)});
        merge(&mut usage, &said);
    }
    let completion = if last { count.completion } else { 0 };
    let total = json!({"totalTokenCount": count.prompt + completion});
    merge(&mut usage, &total);
    if count.cached > 0 {
        merge(
            &mut usage,
            &json!({"cachedContentTokenCount": count.cached}),
        );
    }
    if last && count.reasoning > 0 {
        merge(&mut usage, &json!({"thoughtsTokenCount": count.reasoning}));
    }
    usage
}
