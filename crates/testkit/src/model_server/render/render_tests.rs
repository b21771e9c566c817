//! The bytes of each format, written out by hand where they are the contract.

use super::*;
use crate::model_server::{Count, Finish, Ids, UsageAt};

fn rich() -> Say {
    Say::deltas(["Hé", "llo"])
        .reasoning("hm")
        .signature("s1")
        .call_fragments("c1", "dice.roll", [r#"{"n":"#, "2}"])
        .signature("s2")
        .call("c2", "now", json!({}))
        .count(Count {
            prompt: 10,
            completion: 7,
            cached: 4,
            reasoning: 2,
        })
        .model("m")
        .id("r1")
}

fn text(format: Format, say: &Say) -> String {
    String::from_utf8(render(format, Delivery::Stream, say)).expect("UTF-8")
}

/// The data of each event, `[DONE]` as a text.
fn events(format: Format, say: &Say) -> Vec<Json> {
    let text = text(format, say);
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| json!(data.trim())))
        .collect()
}

fn whole(format: Format, say: &Say) -> Json {
    serde_json::from_slice(&render(format, Delivery::Whole, say)).expect("JSON")
}

fn deltas(say: &Say) -> Vec<Json> {
    let events = events(Format::OpenAi, say);
    let choices = events
        .iter()
        .filter_map(|event| event.pointer("/choices/0"));
    choices.map(|choice| choice["delta"].clone()).collect()
}

fn calls(say: &Say) -> Vec<Json> {
    let deltas = deltas(say);
    let calls = deltas
        .iter()
        .filter_map(|delta| delta.pointer("/tool_calls/0"));
    calls.cloned().collect()
}

#[test]
fn chat_completions_in_pieces() {
    let quirks = Quirks {
        usage: UsageAt::Last,
        ..Quirks::default()
    };
    let say = rich().quirks(quirks);
    let expected = [
        json!({"role": "assistant", "content": ""}),
        json!({"reasoning_content": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}]}),
        json!({"reasoning_details": [{"type": "reasoning.text", "signature": "s1", "index": 0}]}),
        json!({"content": "Hé"}),
        json!({"content": "llo"}),
        json!({"tool_calls": [{
            "index": 0, "id": "c1", "type": "function", "function": {"name": "dice.roll", "arguments": ""},
            "extra_content": {"google": {"thought_signature": "s2"}},
        }]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"n\":"}}]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": "2}"}}]}),
        json!({"tool_calls": [{"index": 1, "id": "c2", "type": "function", "function": {"name": "now", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}),
        json!({}),
    ];
    assert_eq!(deltas(&say), expected);
    let events = events(Format::OpenAi, &say);
    let [.., finish, usage, done] = events.as_slice() else {
        panic!("too few events: {events:?}");
    };
    assert_eq!(finish["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(usage["usage"]["total_tokens"], 17);
    assert_eq!(usage["usage"]["prompt_tokens_details"]["cached_tokens"], 4);
    assert_eq!(done, "[DONE]");
}

#[test]
fn chat_completions_whole() {
    let answer = whole(Format::OpenAi, &rich());
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], "Héllo");
    assert_eq!(choice["message"]["reasoning_content"], "hm");
    assert_eq!(choice["message"]["reasoning_details"][0]["signature"], "s1");
    let calls = &choice["message"]["tool_calls"];
    assert_eq!(calls[0]["function"]["arguments"], r#"{"n":2}"#);
    assert_eq!(calls[1]["id"], "c2");
    assert_eq!(
        (&answer["id"], &answer["model"]),
        (&json!("r1"), &json!("m"))
    );
    let empty = whole(Format::OpenAi, &Say::nothing());
    assert_eq!(empty["choices"][0]["message"]["content"], "");
    assert_eq!(empty.get("usage"), None);
}

#[test]
fn messages_in_pieces() {
    let expected = r#"event: message_start
data: {"type":"message_start","message":{"id":"r1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s1"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"dice.roll","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"n\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"2}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

"#;
    let mut say = rich();
    say.pieces.remove(1);
    say.pieces.remove(2);
    assert_eq!(text(Format::Anthropic, &say), expected);
}

#[test]
fn messages_whole() {
    let answer = whole(Format::Anthropic, &rich().opaque(json!({"type": "odd"})));
    let expected = json!([
        {"type": "thinking", "thinking": "hm", "signature": "s1"},
        {"type": "text", "text": "Héllo"},
        {"type": "tool_use", "id": "c1", "name": "dice.roll", "input": {"n": 2}},
        {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
        {"type": "odd"},
    ]);
    assert_eq!(answer["content"], expected);
    assert_eq!(answer["stop_reason"], "tool_use");
    assert_eq!(answer["usage"]["output_tokens"], 7);
}

#[test]
fn generate_content_in_pieces_as_a_list_and_whole() {
    let parts = [
        json!({"text": "hm", "thought": true, "thoughtSignature": "s1"}),
        json!({"text": "Hé"}),
        json!({"text": "llo"}),
        json!({"functionCall": {"name": "dice.roll", "args": {"n": 2}, "id": "c1"}, "thoughtSignature": "s2"}),
        json!({"functionCall": {"name": "now", "args": {}, "id": "c2"}}),
    ];
    let chunks = events(Format::Gemini, &rich());
    let came: Vec<_> = chunks
        .iter()
        .map(|chunk| &chunk["candidates"][0]["content"]["parts"][0])
        .collect();
    assert_eq!(came, parts.iter().collect::<Vec<_>>());
    let ends: Vec<_> = chunks
        .iter()
        .map(|chunk| chunk["candidates"][0]["finishReason"].as_str())
        .collect();
    assert_eq!(ends, [None, None, None, None, Some("STOP")]);
    let counted = json!({
        "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 17, "cachedContentTokenCount": 4,
        "thoughtsTokenCount": 2,
    });
    assert_eq!(chunks[4]["usageMetadata"], counted);

    let list: Json =
        serde_json::from_slice(&render(Format::Gemini, Delivery::List, &rich())).expect("JSON");
    assert_eq!(list, json!(chunks));

    let answer = whole(Format::Gemini, &rich());
    assert_eq!(
        answer["candidates"][0]["content"]["parts"][1],
        json!({"text": "Héllo"})
    );
    assert_eq!(answer["usageMetadata"], counted);
    assert_eq!(answer["responseId"], "r1");

    let apart = Quirks {
        signatures_apart: true,
        ..Quirks::default()
    };
    let signed = events(Format::Gemini, &Say::text("x").signature("s").quirks(apart));
    let part = &signed[1]["candidates"][0]["content"]["parts"][0];
    assert_eq!(part, &json!({"text": "", "thoughtSignature": "s"}));
}

#[test]
fn calls_are_named_as_badly_as_asked() {
    let say = Say::nothing()
        .call("a", "t", json!({"x": 1}))
        .call("b", "u", json!({}));
    let ids = |ids| {
        let quirks = Quirks {
            ids,
            ..Quirks::default()
        };
        let calls = calls(&say.clone().quirks(quirks));
        calls
            .iter()
            .map(|call| call.get("id").cloned().unwrap_or_default())
            .collect::<Vec<_>>()
    };
    let none = Json::Null;
    assert_eq!(
        ids(Ids::Given),
        [json!("a"), none.clone(), json!("b"), none.clone()]
    );
    assert_eq!(
        ids(Ids::Missing),
        [none.clone(), none.clone(), none.clone(), none.clone()]
    );
    assert_eq!(
        ids(Ids::Empty),
        [json!(""), none.clone(), json!(""), none.clone()]
    );
    assert_eq!(ids(Ids::Same), [json!("a"), none.clone(), json!("a"), none]);
    assert_eq!(
        ids(Ids::Repeated),
        [json!("a"), json!("a"), json!("b"), json!("b")]
    );

    let quirks = Quirks {
        no_index: true,
        object_arguments: true,
        ..Quirks::default()
    };
    let call = &calls(&say.clone().quirks(quirks.clone()))[0];
    assert_eq!(
        (call.get("index"), &call["function"]["arguments"]),
        (None, &json!({"x": 1}))
    );
    let answer = whole(Format::OpenAi, &say.clone().quirks(quirks));
    assert_eq!(
        answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"],
        json!({"x": 1})
    );

    let quirks = Quirks {
        interleaved: true,
        ..Quirks::default()
    };
    let calls = calls(&say.quirks(quirks));
    let order: Vec<_> = calls.iter().map(|call| call["index"].clone()).collect();
    assert_eq!(order, [0, 1, 0, 1]);
}

#[test]
fn counts_stand_where_asked() {
    let places = |usage| {
        let quirks = Quirks {
            usage,
            ..Quirks::default()
        };
        let events = events(Format::OpenAi, &Say::text("x").usage(1, 2).quirks(quirks));
        let counted = events.iter().map(|event| event["usage"].is_object());
        counted.collect::<Vec<_>>()
    };
    // The role, the text, the finish, perhaps the counts, `[DONE]`.
    assert_eq!(places(UsageAt::Last), [false, false, false, true, false]);
    assert_eq!(places(UsageAt::WithFinish), [false, false, true, false]);
    assert_eq!(places(UsageAt::Everywhere), [true, true, true, false]);
    assert_eq!(places(UsageAt::Nowhere), [false, false, false, false]);
}

#[test]
fn lines_and_ends_as_odd_as_asked() {
    for format in Format::ALL {
        let quirks = Quirks {
            crlf: true,
            tight: true,
            pings: true,
            ..Quirks::default()
        };
        let odd = text(format, &Say::text("x").quirks(quirks));
        assert!(odd.starts_with(": still here\r\n\r\n"), "{odd}");
        assert_eq!(
            odd.matches('\n').count(),
            odd.matches("\r\n").count(),
            "{odd}"
        );
        assert!(!odd.contains("data: ") && odd.contains("data:{"), "{odd}");

        let quirks = Quirks {
            no_finish: true,
            no_done: true,
            ..Quirks::default()
        };
        let open = text(format, &Say::text("x").quirks(quirks.clone()));
        for end in ["[DONE]", "message_stop", "end_turn", r#""stop""#, "STOP"] {
            assert!(!open.contains(end), "{end} in {open}");
        }
    }
    let quirks = Quirks {
        empty_first: true,
        reasoning_field: "reasoning",
        ..Quirks::default()
    };
    let say = Say::text("x").reasoning("hm").quirks(quirks);
    assert_eq!(events(Format::OpenAi, &say)[0]["choices"], json!([]));
    assert_eq!(deltas(&say)[1], json!({"reasoning": "hm"}));
}

#[test]
fn finishes_and_errors_have_the_words_of_the_format() {
    let rows = [
        (Finish::Stop, ["stop", "end_turn", "STOP"]),
        (Finish::Length, ["length", "max_tokens", "MAX_TOKENS"]),
        (Finish::ToolCalls, ["tool_calls", "tool_use", "STOP"]),
        (Finish::Filter, ["content_filter", "refusal", "SAFETY"]),
        (Finish::Word("odd".into()), ["odd", "odd", "odd"]),
    ];
    for (finish, words) in rows {
        for (format, word) in Format::ALL.into_iter().zip(words) {
            let say = Say::text("x").finish(finish.clone());
            let field = match format {
                Format::OpenAi => "finish_reason",
                Format::Anthropic => "stop_reason",
                Format::Gemini => "finishReason",
            };
            let expected = format!(r#""{field}":"{word}""#);
            assert!(text(format, &say).contains(&expected), "{expected}");
            assert!(
                whole(format, &say).to_string().contains(&expected),
                "{expected}"
            );
        }
    }
    for (format, word) in
        Format::ALL
            .into_iter()
            .zip(["server_error", "overloaded_error", "UNAVAILABLE"])
    {
        let say = Say::text("x").then_error(529, "busy");
        let last = events(format, &say).pop().expect("an event");
        assert_eq!(last, error(format, 529, "busy"));
        let all = text(format, &say);
        for end in [
            "STOP",
            "message_delta",
            "message_stop",
            "[DONE]",
            r#""stop""#,
        ] {
            assert!(!all.contains(end), "{end} in {all}");
        }
        assert!(last.to_string().contains(word), "{last}");
        assert_eq!(whole(format, &say), last);
    }
}

#[test]
fn chopping_changes_no_text() {
    let say = rich().chop(1);
    assert_eq!(say.pieces[1].deltas, ["H", "é", "l", "l", "o"]);
    assert_eq!(
        whole(Format::Anthropic, &say),
        whole(Format::Anthropic, &rich())
    );
}
