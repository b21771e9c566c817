//! Values: text under a hint or kept verbatim, and XML.

use serde_json::json;

use super::bind_tests::text;
use super::coerce_tests::{bound, must, of_text};
use super::*;
use crate::{Node, Text, Tree};

#[test]
fn hints_are_followed() {
    use TypeHint::{Base64, Boolean, Number, Raw};
    let any = || json!({});
    let string = || json!({"type": "string"});
    let json_hint = TypeHint::Json;
    for (schema, value, hint, expected) in [
        (
            json!({"type": "integer"}),
            " 5\n",
            TypeHint::Text,
            Ok(json!(5)),
        ),
        (any(), "  a\n", TypeHint::Text, Ok(json!("a"))),
        (any(), "\n  a \n", Raw, Ok(json!("  a "))),
        (json!({"type": "integer"}), "\n5\n", Raw, Ok(json!(5))),
        (
            json!({"type": ["integer", "string"]}),
            "5",
            Raw,
            Ok(json!("5")),
        ),
        (any(), "{\"a\": [1]}", json_hint, Ok(json!({"a": [1]}))),
        (any(), "```json\n5\n```", json_hint, Ok(json!(5))),
        (
            any(),
            "[1,\n2",
            json_hint,
            must("JSON, received broken JSON (EOF while parsing a list at line 2 column 1)"),
        ),
        (
            json!({"type": "integer"}),
            "[1]",
            json_hint,
            must("an integer, received an array"),
        ),
        (string(), "{\"a\":  1}", json_hint, Ok(json!("{\"a\":  1}"))),
        (string(), "\"a\"", json_hint, Ok(json!("a"))),
        (any(), "1.5", Number, Ok(json!(1.5))),
        (any(), "x", Number, must("a number, received \"x\"")),
        (
            any(),
            "99999999999999999999",
            Number,
            must("a 64-bit number, received \"99999999999999999999\""),
        ),
        (
            json!({"type": "boolean"}),
            "5",
            Number,
            must("a boolean, received 5"),
        ),
        (any(), "Yes", Boolean, Ok(json!(true))),
        (
            any(),
            "maybe",
            Boolean,
            must("a boolean, received \"maybe\""),
        ),
        (any(), "aGk=", Base64, Ok(json!("aGk="))),
        (any(), " aG\n k= ", Base64, Ok(json!("aGk="))),
        (any(), "", Base64, Ok(json!(""))),
        (
            any(),
            "aGk",
            Base64,
            must("base64 (its length or its padding is wrong), received \"aGk\""),
        ),
        (
            any(),
            "a===",
            Base64,
            must("base64 (its length or its padding is wrong), received \"a===\""),
        ),
        (
            any(),
            "aG=k",
            Base64,
            must("base64 (it has characters outside the base64 alphabet), received \"aG=k\""),
        ),
        (
            any(),
            "aGl=",
            Base64,
            must("base64 (it is cut off), received \"aGl=\""),
        ),
        (
            json!({"type": "integer"}),
            "aGk=",
            Base64,
            must("an integer, received \"aGk=\""),
        ),
    ] {
        let got = bound(schema.clone(), text(value), Some(hint));
        assert_eq!(got, expected, "{value:?} as {hint:?} for {schema}");
    }
}

#[test]
fn verbatim_parameters_keep_their_white_space() {
    let verbatim = json!({"type": "string", "x-verbatim": true});
    let source = "\n    if x:\n        y \n\n";
    for (schema, hint, expected) in [
        (verbatim.clone(), None, "if x:\n    y \n"),
        (verbatim.clone(), Some(TypeHint::Text), "if x:\n    y \n"),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}], "x-verbatim": true}),
            None,
            "if x:\n    y \n",
        ),
        (json!({"type": "string"}), None, "if x:\n    y"),
    ] {
        let value = Value::Text(Text::new(source, "    "));
        assert_eq!(
            bound(schema.clone(), value, hint),
            Ok(json!(expected)),
            "{schema} {hint:?}"
        );
    }
    let counted = json!({"type": "integer", "x-verbatim": true});
    assert_eq!(of_text(counted, "\n5\n"), Ok(json!(5)));
    assert_eq!(of_text(verbatim, "5"), Ok(json!("5")));
}

fn leaf(text: &'static str) -> Tree<'static> {
    Tree {
        node: Node::Text(text.into()),
        inner: text.into(),
    }
}

fn element(inner: &'static str, fields: Vec<(&'static str, Tree<'static>)>) -> Tree<'static> {
    let fields = fields.into_iter().map(|(name, tree)| (name.into(), tree));
    Tree {
        node: Node::Object(fields.collect()),
        inner: inner.into(),
    }
}

fn repeated(items: Vec<Tree<'static>>) -> Tree<'static> {
    Tree {
        node: Node::Array(items),
        inner: "".into(),
    }
}

#[test]
fn xml_becomes_its_declared_type() {
    let numbers = json!({"type": "array", "items": {"type": "integer"}});
    let person = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "age": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}},
    }});
    let two = || repeated(vec![leaf("1"), leaf("2")]);
    for (schema, tree, expected) in [
        (json!({"type": "integer"}), leaf("25"), Ok(json!(25))),
        (
            json!({}),
            element("", vec![("a", leaf("1"))]),
            Ok(json!({"a": "1"})),
        ),
        (
            json!({"type": "string"}),
            element("<b>1</b>", vec![("b", leaf("1"))]),
            Ok(json!("<b>1</b>")),
        ),
        (
            json!({"type": "string"}),
            two(),
            must("a string, received an array"),
        ),
        (
            json!({"type": "integer"}),
            element("<b/>", vec![("b", leaf(""))]),
            must("an integer, received an object"),
        ),
        (numbers.clone(), two(), Ok(json!([1, 2]))),
        (numbers.clone(), leaf("1"), Ok(json!([1]))),
        (numbers.clone(), leaf("[1, 2]"), Ok(json!([1, 2]))),
        (numbers.clone(), leaf(""), Ok(json!([]))),
        (
            numbers.clone(),
            element("", vec![("item", two())]),
            Ok(json!([1, 2])),
        ),
        (
            numbers.clone(),
            element("", vec![("item", leaf("1"))]),
            Ok(json!([1])),
        ),
        (
            numbers.clone(),
            element("", vec![("number", two())]),
            Ok(json!([1, 2])),
        ),
        (
            json!({"type": "array", "items": person}),
            element("", vec![("name", leaf("A")), ("age", leaf("3"))]),
            Ok(json!([{"name": "A", "age": 3}])),
        ),
        (
            person.clone(),
            element(
                "",
                vec![("name", leaf("A")), ("age", leaf("3")), ("tags", leaf("t"))],
            ),
            Ok(json!({"name": "A", "age": 3, "tags": ["t"]})),
        ),
        (
            person.clone(),
            leaf("{\"name\": \"A\"}"),
            Ok(json!({"name": "A"})),
        ),
        (
            person.clone(),
            element("", vec![("Name", leaf("A")), ("age", leaf("x"))]),
            Err("Parameter 'x.age' must be an integer, received \"x\"; \
                 Unknown parameter 'x.Name', did you mean 'name'?"
                .into()),
        ),
        // Whether the pattern matches is left open: read as a number where it is one.
        (
            json!({"type": "object", "patternProperties": {"^n[0-9]$": {"type": "integer"}}}),
            element("", vec![("n1", leaf("3")), ("other", leaf("x"))]),
            Ok(json!({"n1": 3, "other": "x"})),
        ),
        // Of two open objects, the one that knows the names.
        (
            json!({"anyOf": [
                {"type": "object", "properties": {"a": {"type": "boolean"}}},
                {"type": "object", "properties": {"b": {"type": "boolean"}}},
            ]}),
            element("", vec![("b", leaf("yes"))]),
            Ok(json!({"b": true})),
        ),
        (
            person.clone(),
            element("", vec![("age", leaf("3"))]),
            Err("Missing required parameter 'x.name'".into()),
        ),
        (
            person.clone(),
            leaf(""),
            Err("Missing required parameter 'x.name'".into()),
        ),
        (person.clone(), two(), must("an object, received an array")),
    ] {
        let got = bound(schema.clone(), Value::Tree(tree), None);
        assert_eq!(got, expected, "{schema}");
    }
}
