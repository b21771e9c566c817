//! Values: text and JSON on their way to a declared type.

use serde_json::{Value as Json, json};

use super::bind_tests::{NATIVE, call, text, tool};
use super::*;
use crate::limits::{MAX_BIND_STEPS, MAX_SCHEMA_DEPTH, MAX_SCHEMA_PARTS};
use crate::{Argument, Protocol, Span};

/// Binds one argument `x` under one schema: the value, or the message.
pub(super) fn bound(
    schema: Json,
    value: Value<'_>,
    hint: Option<TypeHint>,
) -> Result<Json, String> {
    let definition = tool(json!({"properties": {"x": schema}, "$defs": {
        "id": {"type": "integer"},
        "loop": {"$ref": "#/$defs/loop"},
        "tree": {"type": "object", "properties": {
            "value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        }},
    }}));
    let mut request = ToolCallRequest::new(Protocol::Tam, "T");
    let mut argument = Argument::exact("x", value, Span::default());
    argument.hint = hint;
    request.arguments.push(argument);
    match bind(&request, &definition) {
        Ok(mut bound) => Ok(bound.arguments.remove("x").unwrap()),
        Err(error) => Err(error.to_string().split_once(": ").unwrap().1.to_owned()),
    }
}

pub(super) fn of_text(schema: Json, value: &str) -> Result<Json, String> {
    bound(schema, text(value), None)
}

pub(super) fn must(what: &str) -> Result<Json, String> {
    Err(format!("Parameter 'x' must be {what}"))
}

#[test]
fn text_becomes_its_declared_type() {
    let integer = || json!({"type": "integer"});
    let number = || json!({"type": "number"});
    let boolean = || json!({"type": "boolean"});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let numbers = || json!({"type": "array", "items": {"type": "integer"}});
    let object = || json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let closed = || {
        let mut object = object();
        object["additionalProperties"] = json!(false);
        object
    };
    for (schema, value, expected) in [
        (json!({}), "25", Ok(json!("25"))),
        (json!({"type": "string"}), "25", Ok(json!("25"))),
        (json!({"type": "string"}), "null", Ok(json!("null"))),
        (integer(), "25", Ok(json!(25))),
        (integer(), " -7 ", Ok(json!(-7))),
        (integer(), "+25", Ok(json!(25))),
        (integer(), "25.0", Ok(json!(25))),
        (integer(), "1e3", Ok(json!(1000))),
        (integer(), "12.5e1", Ok(json!(125))),
        (integer(), "0.0", Ok(json!(0))),
        (integer(), "007", Ok(json!(7))),
        (integer(), "18446744073709551615", Ok(json!(u64::MAX))),
        (integer(), "-9223372036854775808", Ok(json!(i64::MIN))),
        (
            integer(),
            "9007199254740993.0",
            Ok(json!(9_007_199_254_740_993_u64)),
        ),
        (
            integer(),
            "18446744073709551616",
            must("a 64-bit integer, received \"18446744073709551616\""),
        ),
        (
            integer(),
            "1e999999999999",
            must("a 64-bit integer, received \"1e999999999999\""),
        ),
        (integer(), "25.5", must("an integer, received \"25.5\"")),
        (integer(), "1e-3", must("an integer, received \"1e-3\"")),
        (integer(), "0x10", must("an integer, received \"0x10\"")),
        (integer(), "", must("an integer, received an empty text")),
        (integer(), "abc", must("an integer, received \"abc\"")),
        (integer(), "1_000", must("an integer, received \"1_000\"")),
        (number(), "25", Ok(json!(25))),
        (number(), "25.0", Ok(json!(25.0))),
        (number(), "-1.5e-3", Ok(json!(-0.0015))),
        (number(), "100000000000000000000", Ok(json!(1e20))),
        (
            number(),
            "100000000000000000001",
            must("a 64-bit number, received \"100000000000000000001\""),
        ),
        (number(), "NaN", must("a number, received \"NaN\"")),
        (number(), "inf", must("a number, received \"inf\"")),
        (
            number(),
            "1e999",
            must("a 64-bit number, received \"1e999\""),
        ),
        (number(), "1.", must("a number, received \"1.\"")),
        (boolean(), "true", Ok(json!(true))),
        (boolean(), "NO", Ok(json!(false))),
        (boolean(), "On", Ok(json!(true))),
        (boolean(), "0", Ok(json!(false))),
        (boolean(), "是", Ok(json!(true))),
        (boolean(), "否", Ok(json!(false))),
        (boolean(), "2", must("a boolean, received \"2\"")),
        (json!({"type": "null"}), "null", Ok(Json::Null)),
        // Arrays.
        (texts(), "[\"a\", \"b\"]", Ok(json!(["a", "b"]))),
        (texts(), "a, b", Ok(json!(["a, b"]))),
        (texts(), "[draft] a", Ok(json!(["[draft] a"]))),
        (texts(), "", Ok(json!([]))),
        (texts(), "```json\n[\"a\"]\n```", Ok(json!(["a"]))),
        (numbers(), "5", Ok(json!([5]))),
        (numbers(), "[1, \"2\"]", Ok(json!([1, 2]))),
        (
            numbers(),
            "1, 2",
            must("an array of integers, received \"1, 2\""),
        ),
        (
            numbers(),
            "[1, 2,]",
            must("an array of integers, received broken JSON (trailing comma at line 1 column 7)"),
        ),
        (
            numbers(),
            "[1, \"b\"]",
            Err("Parameter 'x[1]' must be an integer, received \"b\"".into()),
        ),
        (json!({"type": "array"}), "a", Ok(json!(["a"]))),
        (
            json!({"prefixItems": [{"type": "integer"}, {"type": "string"}]}),
            "[\"1\", 2]",
            Ok(json!([1, "2"])),
        ),
        // Objects.
        (object(), "{\"a\": \"1\"}", Ok(json!({"a": 1}))),
        (object(), "```\n{\"a\": 1}\n```", Ok(json!({"a": 1}))),
        (object(), "", Ok(json!({}))),
        (object(), "{\"A\": 1}", Ok(json!({"A": 1}))),
        (
            closed(),
            "{\"A\": 1}",
            Err("Unknown parameter 'x.A', did you mean 'a'?".into()),
        ),
        (
            object(),
            "{\"a\": 1",
            must(
                "an object, received broken JSON (EOF while parsing an object at line 1 column 7)",
            ),
        ),
        (object(), "a", must("an object, received \"a\"")),
        (
            json!({"type": "object"}),
            "{\"z\": [1]}",
            Ok(json!({"z": [1]})),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            "{\"z\": \"1\"}",
            Ok(json!({"z": 1})),
        ),
        (json!(false), "a", must("left out, received \"a\"")),
    ] {
        assert_eq!(
            of_text(schema.clone(), value),
            expected,
            "{value:?} for {schema}"
        );
    }
}

#[test]
fn the_reading_that_guesses_least_is_taken() {
    for (schema, value, expected) in [
        (json!({"type": ["string", "integer"]}), "25", Ok(json!(25))),
        (
            json!({"type": ["string", "integer"]}),
            "025",
            Ok(json!("025")),
        ),
        (json!({"type": ["string", "integer"]}), "a", Ok(json!("a"))),
        (
            json!({"type": ["string", "boolean"]}),
            "yes",
            Ok(json!("yes")),
        ),
        (
            json!({"type": ["string", "boolean"]}),
            "true",
            Ok(json!(true)),
        ),
        (json!({"type": ["boolean", "integer"]}), "1", Ok(json!(1))),
        (json!({"type": ["integer", "null"]}), "null", Ok(Json::Null)),
        (
            json!({"type": "integer", "nullable": true}),
            "null",
            Ok(Json::Null),
        ),
        (
            json!({"type": ["string", "null"]}),
            "null",
            Ok(json!("null")),
        ),
        (
            json!({"type": ["array", "null"], "items": {"type": "string"}}),
            "null",
            Ok(Json::Null),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "number"}]}),
            "1.5",
            Ok(json!(1.5)),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            "a",
            Ok(json!("a")),
        ),
        (
            json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}),
            "a",
            Ok(json!("a")),
        ),
        (
            json!({"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer"}}]}),
            "7",
            Ok(json!([7])),
        ),
        (
            json!({"oneOf": [{"type": "boolean"}, {"type": "integer"}]}),
            "x",
            must("a boolean or an integer, received \"x\""),
        ),
        (
            json!({"allOf": [{"$ref": "#/$defs/id"}], "description": "d"}),
            "5",
            Ok(json!(5)),
        ),
        (
            json!({"allOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}),
            "5",
            Ok(json!(5)),
        ),
        (json!({"$ref": "#/$defs/id"}), "5", Ok(json!(5))),
        (json!({"$ref": "#/$defs/loop"}), "5", Ok(json!("5"))),
        (
            json!({"$ref": "https://example.com/schema"}),
            "5",
            Ok(json!("5")),
        ),
        (
            json!({"$ref": "#/$defs/tree"}),
            "{\"value\": 1, \"children\": [{\"value\": \"2\"}]}",
            Ok(json!({"value": 1, "children": [{"value": 2}]})),
        ),
        (
            json!({"$ref": "#/$defs/tree"}),
            "{\"children\": [{\"value\": \"b\"}]}",
            Err("Parameter 'x.children[0].value' must be an integer, received \"b\"".into()),
        ),
        // The one branch that was meant says what is wrong.
        (
            json!({"anyOf": [{"$ref": "#/$defs/tree", "required": ["value"]}, {"type": "null"}]}),
            "{\"valeu\": 1}",
            Err("Unknown parameter 'x.valeu', did you mean 'value'?".into()),
        ),
        (
            json!({"oneOf": [
                {"properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind"]},
                {"properties": {"kind": {"const": "b"}, "s": {"type": "string"}}, "required": ["kind"]},
            ]}),
            "{\"kind\": \"a\", \"n\": \"z\"}",
            Err("Parameter 'x.n' must be an integer, received \"z\"".into()),
        ),
        (
            json!({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}]}),
            "{}",
            Err("Missing required parameter 'x.a'".into()),
        ),
    ] {
        assert_eq!(
            of_text(schema.clone(), value),
            expected,
            "{value:?} for {schema}"
        );
    }
}

/// A tool's own parameters are another matter: see `names_tests`.
#[test]
fn an_object_inside_takes_what_its_schema_does_not_forbid() {
    let given = json!({"a": 1, "b": "2"});
    let unknown = |what: &str| Err(format!("Unknown parameter {what}"));
    let listed = |more: Json| {
        let mut schema = json!({"properties": {"a": {"type": "integer"}}});
        schema
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        schema
    };
    let same = Ok(given.clone());
    let fitted = || Ok(json!({"a": 1, "b": 2}));
    let refused = || unknown("'x.b', declared are 'a'");
    for (more, expected) in [
        (json!({}), same.clone()),
        (json!({"additionalProperties": true}), same.clone()),
        (
            json!({"additionalProperties": {"type": "integer"}}),
            fitted(),
        ),
        (json!({"additionalProperties": false}), refused()),
        (json!({"unevaluatedProperties": false}), refused()),
        (
            json!({"unevaluatedProperties": {"type": "integer"}}),
            fitted(),
        ),
        // Each of these may have seen the name.
        (
            json!({"unevaluatedProperties": false, "if": {}}),
            same.clone(),
        ),
        (
            json!({"unevaluatedProperties": false, "dependentSchemas": {"a": {"properties": {"b": {}}}}}),
            same.clone(),
        ),
        (
            json!({"unevaluatedProperties": false, "allOf": [{"unevaluatedProperties": true}]}),
            same.clone(),
        ),
        (
            json!({"unevaluatedProperties": false, "$ref": "https://example.com/schema"}),
            same.clone(),
        ),
        (
            json!({"unevaluatedProperties": false, "allOf": [{"properties": {"b": {"type": "integer"}}}]}),
            fitted(),
        ),
        (
            json!({"allOf": [{"additionalProperties": false}]}),
            refused(),
        ),
        (
            json!({"patternProperties": {"^b": {"type": "integer"}}}),
            fitted(),
        ),
        (
            json!({"patternProperties": {"^c": {"type": "integer"}}}),
            same.clone(),
        ),
        (
            json!({"patternProperties": {"^.*$": {"type": "integer"}}, "additionalProperties": false}),
            fitted(),
        ),
        (
            json!({"patternProperties": {"^c": {}}, "additionalProperties": false}),
            refused(),
        ),
        // Only the validator can tell whether these match.
        (
            json!({"patternProperties": {"[a-c]": {"type": "integer"}}}),
            same.clone(),
        ),
        (
            json!({"patternProperties": {"[x-z]": {}}, "additionalProperties": false}),
            same.clone(),
        ),
    ] {
        let schema = listed(more);
        let got = bound(schema.clone(), Value::Json(given.clone()), None);
        assert_eq!(got, expected, "{schema}");
    }
    // Where a name is missing, a similar one was meant for it.
    let needs = listed(json!({"required": ["author"]}));
    for (value, expected) in [
        (
            "{\"autor\": 1}",
            unknown("'x.autor', did you mean 'author'?"),
        ),
        (
            "{\"b\": 1}",
            Err("Missing required parameter 'x.author'".to_owned()),
        ),
    ] {
        assert_eq!(of_text(needs.clone(), value), expected, "{value}");
    }
}

#[test]
fn listed_values_are_met_exactly() {
    let mixed = json!({"enum": ["fast", "Slow", 3, true, null, 1.5]});
    for (value, expected) in [
        ("fast", Ok(json!("fast"))),
        ("3", Ok(json!(3))),
        ("3.0", Ok(json!(3))),
        ("true", Ok(json!(true))),
        ("null", Ok(Json::Null)),
        ("1.5", Ok(json!(1.5))),
        (
            "slow",
            must(
                "one of 'fast', 'Slow', 3, true, null, 1.5, received \"slow\", did you mean 'Slow'?",
            ),
        ),
        (
            "4",
            must("one of 'fast', 'Slow', 3, true, null, 1.5, received \"4\""),
        ),
    ] {
        assert_eq!(of_text(mixed.clone(), value), expected, "{value}");
    }
    assert_eq!(of_text(json!({"const": 7}), "7"), Ok(json!(7)));
    assert_eq!(of_text(json!({"const": 7}), "8"), must("7, received \"8\""));
    let consts = json!({"oneOf": [{"const": "a"}, {"const": "b"}]});
    assert_eq!(of_text(consts.clone(), "b"), Ok(json!("b")));
    assert_eq!(
        of_text(consts, "c"),
        must("one of 'a', 'b', received \"c\"")
    );
}

#[test]
fn listed_numbers_are_compared_by_value() {
    for (choice, value, fits) in [
        (json!(1), json!(1.0), true),
        (json!(1.0), json!(1), true),
        (json!([0]), json!([0.0]), true),
        (
            json!({"a": [1.0], "b": 2}),
            json!({"b": 2.0, "a": [1]}),
            true,
        ),
        (json!([0]), json!([false]), false),
        (json!([0]), json!([0, 0]), false),
        (json!({"a": 1}), json!({"a": 1, "b": 1}), false),
        (json!({"a": 1, "b": 1}), json!({"a": 1}), false),
        (json!(1e19), json!(10_000_000_000_000_000_000_u64), true),
        (json!(1e19), json!(10_000_000_000_000_000_001_u64), false),
        (json!(u64::MAX), json!(-1), false),
    ] {
        for schema in [json!({"enum": ["z", choice]}), json!({"const": choice})] {
            let got = bound(schema.clone(), Value::Json(value.clone()), None);
            assert_eq!(got.is_ok(), fits, "{value} for {schema}: {got:?}");
        }
    }
    assert_eq!(of_text(json!({"enum": [[0]]}), "[0.0]"), Ok(json!([0])));
}

#[test]
fn json_is_helped_to_its_declared_type() {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    for (schema, value, expected) in [
        (json!({}), json!({"a": 1}), Ok(json!({"a": 1}))),
        (json!({"type": "string"}), json!(25), Ok(json!("25"))),
        (json!({"type": "string"}), json!(true), Ok(json!("true"))),
        (
            json!({"type": "string"}),
            json!({"a": 1}),
            must("a string, received an object"),
        ),
        (
            json!({"type": "string"}),
            json!([]),
            must("a string, received an array"),
        ),
        (json!({"type": "integer"}), json!("25"), Ok(json!(25))),
        (json!({"type": "integer"}), json!(25.0), Ok(json!(25))),
        (
            json!({"type": "integer"}),
            json!(25.5),
            must("an integer, received 25.5"),
        ),
        (
            json!({"type": "integer"}),
            json!(1e19),
            must("an integer, received 1e+19"),
        ),
        (json!({"type": "number"}), json!(25.0), Ok(json!(25.0))),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            json!(25.0),
            Ok(json!(25)),
        ),
        (json!({"type": "boolean"}), json!(1), Ok(json!(true))),
        (
            json!({"type": "boolean"}),
            json!(2),
            must("a boolean, received 2"),
        ),
        (
            json!({"type": "integer"}),
            json!(true),
            must("an integer, received true"),
        ),
        (
            json!({"type": ["string", "integer"]}),
            json!("25"),
            Ok(json!("25")),
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            json!("25"),
            Ok(json!("25")),
        ),
        (
            json!({"anyOf": [{"type": "array"}, {"type": "string"}]}),
            json!("[1]"),
            Ok(json!("[1]")),
        ),
        (
            json!({"anyOf": [{"enum": [3]}, {"type": "string"}]}),
            json!("3"),
            Ok(json!("3")),
        ),
        (json!({"enum": [3]}), json!("3"), Ok(json!(3))),
        (json!({"enum": ["3"]}), json!(3), Ok(json!("3"))),
        (strings.clone(), json!("a"), Ok(json!(["a"]))),
        // Keywords without a type concern no other type.
        (
            json!({"properties": {"a": {}}, "required": ["a"]}),
            json!("a"),
            Ok(json!("a")),
        ),
        (
            json!({"additionalProperties": false}),
            json!([1]),
            Ok(json!([1])),
        ),
        (
            json!({"items": {"type": "integer"}}),
            json!({"0": "a"}),
            Ok(json!({"0": "a"})),
        ),
        (
            json!({"items": {"type": "integer"}}),
            json!("[1]"),
            Ok(json!("[1]")),
        ),
        // Each part speaks for itself.
        (
            json!({"prefixItems": [{}], "allOf": [{"prefixItems": [{}, {"type": "string"}], "items": false}]}),
            json!([1, "a"]),
            Ok(json!([1, "a"])),
        ),
        // Both branches fit; and null is dropped only where nothing takes it.
        (
            json!({"anyOf": [
                {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"b": {"type": "string"}}, "required": ["b"]},
            ]}),
            json!({"a": 1, "b": "b"}),
            Ok(json!({"a": 1, "b": "b"})),
        ),
        (
            json!({"anyOf": [
                {"properties": {"a": {"type": "integer"}}},
                {"properties": {"a": {"type": "null"}}, "minProperties": 1},
            ]}),
            json!({"a": null, "b": 1}),
            Ok(json!({"a": null, "b": 1})),
        ),
        (strings.clone(), json!("[\"a\"]"), Ok(json!(["a"]))),
        (strings.clone(), json!([1, "b"]), Ok(json!(["1", "b"]))),
        (
            json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
            json!({"a": null}),
            Ok(json!({})),
        ),
    ] {
        let got = bound(schema.clone(), Value::Json(value.clone()), None);
        assert_eq!(got, expected, "{value} for {schema}");
    }
}

#[test]
fn deep_and_costly_schemas_come_to_an_end() {
    let mut deep = json!(1);
    let mut schema = json!({"type": "integer"});
    for _ in 0..MAX_SCHEMA_DEPTH + 2 {
        deep = json!([deep]);
        schema = json!({"type": "array", "items": schema});
    }
    let error = bind(
        &call(NATIVE, json!({"x": deep})),
        &tool(json!({"properties": {"x": schema}})),
    );
    assert_eq!(error.unwrap_err().problems[0].code, ProblemCode::TooComplex);

    let refers_to_itself = json!({"properties": {"x": {"$ref": "#/properties/x"}}});
    assert!(bind(&call(NATIVE, json!({"x": 1})), &tool(refers_to_itself)).is_ok());
    let union_of_itself = json!({"properties": {"x": {"anyOf": [
        {"$ref": "#/properties/x"}, {"$ref": "#/properties/x"},
    ]}}});
    assert!(bind(&call(NATIVE, json!({"x": 1})), &tool(union_of_itself)).is_ok());

    // Every level tries two branches, and the value fits none at the bottom.
    let branch = json!({"type": "array", "items": {"$ref": "#/$defs/b"}});
    let doubling = json!({"properties": {"x": {"$ref": "#/$defs/b"}}, "$defs": {
        "b": {"anyOf": [branch, branch, {"type": "integer"}]},
    }});
    let nested = format!("{}\"z\"{}", "[".repeat(40), "]".repeat(40));
    let value: Json = serde_json::from_str(&nested).unwrap();
    assert!(bind(&call(NATIVE, json!({"x": value})), &tool(doubling)).is_err());

    let items = vec![1; MAX_BIND_STEPS];
    let plain = json!({"properties": {"x": {"type": "array", "items": {"type": "integer"}}}});
    let error = bind(&call(NATIVE, json!({"x": items})), &tool(plain)).unwrap_err();
    assert_eq!(error.problems[0].code, ProblemCode::TooComplex);

    // More parts than are put together: the last ones do not count.
    let mut parts = vec![json!({}); MAX_SCHEMA_PARTS];
    parts.push(json!({"type": "integer"}));
    assert_eq!(of_text(json!({"allOf": parts}), "5"), Ok(json!("5")));
}
