use proptest::prelude::*;

use super::super::pieces::any_json;
use super::*;
use crate::limits::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES};

/// One property `p` of that schema, for Gemini.
fn gemini(schema: Json) -> Json {
    let schema = json!({"type": "object", "properties": {"p": schema}, "$defs": {
        "name": {"type": "string", "description": "a name"},
        "tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
    }});
    gemini_parameters(&schema).unwrap()["properties"]["p"].clone()
}

#[test]
fn gemini_gets_what_it_knows() {
    let anything = "any JSON value, written as text";
    let rows = [
        (
            json!({"type": "string", "title": "T", "default": "x", "examples": ["y"]}),
            json!({"type": "string"}),
        ),
        (
            json!({"type": ["string", "null"]}),
            json!({"type": "string", "nullable": true}),
        ),
        (
            json!({"type": ["string", "integer", "null"], "description": "d"}),
            json!({"anyOf": [
                {"type": "string", "description": "d", "nullable": true},
                {"type": "integer", "description": "d", "nullable": true},
            ]}),
        ),
        (
            json!({"$ref": "#/$defs/name"}),
            json!({"type": "string", "description": "a name"}),
        ),
        (
            json!({"$ref": "#/$defs/name", "description": "the hero's"}),
            json!({"type": "string", "description": "the hero's"}),
        ),
        (
            json!({"$ref": "#/$defs/tree"}),
            json!({"type": "object", "properties": {"kids": {"type": "array", "items": {
                "type": "string",
                "description": "a JSON object, written as text; of the same shape as what it is in",
            }}}}),
        ),
        (
            json!({"$ref": "https://elsewhere/x"}),
            json!({
                "type": "string",
                "description": "a JSON object, written as text; of the same shape as what it is in",
            }),
        ),
        (
            json!({"anyOf": [{"$ref": "#/$defs/name"}, {"type": "null"}], "description": "who"}),
            json!({"type": "string", "description": "who", "nullable": true}),
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"type": "boolean"}], "description": "d"}),
            json!({"anyOf": [{"type": "integer", "description": "d"}, {"type": "boolean", "description": "d"}]}),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        ),
        (
            json!({"allOf": [
                {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}}, "required": ["b", "gone"]},
            ]}),
            json!({
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
            }),
        ),
        (
            json!({"const": "x"}),
            json!({"type": "string", "enum": ["x"]}),
        ),
        (
            json!({"enum": ["a", "b", null]}),
            json!({"type": "string", "enum": ["a", "b"]}),
        ),
        (
            json!({"enum": ["a", ""]}),
            json!({"type": "string", "description": "one of \"a\", \"\""}),
        ),
        (
            json!({"type": "integer", "enum": [1, 2], "description": "d"}),
            json!({"type": "integer", "description": "d (one of 1, 2)"}),
        ),
        (
            json!({"const": true}),
            json!({"type": "boolean", "description": "one of true"}),
        ),
        (
            json!({"type": "object"}),
            json!({"type": "string", "description": "a JSON object, written as text"}),
        ),
        (
            json!({"additionalProperties": {"type": "string"}, "description": "d"}),
            json!({"type": "string", "description": "d (a JSON object, written as text)"}),
        ),
        (
            json!({"type": "array"}),
            json!({"type": "array", "items": {"type": "string", "description": anything}}),
        ),
        (
            json!({"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}),
            json!({"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 3}),
        ),
        (
            json!({"prefixItems": [{"type": "number"}]}),
            json!({"type": "array", "items": {"type": "number"}}),
        ),
        (
            json!({"type": "string", "format": "uri", "minLength": 1}),
            json!({"type": "string", "minLength": 1}),
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "format": "date-time"}),
        ),
        (
            json!({"type": "integer", "format": "int64", "minimum": 0, "exclusiveMaximum": 9}),
            json!({"type": "integer", "format": "int64", "minimum": 0}),
        ),
        (json!({"type": "STRING"}), json!({"type": "string"})),
        (
            json!(true),
            json!({"type": "string", "description": anything}),
        ),
        (json!({}), json!({"type": "string"})),
        (
            json!({"type": 7, "properties": [], "required": "a", "enum": {}}),
            json!({"type": "string"}),
        ),
    ];
    for (schema, expected) in rows {
        assert_eq!(gemini(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn gemini_takes_no_empty_object_and_no_choice_outermost() {
    let rows = [
        (json!(null), None),
        (json!({"type": "object", "properties": {}}), None),
        (
            json!({"type": "object", "additionalProperties": true}),
            None,
        ),
        (
            json!({"$schema": "x", "$ref": "#/definitions/A", "definitions": {"A": {
                "type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "string"}}, "required": ["z"],
            }}}),
            Some(json!({
                "type": "object",
                "properties": {"z": {"type": "string"}, "a": {"type": "string"}},
                "required": ["z"],
            })),
        ),
        (
            json!({"oneOf": [
                {"properties": {"kind": {"type": "string"}, "a": {"type": "string"}}, "required": ["kind", "a"]},
                {"properties": {"kind": {"type": "string"}, "b": {"type": "string"}}, "required": ["kind"]},
            ]}),
            Some(json!({
                "type": "object",
                "properties": {"kind": {"type": "string"}, "a": {"type": "string"}, "b": {"type": "string"}},
                "required": ["kind"],
            })),
        ),
    ];
    for (schema, expected) in rows {
        assert_eq!(gemini_parameters(&schema), expected, "{schema}");
    }
}

#[test]
fn the_order_of_properties_is_kept() {
    let schema =
        json!({"type": "object", "properties": {"z": {"type": "string"}, "a": {}, "m": true}});
    let names = |schema: &Json| -> Vec<String> {
        schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(names(&gemini_parameters(&schema).unwrap()), ["z", "a", "m"]);
    assert_eq!(names(&anthropic_input(&schema)), ["z", "a", "m"]);
    assert_eq!(names(&anthropic_output(&schema).unwrap()), ["z", "a", "m"]);
}

#[test]
fn anthropic_tools_keep_nearly_everything() {
    let rows = [
        (json!(null), json!({"type": "object", "properties": {}})),
        (json!({}), json!({"type": "object", "properties": {}})),
        (
            json!({"$schema": "x", "$id": "y", "properties": {"a": {"$ref": "#/$defs/A", "default": 1}},
                "additionalProperties": false, "$defs": {"A": {"anyOf": [{"type": "integer"}]}}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A", "default": 1}},
                "additionalProperties": false, "$defs": {"A": {"anyOf": [{"type": "integer"}]}}, "required": ["a"]}),
        ),
        (
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"a": {}}}}}),
            json!({"type": "object", "properties": {"a": {}},
                "$defs": {"A": {"type": "object", "properties": {"a": {}}}}}),
        ),
        (
            json!({"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "description": "d"}),
            json!({"type": "object", "properties": {"a": {}, "b": {}}, "description": "d"}),
        ),
    ];
    for (schema, expected) in rows {
        assert_eq!(anthropic_input(&schema), expected, "{schema}");
    }
}

#[test]
fn anthropic_answers_are_held_to_closed_objects() {
    let schema = json!({"$schema": "x", "type": "object", "required": ["n"], "properties": {
        "n": {"type": "integer", "minimum": 1, "maximum": 6},
        "s": {"type": "string", "format": "date", "maxLength": 3, "enum": ["a"]},
        "l": {"type": "array", "items": {"$ref": "#/$defs/A"}, "minItems": 1, "maxItems": 2},
        "u": {"oneOf": [{"type": "null"}, {"type": "object", "properties": {}, "additionalProperties": false}]},
    }, "$defs": {"A": {"properties": {"again": {"$ref": "#/$defs/A"}}}}});
    assert_eq!(
        anthropic_output(&schema).unwrap(),
        json!({"type": "object", "additionalProperties": false, "required": ["n"], "properties": {
            "n": {"type": "integer"},
            "s": {"type": "string", "format": "date", "enum": ["a"]},
            "l": {"type": "array", "minItems": 1, "items": {
                "type": "object", "additionalProperties": false,
                "properties": {"again": {"type": "object", "properties": {}, "additionalProperties": false}},
            }},
            "u": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {}, "additionalProperties": false}]},
        }})
    );
}

#[test]
fn anthropic_is_not_asked_for_an_empty_object_where_any_is_meant() {
    let named = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let mut generous = named.clone();
    generous["additionalProperties"] = json!(true);
    let mut map = named.clone();
    map["additionalProperties"] = json!({"type": "integer"});
    let rows = [
        (json!({"type": "object"}), Some("$")),
        (json!(true), Some("$")),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            Some("$"),
        ),
        (
            json!({"type": "object", "properties": {"m": map}}),
            Some("$.m"),
        ),
        (
            json!({"type": "array", "items": {"anyOf": [{"type": "null"}, {"type": "object"}]}}),
            Some("$.items.anyOf[1]"),
        ),
        (
            json!({"type": "object", "additionalProperties": false}),
            None,
        ),
        (named, None),
        (generous, None),
    ];
    for (schema, place) in rows {
        assert_eq!(
            anthropic_output(&schema).err().as_deref(),
            place,
            "{schema}"
        );
    }
}

#[test]
fn strict_is_asked_for_only_where_openai_takes_it() {
    let closed = |properties: Json| {
        let required: Vec<String> = properties.as_object().unwrap().keys().cloned().collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    let text = json!({"type": "string"});
    let mut optional = closed(json!({"a": text}));
    optional["required"] = json!([]);
    let mut deep = text.clone();
    for _ in 0..2 * MAX_SCHEMA_DEPTH {
        deep = json!({"type": "array", "items": deep});
    }
    let rows = [
        (
            closed(json!({"a": text, "b": {"anyOf": [text, {"type": "null"}]}})),
            true,
        ),
        (
            closed(json!({"l": {"type": "array", "items": closed(json!({"a": text}))}})),
            true,
        ),
        (json!({"type": "object"}), false),
        (
            json!({"type": "object", "properties": {"a": text}, "required": ["a"]}),
            false,
        ),
        (optional.clone(), false),
        (closed(json!({"in": optional.clone()})), false),
        (
            closed(json!({"l": {"type": "array", "items": optional}})),
            false,
        ),
        (closed(json!({"a": {"oneOf": [text]}})), false),
        (closed(json!({"a": {}})), false),
        (closed(json!({"a": deep})), false),
        (json!({"type": "array", "items": text}), false),
        (json!(true), false),
    ];
    for (schema, strict) in rows {
        assert_eq!(is_strict(&schema), strict, "{schema}");
    }
}

#[test]
fn deep_and_exploding_schemas_end() {
    let mut deep = json!({"type": "string"});
    for _ in 0..3 * MAX_SCHEMA_DEPTH {
        deep = json!({"type": "object", "properties": {"in": deep}});
    }
    let text = gemini_parameters(&deep).unwrap().to_string();
    assert_eq!(text.matches("\"in\"").count(), MAX_SCHEMA_DEPTH + 1);

    // Each level names the next one eight times.
    let mut defs = Map::new();
    for level in 0..20 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        let properties: Map<String, Json> =
            (0..8).map(|n| (format!("p{n}"), next.clone())).collect();
        defs.insert(
            format!("l{level}"),
            json!({"type": "object", "properties": properties}),
        );
    }
    let schema = json!({"$ref": "#/$defs/l0", "$defs": defs});
    for cleaned in [
        gemini_parameters(&schema).unwrap(),
        anthropic_output(&schema).unwrap(),
    ] {
        assert!(cleaned.to_string().len() < 200 * MAX_SCHEMA_NODES);
    }
}

proptest! {
    #[test]
    fn nothing_is_too_odd(schema in any_json()) {
        let wrapped = json!({"properties": {"p": schema}, "$defs": {"a": schema}, "allOf": [schema]});
        for schema in [&schema, &wrapped] {
            gemini_parameters(schema);
            prop_assert_eq!(&anthropic_input(schema)["type"], "object");
            prop_assert!(anthropic_output(schema).is_ok_and(|held| held.is_object()) || anthropic_output(schema).is_err());
        }
    }
}
