use serde_json::json;

use super::super::test_reading::{delta, message, opaque, stream, whole};
use super::*;
use crate::Part;

#[test]
fn blocks_that_go_back_are_put_together_as_they_were() {
    let details = |list: Json| delta(json!({"reasoning_details": list}));
    let kept = |chunks: &[Json]| {
        let reply = stream(chunks).unwrap();
        match reply.parts.last() {
            Some(Part::Opaque { provider, value }) if provider == "openai.message" => value.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        kept(&[
            details(
                json!([{"type": "reasoning.text", "text": "Let ", "signature": null, "format": "f", "index": 0}])
            ),
            details(json!([{"type": "reasoning.text", "text": "me", "index": 0}])),
            details(json!([{"type": "reasoning.text", "signature": "sig", "index": 0}])),
            details(json!([{"type": "reasoning.text", "text": "", "signature": "", "index": 0}])),
            details(json!([
                {"type": "reasoning.encrypted", "data": "AA", "id": "x", "index": 0},
                {"type": "reasoning.summary", "summary": "s", "index": 1},
            ])),
            details(json!([{"type": "reasoning.encrypted", "data": "BB", "id": "x", "index": 0}])),
            details(json!([{"type": "reasoning.encrypted", "data": "CC", "id": "y", "index": 0}])),
            details(json!([{"type": "reasoning.summary", "summary": "um", "index": 1}])),
        ]),
        json!({"reasoning_details": [
            {"type": "reasoning.text", "text": "Let me", "signature": "sig", "format": "f", "index": 0},
            {"type": "reasoning.encrypted", "data": "AABB", "id": "x", "index": 0},
            {"type": "reasoning.summary", "summary": "sum", "index": 1},
            {"type": "reasoning.encrypted", "data": "CC", "id": "y", "index": 0},
        ]})
    );
    let blocks = |list: Json| delta(json!({"thinking_blocks": list}));
    assert_eq!(
        kept(&[
            blocks(json!([{"type": "thinking", "thinking": "a", "signature": ""}])),
            blocks(json!([{"type": "thinking", "thinking": "b"}])),
            blocks(json!([{"type": "thinking", "thinking": "", "signature": "s"}])),
            blocks(json!([{"type": "thinking", "thinking": "c"}])),
            blocks(json!([{"type": "redacted_thinking", "data": "AA"}])),
            blocks(json!([{"type": "redacted_thinking", "data": "BB"}, 5])),
        ]),
        json!({"thinking_blocks": [
            {"type": "thinking", "thinking": "ab", "signature": "s"},
            {"type": "thinking", "thinking": "c"},
            {"type": "redacted_thinking", "data": "AA"},
            {"type": "redacted_thinking", "data": "BB"},
            5,
        ]})
    );
    // Whole ones are not touched, however alike they are.
    let twins = json!([{"type": "reasoning.text", "text": "a", "index": 0}, {"type": "reasoning.text", "text": "b", "index": 0}]);
    let reply = whole(&message(
        json!({"content": "x", "reasoning_details": twins}),
    ))
    .unwrap();
    assert_eq!(
        reply.parts[2],
        opaque("openai.message", json!({"reasoning_details": twins}))
    );
}

#[test]
fn blocks_that_go_back_are_bounded() {
    let many = |count: usize| {
        let list: Vec<_> = (0..count).map(|index| json!({"index": index})).collect();
        let said = json!({"reasoning_details": list});
        (stream(&[delta(said.clone())]), whole(&message(said)))
    };
    let (pieces, at_once) = many(MAX_REASONING_DETAILS);
    assert!(pieces.is_ok() && at_once.is_ok());
    let (pieces, at_once) = many(MAX_REASONING_DETAILS + 1);
    assert_eq!(pieces.unwrap_err().kind, ModelErrorKind::TooLarge);
    assert_eq!(at_once.unwrap_err().kind, ModelErrorKind::TooLarge);
    let half = delta(
        json!({"reasoning_details": [{"index": 0, "data": "x".repeat(MAX_REPLY_BYTES / 2)}]}),
    );
    let error = stream(&[half.clone(), half]).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::TooLarge);
}
