use super::*;
use crate::wire::WireFormat::Anthropic;
use crate::wire::pieces::{at_once, body, calls_of, events, sse, streamed};
use crate::{Message, ModelReply, ModelRequest, Part, ToolCall};

const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5-20250929","stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":100,"cache_read_input_tokens":1000,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"cities."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB/abc=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Em9w=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"char_location"}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather_now","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"Oslo\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"weather_now","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Rome\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: content_block_start
data: {"type":"content_block_start","index":5,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":5}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":0,"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}
"#;

fn blocks() -> Json {
    json!([
        {"type": "thinking", "thinking": "Two cities.", "signature": "EqQB/abc=="},
        {"type": "redacted_thinking", "data": "Em9w=="},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "weather_now", "input": {"city": "Oslo"}},
        {"type": "tool_use", "id": "toolu_2", "name": "weather_now", "input": {"city": "Rome"}},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    ])
}

fn whole() -> Json {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": blocks(), "stop_reason": "tool_use",
        "usage": {"input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000,
            "output_tokens": 89},
    })
}

fn read(data: &[Json]) -> ModelReply {
    let (reply, ended) = streamed(Anthropic, &events(data));
    ended.unwrap();
    reply
}

/// A stream of these events that ends as it should.
fn reply(data: &[Json]) -> ModelReply {
    let mut data = data.to_vec();
    data.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    data.push(json!({"type": "message_stop"}));
    read(&data)
}

#[test]
fn the_stream_and_the_whole_are_one_reply() {
    let (streamed, ended) = streamed(Anthropic, &sse(STREAM));
    ended.unwrap();
    let (at_once, ended) = at_once(Anthropic, &whole());
    ended.unwrap();
    assert_eq!(streamed, at_once);
    assert_eq!(streamed.model, "claude-sonnet-4-5-20250929");
    assert_eq!(streamed.response_id.as_deref(), Some("msg_1"));
    assert_eq!(streamed.finish_reason, FinishReason::ToolCalls);
    assert_eq!(streamed.text(), "Let me look.");
    assert_eq!(streamed.reasoning(), "Two cities.");
    assert_eq!(
        streamed.usage,
        Some(Usage {
            prompt_tokens: Some(1110),
            completion_tokens: Some(89),
            cached_tokens: Some(1000),
            ..Usage::default()
        })
    );
    let calls: Vec<&ToolCall> = streamed.tool_calls().collect();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].arguments, r#"{"city":"Rome"}"#);
}

#[test]
fn what_was_read_goes_back_as_it_came() {
    let (reply, _) = streamed(Anthropic, &sse(STREAM));
    let request = ModelRequest::new("m", vec![Message::user("hi"), reply.into_message()]);
    assert_eq!(
        body(Anthropic, &request)["messages"][1]["content"],
        blocks()
    );
}

#[test]
fn a_stream_cut_anywhere_tells_what_had_come() {
    let all = sse(STREAM);
    let (full, _) = streamed(Anthropic, &all);
    let stop = all
        .iter()
        .position(|event| event.event == "message_delta")
        .unwrap();
    for cut in 0..all.len() {
        let (reply, ended) = streamed(Anthropic, &all[..cut]);
        if cut > stop {
            ended.unwrap();
            assert_eq!(reply, full);
            continue;
        }
        assert_eq!(
            ended.unwrap_err().kind,
            ModelErrorKind::BrokenStream,
            "cut at {cut}"
        );
        assert!(full.text().starts_with(&reply.text()));
        // Nothing is made up: no thought without its whole signature, no arguments that nobody wrote.
        for (at, part) in reply.parts.iter().enumerate() {
            match (part, &full.parts[at]) {
                (Part::ToolCall(part), Part::ToolCall(full)) => {
                    assert!(
                        full.arguments.starts_with(&part.arguments),
                        "cut at {cut}: {part:?}"
                    );
                }
                (Part::Text { text: part }, Part::Text { text: full })
                | (Part::Reasoning { text: part }, Part::Reasoning { text: full }) => {
                    assert!(full.starts_with(part));
                }
                (part, full) => assert_eq!(part, full, "cut at {cut}"),
            }
        }
    }
}

#[test]
fn it_is_over_at_its_mark_and_not_before() {
    let all = sse(STREAM);
    let mut decoder = Anthropic.decoder();
    let mut out = Vec::new();
    for (number, event) in all.iter().enumerate() {
        assert!(!decoder.is_over(), "event {number}");
        decoder.event(event, &mut out).unwrap();
    }
    assert!(decoder.is_over());
    // What comes after it is nobody's.
    let count = out.len();
    decoder.event(&all[4], &mut out).unwrap();
    decoder.end(&mut out).unwrap();
    assert_eq!(out.len(), count);
}

#[test]
fn calls_come_in_many_ways() {
    let start = |index: Option<u64>, block: Json| {
        let mut event = json!({"type": "content_block_start", "content_block": block});
        if let Some(index) = index {
            event["index"] = json!(index);
        }
        event
    };
    let tool =
        |id: &str, input: Json| json!({"type": "tool_use", "id": id, "name": "t", "input": input});
    let piece = |index: Option<u64>, text: &str| {
        let delta = json!({"type": "input_json_delta", "partial_json": text});
        let mut event = json!({"type": "content_block_delta", "delta": delta});
        if let Some(index) = index {
            event["index"] = json!(index);
        }
        event
    };
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    type Calls = &'static [(&'static str, &'static str, &'static str)];
    let rows: Vec<(&str, Vec<Json>, Calls)> = vec![
        (
            "input at once",
            vec![start(Some(0), tool("1", json!({"a": 1}))), stop(0)],
            &[("1", "t", r#"{"a":1}"#)],
        ),
        (
            "input as text",
            vec![start(Some(0), tool("1", json!(r#"{"a": 1}"#))), stop(0)],
            &[("1", "t", r#"{"a": 1}"#)],
        ),
        (
            "no input",
            vec![
                start(Some(0), tool("1", json!({}))),
                piece(Some(0), ""),
                stop(0),
            ],
            &[("1", "t", "{}")],
        ),
        (
            "null input",
            vec![start(Some(0), tool("1", Json::Null)), stop(0)],
            &[("1", "t", "{}")],
        ),
        (
            "pieces count more than the beginning",
            vec![
                start(Some(0), tool("1", json!({"a": 1}))),
                piece(Some(0), "{}"),
                stop(0),
            ],
            &[("1", "t", "{}")],
        ),
        (
            "no stop",
            vec![start(Some(0), tool("1", json!({})))],
            &[("1", "t", "{}")],
        ),
        (
            "no index",
            vec![
                start(None, tool("1", json!({}))),
                piece(None, r#"{"a""#),
                piece(None, ":1}"),
                json!({"type": "content_block_stop"}),
                start(None, tool("2", json!({}))),
                piece(None, r#"{"b":2}"#),
            ],
            &[("1", "t", r#"{"a":1}"#), ("2", "t", r#"{"b":2}"#)],
        ),
        (
            "two blocks of one index",
            vec![
                start(Some(0), tool("1", json!({}))),
                start(Some(0), tool("2", json!({}))),
                piece(Some(0), "[]"),
            ],
            &[("1", "t", "{}"), ("2", "t", "[]")],
        ),
        (
            "the same id twice, and none",
            vec![
                start(Some(0), tool("1", json!({}))),
                stop(0),
                start(Some(1), tool("1", json!({}))),
                stop(1),
                start(Some(2), json!({"type": "tool_use", "name": "t"})),
                stop(2),
            ],
            &[("1", "t", "{}"), ("1_2", "t", "{}"), ("call_3", "t", "{}")],
        ),
        (
            "a piece without its beginning",
            vec![piece(Some(0), "{}")],
            &[("call_1", "", "{}")],
        ),
    ];
    for (about, data, expected) in rows {
        let reply = reply(&data);
        let calls = calls_of(&reply);
        assert_eq!(calls, expected, "{about}");
    }
}

#[test]
fn oddities_are_read() {
    let text = |text: &str| {
        json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": text}})
    };
    // Without its beginning; with a type that only the event names; with things nobody knows.
    assert_eq!(reply(&[text("hi")]).text(), "hi");
    let mut named = sse(
        "event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n",
    );
    named.extend(events(&[
        json!({"type": "new"}),
        json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
    ]));
    named.push(SseEvent {
        event: "".into(),
        data: "[DONE]".into(),
    });
    let (odd, ended) = streamed(Anthropic, &named);
    ended.unwrap();
    assert_eq!(
        (odd.text().as_str(), odd.finish_reason),
        ("hi", FinishReason::Length)
    );
    // A thought that nobody signed stays a plain one; one without words has its signature all the same.
    let start =
        |block: Json| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let stop = json!({"type": "content_block_stop", "index": 0});
    let plain = reply(&[
        start(json!({"type": "thinking", "thinking": "hm"})),
        stop.clone(),
    ]);
    assert_eq!(plain.parts, [Part::reasoning("hm")]);
    let unsigned = json!({"type": "thinking", "thinking": "hm", "signature": ""});
    assert_eq!(reply(&[start(unsigned), stop.clone()]).parts, plain.parts);
    let silent = json!({"type": "thinking", "thinking": "", "signature": "s"});
    let read = reply(&[start(silent.clone()), stop]);
    let kept = Part::Opaque {
        provider: "anthropic".into(),
        value: silent,
    };
    assert_eq!(read.parts, [kept]);
    // Empty replies, counts that gateways tell late, words of its own.
    assert_eq!(reply(&[]).parts, []);
    let late = read_usage(&[
        json!({"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 0}}}),
        json!({"type": "message_delta", "delta": {}, "usage": {"input_tokens": 9, "output_tokens": 2}}),
    ]);
    assert_eq!(
        (late.prompt_tokens, late.completion_tokens),
        (Some(9), Some(2))
    );
    let (paused, _) = at_once(
        Anthropic,
        &json!({"content": [], "error": null, "stop_reason": "pause_turn"}),
    );
    assert_eq!(
        paused.finish_reason,
        FinishReason::Other("pause_turn".into())
    );
}

fn read_usage(data: &[Json]) -> Usage {
    reply(data).usage.unwrap()
}

#[test]
fn failures_are_told() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let (arrived, ended) = streamed(
        Anthropic,
        &events(&[
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "be"}}),
            error.clone(),
        ]),
    );
    assert_eq!(ended.unwrap_err().kind, ModelErrorKind::ServerError);
    assert_eq!(arrived.text(), "be");
    assert_eq!(
        at_once(Anthropic, &error).1.unwrap_err().kind,
        ModelErrorKind::ServerError
    );
    let no_json = SseEvent {
        event: "".into(),
        data: "<html>".into(),
    };
    assert_eq!(
        streamed(Anthropic, &[no_json]).1.unwrap_err().kind,
        ModelErrorKind::Malformed
    );
    for body in [json!({}), json!([]), json!("hi"), json!({"choices": []})] {
        let (_, ended) = at_once(Anthropic, &body);
        assert_eq!(ended.unwrap_err().kind, ModelErrorKind::Malformed, "{body}");
    }
}

#[test]
fn what_is_held_back_is_bounded() {
    let mut decoder = Anthropic.decoder();
    let mut out = Vec::new();
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use"}});
    decoder.event(&events(&[start])[0], &mut out).unwrap();
    let delta =
        json!({"type": "input_json_delta", "partial_json": "x".repeat(MAX_REPLY_BYTES / 4)});
    let piece = &events(&[json!({"type": "content_block_delta", "index": 0, "delta": delta})])[0];
    let failed = (0..5).find_map(|_| decoder.event(piece, &mut out).err());
    assert_eq!(failed.unwrap().kind, ModelErrorKind::TooLarge);

    let mut decoder = Anthropic.decoder();
    let failed = (0..=MAX_REPLY_PARTS).find_map(|index| {
        let start =
            json!({"type": "content_block_start", "index": index, "content_block": {"type": "x"}});
        decoder.event(&events(&[start])[0], &mut out).err()
    });
    assert_eq!(failed.unwrap().kind, ModelErrorKind::TooLarge);
}

/// What an event means depends on the block, however often it meant the same before.
#[test]
fn words_for_a_block_that_is_closed_are_no_more_of_it() {
    let words = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}});
    let begin =
        |block: Json| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let data = [
        begin(json!({"type": "text", "text": ""})),
        words.clone(),
        words.clone(),
        json!({"type": "content_block_stop", "index": 0}),
        begin(json!({"type": "tool_use", "id": "t", "name": "n", "input": {}})),
        words.clone(),
        words,
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
    ];
    let (reply, ended) = streamed(Anthropic, &events(&data));
    ended.unwrap();
    assert_eq!(reply.text(), "aa");
    assert_eq!(calls_of(&reply), [("t", "n", "{}")]);
}
