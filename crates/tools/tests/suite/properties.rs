//! Laws: blocks against a simple model, filling in against itself, validation against nonsense.

use innkeeper_protocol::ToolDefinition;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::harness::{World, codes, say, tam, told};

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

/// What fails is printed; a file for it would have to be kept.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Works,
    Fails,
    Unknown,
    Misspelt,
    Task,
    FailingTask,
    /// Refers to the result of the step at that place.
    Refers(usize),
}

#[derive(Debug, Clone)]
struct Step {
    number: u32,
    kind: Kind,
    goes_on: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        3 => Just(Kind::Works),
        2 => Just(Kind::Fails),
        1 => Just(Kind::Unknown),
        1 => Just(Kind::Misspelt),
        2 => Just(Kind::Task),
        1 => Just(Kind::FailingTask),
        3 => (0usize..6).prop_map(Kind::Refers),
    ];
    let steps = vec((1u32..9, kind, any::<bool>()), 1..=6);
    steps.prop_map(|steps| {
        let mut number = 0;
        let numbered = steps.into_iter().map(|(gap, kind, goes_on)| {
            number += gap;
            Step {
                number,
                kind,
                goes_on,
            }
        });
        numbered.collect()
    })
}

fn referred(steps: &[Step], at: usize) -> u32 {
    steps[at % steps.len()].number
}

fn written(steps: &[Step], step: &Step) -> String {
    let n = step.number;
    let on_error = if step.goes_on { "continue" } else { "stop" };
    let call = match step.kind {
        Kind::Works => format!("command_{n}: Echo\n text_{n}: {n}"),
        Kind::Fails => format!("command_{n}: Fail"),
        Kind::Unknown => format!("command_{n}: Nobody.Knows"),
        Kind::Misspelt => format!("command_{n}: Echo\n txet_{n}: x"),
        Kind::Task => format!("command_{n}: Gate.Async\n gate_{n}: open"),
        Kind::FailingTask => format!("command_{n}: Gate.Async\n gate_{n}: open\n fail_{n}: true"),
        Kind::Refers(at) => {
            format!(
                "command_{n}: Echo\n text_{n}: @{{step_{}.result}}",
                referred(steps, at)
            )
        }
    };
    format!("{call}\n on_error_{n}: {on_error}\n")
}

/// What is told of each step, in order, by the rules of the specification alone.
fn model(steps: &[Step]) -> Vec<&'static str> {
    let mut told = Vec::new();
    let mut has_result = Vec::new();
    let mut stopped = false;
    for step in steps {
        let (word, result) = match step.kind {
            _ if stopped => ("tool.skipped", false),
            Kind::Works => ("ok", true),
            Kind::Fails => ("tool.execution_failed", false),
            Kind::Unknown => ("tool.unknown", false),
            Kind::Misspelt => ("tool.invalid_arguments", false),
            Kind::Task => ("started", true),
            Kind::FailingTask => ("started", false),
            Kind::Refers(at) if has_result.contains(&referred(steps, at)) => ("ok", true),
            Kind::Refers(_) => ("tool.reference_unresolved", false),
        };
        stopped |= !step.goes_on && !matches!(word, "ok" | "started");
        if result {
            has_result.push(step.number);
        }
        told.push(word);
    }
    told
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn a_block_runs_as_the_model_says(steps in steps(), turn in 0usize..6) {
        let mut texts: Vec<_> = steps.iter().map(|step| written(&steps, step)).collect();
        let turn = turn % texts.len();
        texts.rotate_left(turn);
        let (said, ran) = wait(async {
            let world = World::new().await;
            world.open("open");
            let run = world.run("r");
            let said = say(&run, &tam(&texts.concat())).await;
            run.settle().await;
            (said, world.ran())
        });
        let expected = model(&steps);
        prop_assert_eq!(codes(&said), &*expected, "{:?}", told(&said));
        let numbers: Vec<_> = said.iter().map(|one| one.index).collect();
        let in_order: Vec<_> = steps.iter().map(|step| step.number).collect();
        prop_assert_eq!(numbers, in_order);
        let sync: Vec<_> = ran.iter().filter(|tool| *tool != "Gate.Async").collect();
        let expected_sync: Vec<_> = steps.iter().zip(&expected)
            .filter_map(|(step, word)| match (step.kind, *word) {
                (_, "ok") => Some("Echo"),
                (Kind::Fails, "tool.execution_failed") => Some("Fail"),
                _ => None,
            })
            .collect();
        prop_assert_eq!(sync, expected_sync);
        let tasks = expected.iter().filter(|word| **word == "started").count();
        prop_assert_eq!(ran.iter().filter(|tool| *tool == "Gate.Async").count(), tasks);
    }
}

/// Texts that look like references, whole and broken.
fn tricky() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "@{",
        "}",
        "{",
        "@",
        "timestamp",
        "request_id",
        "common_x",
        "step_1.result",
        "a",
        " ",
        "\"",
        "\\",
        "\n",
        "@{timestamp}",
        "@{common_x}",
        "@{step_1.result}",
        "猫",
    ]);
    vec(piece, 1..12).prop_map(|pieces| format!("<{}>", pieces.concat()))
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn what_was_filled_in_stays_as_it_is(value in tricky()) {
        let (said, echoed, data) = wait(async {
            let world = World::new().await;
            world.write("value.txt", &value).await;
            // From a file, because a value that stands in the block is itself filled in.
            let text = "request_id: r
                command_1: Json\n uri_value_1: value.txt\n type_hint_value_1: text
                command_2: Echo\n text_2: [@{step_1.result}|@{step_1.result}]
                command_3: Echo\n type_hint_data_3: json\n data_3: {\"v\": \"[@{step_1.result}]\"}";
            let said = say(&world.run("r"), &tam(text)).await;
            (said, world.echoed(), world.given("Echo"))
        });
        prop_assert_eq!(codes(&said), ["ok", "ok", "ok"], "{:?}", told(&said));
        prop_assert_eq!(&echoed[0], &format!("[{value}|{value}]"));
        prop_assert_eq!(&data[1]["data"]["v"], &json!(format!("[{value}]")));
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-c0-9 .@{}\"\\\\猫-]{0,6}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::from),
            vec(("[a-c]{1,2}", inner), 0..4).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Json> {
    let types = prop::sample::select(vec![
        "string", "number", "integer", "boolean", "null", "array", "object",
    ]);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Json::from),
        types.clone().prop_map(|name| json!({"type": name})),
        vec(types, 1..3).prop_map(|mut names| {
            names.sort_unstable();
            names.dedup();
            json!({"type": names})
        }),
        vec(any_json(), 1..3).prop_map(|values| json!({"enum": values})),
        any_json().prop_map(|value| json!({"const": value})),
        (0u8..4).prop_map(|n| json!({"minLength": n, "maxItems": n, "minProperties": n})),
        any::<i32>().prop_map(|n| json!({"minimum": n, "exclusiveMaximum": f64::from(n) + 0.5})),
        Just(json!({"pattern": "^(a+)+$", "uniqueItems": true, "multipleOf": 0.1})),
        Just(json!({"format": "date-time", "default": [1, "x"]})),
        Just(json!({"$ref": "#/properties/other"})),
        Just(json!({"$ref": "#"})),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let some = vec(inner.clone(), 1..3);
        prop_oneof![
            inner.clone().prop_map(|schema| json!({"items": schema})),
            some.clone()
                .prop_map(|schemas| json!({"prefixItems": schemas, "items": false})),
            inner
                .clone()
                .prop_map(|schema| json!({"contains": schema, "maxContains": 2})),
            inner.clone().prop_map(|schema| json!({"not": schema})),
            some.clone().prop_map(|schemas| json!({"anyOf": schemas})),
            some.clone().prop_map(|schemas| json!({"oneOf": schemas})),
            some.prop_map(|schemas| json!({"allOf": schemas})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({
                "properties": {"a": a}, "additionalProperties": b, "required": ["a"],
            })),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"if": a, "then": b, "else": false})),
        ]
    })
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn no_schema_and_no_value_break_the_way(schema in any_schema(), value in any_json(), bare in any::<bool>()) {
        let mut definition = ToolDefinition::new(
            "Any",
            "",
            json!({"type": "object", "properties": {"v": schema, "other": {"type": "string"}}}),
        );
        definition.source = "plugin:any".to_owned();
        // A declaration may be refused, but not with a panic.
        prop_assume!(innkeeper_tools::registry::Prepared::new(definition.clone()).is_ok());
        let hint = if bare { "" } else { "\n type_hint_v: json" };
        let said = wait(async {
            let world = World::new().await;
            let tool = world.defined(definition, |_, call| {
                Box::pin(async move { Ok(call.arguments["v"].clone()) })
            });
            world.offer("plugin:any", vec![tool]);
            say(&world.run("r"), &tam(&format!("command: Any\n v: {value}{hint}"))).await
        });
        let words = codes(&said);
        // What looks like a reference and is none is mentioned.
        let told_of = words.iter().filter(|word| **word != "note");
        let told_of: Vec<_> = told_of.copied().collect();
        prop_assert!(
            matches!(told_of.as_slice(), ["ok" | "tool.invalid_arguments"]),
            "{:?}",
            told(&said)
        );
    }
}
