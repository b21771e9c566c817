use serde_json::Value as Json;

use super::super::WireFormat;
use super::super::pieces::{at_once, streamed};
use super::*;
use crate::Part;

fn events(data: &[String]) -> Vec<SseEvent<'_>> {
    data.iter()
        .map(|data| SseEvent {
            event: "".into(),
            data: Cow::Borrowed(data),
        })
        .collect()
}

/// The parts of a reply as one text, a letter before each.
fn told(parts: &[Part]) -> String {
    let told = parts.iter().map(|part| match part {
        Part::Text { text } => format!("t:{text};"),
        Part::Reasoning { text } => format!("r:{text};"),
        Part::ToolCall(call) => format!("c:{};", call.arguments),
        other => format!("{other:?};"),
    });
    told.collect()
}

#[test]
fn a_text_that_is_cut_within_a_character_is_put_together() {
    let delta =
        |field: &str, text: &str| format!(r#"{{"choices":[{{"delta":{{"{field}":"{text}"}}}}]}}"#);
    let call = |text: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"f","arguments":"{text}"}}}}]}}}}]}}"#
        )
    };
    let (c, r) = ("content", "reasoning_content");
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":1}}"#.to_owned();
    let rows: Vec<(Vec<String>, &str)> = vec![
        (
            vec![
                delta(c, "Rain "),
                delta(c, "\\ud83c"),
                delta(c, "\\udf27 today"),
            ],
            "t:Rain 🌧 today;",
        ),
        (
            vec![
                delta(c, "a"),
                delta(c, "b"),
                delta(c, "c\\uD83C"),
                delta(c, "\\uDF27d"),
                delta(c, "e"),
            ],
            "t:abc🌧de;",
        ),
        (
            vec![delta(c, "a \\ud83c b"), delta(c, "\\udf27")],
            "t:a \u{FFFD} b\u{FFFD};",
        ),
        (vec![delta(c, "a\\ud83c")], "t:a\u{FFFD};"),
        (
            vec![
                delta(c, "a\\ud83c"),
                usage,
                delta(c, ""),
                delta(c, "\\udf27"),
            ],
            "t:a🌧;",
        ),
        (
            vec![
                delta(c, "\\ud83c"),
                delta(c, "\\ud83c"),
                delta(c, "\\udf27"),
            ],
            "t:\u{FFFD}🌧;",
        ),
        (vec![delta(c, "\\ud83c\\udf27\\\\ud83c")], "t:🌧\\ud83c;"),
        (
            vec![
                delta(r, "x\\ud83c"),
                delta(r, "\\udf27"),
                delta(c, "\\udf27"),
            ],
            "r:x🌧;t:\u{FFFD};",
        ),
        (
            vec![delta(r, "x\\ud83c"), delta(c, "y")],
            "r:x\u{FFFD};t:y;",
        ),
        (
            vec![call("{\\\"q\\\":\\\"\\ud83c"), call("\\udf27\\\"}")],
            r#"c:{"q":"🌧"};"#,
        ),
        (
            vec![call("{\\\"q\\\":\\\"\\\\ud83c"), call("\\\\udf27\\\"}")],
            r#"c:{"q":"\ud83c\udf27"};"#,
        ),
        (
            vec![call("{\\\"q\\\":\\\"\\\\ud8"), call("3c\\\"}")],
            "c:{\"q\":\"\u{FFFD}\"};",
        ),
    ];
    for (mut data, expected) in rows {
        data.push(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned());
        data.push("[DONE]".to_owned());
        let (reply, ended) = streamed(WireFormat::OpenAi, &events(&data));
        assert_eq!(ended, Ok(()), "{data:?}");
        assert_eq!(told(&reply.parts), expected, "{data:?}");
    }
}

#[test]
fn the_other_formats_do_the_same() {
    let block = |text: &str| {
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        )
    };
    let anthropic = [
        r#"{"type":"message_start","message":{"id":"m","model":"x"}}"#.to_owned(),
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
            .to_owned(),
        block("a\\ud83c"),
        block("\\udf27b"),
        r#"{"type":"content_block_stop","index":0}"#.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#.to_owned(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    let chunk = |text: &str, more: &str| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}}{more}}}],"modelVersion":"x"}}"#
        )
    };
    let gemini = [
        chunk("a\\ud83c", ""),
        chunk("\\udf27b", r#","finishReason":"STOP""#),
    ];
    for (format, data) in [
        (WireFormat::Anthropic, &anthropic[..]),
        (WireFormat::Gemini, &gemini[..]),
    ] {
        let (reply, ended) = streamed(format, &events(data));
        assert_eq!(ended, Ok(()), "{format:?}");
        assert_eq!(told(&reply.parts), "t:a🌧b;", "{format:?}");
    }
}

#[test]
fn a_whole_answer_loses_one_character() {
    let body = r#"{"choices":[{"message":{"content":"a \ud83c b\udf27"},"finish_reason":"stop"}]}"#;
    let mut decoder = WireFormat::OpenAi.decoder();
    let mut out = Vec::new();
    assert_eq!(decoder.whole(body.as_bytes(), &mut out), Ok(()));
    assert!(
        out.contains(&ModelEvent::Text("a \u{FFFD} b\u{FFFD}".into())),
        "{out:?}"
    );
    let plain: Json = serde_json::json!({"choices": [{"message": {"content": "🌧"}}]});
    let (reply, ended) = at_once(WireFormat::OpenAi, &plain);
    assert_eq!((told(&reply.parts), ended), ("t:🌧;".to_owned(), Ok(())));
}

#[test]
fn what_goes_back_and_what_is_told_have_no_halves() {
    let data = [
        r#"{"choices":[{"delta":{"reasoning_details":[{"type":"x","\ud83c":["\ud83c\udf27\udf27"]}]}}]}"#.to_owned(),
        r#"{"error":{"message":"bad \ud83c"}}"#.to_owned(),
    ];
    let mut decoder = WireFormat::OpenAi.decoder();
    let mut out = Vec::new();
    let read: Vec<_> = events(&data)
        .iter()
        .map(|event| decoder.event(event, &mut out))
        .collect();
    let error = read.into_iter().find_map(Result::err).unwrap();
    assert!(error.message.contains("bad \u{FFFD}"), "{error:?}");
    let _ = decoder.end(&mut out);
    let shown = format!("{out:?}");
    assert!(!shown.contains("fdd") && !shown.contains("1fff"), "{shown}");
}

#[test]
fn what_has_no_lone_half_is_left_alone() {
    for json in [
        "",
        "\\",
        "\\u",
        "\\ud83",
        "\"\\ud83c\\udf27\"",
        "\"\\\\ud83c\"",
        "\"\\u0041é\\n\"",
        "\\é",
    ] {
        assert_eq!(replaced(json, |_, _| {}), None, "{json}");
    }
}
