use super::*;
use crate::ModelErrorKind;
use crate::wire::WireFormat::Gemini;
use crate::wire::pieces::{at_once, body, calls_of, events, streamed};
use crate::{Message, ModelReply, ModelRequest, Part};

/// Parts of a reply with everything in it, as they come in chunks.
fn chunks_of_parts() -> Vec<Json> {
    vec![
        json!([{"text": "Two ", "thought": true}]),
        json!([{"text": "cities.", "thought": true}]),
        json!([{"text": "Let me "}]),
        json!([{"text": "look."}, {"text": " Now.", "thoughtSignature": "dGV4dA=="}]),
        json!([
            {"functionCall": {"id": "fc1", "name": "weather_now", "args": {"city": "Oslo"}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"id": "fc2", "name": "weather_now", "args": {"city": "Rome"}}},
        ]),
        json!([{"executableCode": {"language": "PYTHON", "code": "print(1)"}}]),
        json!([{"inlineData": {"mimeType": "image/png", "data": "AA=="}, "thoughtSignature": "aW1n"}]),
        json!([{"text": "", "thoughtSignature": "ZW5k"}]),
    ]
}

fn usage_metadata() -> Json {
    json!({"promptTokenCount": 50, "candidatesTokenCount": 20, "thoughtsTokenCount": 30,
        "cachedContentTokenCount": 40, "totalTokenCount": 100})
}

fn chunk(parts: Json) -> Json {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "usageMetadata": {"promptTokenCount": 50}, "modelVersion": "gemini-3-pro", "responseId": "r1"})
}

fn stream() -> Vec<Json> {
    let mut stream: Vec<Json> = chunks_of_parts().into_iter().map(chunk).collect();
    let last = stream.last_mut().unwrap();
    last["candidates"][0]["finishReason"] = json!("STOP");
    last["usageMetadata"] = usage_metadata();
    stream
}

fn all_parts() -> Vec<Json> {
    let chunks = chunks_of_parts();
    chunks
        .iter()
        .flat_map(|parts| parts.as_array().unwrap().clone())
        .collect()
}

fn whole() -> Json {
    let mut whole = chunk(json!(all_parts()));
    whole["candidates"][0]["finishReason"] = json!("STOP");
    whole["usageMetadata"] = usage_metadata();
    whole
}

fn reply(parts: Json) -> ModelReply {
    let mut whole = chunk(parts);
    whole["candidates"][0]["finishReason"] = json!("STOP");
    let (reply, ended) = at_once(Gemini, &whole);
    ended.unwrap();
    let (streamed, ended) = streamed(Gemini, &events(&[whole]));
    ended.unwrap();
    assert_eq!(reply, streamed);
    reply
}

#[test]
fn the_stream_the_list_and_the_whole_are_one_reply() {
    let (streamed, ended) = streamed(Gemini, &events(&stream()));
    ended.unwrap();
    for body in [whole(), json!(stream())] {
        let (at_once, ended) = at_once(Gemini, &body);
        ended.unwrap();
        assert_eq!(streamed, at_once);
    }
    assert_eq!(
        (streamed.model.as_str(), streamed.response_id.as_deref()),
        ("gemini-3-pro", Some("r1"))
    );
    assert_eq!(streamed.finish_reason, FinishReason::ToolCalls);
    assert_eq!(streamed.text(), "Let me look. Now.");
    assert_eq!(streamed.reasoning(), "Two cities.");
    assert_eq!(
        streamed.usage,
        Some(Usage {
            prompt_tokens: Some(50),
            completion_tokens: Some(50),
            cached_tokens: Some(40),
            reasoning_tokens: Some(30),
            ..Usage::default()
        })
    );
    let calls: Vec<(&str, &str)> = streamed
        .tool_calls()
        .map(|call| (call.id.as_str(), call.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [("fc1", r#"{"city":"Oslo"}"#), ("fc2", r#"{"city":"Rome"}"#)]
    );
}

#[test]
fn what_was_read_goes_back_as_it_came() {
    let (reply, _) = streamed(Gemini, &events(&stream()));
    let request = ModelRequest::new(
        "gemini-3-pro",
        vec![Message::user("hi"), reply.into_message()],
    );
    // Thoughts without a signature do not go back, and pieces without one become one.
    let mut expected = all_parts();
    expected.drain(..2);
    expected[0] = json!({"text": "Let me look."});
    expected.remove(1);
    assert_eq!(
        body(Gemini, &request)["contents"][1]["parts"],
        json!(expected)
    );
}

#[test]
fn signatures_stay_with_the_piece_they_sign() {
    let opaque = |value: Json| Part::Opaque {
        provider: "gemini".into(),
        value,
    };
    let rows = [
        (
            json!([{"text": "a", "thoughtSignature": "s"}, {"text": "b"}]),
            vec![
                Part::text("a"),
                opaque(json!({"thoughtSignature": "s"})),
                Part::text("b"),
            ],
        ),
        (
            json!([{"text": "a"}, {"text": "é", "thoughtSignature": "s"}]),
            vec![
                Part::text("aé"),
                opaque(json!({"thoughtSignature": "s", "tail": 2})),
            ],
        ),
        (
            json!([{"text": "a"}, {"text": "b", "thought": true, "thoughtSignature": "s"}]),
            vec![
                Part::text("a"),
                Part::reasoning("b"),
                opaque(json!({"thoughtSignature": "s"})),
            ],
        ),
        (
            json!([{"text": "a", "thoughtSignature": "s"}, {"text": "b", "thoughtSignature": "t"}]),
            vec![
                Part::text("a"),
                opaque(json!({"thoughtSignature": "s"})),
                Part::text("b"),
                opaque(json!({"thoughtSignature": "t"})),
            ],
        ),
        (
            json!([{"text": "a"}, {"text": "", "thoughtSignature": "s"}]),
            vec![
                Part::text("a"),
                opaque(json!({"part": {"text": "", "thoughtSignature": "s"}})),
            ],
        ),
        (
            json!([{"thoughtSignature": "s"}]),
            vec![opaque(json!({"part": {"thoughtSignature": "s"}}))],
        ),
        (json!([{}, {"text": ""}]), vec![]),
    ];
    for (parts, expected) in rows {
        let reply = reply(parts.clone());
        assert_eq!(reply.parts, expected, "{parts}");
        // And back.
        let mut kept = parts.as_array().unwrap().clone();
        kept.retain(|part| {
            !matches!(part["text"].as_str(), Some("")) || part.get("thoughtSignature").is_some()
        });
        kept.retain(|part| *part != json!({}));
        if !kept.is_empty() {
            let request = ModelRequest::new(
                "gemini-3-pro",
                vec![Message::user("hi"), reply.into_message()],
            );
            assert_eq!(body(Gemini, &request)["contents"][1]["parts"], json!(kept));
        }
    }
}

#[test]
fn a_stream_cut_anywhere_tells_what_had_come() {
    let all = events(&stream());
    let (full, _) = streamed(Gemini, &all);
    for cut in 0..all.len() {
        let (reply, ended) = streamed(Gemini, &all[..cut]);
        assert_eq!(
            ended.unwrap_err().kind,
            ModelErrorKind::BrokenStream,
            "cut at {cut}"
        );
        assert!(full.text().starts_with(&reply.text()));
        assert!(full.reasoning().starts_with(&reply.reasoning()));
        assert!(reply.parts.len() <= full.parts.len());
    }
}

#[test]
fn counts_may_follow_the_end() {
    let mut data = stream();
    data.last_mut().unwrap()["usageMetadata"] = Json::Null;
    data.push(json!({"usageMetadata": usage_metadata()}));
    let mut decoder = Gemini.decoder();
    let mut out = Vec::new();
    for event in events(&data) {
        decoder.event(&event, &mut out).unwrap();
        assert!(!decoder.is_over());
    }
    let (reply, _) = streamed(Gemini, &events(&data));
    assert_eq!(reply.usage.unwrap().completion_tokens, Some(50));
}

#[test]
fn calls_come_in_many_ways() {
    let rows = [
        (
            json!({"name": "t", "args": {"a": 1}}),
            ("call_1", "t", r#"{"a":1}"#),
        ),
        (json!({"id": "x", "name": "t"}), ("x", "t", "{}")),
        (
            json!({"id": "", "name": "t", "args": null}),
            ("call_1", "t", "{}"),
        ),
        (
            json!({"name": "t", "args": "{\"a\": 1}"}),
            ("call_1", "t", r#"{"a": 1}"#),
        ),
        (json!({"args": {}}), ("call_1", "", "{}")),
    ];
    for (call, expected) in rows {
        let reply = reply(json!([{"functionCall": call}]));
        let calls = calls_of(&reply);
        assert_eq!(calls, [expected], "{call}");
    }
    let twice = json!([{"functionCall": {"id": "x", "name": "a"}}, {"functionCall": {"id": "x", "name": "b"}}]);
    let twice = reply(twice);
    let ids: Vec<&str> = twice.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["x", "x_2"]);
    // The call comes after the word that ends the answer.
    let mut first = chunk(json!([{"text": "hm"}]));
    first["candidates"][0]["finishReason"] = json!("STOP");
    let second = chunk(json!([{"functionCall": {"name": "t"}}]));
    let (late, ended) = streamed(Gemini, &events(&[first, second]));
    ended.unwrap();
    assert_eq!(late.finish_reason, FinishReason::ToolCalls);
}

#[test]
fn every_word_for_the_end_is_read() {
    use FinishReason as F;
    let rows = [
        ("STOP", F::Stop),
        ("MAX_TOKENS", F::Length),
        ("SAFETY", F::ContentFilter),
        ("RECITATION", F::ContentFilter),
        ("BLOCKLIST", F::ContentFilter),
        ("PROHIBITED_CONTENT", F::ContentFilter),
        ("SPII", F::ContentFilter),
        ("IMAGE_SAFETY", F::ContentFilter),
        ("OTHER", F::Other("OTHER".into())),
    ];
    for (word, expected) in rows {
        let (reply, ended) = streamed(
            Gemini,
            &events(&[json!({"candidates": [{"finishReason": word}], "error": null})]),
        );
        ended.unwrap();
        assert_eq!(
            (reply.finish_reason, reply.parts),
            (expected, vec![]),
            "{word}"
        );
    }
    let unspecified = json!({"candidates": [{"finishReason": "FINISH_REASON_UNSPECIFIED"}]});
    let (_, ended) = streamed(Gemini, &events(&[unspecified]));
    assert_eq!(ended.unwrap_err().kind, ModelErrorKind::BrokenStream);
    // The whole is the whole, whether it says so or not.
    let (reply, ended) = at_once(Gemini, &chunk(json!([{"text": "hi"}])));
    ended.unwrap();
    assert_eq!(reply.finish_reason, F::Stop);
}

#[test]
fn failures_are_told() {
    use ModelErrorKind as K;
    let error = json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}});
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 3}});
    let rows = [
        (error.clone(), K::ServerError),
        (json!([error]), K::ServerError),
        (blocked.clone(), K::Refused),
    ];
    for (body, kind) in rows {
        assert_eq!(at_once(Gemini, &body).1.unwrap_err().kind, kind, "{body}");
        assert_eq!(
            streamed(Gemini, &events(std::slice::from_ref(&body)))
                .1
                .unwrap_err()
                .kind,
            kind,
            "{body}"
        );
    }
    let (reply, ended) = at_once(Gemini, &blocked);
    assert!(ended.unwrap_err().message.contains("PROHIBITED_CONTENT"));
    assert_eq!(reply.usage.unwrap().prompt_tokens, Some(3));
    // In the middle.
    let (arrived, ended) = streamed(Gemini, &events(&[chunk(json!([{"text": "be"}])), error]));
    assert_eq!(
        (arrived.text().as_str(), ended.unwrap_err().kind),
        ("be", K::ServerError)
    );
    for body in [json!({}), json!([]), json!("hi"), json!({"choices": []})] {
        assert_eq!(
            at_once(Gemini, &body).1.unwrap_err().kind,
            K::Malformed,
            "{body}"
        );
    }
    let no_json = SseEvent {
        event: "".into(),
        data: "<html>".into(),
    };
    assert_eq!(
        streamed(Gemini, &[no_json]).1.unwrap_err().kind,
        K::Malformed
    );
    let done = SseEvent {
        event: "".into(),
        data: "[DONE]".into(),
    };
    streamed(Gemini, &[events(&[whole()]), vec![done]].concat())
        .1
        .unwrap();
}

#[test]
fn a_broken_call_alone_is_no_answer() {
    for word in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"] {
        let chunk = |parts: Json| json!({"candidates": [{"content": {"parts": parts}, "finishReason": word}]});
        let rows = [
            (json!([]), true),
            (json!([{"text": "hm", "thought": true}]), true),
            (json!([{"text": "I will"}]), false),
            (json!([{"functionCall": {"name": "t", "args": {}}}]), false),
        ];
        for (parts, is_broken) in rows {
            let (_, ended) = streamed(Gemini, &events(&[chunk(parts.clone())]));
            let kind = ended.err().map(|error| error.kind);
            let expected = is_broken.then_some(ModelErrorKind::Malformed);
            assert_eq!(kind, expected, "{word} {parts}");
        }
    }
}

#[test]
fn counts_go_out_when_they_have_changed() {
    let with = |counts: Json| {
        let mut chunk = chunk(json!([{"text": "a"}]));
        chunk["usageMetadata"] = counts;
        chunk
    };
    let (one, two) = (
        json!({"promptTokenCount": 1}),
        json!({"promptTokenCount": 2}),
    );
    let odd = json!({"promptTokenCount": "2", "new": [{"x": 1.5}]});
    let rows = [
        one.clone(),
        one.clone(),
        two.clone(),
        odd,
        two,
        one,
        Json::Null,
    ];
    let (mut decoder, mut out) = (Gemini.decoder(), Vec::new());
    for event in events(&rows.map(with)) {
        decoder.event(&event, &mut out).unwrap();
    }
    let said: Vec<String> = out
        .iter()
        .map(|event| match event {
            ModelEvent::Text(text) => text.clone(),
            ModelEvent::Usage(usage) => format!("{:?}", usage.prompt_tokens),
            _ => "started".into(),
        })
        .collect();
    let [one, two] = ["Some(1)", "Some(2)"];
    let wanted = [
        "started", "a", one, "aa", two, "a", "None", "a", two, "a", one, "a",
    ];
    assert_eq!(said, wanted);
}

/// The pieces before are with the reader already.
#[test]
fn a_broken_call_after_an_answer_does_not_undo_it() {
    let mut broken = chunk(json!([]));
    broken["candidates"][0]["finishReason"] = json!("MALFORMED_FUNCTION_CALL");
    let thought = chunk(json!([{"text": "hm", "thought": true}]));
    let answer = chunk(json!([{"text": "a"}]));
    for (said, undone) in [
        (vec![&thought], true),
        (vec![&thought, &answer, &answer], false),
    ] {
        let said = said.into_iter().chain([&broken]).cloned();
        let mut decoder = Gemini.decoder();
        let read = events(&said.collect::<Vec<_>>())
            .iter()
            .try_for_each(|event| decoder.event(event, &mut Vec::new()));
        assert_eq!(read.is_err(), undone);
    }
}
