use super::*;
use crate::wire::WireFormat;
use crate::wire::pieces::{body, call, message, opaque, result, shown};
use crate::wire::talk::{BEGIN, NO_RESULT};
use crate::{Message, ModelErrorKind, Part, RawPayload, Role, Sampling};

fn written_body(request: &ModelRequest) -> Json {
    body(WireFormat::Anthropic, request)
}

fn failure(request: &ModelRequest) -> ModelError {
    encode(request, &Quirks::default()).unwrap_err()
}

#[test]
fn a_conversation_with_two_calls_and_thinking_is_written_exactly() {
    let thinking =
        json!({"type": "thinking", "thinking": "Two cities.", "signature": "EqQB/abc=="});
    let redacted = json!({"type": "redacted_thinking", "data": "Em9w=="});
    let request = ModelRequest {
        tools: vec![ToolSpec {
            name: "weather_now".into(),
            description: "The weather.".into(),
            parameters: json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            })
            .into(),
        }],
        sampling: Sampling {
            temperature: Some(0.5),
            max_tokens: Some(100),
            top_p: Some(0.9),
            top_k: Some(40),
            frequency_penalty: Some(1.0),
            seed: Some(7),
            stop: vec!["END".into(), " ".into()],
            ..Sampling::default()
        },
        ..ModelRequest::new(
            "claude-sonnet-4-5",
            vec![
                Message::system("Be brief."),
                Message::new(Role::Developer, "Use tools."),
                Message::user("Weather in Oslo and Rome?"),
                message(
                    Role::Assistant,
                    vec![
                        Part::reasoning("Two cities."),
                        opaque("anthropic", thinking.clone()),
                        opaque("anthropic", redacted.clone()),
                        Part::text("Let me look."),
                        call("toolu_1", "weather_now", r#"{"city": "Oslo"}"#),
                        call("toolu_2", "weather_now", r#"{"city": "Rome"}"#),
                    ],
                ),
                Message::tool_result("toolu_1", "rain"),
                message(
                    Role::Tool,
                    vec![
                        result("toolu_2", "no such city", true),
                        shown("data:image/jpg;base64,AAAA"),
                    ],
                ),
                Message::user("Well?"),
            ],
        )
    };
    let expected = json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Use tools."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo and Rome?"}]},
            {"role": "assistant", "content": [
                thinking,
                redacted,
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather_now", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "toolu_2", "name": "weather_now", "input": {"city": "Rome"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": true, "content": [
                    {"type": "text", "text": "no such city"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
                ]},
                {"type": "text", "text": "Well?"},
            ]},
        ],
        "tools": [{
            "name": "weather_now",
            "description": "The weather.",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        }],
        "temperature": 0.5,
        "top_k": 40,
        "stop_sequences": ["END"],
        "stream": true,
    });
    assert_eq!(written_body(&request), expected);
    let wire = encode(&request, &Quirks::default()).unwrap();
    assert_eq!(wire.path, "messages");
    assert_eq!(
        wire.headers,
        [("anthropic-version", "2023-06-01".to_owned())]
    );
    assert!(wire.streams);
}

#[test]
fn parts_become_blocks_that_are_taken() {
    use Role::{Assistant, User};
    let text = |text: &str| json!({"type": "text", "text": text});
    let call_of = |arguments| {
        let answer = json!({"type": "tool_result", "tool_use_id": "1", "content": NO_RESULT, "is_error": true});
        let call =
            |input: Json| json!({"type": "tool_use", "id": "1", "name": "t", "input": input});
        move |input: Json| {
            let parts = vec![self::call("1", "t", arguments)];
            let expected = json!([
                {"role": "user", "content": [{"type": "text", "text": BEGIN}]},
                {"role": "assistant", "content": [call(input)]},
                {"role": "user", "content": [answer.clone()]},
            ]);
            (vec![message(Assistant, parts)], expected)
        }
    };
    let user = |block: Json| json!([{"role": "user", "content": [block]}]);
    let thought = json!({"type": "thinking", "thinking": "", "signature": "s"});
    let rows = vec![
        call_of("")(json!({})),
        call_of(r#"{"a": [1.50, 12345678901234567890]}"#)(
            json!({"a": [1.5, 12345678901234567890_u64]}),
        ),
        call_of("{oops")(json!({"_raw": "{oops"})),
        call_of("[1]")(json!({"_raw": "[1]"})),
        (
            vec![message(User, vec![shown("https://x/y.png")])],
            user(json!({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}})),
        ),
        (
            vec![message(
                User,
                vec![shown("data:image/PNG;charset=x;base64,AA==")],
            )],
            user(
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}),
            ),
        ),
        (
            vec![message(
                User,
                vec![shown("data:application/pdf;base64,AA==")],
            )],
            user(json!({"type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}})),
        ),
        // Its own block of the user, and other providers' parts.
        (
            vec![message(
                User,
                vec![
                    opaque("gemini", json!({"part": 1})),
                    opaque("anthropic", json!({"type": "x"})),
                ],
            )],
            user(json!({"type": "x"})),
        ),
        // Nothing is attached to another part here.
        (
            vec![message(
                User,
                vec![
                    Part::text(" "),
                    opaque("anthropic", json!({"thoughtSignature": "s"})),
                ],
            )],
            user(json!({"thoughtSignature": "s"})),
        ),
        // The beginning of an answer.
        (
            vec![Message::user("go"), Message::assistant("Once \n")],
            json!([{"role": "user", "content": [text("go")]}, {"role": "assistant", "content": [text("Once")]}]),
        ),
        // A turn of nothing but thoughts is none; images are not shown by its own side.
        (
            vec![
                Message::user("a"),
                message(
                    Assistant,
                    vec![Part::reasoning("hm"), opaque("anthropic", thought.clone())],
                ),
                Message::user("b"),
                message(
                    Assistant,
                    vec![
                        shown("data:image/png;base64,AA=="),
                        opaque("anthropic", thought),
                    ],
                ),
                Message::user("c"),
            ],
            json!([
                {"role": "user", "content": [text("a"), text("b")]},
                {"role": "assistant", "content": [text("[image]")]},
                {"role": "user", "content": [text("c")]},
            ]),
        ),
    ];
    for (messages, expected) in rows {
        let body = written_body(&ModelRequest::new("m", messages.clone()));
        assert_eq!(body["messages"], expected, "{messages:?}");
    }
}

#[test]
fn the_rest_of_the_request() {
    let tools = vec![ToolSpec {
        name: "t".into(),
        description: String::new(),
        parameters: Json::Null.into(),
    }];
    let with = |change: &dyn Fn(&mut ModelRequest)| {
        let mut request = ModelRequest::new("m", vec![Message::user("hi")]);
        request.tools.clone_from(&tools);
        change(&mut request);
        written_body(&request)
    };
    assert_eq!(with(&|_| {})["max_tokens"], DEFAULT_MAX_TOKENS);
    assert_eq!(with(&|_| {}).get("tool_choice"), None);
    let tool = json!([{"name": "t", "input_schema": {"type": "object", "properties": {}}}]);
    assert_eq!(with(&|_| {})["tools"], tool);
    let choices = [
        (ToolChoice::None, json!({"type": "none"})),
        (ToolChoice::Required, json!({"type": "any"})),
        (
            ToolChoice::Tool("t".into()),
            json!({"type": "tool", "name": "t"}),
        ),
    ];
    for (choice, expected) in choices {
        let body = with(&|request| request.tool_choice = choice.clone());
        assert_eq!(body["tool_choice"], expected);
        let body = with(&|request| {
            request.tool_choice = choice.clone();
            request.tools.clear();
        });
        assert_eq!(body.get("tool_choice").or(body.get("tools")), None);
    }
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let body = with(&|request| request.constraint = Some(Constraint::Json(schema.clone())));
    let held = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    assert_eq!(
        body["output_config"],
        json!({"format": {"type": "json_schema", "schema": held}})
    );

    let body = with(&|request| {
        request.stream = false;
        request.sampling.temperature = Some(f64::NAN);
        let extras = json!({"thinking": {"type": "enabled"}, "max_tokens": 5, "tools": null, "stream": true});
        request.extras = extras.as_object().unwrap().clone();
    });
    let expected = json!({
        "model": "m", "max_tokens": 5, "stream": false, "thinking": {"type": "enabled"},
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    });
    assert_eq!(body, expected);

    let quirks = Quirks {
        default_max_tokens: Some(77),
        ..Quirks::default()
    };
    let wire = encode(&ModelRequest::new("m", vec![]), &quirks).unwrap();
    let body: Json = serde_json::from_slice(&wire.body).unwrap();
    assert_eq!(body["max_tokens"], 77);
}

#[test]
fn temperature_and_top_p_never_stand_side_by_side() {
    let rows = [
        (Some(0.5), Some(0.9), json!(0.5), Json::Null),
        (Some(1.7), None, json!(1.0), Json::Null),
        (None, Some(0.9), Json::Null, json!(0.9)),
        (Some(f64::NAN), Some(0.9), Json::Null, json!(0.9)),
        (None, None, Json::Null, Json::Null),
    ];
    for (temperature, top_p, warm, top) in rows {
        let request = ModelRequest {
            sampling: Sampling {
                temperature,
                top_p,
                ..Sampling::default()
            },
            ..ModelRequest::new("m", vec![Message::user("hi")])
        };
        let wire = encode(&request, &Quirks::default()).unwrap();
        let body: Json = serde_json::from_slice(&wire.body).unwrap();
        let at = |name: &str| body.get(name).cloned().unwrap_or_default();
        assert_eq!(
            (at("temperature"), at("top_p")),
            (warm, top),
            "{temperature:?} {top_p:?}"
        );
    }
}

#[test]
fn what_cannot_be_sent_is_refused_with_a_remedy() {
    let mut request = ModelRequest::new("m", vec![Message::user("hi")]);
    request.constraint = Some(Constraint::Grammar("root ::= \"x\"".into()));
    let error = failure(&request);
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert!(error.message.contains("grammar"), "{error}");
    for (constraint, told) in [
        (Constraint::JsonObject, "give a JSON schema"),
        (
            Constraint::Json(json!({"type": "object"})),
            "at $; name its properties",
        ),
    ] {
        request.constraint = Some(constraint);
        let error = failure(&request);
        assert_eq!(error.kind, ModelErrorKind::Refused);
        assert!(error.message.contains(told), "{error}");
    }
    request.constraint = Some(Constraint::GrammarIfTaken("root ::= \"x\"".into()));
    encode(&request, &Quirks::default()).unwrap();
    for url in ["data:image/png,marker", "file:///marker", "marker.png"] {
        let error = failure(&ModelRequest::new(
            "m",
            vec![message(Role::User, vec![shown(url)])],
        ));
        assert_eq!(error.kind, ModelErrorKind::Refused);
        assert!(!error.message.contains("marker"), "{error}");
    }
}

#[test]
fn a_raw_payload_is_read_and_written_anew() {
    let raw = json!({
        "model": "gpt", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9, "stream": false,
        "user": "me", "logit_bias": {}, "thinking": {"type": "enabled"},
    });
    let request = ModelRequest {
        raw: Some(RawPayload::new(raw.to_string()).unwrap()),
        ..ModelRequest::new("claude", vec![])
    };
    let expected = json!({
        "model": "claude", "max_tokens": 9, "stream": false, "thinking": {"type": "enabled"},
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    });
    assert_eq!(written_body(&request), expected);
}
