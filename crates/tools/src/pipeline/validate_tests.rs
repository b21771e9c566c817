use serde_json::json;

use super::*;

fn messages(schema: Json, instance: Json) -> Vec<String> {
    let validator = jsonschema::validator_for(&schema).unwrap();
    check(&validator, &instance, "Parameter")
        .problems
        .into_iter()
        .map(|problem| format!("{} {}: {}", problem.code, problem.path, problem.message))
        .collect()
}

fn of_parameter(schema: Json, value: Json) -> Vec<String> {
    messages(json!({"properties": {"x": schema}}), json!({"x": value}))
}

#[test]
fn every_fault_is_told_with_place_expected_and_received() {
    for (schema, value, expected) in [
        (
            json!({"minimum": 1}),
            json!(0),
            "too_small /x: Parameter 'x' must be 1 or more, received 0",
        ),
        (
            json!({"maximum": 1}),
            json!(2),
            "too_large /x: Parameter 'x' must be 1 or less, received 2",
        ),
        (
            json!({"exclusiveMinimum": 1}),
            json!(1),
            "too_small /x: Parameter 'x' must be more than 1, received 1",
        ),
        (
            json!({"exclusiveMaximum": 1}),
            json!(1),
            "too_large /x: Parameter 'x' must be less than 1, received 1",
        ),
        (
            json!({"multipleOf": 5}),
            json!(7),
            "not_a_multiple /x: Parameter 'x' must be a multiple of 5, received 7",
        ),
        (
            json!({"minLength": 2}),
            json!("é"),
            "too_short /x: Parameter 'x' must be 2 characters or more, received 1 character",
        ),
        (
            json!({"maxLength": 1}),
            json!("ab"),
            "too_long /x: Parameter 'x' must be 1 character or fewer, received 2 characters",
        ),
        (
            json!({"pattern": "^a"}),
            json!("b"),
            "no_match /x: Parameter 'x' must be text that matches ^a, received \"b\"",
        ),
        (
            json!({"minItems": 2}),
            json!([1]),
            "too_few_items /x: Parameter 'x' must be 2 items or more, received 1 item",
        ),
        (
            json!({"maxItems": 0}),
            json!([1]),
            "too_many_items /x: Parameter 'x' must be 0 items or fewer, received 1 item",
        ),
        (
            json!({"uniqueItems": true}),
            json!([1, 1]),
            "repeated_items /x: Parameter 'x' must be without repeated items, received an array",
        ),
        (
            json!({"enum": ["a", 1]}),
            json!("b"),
            "invalid_value /x: Parameter 'x' must be one of \"a\", 1, received \"b\"",
        ),
        (
            json!({"const": "a"}),
            json!(""),
            "invalid_value /x: Parameter 'x' must be \"a\", received an empty text",
        ),
        (
            json!({"type": ["integer", "null"]}),
            json!("a"),
            "wrong_type /x: Parameter 'x' must be an integer or null, received \"a\"",
        ),
        (
            json!({"minProperties": 1}),
            json!({}),
            "too_few_fields /x: Parameter 'x' must be 1 field or more, received 0 fields",
        ),
        (
            json!({"items": {"minimum": 3}}),
            json!([4, 2]),
            "too_small /x/1: Parameter 'x[1]' must be 3 or more, received 2",
        ),
        (
            json!({"required": ["y"]}),
            json!({}),
            "missing_parameter /x/y: Missing required parameter 'x.y'",
        ),
        (
            json!({"properties": {"a": {}}, "additionalProperties": false}),
            json!({"q": 1}),
            "unknown_parameter /x/q: Unknown parameter 'x.q'",
        ),
        (
            json!({"anyOf": [{"type": "integer"}, {"minLength": 3}]}),
            json!("ab"),
            "no_alternative /x: Parameter 'x' must be an integer or 3 characters or more, received \"ab\"",
        ),
        (
            json!({"not": {"const": 1}}),
            json!(1),
            "forbidden /x: Parameter 'x' must be something else, received 1",
        ),
        (
            json!({"contains": {"const": 1}}),
            json!([2]),
            "missing_item /x: Parameter 'x' must be a list with a fitting item, received an array",
        ),
        (
            json!(false),
            json!(1),
            "forbidden /x: Parameter 'x' must be left out, received 1",
        ),
    ] {
        assert_eq!(of_parameter(schema.clone(), value), [expected], "{schema}");
    }
}

#[test]
fn all_faults_at_once() {
    let schema = json!({
        "properties": {"a": {"minimum": 1}, "b": {"maxLength": 1}, "c/d": {"const": 1}},
    });
    let said = messages(schema, json!({"a": 0, "b": "xx", "c/d": 2}));
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said.iter()
            .any(|line| line.starts_with("invalid_value /c~1d: Parameter 'c/d' "))
    );
}

#[test]
fn the_list_is_bounded_and_the_rest_counted() {
    let validator = jsonschema::validator_for(&json!({"items": {"minimum": 1}})).unwrap();
    let instance = Json::Array(vec![json!(0); MAX_PROBLEMS + 7]);
    let faults = check(&validator, &instance, "Parameter");
    assert_eq!(faults.problems.len(), MAX_PROBLEMS);
    assert_eq!(faults.omitted, 7);
    assert!(faults.sentences().ends_with("; and 7 more"));
}

#[test]
fn quotes_are_short_and_on_one_line() {
    let said = of_parameter(
        json!({"const": 1}),
        json!("a\n\"b\\".to_owned() + &"x".repeat(500)),
    );
    assert!(said[0].len() < 200, "{said:?}");
    assert!(!said[0].contains('\n'));
}

#[test]
fn what_fits_costs_no_list() {
    assert!(of_parameter(json!({"minimum": 1}), json!(1)).is_empty());
}
