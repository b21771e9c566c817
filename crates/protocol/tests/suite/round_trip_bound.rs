//! Rendered, parsed and bound, a call is the same call again, types included.
//!
//! XML has no types of its own: where the schema leaves open what a text stands for, rendering refuses.

use innkeeper_protocol::{
    Aliases, Call, Protocol, RenderError, ToolDefinition, bind, parse, render_call,
};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

const PIECES: &[&str] = &[
    "»»»",
    "«««",
    "「末」",
    "\n",
    "\r",
    " ",
    "a",
    "\nkey:»»»v«««\n",
    "<|[END_TOOL]|>",
    "</ACTION>",
    "]]>",
    "&",
    "<",
    "[1]",
    "true",
    "12",
    "null",
    "{\"a\":1}",
    "文",
    "\"",
];

fn text() -> impl Strategy<Value = Json> {
    prop::collection::vec(prop::sample::select(PIECES), 0..5)
        .prop_map(|parts| parts.concat().into())
}

/// A schema and a value that fits it.
fn scalar() -> impl Strategy<Value = (Json, Json)> {
    let of = |schema: Json| move |value: Json| (schema.clone(), value);
    prop_oneof![
        3 => text().prop_map(of(json!({"type": "string"}))),
        1 => text().prop_map(of(json!({"type": "string", "x-verbatim": true}))),
        1 => text().prop_map(of(json!({}))),
        1 => text().prop_map(of(json!({"type": ["string", "integer"]}))),
        1 => any::<i64>().prop_map(Json::from).prop_map(of(json!({"type": "integer"}))),
        1 => any::<i32>().prop_map(Json::from).prop_map(of(json!({"type": ["string", "integer"]}))),
        1 => any::<i32>().prop_map(Json::from).prop_map(of(json!({}))),
        1 => (-1e9..1e9).prop_map(|n: f64| Json::from(n)).prop_map(of(json!({"type": "number"}))),
        1 => any::<bool>().prop_map(Json::from).prop_map(of(json!({"type": "boolean"}))),
        1 => Just(Json::Null).prop_map(of(json!({"type": ["string", "null"]}))),
    ]
}

fn typed() -> impl Strategy<Value = (Json, Json)> {
    scalar().prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0usize..3).prop_map(|((schema, value), count)| {
                (
                    json!({"type": "array", "items": schema}),
                    vec![value; count].into(),
                )
            }),
            (
                inner.clone(),
                prop::sample::select(&["k", "item", "no name"][..])
            )
                .prop_map(|((schema, value), name)| {
                    (
                        json!({"type": "object", "properties": {name: schema}}),
                        json!({name: value}),
                    )
                }),
            inner
                .clone()
                .prop_map(|(_, value)| (json!({"type": "object"}), json!({"k": value}))),
            inner.prop_map(|(_, value)| (json!({"type": "array"}), json!([value]))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_bound_call_is_the_call_that_was_rendered((schema, value) in typed()) {
        let tool = ToolDefinition::new("Plugin:tool", "", json!({
            "type": "object",
            "properties": {"x": schema, "command": {"type": "string"}, "a b": {"type": "string"}},
        }));
        let arguments: Map<String, Json> = [
            ("x".to_owned(), value),
            ("command".to_owned(), "ls".into()),
            ("a b".to_owned(), "c".into()),
        ]
        .into_iter()
        .collect();
        for protocol in [Protocol::Tam, Protocol::Action, Protocol::ToolCall] {
            let aliases = Aliases::new([&tool], protocol);
            let mut call = Call::one(&tool.id, &arguments);
            call.steps[0].schema = Some(&tool.parameters);
            let rendered = match render_call(&call, protocol, &aliases) {
                Err(RenderError::Ambiguous(_)) if protocol != Protocol::Tam => continue,
                rendered => rendered.unwrap(),
            };
            let source = rendered.text().unwrap();
            let reply = parse(source);
            let mut read = reply.calls().next().expect(source).clone();
            aliases.restore(&mut read);
            let bound = bind(&read, &tool);
            let bound = bound.map_err(|error| TestCaseError::fail(format!("{error} in {source}")))?;
            prop_assert_eq!(&bound.arguments, &arguments, "{}", source);
        }
    }
}
