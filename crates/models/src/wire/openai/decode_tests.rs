use proptest::prelude::*;
use serde_json::json;

use super::super::test_reading::{assemble, bytes, decode, delta, message, opaque, stream, whole};
use super::*;
use crate::{ModelErrorKind, Part};

#[test]
fn what_is_said_and_thought_is_read_in_every_form() {
    let table = [
        (json!({"content": "a"}), vec![Part::text("a")]),
        (json!({"content": null, "role": "assistant"}), vec![]),
        (json!({"content": ""}), vec![]),
        (json!({}), vec![]),
        (
            json!({"content": 5, "tool_calls": 7, "refusal": []}),
            vec![],
        ),
        (
            json!({"content": {"type": "text", "text": "a"}}),
            vec![Part::text("a")],
        ),
        (
            json!({"content": ["a", {"type": "text", "text": "b"}, {"text": ""}, null]}),
            vec![Part::text("ab")],
        ),
        (
            json!({"content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "thinking", "thinking": "m"},
                {"type": "text", "text": "a"},
                {"type": "reference", "ids": [1]},
            ]}),
            vec![
                Part::reasoning("hmm"),
                Part::text("a"),
                opaque("openai", json!({"type": "reference", "ids": [1]})),
            ],
        ),
        (
            json!({"reasoning_content": "hm", "content": "a"}),
            vec![Part::reasoning("hm"), Part::text("a")],
        ),
        (
            json!({"reasoning": "hm", "reasoning_content": "hm", "content": ""}),
            vec![Part::reasoning("hm")],
        ),
        (
            json!({"reasoning": "hm", "reasoning_content": null}),
            vec![Part::reasoning("hm")],
        ),
        (
            json!({"content": "<think>x</think>y"}),
            vec![Part::text("<think>x</think>y")],
        ),
        (
            json!({"reasoning": null, "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]}),
            vec![
                Part::reasoning("hm"),
                opaque(
                    "openai.message",
                    json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]}),
                ),
            ],
        ),
    ];
    for (said, wanted) in table {
        assert_eq!(
            stream(&[delta(said.clone())]).unwrap().parts,
            wanted,
            "{said}"
        );
        assert_eq!(
            whole(&message(said.clone())).unwrap().parts,
            wanted,
            "{said}"
        );
    }
}

#[test]
fn a_refusal_is_said_and_is_no_regular_end() {
    let refused = stream(&[
        delta(json!({"refusal": "I "})),
        delta(json!({"refusal": "cannot"})),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
    ])
    .unwrap();
    assert_eq!(
        refused,
        whole(&message(json!({"content": null, "refusal": "I cannot"}))).unwrap()
    );
    assert_eq!(refused.text(), "I cannot");
    assert_eq!(refused.finish_reason, FinishReason::ContentFilter);
}

#[test]
fn who_answers_is_told_once() {
    let started = |chunks: &[Json]| {
        let text: String = chunks
            .iter()
            .map(|chunk| format!("data: {chunk}\n\n"))
            .collect();
        let mut out = Vec::new();
        decode(format!("{text}data: [DONE]").as_bytes(), &mut out).unwrap();
        let told: Vec<_> = out
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Started { model, response_id } => {
                    Some((model.clone(), response_id.clone()))
                }
                _ => None,
            })
            .collect();
        assert!(
            told.len() <= 1 && (told.is_empty() || matches!(out[0], ModelEvent::Started { .. }))
        );
        told.into_iter().next()
    };
    let say = |model: Json, id: Json| json!({"model": model, "id": id, "choices": [{"delta": {"content": "a"}}]});
    let before = json!({"id": "", "model": "", "choices": [], "prompt_filter_results": []});
    let id = Some("r".to_owned());
    assert_eq!(
        started(&[
            before,
            say(json!("m"), json!("r")),
            say(json!("n"), json!("s"))
        ]),
        Some(("m".into(), id.clone()))
    );
    assert_eq!(
        started(&[say(json!(null), json!("r"))]),
        Some((String::new(), id))
    );
    assert_eq!(
        started(&[json!({"choices": [{"delta": {}}]})]),
        Some((String::new(), None))
    );
    assert_eq!(started(&[]), None);
}

#[test]
fn only_the_first_of_several_answers_counts() {
    let chunks = [
        json!({"choices": [{"index": 1, "delta": {"content": "x"}, "finish_reason": "length"}]}),
        json!({"choices": [{"index": 1, "delta": {"content": "x"}}, {"index": 0, "delta": {"content": "a"}}]}),
        json!({"choices": [null, {"delta": {"content": "b"}}]}),
    ];
    assert_eq!(stream(&chunks).unwrap().text(), "ab");
    let answer = json!({"choices": [{"index": 1, "message": {"content": "x"}}, {"index": 0, "message": {"content": "a"}}]});
    assert_eq!(whole(&answer).unwrap().text(), "a");
}

#[test]
fn a_whole_message_in_a_stream_counts_where_no_pieces_came() {
    let message = message(json!({"content": "ab"}));
    assert_eq!(stream(std::slice::from_ref(&message)).unwrap().text(), "ab");
    let pieces = [
        delta(json!({"content": "a"})),
        delta(json!({"content": "b"})),
        message,
    ];
    assert_eq!(stream(&pieces).unwrap().text(), "ab");
}

#[test]
fn the_end_is_known_by_its_mark_or_its_reason() {
    let said = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let reason = |reason: &str| {
        format!("{said}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":{reason}}}]}}\n\n")
    };
    let table = [
        (format!("{said}data: [DONE]\n\n"), Some(FinishReason::Stop)),
        (format!("{said}data:  [DONE] "), Some(FinishReason::Stop)),
        (reason("\"length\""), Some(FinishReason::Length)),
        (
            reason("\"eos\"") + "data: [DONE]\n\n",
            Some(FinishReason::Other("eos".into())),
        ),
        (
            reason("\"\"") + "data: [DONE]\n\n",
            Some(FinishReason::Stop),
        ),
        (reason("\"\""), None),
        (reason("null"), None),
        (said.to_owned(), None),
        (String::new(), None),
        // Cut off in the middle of an event.
        (format!("{said}data: {{\"choices\":[{{\"del"), None),
        (
            reason("\"stop\"") + "data: {\"usage\":",
            Some(FinishReason::Stop),
        ),
        // What comes after the mark is not read any more.
        (
            format!("{said}data: [DONE]\n\ndata: {{no json\n\n"),
            Some(FinishReason::Stop),
        ),
        ("data: [DONE]\n\n".to_owned(), Some(FinishReason::Stop)),
    ];
    for (text, wanted) in table {
        match (bytes(&text), wanted) {
            (Ok(reply), Some(reason)) => assert_eq!(reply.finish_reason, reason, "{text}"),
            (Err(error), None) => {
                assert_eq!(error.kind, ModelErrorKind::BrokenStream, "{text}");
                assert!(
                    error
                        .message
                        .starts_with("the reply stopped before its end"),
                    "{error}"
                );
            }
            (got, wanted) => panic!("{text}: {got:?} but {wanted:?}"),
        }
    }
}

#[test]
fn parts_that_come_after_the_reason_still_count() {
    let reply = stream(&[
        json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}),
        delta(json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "e"}]})),
    ])
    .unwrap();
    assert_eq!(reply.parts.len(), 2);
    assert_eq!(reply.finish_reason, FinishReason::Stop);
}

#[test]
fn a_broken_reply_keeps_what_had_come() {
    let mut out = Vec::new();
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"tool_calls\":[{\"id\":\"c\",\
                \"function\":{\"name\":\"x\"}}]}}]}\n\n";
    assert!(decode(text.as_bytes(), &mut out).is_err());
    let reply = assemble(&out);
    assert_eq!(reply.text(), "a");
    assert_eq!(reply.tool_calls().next().unwrap().name, "x");
}

#[test]
fn what_cannot_be_read_is_named_and_what_means_nothing_is_passed_over() {
    let said = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    for nonsense in [
        "{no json",
        "hello",
        "5",
        "\"text\"",
        "[]",
        "{\"a\":1}}",
        "{\"choices\":[{\n\ndata: {}",
    ] {
        let error = bytes(&format!("{said}data: {nonsense}\n\ndata: [DONE]\n\n")).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Malformed, "{nonsense}");
        assert!(
            error.message.starts_with("event 2 of the reply "),
            "{error}"
        );
        assert!(!error.message.contains("hello"), "{error}");
    }
    for nothing in [
        "data:\n\n",
        "data: \n\n",
        "data\n\n",
        "data: null\n\n",
        "data: {}\n\n",
        ": keep-alive\n\n",
        "event: ping\ndata: now\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "id: 5\nretry: 7\n\n",
        "data: {\"choices\": null}\n\n",
        "data: {\"choices\":[{\"delta\":null}]}\n\n",
        "data: {\"error\":null,\"choices\":[]}\n\n",
        "data: {\"choices\":[{\"text\":\"older\"}]}\n\n",
    ] {
        let reply = bytes(&format!("{nothing}{said}{nothing}data: [DONE]\n\n")).unwrap();
        assert_eq!(reply.parts, [Part::text("a")], "{nothing}");
    }
}

#[test]
fn whole_answers_that_are_none_are_named() {
    let table: &[(&[u8], ModelErrorKind, &str)] = &[
        (b"", ModelErrorKind::Malformed, "is empty"),
        (b"  ", ModelErrorKind::Malformed, "is empty"),
        (b"<html>", ModelErrorKind::Malformed, "is a web page"),
        (b"hello", ModelErrorKind::Malformed, "is no JSON"),
        (b"5", ModelErrorKind::Malformed, "is no JSON object"),
        (b"{}", ModelErrorKind::Malformed, "has no `choices`"),
        (
            b"{\"choices\":[]}",
            ModelErrorKind::Malformed,
            "has no `choices`",
        ),
        (
            b"{\"choices\":[{\"mess",
            ModelErrorKind::BrokenStream,
            "before its end",
        ),
    ];
    for (body, kind, wanted) in table {
        let error = Decode::default().whole(body, &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind, *kind, "{error}");
        assert!(error.message.contains(wanted), "{error}");
    }
    let mut out = Vec::new();
    let odd = b"\xEF\xBB\xBF {\"choices\":[{\"message\":{\"content\":\"a\xFFb\"}}]} ";
    Decode::default().whole(odd, &mut out).unwrap();
    assert_eq!(assemble(&out).text(), "a\u{FFFD}b");
}

fn any_json() -> impl Strategy<Value = Json> {
    let word = prop::sample::select(vec![
        "",
        "a",
        "{",
        "{}",
        "stop",
        "error",
        "text",
        "reasoning.text",
        "function",
        "[DONE]",
    ]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        (0..3_u64).prop_map(Json::from),
        word.prop_map(Json::from),
    ];
    let name = prop::sample::select(vec![
        "choices",
        "delta",
        "message",
        "content",
        "tool_calls",
        "function",
        "function_call",
        "name",
        "arguments",
        "id",
        "index",
        "type",
        "text",
        "thinking",
        "reasoning_details",
        "thinking_blocks",
        "reasoning",
        "extra_content",
        "usage",
        "prompt_tokens",
        "prompt_tokens_details",
        "cost",
        "timings",
        "finish_reason",
        "error",
        "code",
        "data",
        "signature",
        "model",
        "refusal",
    ]);
    leaf.prop_recursive(6, 48, 4, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            3 => prop::collection::vec((name.clone(), inner), 0..4)
                .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_it_fall_over(said in prop::collection::vec(any_json(), 0..4), raw in any_json()) {
        let _ = whole(&raw);
        let _ = stream(std::slice::from_ref(&raw));
        for said in &said {
            let _ = whole(&message(said.clone()));
        }
        let deltas: Vec<_> = said.into_iter().map(delta).collect();
        let _ = stream(&deltas);
    }

    #[test]
    fn no_bytes_make_it_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes, &mut Vec::new());
        let _ = Decode::default().whole(&bytes, &mut Vec::new());
        let mut named = b"data: ".to_vec();
        named.extend(&bytes);
        let _ = decode(&named, &mut Vec::new());
    }
}
