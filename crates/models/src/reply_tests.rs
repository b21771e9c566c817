use innkeeper_protocol::parse_response;
use proptest::prelude::*;

use super::*;

fn assemble(events: &[ModelEvent]) -> ModelReply {
    let mut assembler = Assembler::new("m".into());
    for event in events {
        assembler.add(event).unwrap();
    }
    assembler.finish()
}

fn call(index: u32, id: &str, name: &str, arguments: &str) -> ModelEvent {
    let word = |word: &str| (!word.is_empty()).then(|| word.to_owned());
    ModelEvent::ToolCall {
        index,
        id: word(id),
        name: word(name),
        arguments_delta: arguments.to_owned(),
    }
}

fn ids(reply: &ModelReply) -> Vec<&str> {
    reply.tool_calls().map(|call| call.id.as_str()).collect()
}

#[test]
fn parts_keep_their_order_and_pieces_grow_together() {
    let reply = assemble(&[
        ModelEvent::Started {
            model: "gpt".into(),
            response_id: Some("r".into()),
        },
        ModelEvent::Reasoning("h".into()),
        ModelEvent::Reasoning("m".into()),
        ModelEvent::Opaque {
            provider: "p".into(),
            value: json!(1),
        },
        ModelEvent::Text("a".into()),
        call(0, "x", "one", ""),
        call(1, "y", "two", "{"),
        call(0, "", "", "{}"),
        call(1, "", "", "}"),
        ModelEvent::Text("b".into()),
        ModelEvent::Finish(FinishReason::ToolCalls),
        ModelEvent::Usage(Usage {
            prompt_tokens: Some(1),
            ..Usage::default()
        }),
    ]);
    let made = |id: &str, name: &str| {
        Part::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: "{}".into(),
        })
    };
    let parts = [
        Part::reasoning("hm"),
        Part::Opaque {
            provider: "p".into(),
            value: json!(1),
        },
        Part::text("a"),
        made("x", "one"),
        made("y", "two"),
        Part::text("b"),
    ];
    assert_eq!(reply.parts, parts);
    assert_eq!(
        (reply.text(), reply.reasoning()),
        ("ab".into(), "hm".into())
    );
    assert_eq!(reply.model, "gpt");
    assert_eq!(reply.response_id.as_deref(), Some("r"));
    assert_eq!(reply.usage.and_then(|usage| usage.prompt_tokens), Some(1));
}

#[test]
fn every_call_gets_an_id_of_its_own() {
    let table: [(&[&str], &[&str]); 5] = [
        (&["a", "b"], &["a", "b"]),
        (&["", ""], &["call_1", "call_2"]),
        (&["a", "a", "a"], &["a", "a_2", "a_3"]),
        (&["call_2", ""], &["call_2", "call_3"]),
        (&["a", "a", "a_2"], &["a", "a_3", "a_2"]),
    ];
    for (given, wanted) in table {
        let events: Vec<_> = (0..)
            .zip(given)
            .map(|(index, id)| call(index, id, "t", "{}"))
            .collect();
        assert_eq!(ids(&assemble(&events)), wanted, "{given:?}");
    }
}

#[test]
fn a_missing_reason_is_guessed_from_what_came() {
    let text = assemble(&[ModelEvent::Text("a".into())]);
    assert_eq!(text.finish_reason, FinishReason::Stop);
    let calls = assemble(&[call(0, "", "t", "")]);
    assert_eq!(calls.finish_reason, FinishReason::ToolCalls);
}

#[test]
fn replies_are_bounded() {
    let half = "x".repeat(MAX_REPLY_BYTES / 2);
    let full = |count: usize| {
        let mut assembler = Assembler::new(String::new());
        (0..count).try_for_each(|_| assembler.add(&ModelEvent::Text(half.clone())))
    };
    assert_eq!(full(2), Ok(()));
    assert_eq!(full(3).unwrap_err().kind, ModelErrorKind::TooLarge);

    let calls = |count: usize| {
        let mut assembler = Assembler::new(String::new());
        let mut events = (0..).map(|index| call(index, "", "t", "")).take(count);
        events.try_for_each(|event| assembler.add(&event))
    };
    assert_eq!(calls(MAX_TOOL_CALLS), Ok(()));
    let error = calls(MAX_TOOL_CALLS + 1).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::TooLarge);
    assert!(error.message.contains("512"), "{error}");

    let parts = |count: usize| {
        let mut assembler = Assembler::new(String::new());
        (0..count).try_for_each(|n| {
            assembler.add(&match n % 2 {
                0 => ModelEvent::Text("a".into()),
                _ => ModelEvent::Reasoning("b".into()),
            })
        })
    };
    assert_eq!(parts(MAX_REPLY_PARTS), Ok(()));
    assert_eq!(
        parts(MAX_REPLY_PARTS + 1).unwrap_err().kind,
        ModelErrorKind::TooLarge
    );
}

#[test]
fn the_parser_reads_the_standard_response() {
    let reply = assemble(&[
        ModelEvent::Reasoning("hm".into()),
        ModelEvent::Text("I roll.".into()),
        call(0, "c", "dice_roll", "{\"formula\":\"d6\"}"),
        ModelEvent::Text(" Wait.".into()),
    ]);
    let response = reply.to_standard_response();
    assert_eq!(response["text"], "I roll. Wait.");
    assert_eq!(
        response["choices"][0]["message"]["content"],
        "I roll. Wait."
    );
    assert_eq!(response["reasoning"], "hm");
    assert_eq!(response["tool_calls"][0]["id"], "c");
    assert_eq!(response["choices"][0]["finish_reason"], "tool_calls");
    let read = parse_response(&response).unwrap();
    assert_eq!(read.raw_text, "I roll. Wait.");
    let calls: Vec<_> = read.calls().map(|call| call.tool.as_ref()).collect();
    assert_eq!(calls, ["dice_roll"]);

    // Without calls there is no such field: workflows look whether it is there.
    let plain = assemble(&[ModelEvent::Text("no".into())]).to_standard_response();
    assert_eq!(plain.get("tool_calls"), None);
    assert_eq!(parse_response(&plain).unwrap().response_text, "no");
}

/// A reply cut in some way: texts of any characters, calls that grow at the same time.
fn pieces() -> impl Strategy<Value = Vec<ModelEvent>> {
    let piece = prop_oneof![
        "\\PC{0,6}".prop_map(ModelEvent::Text),
        "\\PC{0,6}".prop_map(ModelEvent::Reasoning),
        (0_u32..3, "[ab]{0,1}", "[xy]{0,1}", "\\PC{0,6}")
            .prop_map(|(index, id, name, arguments)| call(index, &id, &name, &arguments)),
        any::<u8>().prop_map(|n| ModelEvent::Opaque {
            provider: "p".into(),
            value: json!(n),
        }),
    ];
    prop::collection::vec(piece, 0..24)
}

/// The same pieces with every text cut again, one character at a time, and empty ones between.
fn minced(events: &[ModelEvent]) -> Vec<ModelEvent> {
    let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
    let mut out = Vec::new();
    for event in events {
        match event {
            ModelEvent::Text(text) => {
                out.extend(letters(text).into_iter().map(ModelEvent::Text));
            }
            ModelEvent::Reasoning(text) => {
                out.extend(letters(text).into_iter().map(ModelEvent::Reasoning));
            }
            ModelEvent::ToolCall {
                index,
                id,
                name,
                arguments_delta,
            } => {
                let [id, name] = [id, name].map(|word| word.clone().unwrap_or_default());
                out.push(call(*index, &id, &name, ""));
                out.extend(
                    letters(arguments_delta)
                        .iter()
                        .map(|c| call(*index, "", "", c)),
                );
            }
            other => out.push(other.clone()),
        }
        out.push(ModelEvent::Text(String::new()));
        out.push(ModelEvent::Reasoning(String::new()));
    }
    out
}

proptest! {
    #[test]
    fn how_it_was_cut_leaves_no_trace(events in pieces()) {
        prop_assert_eq!(assemble(&minced(&events)), assemble(&events));
    }

    #[test]
    fn nothing_that_was_said_is_lost(events in pieces()) {
        let reply = assemble(&events);
        let said: String = events.iter().filter_map(|event| match event {
            ModelEvent::Text(text) => Some(text.as_str()),
            _ => None,
        }).collect();
        prop_assert_eq!(reply.text(), said);
        let mut seen: Vec<_> = ids(&reply);
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), count);
    }
}
