//! Laws of binding against the validator: what the validator takes is never refused, nor made another value.

use innkeeper_protocol::{
    Argument, Protocol, Provider, Span, ToolCallRequest, ToolDefinition, Value, bind,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value as Json, json};

use super::json_schema_suite::is_same;

const CASES: u32 = 500;
/// Values tried on each schema.
const VALUES: usize = 12;

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", "ab", "n_1"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Json> + Clone {
    let leaf = select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(1.0),
        json!(2.5),
        json!(""),
        json!("a"),
        json!("1"),
        json!("true"),
        json!("null"),
        json!("[1]"),
        json!("{\"a\": 1}"),
    ]);
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::from),
            vec((name(), inner), 0..4)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

/// One keyword, with schemas for what is inside.
fn keyword(
    inner: impl Strategy<Value = Json> + Clone + 'static,
    refers: bool,
) -> impl Strategy<Value = (String, Json)> {
    let types = select(vec![
        "null", "boolean", "integer", "number", "string", "array", "object",
    ]);
    let word = |name: &'static str, value: BoxedStrategy<Json>| {
        value
            .prop_map(move |value| (name.to_owned(), value))
            .boxed()
    };
    let list = |few: std::ops::Range<usize>| vec(inner.clone(), few).prop_map(Json::from).boxed();
    let named = |names: BoxedStrategy<String>| {
        vec((names, inner.clone()), 0..3)
            .prop_map(|list| Json::Object(list.into_iter().collect()))
            .boxed()
    };
    let patterns = select(vec!["^a", "b$", "a", "^n_[0-9]$", ".*", "[a-b]", "^c$"]);
    let others = prop_oneof![2 => Just(json!(false)), 1 => inner.clone()].boxed();
    let names = || {
        proptest::sample::subsequence(vec!["a", "b", "ab"], 0..3)
            .prop_map(Json::from)
            .boxed()
    };
    prop_oneof![
        3 => word("type", types.clone().prop_map(Json::from).boxed()),
        1 => word("type", vec(types, 1..4).prop_map(|mut list| { list.sort(); list.dedup(); json!(list) }).boxed()),
        1 => word("enum", vec(value(), 1..4).prop_map(Json::from).boxed()),
        1 => word("const", value().boxed()),
        3 => word("properties", named(name().boxed())),
        1 => word("patternProperties", named(patterns.prop_map(str::to_owned).boxed())),
        1 => word("additionalProperties", others.clone()),
        1 => word("unevaluatedProperties", others),
        1 => word("required", names()),
        1 => word("items", inner.clone().boxed()),
        1 => word("prefixItems", list(1..3)),
        2 => word("anyOf", list(1..4)),
        1 => word("oneOf", list(1..4)),
        1 => word("allOf", list(1..3)),
        1 => word("not", inner.clone().boxed()),
        1 => word("if", inner.clone().boxed()),
        1 => word("then", inner.clone().boxed()),
        1 => word("else", inner.clone().boxed()),
        1 => word("dependentSchemas", named(name().boxed())),
        1 => word(if refers { "$ref" } else { "title" }, select(vec!["#/$defs/d", "#/$defs/e"]).prop_map(Json::from).boxed()),
        1 => word("minProperties", Just(json!(1)).boxed()),
        1 => word("minimum", Just(json!(1)).boxed()),
    ]
}

/// Only where it `refers` has it references, so that none leads back to itself.
fn schema(refers: bool) -> impl Strategy<Value = Json> + Clone {
    let leaf = prop_oneof![
        3 => select(vec!["null", "boolean", "integer", "number", "string", "array", "object"])
            .prop_map(|one| json!({"type": one})),
        1 => Just(json!({})),
        1 => any::<bool>().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 3, move |inner| {
        vec(keyword(inner, refers), 1..4)
            .prop_map(|keywords| keywords.into_iter().collect::<Map<_, _>>().into())
    })
}

fn call(value: &Json) -> ToolCallRequest<'static> {
    let mut request = ToolCallRequest::new(Protocol::Native(Provider::OpenAi), "T");
    let argument = Argument::exact("v", Value::Json(value.clone()), Span::default());
    request.arguments.push(argument);
    request
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(CASES) })]

    #[test]
    fn what_the_validator_takes_is_never_refused_nor_changed(
        v in schema(true), d in schema(false), e in schema(false), values in vec(value(), VALUES),
    ) {
        let parameters = json!({
            "type": "object", "properties": {"v": v}, "$defs": {"d": d, "e": e},
        });
        let validator = jsonschema::validator_for(&parameters).unwrap();
        let definition = ToolDefinition::new("T", "", parameters.clone());
        for value in values {
            if !validator.is_valid(&json!({"v": value})) {
                continue;
            }
            let bound = bind(&call(&value), &definition)
                .map_err(|error| TestCaseError::fail(format!("{value} for {parameters}: {error}")))?;
            let arrived = bound.arguments.get("v").cloned().unwrap_or_default();
            prop_assert!(is_same(&arrived, &value), "{value} became {arrived} for {parameters}");
            let is_valid = validator.is_valid(&json!({"v": arrived}));
            prop_assert!(is_valid, "{arrived} is not valid for {parameters}");
        }
    }
}
