use serde_json::json;

use super::*;
use crate::provider::Quirks;
use crate::{Message, WireFormat};

fn raw(json: &Json) -> RawPayload {
    RawPayload::new(json.to_string()).unwrap()
}

#[test]
fn a_payload_keeps_its_bytes_and_tells_whom_it_asks() {
    let text = "{ \"stream\" : true,\n\"model\":\"m\", \"messages\":[ ], \"x\": 1.50e1 }";
    let payload = RawPayload::new(text).unwrap();
    assert_eq!(payload.as_str(), text);
    assert_eq!((payload.model(), payload.streams()), (Some("m"), true));
    let saved = serde_json::to_string(&payload).unwrap();
    let loaded: RawPayload = serde_json::from_str(&saved).unwrap();
    assert_eq!(loaded, payload);

    let payload = raw(&json!({"messages": [], "stream": "yes", "model": 5}));
    assert_eq!((payload.model(), payload.streams()), (None, false));
    assert!(serde_json::from_str::<RawPayload>("\"{}\"").is_err());
}

#[test]
fn what_is_no_payload_is_named() {
    let deep = format!("{{\"messages\":[],\"x\":{}", "[".repeat(200));
    let table = [
        ("", "the payload is no JSON (EOF"),
        ("[]", "the payload is no JSON object"),
        ("{}", "are missing in the payload"),
        ("{\"messages\": {}}", "are no list"),
        (&deep, "recursion limit"),
    ];
    for (text, wanted) in table {
        let error = RawPayload::new(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}\nbut: {wanted}");
        assert!(error.starts_with("messages: "), "{error}");
    }
    let padded = |bytes: usize| format!("{{\"messages\":[]{}}}", " ".repeat(bytes));
    assert!(RawPayload::new(padded(MAX_RAW_BYTES - 15)).is_ok());
    let error = RawPayload::new(padded(MAX_RAW_BYTES)).unwrap_err();
    assert!(error.message.contains("more than the 67108864"), "{error}");
}

#[test]
fn what_was_said_stays_out_of_debug_prints_and_errors() {
    let payload = raw(&json!({"messages": [{"role": "user", "content": "SECRET"}],
        "temperature": "SECRET"}));
    assert!(!format!("{payload:?}").contains("SECRET"));
    let error = payload.to_request().unwrap_err();
    assert!(error.message.contains("`temperature`"), "{error}");
    assert!(!error.message.contains("SECRET"), "{error}");
}

#[test]
fn a_payload_becomes_a_request() {
    let payload = raw(&json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
        "tools": [{"type": "function", "function": {"name": "t", "description": null, "parameters": {"type": "object"}}}],
        "tool_choice": {"type": "function", "function": {"name": "t"}},
        "temperature": 0.5, "max_tokens": 7, "max_completion_tokens": 9, "top_p": 1, "top_k": 40,
        "frequency_penalty": null, "presence_penalty": 0.1, "seed": -3, "stop": "end",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "array"}}},
        "logit_bias": {"5": 1}, "user": "me", "nothing": null,
    }));
    let wanted = ModelRequest {
        model: "m".into(),
        messages: vec![Message::system("s").into(), Message::user("u").into()],
        tools: vec![ToolSpec {
            name: "t".into(),
            description: String::new(),
            parameters: json!({"type": "object"}).into(),
        }],
        tool_choice: ToolChoice::Tool("t".into()),
        sampling: Sampling {
            temperature: Some(0.5),
            max_tokens: Some(9),
            top_p: Some(1.0),
            top_k: Some(40),
            frequency_penalty: None,
            presence_penalty: Some(0.1),
            seed: Some(-3),
            stop: vec!["end".into()],
        },
        constraint: Some(Constraint::Json(json!({"type": "array"}))),
        extras: serde_json::from_value(
            json!({"logit_bias": {"5": 1}, "user": "me", "nothing": null}),
        )
        .unwrap(),
        ..ModelRequest::default()
    };
    assert_eq!(payload.to_request().unwrap(), wanted);

    let older = raw(&json!({
        "messages": [], "functions": [{"name": "f"}], "function_call": {"name": "f"},
        "stop": ["a", "b"], "grammar": "root ::= \"a\"",
    }));
    let request = older.to_request().unwrap();
    assert!(!request.stream);
    assert_eq!(request.tools[0].name, "f");
    assert_eq!(request.tool_choice, ToolChoice::Tool("f".into()));
    assert_eq!(request.sampling.stop, ["a", "b"]);
    assert!(matches!(request.constraint, Some(Constraint::Grammar(_))));
    assert!(request.extras.is_empty());
}

#[test]
fn what_has_no_word_in_another_format_is_refused() {
    let table = [
        (json!({"tools": {}}), "`tools` of the payload is no list"),
        (
            json!({"tools": [{"type": "web_search"}]}),
            "`tools[0]` of the payload is no function",
        ),
        (
            json!({"tool_choice": {"type": "allowed_tools"}}),
            "`tool_choice`",
        ),
        (json!({"stop": [1]}), "`stop`"),
        (json!({"max_tokens": -1}), "`max_tokens`"),
        (json!({"grammar": 5}), "`grammar`"),
        (
            json!({"response_format": {"type": "json_schema"}}),
            "`response_format`",
        ),
        (json!({"messages": [5]}), "messages[0]: a number"),
    ];
    for (mut json, wanted) in table {
        if json.get("messages").is_none() {
            json["messages"] = json!([]);
        }
        let error = raw(&json).to_request().unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}\nbut: {wanted}");
    }
}

/// (format, in pieces by the payload, in pieces by the channel, in pieces as sent)
#[test]
fn pieces_are_asked_for_where_payload_and_channel_both_can() {
    use WireFormat::{Anthropic, Gemini, OpenAi};
    for (format, payload, channel, sent) in [
        (Anthropic, true, true, true),
        (Anthropic, true, false, false),
        (Anthropic, false, true, false),
        (Gemini, true, true, true),
        (Gemini, true, false, false),
        (Gemini, false, true, false),
        // Byte for byte, so the payload alone says.
        (OpenAi, true, false, true),
        (OpenAi, false, true, false),
    ] {
        let messages = json!([{"role": "user", "content": "hi"}]);
        let request = ModelRequest {
            model: "m".into(),
            raw: Some(raw(&json!({"messages": messages, "stream": payload}))),
            stream: channel,
            ..ModelRequest::default()
        };
        let wire = format.encode(&request, &Quirks::default()).unwrap();
        assert_eq!(wire.streams, sent, "{format:?} {payload} {channel}");
    }
}
