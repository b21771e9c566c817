//! Reads answers in tests as `http` does.

use serde_json::{Value as Json, json};

use super::super::quick::testing::both_ways;
use super::super::{Decoder, SseReader};
use super::Decode;
use crate::reply::Assembler;
use crate::{ModelError, ModelEvent, ModelReply, Part};

pub(super) fn decode(bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
    let (read, ended) = both_ways(|| {
        let mut out = Vec::new();
        let ended = decode_once(bytes, &mut out);
        (out, ended)
    });
    out.extend(read);
    ended
}

fn decode_once(bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
    let mut reader = SseReader::default();
    let mut decode = Decode::default();
    let mut rest = bytes;
    while let Some(event) = reader.next(&mut rest)? {
        decode.event(&event, out)?;
    }
    if let Some(event) = reader.finish() {
        decode.event(&event, out)?;
    }
    decode.end(out)
}

pub(super) fn assemble(events: &[ModelEvent]) -> ModelReply {
    let mut reply = Assembler::new("asked".into());
    events
        .iter()
        .try_for_each(|event| reply.add(event))
        .unwrap();
    reply.finish()
}

/// The bytes of a stream as they are.
pub(super) fn bytes(text: &str) -> Result<ModelReply, ModelError> {
    let mut out = Vec::new();
    decode(text.as_bytes(), &mut out).map(|()| assemble(&out))
}

/// A stream of these chunks, with its end.
pub(super) fn stream(chunks: &[Json]) -> Result<ModelReply, ModelError> {
    let chunks = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    bytes(
        &chunks
            .chain(["data: [DONE]\n\n".to_owned()])
            .collect::<String>(),
    )
}

pub(super) fn whole(answer: &Json) -> Result<ModelReply, ModelError> {
    let mut out = Vec::new();
    let mut decode = Decode::default();
    decode.whole(answer.to_string().as_bytes(), &mut out)?;
    assert!(decode.is_over());
    decode.end(&mut out)?;
    Ok(assemble(&out))
}

pub(super) fn delta(delta: Json) -> Json {
    json!({"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

pub(super) fn message(message: Json) -> Json {
    json!({"id": "r", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
}

pub(super) fn opaque(provider: &str, value: Json) -> Part {
    Part::Opaque {
        provider: provider.into(),
        value,
    }
}
