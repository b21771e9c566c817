use super::*;
use crate::{Role, messages_from_chat};

fn signed() -> Vec<Part> {
    let call = |id: &str| {
        Part::ToolCall(ToolCall {
            id: id.into(),
            name: "roll".into(),
            arguments: String::new(),
        })
    };
    let seal = |seal: &str| Part::Opaque {
        provider: "anthropic".into(),
        value: json!({"signature": seal}),
    };
    vec![
        Part::reasoning("hm"),
        seal("a"),
        Part::text("I "),
        call("call_1"),
        seal("b"),
        Part::text("roll"),
    ]
}

fn read(message: Json) -> Vec<Part> {
    let mut messages = messages_from_chat(&json!([message])).unwrap();
    assert_eq!(messages[0].role, Role::Assistant);
    messages.remove(0).parts
}

fn message() -> Json {
    json!({
        "role": "assistant",
        "content": "I roll",
        "tool_calls": [{"id": "c9", "type": "function", "function": {"name": "roll", "arguments": "{}"}}],
        "innkeeper_parts": parts_to_chat(&signed()),
    })
}

#[test]
fn parts_come_back_as_they_were_under_the_ids_that_are_shown() {
    let mut wanted = signed();
    if let Some(Part::ToolCall(call)) = wanted.get_mut(3) {
        call.id = "c9".into();
    }
    assert_eq!(read(message()), wanted);
    assert_eq!(parts_to_chat(&[Part::text("plain")]), None);
}

#[test]
fn what_was_edited_is_no_longer_what_was_signed() {
    let opaque = |parts: &[Part]| parts.iter().any(|part| matches!(part, Part::Opaque { .. }));
    for (place, value) in [
        ("/content", json!("I jump")),
        ("/tool_calls", json!([])),
        ("/tool_calls/0/function/name", json!("jump")),
        ("/tool_calls/0/function/arguments", json!("{\"n\":2}")),
        ("/innkeeper_parts", json!("no list")),
        ("/innkeeper_parts/1", json!({"type": "unheard of"})),
        (
            "/innkeeper_parts",
            json!(vec![
                json!({"type": "text", "text": ""});
                MAX_REPLY_PARTS + 1
            ]),
        ),
    ] {
        let mut edited = message();
        *edited.pointer_mut(place).unwrap() = value;
        let parts = read(edited);
        assert!(!opaque(&parts), "{place}: {parts:?}");
    }
    // Only an assistant's parts are signed.
    let mut users = message();
    users["role"] = json!("user");
    users["tool_calls"] = json!([]);
    let parts = messages_from_chat(&json!([users])).unwrap();
    assert!(!opaque(&parts[0].parts));
}
