//! Each row is a list of deltas as some server sends them, and the calls that are meant.

use serde_json::{Value as Json, json};

use super::*;
use crate::reply::Assembler;
use crate::wire::pieces::calls_of;
use crate::{ModelReply, Part};

fn read(deltas: &[Json]) -> Result<ModelReply, ModelError> {
    let mut calls = Calls::default();
    let mut out = Vec::new();
    for delta in deltas {
        calls.pieces(delta.as_object().unwrap(), &mut out)?;
    }
    calls.finish(&mut out);
    let mut reply = Assembler::new("m".into());
    out.iter().try_for_each(|event| reply.add(event))?;
    Ok(reply.finish())
}

/// As `tool_calls` of a delta.
fn calls(list: Json) -> Json {
    json!({"tool_calls": list})
}

fn check(what: &str, deltas: &[Json], wanted: &[(&str, &str, &str)]) {
    let reply = read(deltas).unwrap();
    let got = calls_of(&reply);
    assert_eq!(got, wanted, "{what}");
}

#[test]
fn by_the_book() {
    let two = [("a", "x", "{\"p\":1}"), ("b", "y", "{}")];
    check(
        "one after the other",
        &[
            calls(
                json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "x", "arguments": ""}}]),
            ),
            calls(json!([{"index": 0, "function": {"arguments": "{\"p\""}}])),
            calls(json!([{"index": 0, "function": {"arguments": ":1}"}}])),
            calls(json!([{"index": 1, "id": "b", "function": {"name": "y", "arguments": ""}}])),
            calls(json!([{"index": 1, "function": {"arguments": "{}"}}])),
        ],
        &two,
    );
    check(
        "mixed",
        &[
            calls(json!([
                {"index": 0, "id": "a", "function": {"name": "x"}},
                {"index": 1, "id": "b", "function": {"name": "y"}},
            ])),
            calls(
                json!([{"index": 1, "function": {"arguments": "{}"}}, {"index": 0, "function": {"arguments": "{\"p\""}}]),
            ),
            calls(json!([{"index": 0, "function": {"arguments": ":1}"}}])),
        ],
        &two,
    );
    check(
        "each in one delta",
        &[
            calls(
                json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"p\":1}"}}]),
            ),
            calls(json!([{"index": 1, "id": "b", "function": {"name": "y", "arguments": "{}"}}])),
        ],
        &two,
    );
}

#[test]
fn indexes_and_ids_that_are_missing_or_say_nothing() {
    let two = [("a", "x", "{\"p\":1}"), ("b", "y", "{}")];
    check(
        "no index, ids with every delta",
        &[
            calls(json!([{"id": "a", "function": {"name": "x", "arguments": "{\"p\""}}])),
            calls(json!([{"id": "a", "function": {"name": "x", "arguments": ":1}"}}])),
            calls(json!([{"id": "a", "function": {"name": "x", "arguments": ""}}])),
            calls(json!([{"id": "b", "function": {"name": "y", "arguments": "{}"}}])),
        ],
        &two,
    );
    check(
        "no index, ids only at first",
        &[
            calls(json!([{"id": "a", "function": {"name": "x", "arguments": ""}}])),
            calls(json!([{"function": {"arguments": "{\"p\""}}])),
            calls(json!([{"id": "", "function": {"name": "", "arguments": ":1}"}}])),
            calls(json!([{"id": "b", "function": {"name": "y", "arguments": "{}"}}])),
        ],
        &two,
    );
    check(
        "the same index for all, whole",
        &[
            calls(
                json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"p\":1}"}}]),
            ),
            calls(json!([{"index": 0, "id": "b", "function": {"name": "y", "arguments": "{}"}}])),
        ],
        &two,
    );
    check(
        "the same index for all, in pieces",
        &[
            calls(json!([{"index": 0, "id": "a", "function": {"name": "x"}}])),
            calls(json!([{"index": 0, "id": "b", "function": {"name": "y"}}])),
            calls(json!([{"index": 0, "id": "a", "function": {"arguments": "{\"p\":1}"}}])),
            calls(json!([{"index": 0, "id": "b", "function": {"arguments": "{}"}}])),
        ],
        &two,
    );
    let nameless = [("call_1", "x", "{\"p\":1}"), ("call_2", "y", "{}")];
    check(
        "no ids",
        &[
            calls(json!([{"index": 0, "function": {"name": "x", "arguments": "{\"p\""}}])),
            calls(json!([{"index": 0, "function": {"arguments": ":1}"}}])),
            calls(json!([{"index": 1, "id": null, "function": {"name": "y", "arguments": "{}"}}])),
        ],
        &nameless,
    );
    check(
        "neither, one by one",
        &[
            calls(json!([{"function": {"name": "x", "arguments": "{\"p\""}}])),
            calls(json!([{"function": {"arguments": ":1}"}}])),
            calls(json!([{"function": {"name": "y", "arguments": "{}"}}])),
        ],
        &nameless,
    );
    check(
        "neither, name with every delta",
        &[
            calls(json!([{"function": {"name": "x", "arguments": "{\"p\""}}])),
            calls(json!([{"function": {"name": "x", "arguments": ":1}"}}])),
            calls(json!([{"function": {"name": "y", "arguments": "{}"}}])),
        ],
        &nameless,
    );
    check(
        "neither, by place in the list",
        &[
            calls(json!([{"function": {"name": "x"}}, {"function": {"name": "y"}}])),
            calls(json!([{"function": {"arguments": "{\"p\""}}, {"function": {"arguments": "{"}}])),
            calls(json!([{"function": {"arguments": ":1}"}}, {"function": {"arguments": "}"}}])),
        ],
        &nameless,
    );
    check(
        "the same index, no ids",
        &[
            calls(json!([{"index": 0, "function": {"name": "x", "arguments": "{\"p\":1}"}}])),
            calls(json!([{"index": 0, "function": {"name": "y", "arguments": "{}"}}])),
        ],
        &nameless,
    );
    check(
        "the same tool twice, neither index nor id",
        &[
            calls(json!([{"function": {"name": "x", "arguments": "{}"}}])),
            calls(json!([{"function": {"name": "x", "arguments": "{}"}}])),
        ],
        &[("call_1", "x", "{}"), ("call_2", "x", "{}")],
    );
    check(
        "a new id with every delta",
        &[
            calls(
                json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"p\""}}]),
            ),
            calls(json!([{"index": 0, "id": "b", "function": {"arguments": ":1"}}])),
            calls(json!([{"index": 0, "id": "c", "function": {"name": "x", "arguments": "}"}}])),
        ],
        &[("a", "x", "{\"p\":1}")],
    );
    check(
        "an id that comes late",
        &[
            calls(json!([{"index": 0, "function": {"name": "x", "arguments": "{"}}])),
            calls(json!([{"index": 0, "id": "a", "function": {"arguments": "}"}}])),
        ],
        &[("a", "x", "{}")],
    );
}

#[test]
fn ids_that_come_twice() {
    let two = [("a", "x", "{}"), ("a_2", "y", "{}")];
    for index in [true, false] {
        let mut list = json!([
            {"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}},
            {"index": 1, "id": "a", "function": {"name": "y", "arguments": "{}"}},
        ]);
        if !index {
            for call in list.as_array_mut().unwrap() {
                call.as_object_mut().unwrap().remove("index");
            }
        }
        check("in one delta", &[calls(list.clone())], &two);
        let apart: Vec<_> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|call| calls(json!([call])))
            .collect();
        check("in two", &apart, &two);
    }
}

#[test]
fn names_that_come_late_twice_or_in_pieces() {
    let one = [("a", "get_weather", "{}")];
    let named = |name: Json, arguments: Json| {
        calls(json!([{"index": 0, "id": "a", "function": {"name": name, "arguments": arguments}}]))
    };
    let table = [
        (
            "late",
            vec![
                named(json!(null), json!("")),
                named(json!("get_weather"), json!("{}")),
            ],
        ),
        (
            "after the arguments",
            vec![
                named(json!(""), json!("{}")),
                named(json!("get_weather"), json!("")),
            ],
        ),
        (
            "with every delta",
            vec![
                named(json!("get_weather"), json!("{")),
                named(json!("get_weather"), json!("}")),
            ],
        ),
        (
            "in pieces",
            vec![
                named(json!("get_"), json!("")),
                named(json!("wea"), json!(null)),
                named(json!("ther"), json!("{}")),
            ],
        ),
        (
            "growing",
            vec![
                named(json!("get_"), json!("")),
                named(json!("get_weather"), json!("{}")),
            ],
        ),
    ];
    for (what, deltas) in table {
        check(what, &deltas, &one);
    }
    check(
        "never",
        &[named(json!(null), json!("{}"))],
        &[("a", "", "{}")],
    );
}

#[test]
fn arguments_of_any_form() {
    let table = [
        (json!("{\"p\": 1}"), "{\"p\": 1}"),
        (json!({"p": 1}), "{\"p\":1}"),
        (json!({}), "{}"),
        (json!(null), ""),
        (json!(""), ""),
        (json!("no json {"), "no json {"),
        (json!([1]), "[1]"),
        (json!(5), "5"),
    ];
    for (arguments, wanted) in table {
        let delta = calls(
            json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": arguments}}]),
        );
        check("given", &[delta], &[("a", "x", wanted)]);
    }
    check(
        "left out",
        &[calls(
            json!([{"index": 0, "id": "a", "function": {"name": "x"}}]),
        )],
        &[("a", "x", "")],
    );
    check(
        "an empty object before the text",
        &[
            calls(json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": {}}}])),
            calls(json!([{"index": 0, "function": {"arguments": "{\"p\":1}"}}])),
        ],
        &[("a", "x", "{\"p\":1}")],
    );
    check(
        "braces and quotes in texts",
        &[
            calls(
                json!([{"function": {"name": "x", "arguments": "{\"p\":\"}\\\"}\", \"q\": [{}]"}}]),
            ),
            calls(json!([{"function": {"name": "x", "arguments": "}"}}])),
        ],
        &[("call_1", "x", "{\"p\":\"}\\\"}\", \"q\": [{}]}")],
    );
}

#[test]
fn other_shapes() {
    check(
        "the older function_call, in pieces",
        &[
            json!({"function_call": {"name": "x", "arguments": ""}}),
            json!({"function_call": {"arguments": "{"}}),
            json!({"function_call": {"arguments": "}"}}),
        ],
        &[("call_1", "x", "{}")],
    );
    check(
        "both",
        &[json!({
            "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}],
            "function_call": {"name": "x", "arguments": "{}"},
        })],
        &[("a", "x", "{}")],
    );
    check(
        "without `function`",
        &[calls(json!([{"id": "a", "name": "x", "arguments": "{}"}]))],
        &[("a", "x", "{}")],
    );
    check(
        "no list",
        &[calls(json!({"id": "a", "name": "x", "arguments": "{}"}))],
        &[("a", "x", "{}")],
    );
    check(
        "nothing at all",
        &[
            calls(json!(null)),
            calls(json!([])),
            calls(json!([null, 5])),
            json!({}),
        ],
        &[],
    );
}

#[test]
fn what_belongs_to_a_call_stands_right_after_it() {
    let signed = |index: u32, id: &str, word: Json| {
        calls(json!([{"index": index, "id": id, "extra_content": word,
            "function": {"name": "x", "arguments": "{}"}}]))
    };
    let kinds = |deltas: &[Json]| -> Vec<String> {
        let reply = read(deltas).unwrap();
        let kind = |part: &Part| match part {
            Part::ToolCall(call) => call.id.clone(),
            Part::Opaque { provider, value } => format!("{provider} {value}"),
            other => panic!("{other:?}"),
        };
        reply.parts.iter().map(kind).collect()
    };
    assert_eq!(
        kinds(&[
            signed(0, "a", json!("s")),
            calls(json!([{"index": 0, "extra_content": "s", "function": {"arguments": " "}}])),
            signed(1, "b", json!(null)),
            calls(json!([{"index": 1, "extra_content": {"t": 1}}])),
            calls(json!([{"index": 0, "extra_content": "too late"}])),
        ]),
        [
            "a",
            "openai.tool_call {\"extra_content\":\"s\"}",
            "b",
            "openai.tool_call {\"extra_content\":{\"t\":1}}",
        ]
    );
}

#[test]
fn calls_and_their_names_are_bounded() {
    let many = |count: usize| {
        let list: Vec<_> = (0..count)
            .map(|index| json!({"index": index, "function": {"name": "x"}}))
            .collect();
        read(&[calls(json!(list))])
    };
    assert!(many(MAX_TOOL_CALLS).is_ok());
    assert_eq!(
        many(MAX_TOOL_CALLS + 1).unwrap_err().kind,
        ModelErrorKind::TooLarge
    );
    let piece = "n".repeat(MAX_CALL_NAME_BYTES / 2);
    let named = |pieces: &[&str]| {
        let deltas: Vec<_> = pieces
            .iter()
            .map(|piece| calls(json!([{"index": 0, "function": {"name": piece}}])))
            .collect();
        read(&deltas)
    };
    assert!(named(&["m", &piece]).is_ok());
    let error = named(&["m", &piece, "o", &piece]).unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::TooLarge);
    let long_id = "i".repeat(MAX_CALL_NAME_BYTES + 1);
    assert!(read(&[calls(json!([{"id": long_id}]))]).is_err());
}
