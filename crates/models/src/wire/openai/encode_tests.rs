use serde_json::{Value as Json, json};

use super::*;
use crate::{Image, Message, Part, RawPayload, Role, ToolCall, ToolResult};

fn body(request: &ModelRequest, quirks: &Quirks) -> Json {
    let sent = encode(request, quirks).unwrap();
    assert_eq!((sent.path.as_str(), sent.headers.len()), (PATH, 0));
    assert_eq!(sent.streams, request.stream);
    serde_json::from_slice(&sent.body).unwrap()
}

fn messages(messages: Vec<Message>, quirks: &Quirks) -> Json {
    body(&ModelRequest::new("m", messages), quirks)["messages"].clone()
}

fn said(role: Role, parts: Vec<Part>) -> Message {
    Message {
        role,
        name: None,
        parts,
    }
}

fn opaque(provider: &str, value: Json) -> Part {
    Part::Opaque {
        provider: provider.into(),
        value,
    }
}

fn call(arguments: &str) -> Part {
    Part::ToolCall(ToolCall {
        id: "c".into(),
        name: "t".into(),
        arguments: arguments.into(),
    })
}

fn result(id: &str, name: Option<&str>) -> Part {
    Part::ToolResult(ToolResult {
        call_id: id.into(),
        name: name.map(str::to_owned),
        content: format!("result of {id}"),
        is_error: false,
    })
}

fn image(url: &str) -> Part {
    Part::Image(Image {
        url: url.into(),
        detail: None,
    })
}

#[test]
fn a_plain_request_has_nothing_that_was_not_asked_for() {
    let request = ModelRequest::new("m", vec![Message::user("hi")]);
    let sent = encode(&request, &Quirks::default()).unwrap();
    assert_eq!(
        String::from_utf8(sent.body).unwrap(),
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"stream\":true,\
         \"stream_options\":{\"include_usage\":true}}"
    );
    let whole = ModelRequest {
        stream: false,
        model: String::new(),
        ..request
    };
    assert_eq!(
        body(&whole, &Quirks::default()),
        json!({"messages": [{"role": "user", "content": "hi"}], "stream": false})
    );
}

#[test]
fn every_setting_has_its_field() {
    let request = ModelRequest {
        tools: vec![
            ToolSpec {
                name: "t".into(),
                description: "does".into(),
                parameters: json!({"type": "object"}).into(),
            },
            ToolSpec {
                name: "u".into(),
                description: String::new(),
                parameters: Json::Null.into(),
            },
        ],
        sampling: Sampling {
            temperature: Some(0.5),
            max_tokens: Some(9),
            top_p: Some(0.9),
            top_k: Some(40),
            frequency_penalty: Some(0.1),
            presence_penalty: Some(f64::NAN),
            seed: Some(-3),
            stop: vec!["end".into()],
        },
        ..ModelRequest::new("m", vec![])
    };
    let quirks = Quirks {
        max_tokens_field: "max_completion_tokens".into(),
        stream_usage: false,
        ..Quirks::default()
    };
    let wanted = json!({
        "model": "m", "messages": [],
        "tools": [
            {"type": "function", "function": {"name": "t", "description": "does", "parameters": {"type": "object"}}},
            {"type": "function", "function": {"name": "u", "parameters": {"type": "object", "properties": {}}}},
        ],
        "temperature": 0.5, "max_completion_tokens": 9, "top_p": 0.9, "top_k": 40, "frequency_penalty": 0.1,
        "seed": -3, "stop": ["end"], "stream": true,
    });
    assert_eq!(body(&request, &quirks), wanted);
    let quirks = Quirks {
        default_max_tokens: Some(5),
        ..Quirks::default()
    };
    let bare = ModelRequest::new("m", vec![]);
    assert_eq!(body(&bare, &quirks)["max_tokens"], 5);

    let table = [
        (ToolChoice::Auto, Json::Null),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (
            ToolChoice::Tool("t".into()),
            json!({"type": "function", "function": {"name": "t"}}),
        ),
    ];
    for (choice, wanted) in table {
        let mut request = ModelRequest {
            tool_choice: choice,
            ..request.clone()
        };
        assert_eq!(body(&request, &quirks)["tool_choice"], wanted);
        request.tools.clear();
        assert!(body(&request, &quirks).get("tool_choice").is_none());
    }
}

#[test]
fn messages_are_narrowed_to_what_servers_take() {
    let developer = |role: &str| json!([{"role": role, "content": "x"}]);
    let thinking = || {
        said(
            Role::Assistant,
            vec![Part::reasoning("hm"), Part::text("a")],
        )
    };
    let quirks = Quirks::default();
    let generous = Quirks {
        developer_role: true,
        reasoning_back: true,
        ..Quirks::default()
    };
    let instructs = || vec![Message::new(Role::Developer, "x")];
    assert_eq!(messages(instructs(), &quirks), developer("system"));
    assert_eq!(messages(instructs(), &generous), developer("developer"));
    assert_eq!(
        messages(vec![thinking()], &quirks),
        json!([{"role": "assistant", "content": "a"}])
    );
    assert_eq!(
        messages(vec![thinking()], &generous),
        json!([{"role": "assistant", "reasoning_content": "hm", "content": "a"}])
    );

    let own = Quirks {
        message_fields: vec!["reasoning_details".into(), "extra_content".into()],
        ..Quirks::default()
    };
    let details = json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "e"}]});
    let signed = said(
        Role::Assistant,
        vec![
            Part::reasoning("hm"),
            Part::text("a"),
            call("{\"x\": 1}"),
            opaque("openai.tool_call", json!({"extra_content": {"s": 1}})),
            opaque("anthropic", json!({"signature": "not ours"})),
            Part::text("b"),
            call(""),
            opaque("openai.message", details.clone()),
        ],
    );
    let called = |arguments: &str| json!({"id": "c", "type": "function", "function": {"name": "t", "arguments": arguments}});
    let mut first = called("{\"x\": 1}");
    first["extra_content"] = json!({"s": 1});
    assert_eq!(
        messages(vec![signed.clone()], &own),
        json!([{
            "role": "assistant", "content": "ab", "tool_calls": [first, called("{}")],
            "reasoning_details": details["reasoning_details"],
        }])
    );

    // Nobody else is shown them: many servers refuse what they do not know.
    assert_eq!(
        messages(vec![signed], &quirks),
        json!([{
            "role": "assistant", "content": "ab", "tool_calls": [called("{\"x\": 1}"), called("{}")],
        }])
    );

    let table = [
        // A call needs no words, but a turn without any call does.
        (
            said(Role::Assistant, vec![call("{}")]),
            json!({"role": "assistant", "content": null, "tool_calls": [called("{}")]}),
        ),
        (
            said(Role::Assistant, vec![Part::reasoning("hm")]),
            json!({"role": "assistant", "content": ""}),
        ),
        // Pictures are refused in this role.
        (
            said(
                Role::Assistant,
                vec![
                    Part::text("Look: "),
                    image("https://x/u.png"),
                    image("data:image/png;base64,AA=="),
                ],
            ),
            json!({"role": "assistant", "content": "Look: [image: https://x/u.png][image]"}),
        ),
        (
            said(Role::User, vec![Part::text("a"), Part::text("b")]),
            json!({"role": "user", "content": "a\nb"}),
        ),
        (
            said(
                Role::User,
                vec![
                    Part::text("a"),
                    image("u"),
                    opaque("openai", json!({"type": "file"})),
                ],
            ),
            json!({"role": "user", "content": [
                {"type": "text", "text": "a"},
                {"type": "image_url", "image_url": {"url": "u"}},
                {"type": "file"},
            ]}),
        ),
    ];
    for (message, wanted) in table {
        assert_eq!(messages(vec![message], &quirks), json!([wanted]));
    }
}

#[test]
fn what_results_show_follows_all_of_them_as_the_users() {
    let conversation = vec![
        said(Role::Assistant, vec![call("{}")]),
        said(
            Role::Tool,
            vec![result("a", Some("camera")), image("u"), image("v")],
        ),
        said(
            Role::Tool,
            vec![result("b", None), image("w"), result("c", None)],
        ),
        Message::user("well?"),
        said(Role::Tool, vec![result("d", None), image("x")]),
    ];
    let picture = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let sent = messages(conversation, &Quirks::default());
    let sent = sent.as_array().unwrap();
    let roles: Vec<_> = sent
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        [
            "assistant",
            "tool",
            "tool",
            "tool",
            "user",
            "user",
            "tool",
            "user"
        ]
    );
    assert_eq!(
        sent[1],
        json!({"role": "tool", "tool_call_id": "a", "name": "camera", "content": "result of a"})
    );
    assert_eq!(sent[2]["content"], "result of b");
    assert_eq!(
        sent[4]["content"],
        json!([
            text("This belongs to the result of camera (a):"),
            picture("u"),
            picture("v"),
            text("This belongs to the result of b:"),
            picture("w"),
        ])
    );
    assert_eq!(sent[5]["content"], "well?");
    assert_eq!(sent[7]["content"][1], picture("x"));
}

#[test]
fn constraints_go_where_the_server_looks_for_them() {
    let asked = |constraint: Constraint| ModelRequest {
        constraint: Some(constraint),
        ..ModelRequest::new("m", vec![])
    };
    let grammar = asked(Constraint::Grammar("root ::= \"a\"".into()));
    let with = |grammar: Option<GrammarField>, json_schema: bool| Quirks {
        grammar,
        json_schema,
        ..Quirks::default()
    };
    let llama = body(&grammar, &with(Some(GrammarField::Grammar), false));
    assert_eq!(llama["grammar"], "root ::= \"a\"");
    let vllm = body(
        &grammar,
        &with(Some(GrammarField::StructuredOutputs), false),
    );
    assert_eq!(
        vllm["structured_outputs"],
        json!({"grammar": "root ::= \"a\""})
    );
    let schema = asked(Constraint::Json(json!({"type": "object"})));
    let format = json!({"name": "answer", "schema": {"type": "object"}});
    assert_eq!(
        body(&schema, &with(None, true))["response_format"],
        json!({"type": "json_schema", "json_schema": format})
    );
    let closed =
        json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    let body_of = |constraint: Constraint| body(&asked(constraint), &with(None, true));
    let format = body_of(Constraint::Json(closed))["response_format"]["json_schema"].clone();
    assert_eq!(format["strict"], json!(true));
    let any_object = body(&asked(Constraint::JsonObject), &with(None, false));
    assert_eq!(
        any_object["response_format"],
        json!({"type": "json_object"})
    );
    let wish = asked(Constraint::GrammarIfTaken("root ::= \"a\"".into()));
    let taken = body(&wish, &with(Some(GrammarField::Grammar), false));
    assert_eq!(taken["grammar"], "root ::= \"a\"");
    assert_eq!(body(&wish, &with(None, false)).get("grammar"), None);
    for (request, setting) in [
        (&grammar, "`grammar` of the channel"),
        (&schema, "`quirks.json_schema`"),
    ] {
        let error = encode(request, &with(None, false)).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Refused);
        assert!(error.message.contains(setting), "{error}");
    }
}

#[test]
fn extras_have_the_last_word_on_what_is_not_settled() {
    let table = [
        (json!({"min_p": 0.1}), "/min_p", json!(0.1)),
        (json!({"temperature": 1}), "/temperature", json!(1)),
        (json!({"temperature": null}), "/temperature", Json::Null),
        (
            json!({"stream_options": {"x": 1}}),
            "/stream_options",
            json!({"include_usage": true, "x": 1}),
        ),
        (
            json!({"stream_options": {"include_usage": null}}),
            "/stream_options",
            json!({}),
        ),
        (json!({"stream": false}), "/stream", json!(true)),
        (json!({"stream": null}), "/stream", json!(true)),
        (json!({"messages": []}), "/messages/0/content", json!("hi")),
        (json!({"model": "dear"}), "/model", json!("m")),
        (json!({"model": null}), "/model", json!("m")),
        (json!({"n": 4}), "/n", Json::Null),
        (
            json!({"new": {"a": null, "b": {"c": 1}}}),
            "/new",
            json!({"b": {"c": 1}}),
        ),
        (
            json!({"temperature": {"odd": 1}}),
            "/temperature",
            json!({"odd": 1}),
        ),
    ];
    for (extras, place, wanted) in table {
        let request = ModelRequest {
            extras: extras.as_object().unwrap().clone(),
            sampling: Sampling {
                temperature: Some(0.5),
                ..Sampling::default()
            },
            ..ModelRequest::new("m", vec![Message::user("hi")])
        };
        let body = body(&request, &Quirks::default());
        let found = body.pointer(place).cloned().unwrap_or_default();
        assert_eq!(found, wanted, "{extras}");
    }
}

#[test]
fn a_raw_payload_is_sent_byte_for_byte() {
    for (text, streams) in [
        (
            "{ \"messages\":[ ],\t\"model\":\"other\", \"stream\": true,\"n\":1.0e0 }",
            true,
        ),
        ("{\"messages\":[]}\n", false),
    ] {
        let request = ModelRequest {
            raw: Some(RawPayload::new(text).unwrap()),
            extras: json!({"x": 1}).as_object().unwrap().clone(),
            ..ModelRequest::new("m", vec![Message::user("left out")])
        };
        let sent = encode(&request, &Quirks::default()).unwrap();
        assert_eq!(sent.body, text.as_bytes());
        assert_eq!((sent.path.as_str(), sent.streams), (PATH, streams));
    }
}

#[test]
fn what_a_server_calls_otherwise_or_refuses_is_written_its_way() {
    let mistral = crate::provider::Providers::shipped();
    let mistral = mistral.get("mistral").unwrap().quirks.clone();
    let called = |id: &str| {
        Part::ToolCall(ToolCall {
            id: id.into(),
            name: "t".into(),
            arguments: "{}".into(),
        })
    };
    let mut asks = Message::user("hi");
    asks.name = Some("anna".into());
    let request = ModelRequest {
        sampling: Sampling {
            seed: Some(7),
            top_k: Some(40),
            ..Sampling::default()
        },
        ..ModelRequest::new(
            "m",
            vec![
                asks,
                said(
                    Role::Assistant,
                    vec![called("call_1"), called("call_2"), called("aB3456789")],
                ),
                said(
                    Role::Tool,
                    vec![result("call_2", Some("t")), result("call_1", None)],
                ),
            ],
        )
    };
    let sent = body(&request, &mistral);
    assert_eq!(sent["random_seed"], 7);
    for left_out in ["/seed", "/top_k", "/messages/0/name"] {
        assert_eq!(sent.pointer(left_out), None, "{left_out}");
    }
    let text = |place: &str| {
        sent.pointer(place)
            .and_then(Json::as_str)
            .unwrap()
            .to_owned()
    };
    let ids: Vec<String> = (0..3)
        .map(|at| text(&format!("/messages/1/tool_calls/{at}/id")))
        .collect();
    for id in &ids {
        assert!(
            id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{id}"
        );
    }
    assert_ne!(ids[0], ids[1]);
    assert_eq!(ids[2], "aB3456789");
    assert_eq!(text("/messages/2/tool_call_id"), ids[1]);
    assert_eq!(text("/messages/3/tool_call_id"), ids[0]);

    let usual = body(&request, &Quirks::default());
    assert_eq!((&usual["seed"], &usual["top_k"]), (&json!(7), &json!(40)));
    assert_eq!(usual["messages"][0]["name"], "anna");
    assert_eq!(usual["messages"][1]["tool_calls"][0]["id"], "call_1");
}
