use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::limits::{MAX_MESSAGES, MAX_PARTS, MAX_TOOL_CALLS};
use crate::{Image, Message, Part, Role, ToolCall, ToolResult};

fn said(role: Role, parts: Vec<Part>) -> Message {
    Message {
        role,
        name: None,
        parts,
    }
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    })
}

fn result(call_id: &str, name: Option<&str>, content: &str) -> Part {
    Part::ToolResult(ToolResult {
        call_id: call_id.into(),
        name: name.map(str::to_owned),
        content: content.into(),
        is_error: false,
    })
}

#[test]
fn the_shapes_that_people_write_are_read() {
    let image = |url: &str, detail: Option<&str>| {
        Part::Image(Image {
            url: url.into(),
            detail: detail.map(str::to_owned),
        })
    };
    let opaque = |provider: &str, value: Json| Part::Opaque {
        provider: provider.into(),
        value,
    };
    let sound = json!({"type": "input_audio", "input_audio": {"data": "AA"}});
    let table = [
        (
            json!({"role": "user", "content": "hi"}),
            Message::user("hi"),
        ),
        (json!("hi"), Message::user("hi")),
        (
            json!({"role": "System", "content": "be kind"}),
            Message::system("be kind"),
        ),
        (
            json!({"role": "developer", "content": "x"}),
            Message::new(Role::Developer, "x"),
        ),
        (
            json!({"role": "model", "content": "x"}),
            Message::assistant("x"),
        ),
        (json!({"role": "user", "content": 7}), Message::user("7")),
        (
            json!({"role": "user", "content": null}),
            said(Role::User, vec![]),
        ),
        (
            json!({"role": "user", "content": ""}),
            said(Role::User, vec![]),
        ),
        (
            json!({"role": "user", "id": 5, "createdAt": "…"}),
            said(Role::User, vec![]),
        ),
        (
            json!({"role": "user", "content": [
                "a", {"type": "text", "text": "b"}, {"text": "c"},
                {"type": "image_url", "image_url": {"url": "u", "detail": "low"}},
                {"type": "image_url", "image_url": "v"},
                sound,
            ]}),
            said(
                Role::User,
                vec![
                    Part::text("a"),
                    Part::text("b"),
                    Part::text("c"),
                    image("u", Some("low")),
                    image("v", None),
                    opaque("openai", sound.clone()),
                ],
            ),
        ),
        (
            json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{\"x\": 1}"}},
                {"function": {"name": "u", "arguments": {"x": 1}}, "extra_content": {"signature": "s"}},
                {"name": "v"},
            ]}),
            said(
                Role::Assistant,
                vec![
                    Part::reasoning("hm"),
                    call("a", "t", "{\"x\": 1}"),
                    call("call_2", "u", "{\"x\":1}"),
                    opaque(
                        "openai.tool_call",
                        json!({"extra_content": {"signature": "s"}}),
                    ),
                    call("call_3", "v", ""),
                ],
            ),
        ),
        (
            json!({"role": "assistant", "content": "x", "reasoning_details": [{"data": "e"}], "refusal": null}),
            said(
                Role::Assistant,
                vec![
                    Part::text("x"),
                    opaque(
                        "openai.message",
                        json!({"reasoning_details": [{"data": "e"}]}),
                    ),
                ],
            ),
        ),
        (
            json!({"role": "assistant", "function_call": {"name": "old", "arguments": "{}"}}),
            said(Role::Assistant, vec![call("old", "old", "{}")]),
        ),
        (
            json!({"role": "function", "name": "old", "content": "7"}),
            said(Role::Tool, vec![result("old", Some("old"), "7")]),
        ),
        (
            json!({"role": "tool", "tool_call_id": "a", "content": "7"}),
            said(Role::Tool, vec![result("a", None, "7")]),
        ),
        (
            json!({"role": "tool", "tool_call_id": "a", "content": {"total": 7}}),
            said(Role::Tool, vec![result("a", None, "{\"total\":7}")]),
        ),
        (
            json!({"role": "tool", "tool_call_id": "a", "content": [1, 2]}),
            said(Role::Tool, vec![result("a", None, "[1,2]")]),
        ),
    ];
    for (json, wanted) in table {
        assert_eq!(
            messages_from_chat(&json!([json])),
            Ok(vec![wanted]),
            "{json}"
        );
    }
    assert_eq!(
        messages_from_chat(&json!("hi")),
        Ok(vec![Message::user("hi")])
    );
    let single = json!({"role": "user", "content": "hi"});
    assert_eq!(messages_from_chat(&single), Ok(vec![Message::user("hi")]));
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    let table = [
        (json!(5), "messages: a number is no conversation"),
        (json!([5]), "messages[0]: a number is no message"),
        (json!([{"content": "x"}]), "messages[0].role: is missing"),
        (
            json!(["a", {"role": "bard"}]),
            "messages[1].role: 'bard' is no role; write system",
        ),
        (
            json!([{"role": 1}]),
            "messages[0].role: a number is no role",
        ),
        (
            json!([{"role": "user", "name": 1}]),
            "messages[0].name: a number stands where a text",
        ),
        (
            json!([{"role": "user", "content": [{}]}]),
            "messages[0].content[0]: this object is no part",
        ),
        (
            json!([{"role": "user", "content": ["a", 5]}]),
            "messages[0].content[1]: a number is no part",
        ),
        (
            json!([{"role": "user", "content": [{"type": "text"}]}]),
            "messages[0].content[0].text: is missing",
        ),
        (
            json!([{"role": "user", "content": {"text": []}}]),
            "messages[0].content.text: a list stands",
        ),
        (
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]),
            "messages[0].content[0].image_url.url: is missing",
        ),
        (
            json!([{"role": "tool", "content": "x"}]),
            "messages[0].tool_call_id: is missing",
        ),
        (
            json!([{"role": "assistant", "tool_calls": {}}]),
            "messages[0].tool_calls: this object stands",
        ),
        (
            json!([{"role": "assistant", "tool_calls": [1]}]),
            "messages[0].tool_calls[0]: a number is no call",
        ),
        (
            json!([{"role": "assistant", "tool_calls": [{"function": {"name": " "}}]}]),
            "messages[0].tool_calls[0].function.name: is missing",
        ),
        (
            json!([{"role": "user", "tool_calls": [{"name": "t"}]}]),
            "messages[0].tool_calls: only the assistant",
        ),
        (
            json!(vec!["x"; MAX_MESSAGES + 1]),
            "messages: 10001 messages are more than",
        ),
        (
            json!([{"role": "user", "content": vec!["x"; MAX_PARTS + 1]}]),
            "messages[0].content: 1001 parts are more than",
        ),
        (
            json!([{"role": "assistant", "tool_calls": vec![json!({"name": "t"}); MAX_TOOL_CALLS + 1]}]),
            "messages[0].tool_calls: 513 calls are more than",
        ),
    ];
    for (json, wanted) in table {
        let error = messages_from_chat(&json).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{error}\nbut: {wanted}");
        assert!(!error.ends_with('.'), "{error}");
    }
}

#[test]
fn results_become_messages_of_their_own() {
    let message = said(
        Role::Tool,
        vec![
            result("a", Some("t"), "1"),
            Part::Image(Image {
                url: "u".into(),
                detail: None,
            }),
            result("b", None, ""),
        ],
    );
    let picture = json!({"type": "image_url", "image_url": {"url": "u"}});
    assert_eq!(
        messages_to_chat(&[message]),
        json!([
            {"role": "tool", "tool_call_id": "a", "name": "t", "content": [{"type": "text", "text": "1"}, picture]},
            {"role": "tool", "tool_call_id": "b", "content": ""},
        ])
    );
}

#[test]
fn others_signatures_stay_at_home_and_a_silent_turn_stays_a_turn() {
    let foreign = Part::Opaque {
        provider: "anthropic".into(),
        value: json!({"signature": "s"}),
    };
    let written = messages_to_chat(&[
        said(Role::Assistant, vec![foreign]),
        said(Role::User, vec![]),
    ]);
    assert_eq!(
        written,
        json!([{"role": "assistant", "content": ""}, {"role": "user", "content": ""}])
    );
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let text = || "\\PC{1,8}".prop_map(Part::text);
    let name = || prop::option::of("[a-z]{1,5}");
    let talk = prop_oneof![
        text(),
        ("[a-z]{1,5}", prop::option::of("[a-z]{1,4}"))
            .prop_map(|(url, detail)| Part::Image(Image { url, detail })),
        "[a-z]{1,5}".prop_map(|word| Part::Opaque {
            provider: CONTENT.into(),
            value: json!({"type": "file", "file": word}),
        }),
    ];
    let talk = || prop::collection::vec(talk.clone(), 0..4);
    let signed = || prop::option::of("[a-z]{1,4}");
    let calls = ("[a-z]{1,4}", "[a-z]{1,4}", "\\PC{0,9}", signed());
    let calls = prop::collection::vec(calls, 0..3);
    let opaque = |provider: &str, field: &str, word: String| Part::Opaque {
        provider: provider.into(),
        value: json!({field: word}),
    };
    let assistant = (name(), signed(), talk(), calls, signed()).prop_map(
        move |(name, thought, talk, calls, details)| {
            let mut parts: Vec<Part> = thought.map(Part::reasoning).into_iter().collect();
            parts.extend(talk);
            for (id, name, arguments, signature) in calls {
                parts.push(call(&id, &name, &arguments));
                parts.extend(signature.map(|word| opaque(CALL, "extra_content", word)));
            }
            parts.extend(details.map(|word| opaque(MESSAGE, "reasoning_details", word)));
            Message {
                name,
                ..said(Role::Assistant, parts)
            }
        },
    );
    let roles = vec![Role::System, Role::Developer, Role::User];
    let others = (prop::sample::select(roles), name(), talk())
        .prop_map(|(role, name, parts)| Message { role, name, parts });
    let results = ("[a-z]{1,4}", name(), "\\PC{0,9}").prop_map(|(id, name, content)| {
        said(Role::Tool, vec![result(&id, name.as_deref(), &content)])
    });
    prop::collection::vec(prop_oneof![others, assistant, results], 0..6)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(messages in messages()) {
        prop_assert_eq!(messages_from_chat(&messages_to_chat(&messages)), Ok(messages));
    }

    #[test]
    fn no_json_makes_it_fall_over(role in "\\PC{0,9}", content in "\\PC{0,9}", n in any::<i64>()) {
        for json in [json!([{"role": role, "content": n}]), json!([{"role": "user", "content": [content, n]}])] {
            let _ = messages_from_chat(&json);
        }
    }
}
