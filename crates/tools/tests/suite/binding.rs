//! From what was written to arguments: nothing that fits the schema is refused, nothing is lost.

use innkeeper_protocol::ExecutionMode::Sync;
use serde_json::{Value as Json, json};

use super::harness::{World, codes, say, tam, told};

/// What the tool gets for `v`, or the code of the refusal.
async fn bound(parameters: Json, fields: &str) -> Result<Json, String> {
    let world = World::new().await;
    let tool = world.tool("T", Sync, parameters, |_, _| {
        Box::pin(async { Ok(json!(null)) })
    });
    world.offer("plugin:t", vec![tool]);
    let said = say(&world.run("r"), &tam(&format!("command: T\n {fields}"))).await;
    match codes(&said).as_slice() {
        ["ok"] => Ok(world.given("T").remove(0)),
        _ => Err(told(&said).join("\n")),
    }
}

fn of(schema: Json) -> Json {
    json!({"type": "object", "properties": {"v": schema}})
}

#[tokio::test]
async fn values_become_the_declared_types() {
    for (schema, written, expected) in [
        (json!({"type": "integer"}), "25", json!(25)),
        (json!({"type": "number"}), "2.5", json!(2.5)),
        (json!({"type": "boolean"}), "true", json!(true)),
        (json!({"type": "string"}), "25", json!("25")),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            "[1, 2]",
            json!([1, 2]),
        ),
        (json!({"type": "object"}), r#"{"a": 1}"#, json!({"a": 1})),
        (json!({"type": ["integer", "null"]}), "null", json!(null)),
        (json!({"enum": [1, 2]}), "2", json!(2)),
    ] {
        let given = bound(of(schema.clone()), &format!("v: {written}")).await;
        assert_eq!(given, Ok(json!({"v": expected})), "{schema} {written}");
    }
}

#[tokio::test]
async fn an_unknown_parameter_is_an_error_unless_the_tool_takes_any() {
    let closed = of(json!({}));
    assert!(
        bound(closed, "v: 1\n w: 2")
            .await
            .unwrap_err()
            .contains("'w'")
    );
    let mut open = of(json!({"type": "integer"}));
    open["additionalProperties"] = json!({"type": "integer"});
    assert_eq!(
        bound(open, "v: 1\n w: 2").await,
        Ok(json!({"v": 1, "w": 2}))
    );
}

/// An object inside a parameter is open unless it says otherwise: that is JSON Schema.
#[tokio::test]
async fn an_inner_object_takes_more_than_it_declares() {
    let payload = json!({"type": "object", "properties": {"title": {"type": "string"}}});
    let fields = "type_hint_v: json\n v: {\"title\": \"a\", \"author\": \"b\"}";
    let given = bound(of(payload), fields).await;
    assert_eq!(given, Ok(json!({"v": {"title": "a", "author": "b"}})));
}

#[tokio::test]
async fn several_branches_of_any_of_may_fit() {
    let schema = json!({"anyOf": [
        {"properties": {"bar": {"type": "integer"}}, "required": ["bar"]},
        {"properties": {"foo": {"type": "string"}}, "required": ["foo"]},
    ]});
    let fields = "type_hint_v: json\n v: {\"foo\": \"baz\", \"bar\": 2}";
    let given = bound(of(schema), fields).await;
    assert_eq!(given, Ok(json!({"v": {"foo": "baz", "bar": 2}})));
}

#[tokio::test]
async fn a_pattern_is_for_the_names_that_match_it() {
    let schema = json!({"type": "object", "patternProperties": {"[0-9]{2,}": {"type": "boolean"}}});
    let fields = "type_hint_v: json\n v: {\"other\": 3}";
    assert_eq!(
        bound(of(schema), fields).await,
        Ok(json!({"v": {"other": 3}}))
    );
}

#[tokio::test]
async fn numbers_are_compared_as_numbers() {
    let fields = "type_hint_v: json\n v: [0.0]";
    assert!(bound(of(json!({"enum": [[0]]})), fields).await.is_ok());
}

#[tokio::test]
async fn names_that_end_in_digits_survive() {
    let parameters = json!({"type": "object", "properties": {
        "sha256": {"type": "string"}, "input_0": {"type": "string"}, "filePath": {"type": "string"},
    }});
    let given = bound(parameters, "sha256: abc\n input_0: zero\n File-Path: x").await;
    assert_eq!(
        given,
        Ok(json!({"sha256": "abc", "input_0": "zero", "filePath": "x"}))
    );
}

#[tokio::test]
async fn verbatim_text_keeps_its_blanks() {
    let world = World::new().await;
    let text = "<|[REQUEST_TOOL]|>\ncommand:»»»File.Write«««\nfile_path:»»» a.txt «««\ncontent:»»»\n  indented\n\n«««\n<|[END_TOOL]|>";
    let said = world.say(text).await;
    assert_eq!(codes(&said), ["ok"], "{:?}", told(&said));
    assert_eq!(world.read("a.txt").await.as_deref(), Some("  indented\n"));
}
