use serde_json::json;

use super::super::pieces::{call, message, opaque, result};
use super::*;

const OWN: Own = Own {
    provider: "gemini",
    signature: Some("thoughtSignature"),
};

/// A conversation in one line a turn: `u` or `m`, and what it says.
fn drawn(messages: &[Message]) -> Vec<String> {
    let draw = |item: &Item<'_>| match item {
        Item::Text { text, signed } => format!("{text}{}", if signed.is_some() { "!" } else { "" }),
        Item::Reasoning { text, .. } => format!("({text})!"),
        Item::Call { id, call, signed } => {
            format!(
                "{}#{id}{}",
                name_of(call),
                if signed.is_some() { "!" } else { "" }
            )
        }
        Item::Answer(answer) => format!(
            "{}#{}={}{}{}",
            answer.name,
            answer.id,
            if answer.is_error { "error:" } else { "" },
            answer.content,
            "+".repeat(answer.images.len()),
        ),
        Item::Image(image) => format!("<{}>", image.url),
        Item::Opaque(value) => value.to_string(),
    };
    let messages: Vec<Arc<Message>> = messages.iter().cloned().map(Arc::new).collect();
    let talk = Talk::read(&messages, &OWN);
    let turn = |turn: &Turn<'_>| {
        let side = match turn.side {
            Side::User => "u",
            Side::Model => "m",
        };
        let items: Vec<String> = turn.items.iter().map(draw).collect();
        format!("{side}: {}", items.join(" | "))
    };
    talk.turns.iter().map(turn).collect()
}

fn image(url: &str) -> Part {
    Part::Image(Image {
        url: url.into(),
        detail: None,
    })
}

#[test]
fn every_conversation_takes_turns() {
    use Role::{Assistant, Tool, User};
    let user = Message::user;
    let rows: Vec<(&str, Vec<Message>, Vec<String>)> = vec![
        ("nothing", vec![], vec![format!("u: {BEGIN}")]),
        (
            "only instructions",
            vec![Message::system("be")],
            vec![format!("u: {BEGIN}")],
        ),
        (
            "the model begins",
            vec![Message::assistant("hi"), user("ho")],
            vec![format!("u: {BEGIN}"), "m: hi".into(), "u: ho".into()],
        ),
        (
            "one side twice, and blanks",
            vec![
                user("a"),
                user(" \n"),
                user("b"),
                Message::assistant(""),
                user("c"),
                Message::assistant("d"),
            ],
            vec!["u: a | b | c".into(), "m: d".into()],
        ),
        (
            "instructions in the middle",
            vec![
                user("a"),
                Message::system("be brief"),
                Message::assistant("b"),
            ],
            vec!["u: a | <system>\nbe brief\n</system>".into(), "m: b".into()],
        ),
        (
            "results come first, in the order of calls, with their images",
            vec![
                message(Assistant, vec![call("1", "a", ""), call("2", "b", "")]),
                user("wait"),
                message(
                    Tool,
                    vec![result("2", "two", false), image("i"), image("j")],
                ),
                message(Tool, vec![result("1", "one", true)]),
                user("so?"),
            ],
            vec![
                format!("u: {BEGIN}"),
                "m: a#1 | b#2".into(),
                "u: a#1=error:one | b#2=two++ | wait | so?".into(),
            ],
        ),
        (
            "a call without a result, in the middle and at the end",
            vec![
                user("go"),
                message(Assistant, vec![call("1", "a", "")]),
                user("never mind"),
                message(Assistant, vec![call("2", "a", "")]),
            ],
            vec![
                "u: go".into(),
                "m: a#1".into(),
                format!("u: a#1=error:{NO_RESULT} | never mind"),
                "m: a#2".into(),
                format!("u: a#2=error:{NO_RESULT}"),
            ],
        ),
        (
            "results that nobody asked for, or twice",
            vec![
                user("go"),
                message(Assistant, vec![call("1", "a", "")]),
                Message::tool_result("1", "one"),
                Message::tool_result("1", "again"),
                Message::tool_result("9", "nine"),
            ],
            vec![
                "u: go".into(),
                "m: a#1".into(),
                "u: a#1=one | Result of 1: again | Result of 9: nine".into(),
            ],
        ),
        (
            "ids that come again, are empty, or cannot be sent",
            vec![
                user("go"),
                message(
                    Assistant,
                    vec![call("1", "a", ""), call("", "b", ""), call("f.x:0", "", "")],
                ),
                message(
                    Tool,
                    vec![
                        result("f.x:0", "c", false),
                        result("", "b", false),
                        result("1", "a", false),
                    ],
                ),
                message(Assistant, vec![call("1", "a", ""), call("1_2", "a", "")]),
                message(
                    Tool,
                    vec![result("1", "A", false), result("1_2", "B", false)],
                ),
                message(Assistant, vec![call("1", "a", "")]),
            ],
            vec![
                "u: go".into(),
                "m: a#1 | b#call | unnamed#f_x_0".into(),
                "u: a#1=a | b#call=b | unnamed#f_x_0=c".into(),
                "m: a#1_2 | a#1_2_2".into(),
                "u: a#1_2=A | a#1_2_2=B".into(),
                "m: a#1_3".into(),
                format!("u: a#1_3=error:{NO_RESULT}"),
            ],
        ),
        (
            "calls and results in one message",
            vec![
                user("go"),
                message(
                    Assistant,
                    vec![
                        call("1", "a", ""),
                        result("1", "one", false),
                        Part::text("done"),
                        call("2", "a", ""),
                    ],
                ),
            ],
            vec![
                "u: go".into(),
                "m: a#1".into(),
                "u: a#1=one".into(),
                "m: done | a#2".into(),
                format!("u: a#2=error:{NO_RESULT}"),
            ],
        ),
        (
            "signatures stay with their parts; thoughts without are left out",
            vec![
                user("go"),
                message(
                    Assistant,
                    vec![
                        Part::reasoning("hm"),
                        Part::reasoning("so"),
                        opaque("gemini", json!({"thoughtSignature": "s"})),
                        Part::text(" "),
                        opaque("gemini", json!({"thoughtSignature": "s"})),
                        Part::text("x"),
                        opaque("openai", json!({"thoughtSignature": "s"})),
                        opaque("gemini", json!({"part": 1})),
                        opaque("gemini", json!({"thoughtSignature": "lost"})),
                    ],
                ),
            ],
            vec!["u: go".into(), "m: (so)! |  ! | x | {\"part\":1}".into()],
        ),
        (
            "who speaks",
            vec![Message {
                name: Some("Ann".into()),
                ..message(User, vec![image("i"), Part::text("hi"), Part::text("you")])
            }],
            vec!["u: <i> | Ann: hi | you".into()],
        ),
    ];
    for (about, messages, expected) in rows {
        assert_eq!(drawn(&messages), expected, "{about}");
    }
}

#[test]
fn instructions_are_those_before_the_talk() {
    let messages = [
        Message::system("one"),
        Message::new(Role::Developer, "two"),
        Message::system("  "),
        Message::user("hi"),
        Message::system("late"),
    ]
    .map(Arc::new);
    assert_eq!(Talk::read(&messages, &OWN).instructions, ["one", "two"]);
}

#[test]
fn ten_thousand_calls_of_one_id_are_told_apart() {
    let parts = (0..10_000).map(|_| call("call_1", "a", "")).collect();
    let messages = [Arc::new(message(Role::Assistant, parts))];
    let talk = Talk::read(&messages, &OWN);
    let Some(Item::Call { id, .. }) = talk.turns[1].items.last() else {
        panic!("no call: {talk:?}");
    };
    assert_eq!(id, "call_1_10000");
}
