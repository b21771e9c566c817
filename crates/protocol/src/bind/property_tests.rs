//! Laws of binding, on requests and schemas that nobody would write.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::bind_tests::{NATIVE, tool};
use super::*;
use crate::key::normalise;
use crate::{Argument, Node, Protocol, Source, Span, Text, Tree};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("b_c".to_owned()),
        Just("bC".to_owned()),
        Just("input_1".to_owned()),
        Just("item".to_owned()),
        Just("uri_a".to_owned()),
        Just("on_error".to_owned()),
        Just("é~/".to_owned()),
        "[a-zA-Z_0-9]{0,6}",
    ]
}

fn scalar_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{1,22}(\\.[0-9]{1,3})?(e[0-9]{1,3})?",
        Just("true".to_owned()),
        Just("no".to_owned()),
        Just("null".to_owned()),
        Just("3.0".to_owned()),
        Just("[1, \"2\", {\"a\": null}]".to_owned()),
        Just("{\"a\": \"1\", \"b_c\": [true]}".to_owned()),
        Just("[broken]".to_owned()),
        "\\PC{0,12}",
    ]
}

fn value() -> impl Strategy<Value = Json> + Clone {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-4i64..4).prop_map(Json::from),
        (-4.0f64..4.0).prop_map(Json::from),
        Just(json!(3.0)),
        scalar_text().prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::vec((name(), inner), 0..3)
                .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn type_name() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec![
        "null", "boolean", "integer", "number", "string", "array", "object", "odd",
    ])
}

fn schema() -> impl Strategy<Value = Json> + Clone {
    let leaf = prop_oneof![
        type_name().prop_map(|one| json!({"type": one})),
        prop::collection::vec(type_name(), 0..3).prop_map(|types| json!({"type": types})),
        (type_name(), value()).prop_map(|(one, default)| json!({"type": one, "default": default})),
        prop::collection::vec(value(), 0..3).prop_map(|choices| json!({"enum": choices})),
        Just(json!({"type": "integer", "nullable": true})),
        Just(json!({"type": "string", "x-verbatim": true})),
        Just(json!({"$ref": "#"})),
        Just(json!({"$ref": "#/properties/a"})),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"anyOf": all})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"allOf": all})),
            object(inner),
        ]
    })
}

fn object(property: impl Strategy<Value = Json> + Clone) -> impl Strategy<Value = Json> {
    (
        prop::collection::vec((name(), property.clone()), 0..4),
        prop::collection::vec(name(), 0..2),
        prop::option::of(prop_oneof![any::<bool>().prop_map(Json::from), property]),
    )
        .prop_map(|(properties, required, others)| {
            let properties: Map<String, Json> = properties.into_iter().collect();
            let mut schema =
                json!({"type": "object", "properties": properties, "required": required});
            if let Some(others) = others {
                schema["additionalProperties"] = others;
            }
            schema
        })
}

fn tree() -> impl Strategy<Value = Tree<'static>> {
    let leaf = scalar_text().prop_map(|text| Tree {
        inner: text.clone().into(),
        node: Node::Text(text.into()),
    });
    leaf.prop_recursive(3, 12, 3, |inner| {
        let fields = prop::collection::vec((name(), inner.clone()), 0..3);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Node::Array),
            fields.prop_map(|fields| Node::Object(
                fields
                    .into_iter()
                    .map(|(name, tree)| (name.into(), tree))
                    .collect()
            )),
        ]
        .prop_map(|node| Tree {
            node,
            inner: "<i/>".into(),
        })
    })
}

fn argument() -> impl Strategy<Value = Argument<'static>> {
    let value = prop_oneof![
        scalar_text().prop_map(|text| Value::Text(Text::new(text, "  "))),
        tree().prop_map(Value::Tree),
        value().prop_map(Value::Json),
    ];
    let hint = prop::option::of(prop::sample::select(TypeHint::ALL.to_vec()));
    (
        name(),
        prop::option::of(name()),
        any::<bool>(),
        any::<bool>(),
        hint,
        value,
    )
        .prop_map(|(name, written, by_uri, shared, hint, value)| Argument {
            written: written.unwrap_or_else(|| format!("{name}_1")).into(),
            name: name.into(),
            source: if by_uri { Source::Uri } else { Source::Inline },
            value,
            hint,
            shared,
            span: Span::default(),
        })
}

fn request() -> impl Strategy<Value = ToolCallRequest<'static>> {
    let protocol = prop::sample::select(vec![
        Protocol::Tam,
        Protocol::Action,
        Protocol::ToolCall,
        NATIVE,
    ]);
    (
        protocol,
        prop::collection::vec(argument(), 0..5),
        prop::collection::vec(argument(), 0..2),
        0u32..3,
    )
        .prop_map(|(protocol, arguments, modifiers, index)| {
            let mut request = ToolCallRequest::new(protocol, "T");
            request.arguments = arguments;
            request.modifiers = modifiers;
            request.index = index;
            request.request_id = Some("r".into());
            request
        })
}

/// A call with the arguments of a bound one, which native providers send as JSON.
fn again(bound: &BoundCall) -> ToolCallRequest<'static> {
    super::bind_tests::call(NATIVE, bound.arguments.clone().into())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn binding_never_panics_and_never_answers_with_nothing(
        request in request(),
        parameters in prop_oneof![object(schema()), schema(), value()],
    ) {
        let definition = tool(parameters);
        let _ = check_declaration(&definition);
        if let Err(error) = bind(&request, &definition) {
            prop_assert!(!error.problems.is_empty());
            prop_assert!(error.problems.iter().all(|problem| !problem.message.is_empty()));
        }
    }

    #[test]
    fn what_is_bound_stays_as_it_is(
        schema in schema(),
        values in prop::collection::vec(argument(), 8),
        root in object(schema()),
    ) {
        // One declared parameter and many values for it: some fit.
        let mut root = root;
        root["properties"] = json!({"x": schema, "a": root["properties"]["a"]});
        root["required"] = json!([]);
        let definition = tool(root);
        for mut value in values {
            let mut request = ToolCallRequest::new(Protocol::Tam, "T");
            value.name = "x".into();
            value.written = "x".into();
            value.source = Source::Inline;
            request.arguments.push(value);
            let Ok(bound) = bind(&request, &definition) else { continue };
            let second = bind(&again(&bound), &definition);
            prop_assert_eq!(second.map(|second| second.arguments), Ok(bound.arguments));
        }
    }

    #[test]
    fn every_spelling_of_a_declared_name_binds_alike(
        names in prop::collection::hash_set("[a-z]{1,4}([A-Z][a-z]{1,3}|_[a-z]{1,3}|[0-9]){0,2}", 1..6),
        values in prop::collection::vec(scalar_text(), 6),
        step in 1u32..4,
    ) {
        let definition = tool(json!({
            "properties": names.iter().map(|name| (name.clone(), json!({}))).collect::<Map<_, _>>(),
        }));
        prop_assume!(check_declaration(&definition).is_ok());
        let field = |name: &str, numbered: bool, value: &str| {
            let name = normalise(name).into_owned();
            let written = if numbered { format!("{name}_{step}") } else { name.clone() };
            let mut argument = Argument::exact(
                name,
                Value::Text(Text::new(value.to_owned(), "")),
                Span::default(),
            );
            argument.written = written.into();
            argument
        };
        let spellings: [&dyn Fn(&str) -> String; 5] = [
            &|name| name.to_owned(),
            &|name| normalise(name).to_uppercase(),
            &|name| normalise(name).replace('_', "-"),
            &|name| normalise(name).replace('_', " "),
            &|name| format!("**{name}**"),
        ];
        for numbered in [false, true] {
            for spell in spellings {
                let mut request = ToolCallRequest::new(Protocol::Tam, "T");
                request.index = step;
                request.arguments = names
                    .iter()
                    .zip(&values)
                    .map(|(name, value)| field(&spell(name), numbered, value))
                    .collect();
                let bound = bind(&request, &definition).map_err(|error| TestCaseError::fail(error.to_string()))?;
                for (name, value) in names.iter().zip(&values) {
                    prop_assert_eq!(bound.arguments.get(name), Some(&Json::from(value.trim())));
                }
            }
        }
    }
}
