use super::*;
use crate::wire::WireFormat;
use crate::wire::pieces::{body, call, message, opaque, result, shown};
use crate::wire::talk::{BEGIN, NO_RESULT};
use crate::{Message, ModelErrorKind, Part, RawPayload, Role, Sampling};

fn written_body(request: &ModelRequest) -> Json {
    body(WireFormat::Gemini, request)
}

fn signed(signature: &str) -> Part {
    opaque("gemini", json!({"thoughtSignature": signature}))
}

#[test]
fn a_conversation_with_two_calls_and_signatures_is_written_exactly() {
    let request = ModelRequest {
        tools: vec![
            ToolSpec {
                name: "weather_now".into(),
                description: "The weather.".into(),
                parameters: json!({
                    "$schema": "https://json-schema.org/draft/2020-12/schema",
                    "type": "object",
                    "properties": {"city": {"type": "string"}},
                    "required": ["city"],
                    "additionalProperties": false,
                })
                .into(),
            },
            ToolSpec {
                name: "time".into(),
                description: String::new(),
                parameters: json!({"type": "object", "properties": {}}).into(),
            },
        ],
        sampling: Sampling {
            temperature: Some(0.5),
            max_tokens: Some(100),
            top_p: Some(0.9),
            top_k: Some(40),
            frequency_penalty: Some(0.25),
            presence_penalty: Some(0.75),
            seed: Some(7),
            stop: vec!["END".into(), String::new()],
        },
        ..ModelRequest::new(
            "gemini-3-pro",
            vec![
                Message::system("Be brief."),
                Message::new(Role::Developer, "Use tools."),
                Message::user("Weather in Oslo and Rome?"),
                message(
                    Role::Assistant,
                    vec![
                        Part::reasoning("Two cities."),
                        Part::text("Let me look."),
                        call("a", "weather_now", r#"{"city": "Oslo"}"#),
                        signed("c2ln"),
                        call("b", "time", ""),
                        opaque("anthropic", json!({"type": "thinking"})),
                    ],
                ),
                message(
                    Role::Tool,
                    vec![
                        result("b", "no clock", true),
                        shown("data:image/png;base64,AAAA"),
                    ],
                ),
                Message::tool_result("a", "rain"),
                Message::user("Well?"),
            ],
        )
    };
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Use tools."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather in Oslo and Rome?"}]},
            {"role": "model", "parts": [
                {"text": "Let me look."},
                {"functionCall": {"id": "a", "name": "weather_now", "args": {"city": "Oslo"}},
                    "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "b", "name": "time", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "a", "name": "weather_now", "response": {"result": "rain"}}},
                {"functionResponse": {"id": "b", "name": "time", "response": {"error": "no clock"},
                    "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}},
                {"text": "Well?"},
            ]},
        ],
        "tools": [{"functionDeclarations": [
            {"name": "weather_now", "description": "The weather.", "parameters": {
                "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
            }},
            {"name": "time"},
        ]}],
        "generationConfig": {
            "maxOutputTokens": 100, "temperature": 0.5, "topP": 0.9, "topK": 40, "stopSequences": ["END"], "seed": 7,
            "presencePenalty": 0.75, "frequencyPenalty": 0.25,
        },
    });
    assert_eq!(written_body(&request), expected);
}

#[test]
fn the_model_is_in_the_path() {
    let rows = [
        (
            "gemini-2.5-flash",
            true,
            "models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        ),
        (
            "models/gemini-2.5-flash",
            false,
            "models/gemini-2.5-flash:generateContent",
        ),
        (
            "tunedModels/mine",
            false,
            "tunedModels/mine:generateContent",
        ),
        (
            "a/b?c#d e%é",
            false,
            "models/a%2Fb%3Fc%23d%20e%25%C3%A9:generateContent",
        ),
        ("../x", false, "models/..%2Fx:generateContent"),
    ];
    for (model, stream, expected) in rows {
        let request = ModelRequest {
            stream,
            ..ModelRequest::new(model, vec![Message::user("hi")])
        };
        let wire = encode(&request, &Quirks::default()).unwrap();
        assert_eq!(
            (wire.path.as_str(), wire.streams),
            (expected, stream),
            "{model}"
        );
    }
    for model in ["", "models/"] {
        let request = ModelRequest::new(model, vec![Message::user("hi")]);
        let error = encode(&request, &Quirks::default()).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Refused, "{model}");
    }
}

#[test]
fn calls_of_others_are_marked_for_models_that_insist() {
    let rows = [
        ("gemini-3-pro", true),
        ("gemini-3.1-flash-preview", true),
        ("models/gemini-10-pro", true),
        ("gemini-2.5-pro", false),
        ("gemini-flash-latest", false),
        ("gemma-3", false),
    ];
    let messages = vec![message(
        Role::Assistant,
        vec![call("1", "t", ""), call("2", "t", "")],
    )];
    for (model, marked) in rows {
        let body = written_body(&ModelRequest::new(model, messages.clone()));
        let parts = &body["contents"][1]["parts"];
        let mark = parts[0].get("thoughtSignature").cloned();
        assert_eq!(mark, marked.then(|| json!(NOT_OURS)), "{model}");
        assert_eq!(parts[1].get("thoughtSignature"), None);
    }
}

#[test]
fn parts_are_written_as_they_were() {
    use Role::{Assistant, Tool, User};
    let model = |parts: Vec<Part>| vec![Message::user("go"), message(Assistant, parts)];
    let data =
        json!({"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "x"});
    let rows = vec![
        (
            model(vec![
                Part::reasoning("hm"),
                signed("s"),
                Part::reasoning("dropped"),
                Part::text("x"),
                signed("t"),
            ]),
            1,
            json!([{"text": "hm", "thought": true, "thoughtSignature": "s"}, {"text": "x", "thoughtSignature": "t"}]),
        ),
        (
            model(vec![
                Part::text("Grüße"),
                opaque("gemini", json!({"thoughtSignature": "s", "tail": 5})),
            ]),
            1,
            json!([{"text": "Gr"}, {"text": "üße", "thoughtSignature": "s"}]),
        ),
        // A length that does not fit: the whole is signed.
        (
            model(vec![
                Part::text("Grüße"),
                opaque("gemini", json!({"thoughtSignature": "s", "tail": 99})),
            ]),
            1,
            json!([{"text": "Grüße", "thoughtSignature": "s"}]),
        ),
        (
            model(vec![
                Part::text("x"),
                opaque(
                    "gemini",
                    json!({"part": {"text": "", "thoughtSignature": "s"}}),
                ),
            ]),
            1,
            json!([{"text": "x"}, {"text": "", "thoughtSignature": "s"}]),
        ),
        (
            model(vec![opaque("gemini", json!({"part": data}))]),
            1,
            json!([data]),
        ),
        (
            model(vec![shown("data:image/png;base64,AA==")]),
            1,
            json!([{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]),
        ),
        (
            model(vec![call("1", "t", "{oops")]),
            1,
            json!([{"functionCall": {"id": "1", "name": "t", "args": {"_raw": "{oops"}}}]),
        ),
        (
            model(vec![call("1", "t", "")]),
            2,
            json!([{"functionResponse": {"id": "1", "name": "t", "response": {"error": NO_RESULT}}}]),
        ),
        (vec![Message::assistant("hi")], 0, json!([{"text": BEGIN}])),
        // Images of results stand behind all results for models that do not take them inside.
        (
            vec![
                message(Assistant, vec![call("1", "t", ""), call("2", "t", "")]),
                message(
                    Tool,
                    vec![
                        result("1", "a", false),
                        shown("https://x/a.JPG?q"),
                        result("2", "b", false),
                    ],
                ),
                Message::user("so"),
            ],
            2,
            json!([
                {"functionResponse": {"id": "1", "name": "t", "response": {"result": "a"}}},
                {"functionResponse": {"id": "2", "name": "t", "response": {"result": "b"}}},
                {"fileData": {"fileUri": "https://x/a.JPG?q", "mimeType": "image/jpeg"}},
                {"text": "so"},
            ]),
        ),
        (
            vec![message(User, vec![shown("https://x/a")])],
            0,
            json!([{"fileData": {"fileUri": "https://x/a"}}]),
        ),
    ];
    for (messages, turn, expected) in rows {
        let body = written_body(&ModelRequest::new("gemini-2.5-pro", messages.clone()));
        assert_eq!(body["contents"][turn]["parts"], expected, "{messages:?}");
    }
}

#[test]
fn the_rest_of_the_request() {
    let with = |change: &dyn Fn(&mut ModelRequest)| {
        let mut request = ModelRequest::new("m", vec![Message::user("hi")]);
        request.tools.push(ToolSpec {
            name: "t".into(),
            description: String::new(),
            parameters: Json::Null.into(),
        });
        change(&mut request);
        written_body(&request)
    };
    let plain = with(&|_| {});
    assert_eq!(
        plain.get("toolConfig").or(plain.get("generationConfig")),
        None
    );
    let choices = [
        (ToolChoice::None, json!({"mode": "NONE"})),
        (ToolChoice::Required, json!({"mode": "ANY"})),
        (
            ToolChoice::Tool("t".into()),
            json!({"mode": "ANY", "allowedFunctionNames": ["t"]}),
        ),
    ];
    for (choice, expected) in choices {
        let body = with(&|request| request.tool_choice = choice.clone());
        assert_eq!(
            body["toolConfig"],
            json!({"functionCallingConfig": expected})
        );
        let body = with(&|request| {
            request.tool_choice = choice.clone();
            request.tools.clear();
        });
        assert_eq!(body.get("toolConfig").or(body.get("tools")), None);
    }
    let schema =
        json!({"$schema": "x", "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}});
    let body = with(&|request| request.constraint = Some(Constraint::Json(schema.clone())));
    let held = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}});
    let expected = json!({"responseMimeType": "application/json", "responseJsonSchema": held});
    assert_eq!(body["generationConfig"], expected);

    let body = with(&|request| {
        request.sampling.max_tokens = Some(9);
        request.sampling.temperature = Some(f64::INFINITY);
        let extras = json!({"generationConfig": {"thinkingConfig": {"includeThoughts": true}}, "tools": null,
            "safetySettings": [], "stream": true});
        request.extras = extras.as_object().unwrap().clone();
    });
    let expected = json!({
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"maxOutputTokens": 9, "thinkingConfig": {"includeThoughts": true}},
        "safetySettings": [],
    });
    assert_eq!(body, expected);
}

#[test]
fn what_cannot_be_sent_is_refused_with_a_remedy() {
    let mut request = ModelRequest::new("m", vec![Message::user("hi")]);
    request.constraint = Some(Constraint::Grammar("root ::= \"x\"".into()));
    let error = encode(&request, &Quirks::default()).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert!(error.message.contains("grammar"), "{error}");
    for url in ["data:image/png,marker", "file:///marker", "marker.png"] {
        let request = ModelRequest::new("m", vec![message(Role::User, vec![shown(url)])]);
        let error = encode(&request, &Quirks::default()).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Refused);
        assert!(!error.message.contains("marker"), "{error}");
    }
}

#[test]
fn a_raw_payload_is_read_and_written_anew() {
    let raw = json!({
        "model": "gpt", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9, "stream": false,
        "user": "me", "logit_bias": {}, "safetySettings": [],
    });
    let request = ModelRequest {
        raw: Some(RawPayload::new(raw.to_string()).unwrap()),
        ..ModelRequest::new("gemini-2.5-pro", vec![])
    };
    let expected = json!({
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"maxOutputTokens": 9},
        "safetySettings": [],
    });
    assert_eq!(written_body(&request), expected);
}
