//! Checks that hold for every node that is built in: it is documented, and it bears any input.

use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value as Json, json};

use crate::node::NodeShape;
use crate::port::Services;
use crate::testing::run_node_with;
use crate::{DataFlowType, NodeManager};

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/nodes.md"));

/// The part of the page that is about one node.
fn section(full_type: &str) -> Option<&'static str> {
    let heading = format!("### `{full_type}`");
    let start = PAGE
        .find(&format!("{heading}\n"))
        .or(PAGE.find(&format!("{heading} ")))?;
    let rest = &PAGE[start + heading.len()..];
    let end = rest.find("\n### ").unwrap_or(rest.len());
    let end = rest.find("\n## ").map_or(end, |other| other.min(end));
    Some(&rest[..end])
}

#[test]
fn every_node_and_slot_is_on_the_page() {
    let mut missing = Vec::new();
    for kind in NodeManager::new().types().iter() {
        let definition = &kind.definition;
        let Some(section) = section(kind.full_type()) else {
            missing.push(format!("no section '### `{}`'", kind.full_type()));
            continue;
        };
        let modes = definition.modes.iter();
        for mode in modes.clone() {
            if !section.contains(&format!("`{}`", mode.id)) {
                missing.push(format!("{}: mode `{}`", kind.full_type(), mode.id));
            }
        }
        let mut shapes: Vec<&NodeShape> = modes.map(|mode| &mode.shape).collect();
        shapes.push(&definition.shape);
        for shape in shapes {
            let inputs = shape.inputs.iter().chain(&shape.config);
            let keys = inputs.map(|input| &input.slot.key);
            for key in keys.chain(shape.outputs.iter().map(|slot| &slot.key)) {
                if !section.contains(&format!("`{key}`")) {
                    missing.push(format!("{}: slot `{key}`", kind.full_type()));
                }
            }
        }
    }
    assert!(
        missing.is_empty(),
        "docs/nodes.md lacks:\n{}",
        missing.join("\n")
    );
}

#[test]
fn the_page_tells_of_no_node_that_is_not_there() {
    let types = NodeManager::new().types();
    for heading in PAGE.lines().filter_map(|line| line.strip_prefix("### `")) {
        let name = heading.split('`').next().unwrap();
        assert!(types.get(name).is_some(), "{name}");
    }
}

#[test]
fn every_definition_says_what_it_is() {
    for kind in NodeManager::new().types().iter() {
        let (name, definition) = (kind.full_type(), &kind.definition);
        for text in [
            &definition.display_name,
            &definition.description,
            &definition.category,
        ] {
            assert!(!text.is_empty(), "{name}");
        }
        assert!(!definition.description.ends_with('.'), "{name}");
        let modes = definition.modes.iter().map(|mode| &mode.shape);
        for shape in modes.chain([&definition.shape]) {
            let inputs = shape.inputs.iter().chain(&shape.config);
            let slots = inputs.map(|input| &input.slot).chain(&shape.outputs);
            for slot in slots {
                assert!(
                    slot.display_name.is_some(),
                    "{name}: {} has no title",
                    slot.key
                );
                let about = slot.description.as_deref().unwrap_or("none");
                assert!(
                    !about.is_empty() && !about.ends_with('.'),
                    "{name}: {}",
                    slot.key
                );
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-3i64..20).prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-c$(){}%\\[\\]*+?.:\" 你\n]{0,12}".prop_map(Json::from),
        prop::sample::select(vec![
            "[1, 2]",
            "{\"role\": \"user\", \"content\": \"a\"}",
            "[[1,2],[3,4]]",
            "user",
            "{{ a }}",
            "a + 1"
        ])
        .prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec(("[a-c]|role|content|pattern", inner), 0..4)
                .prop_map(|pairs| Json::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A value of any kind for some slots, the defaults for the others.
fn random_inputs(shape: &NodeShape, runner: &mut TestRunner) -> Map<String, Json> {
    let mut draw = || any_json().new_tree(runner).unwrap().current();
    let mut inputs = Map::new();
    for input in &shape.inputs {
        if draw().is_null() {
            continue;
        }
        inputs.insert(input.slot.key.clone(), draw());
    }
    inputs
}

#[tokio::test(start_paused = true)]
async fn every_node_bears_any_input() {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(Config::default().rng_algorithm),
    );
    for kind in NodeManager::new().types().iter() {
        let (name, definition) = (kind.full_type(), &kind.definition);
        if kind.structure().is_some() {
            continue;
        }
        let modes = definition
            .modes
            .iter()
            .map(|mode| (Some(&mode.id), &mode.shape));
        let shapes: Vec<_> = match definition.modes.is_empty() {
            true => vec![(None, &definition.shape)],
            false => modes.collect(),
        };
        for (mode, shape) in shapes {
            let config = match (mode, &definition.mode_key) {
                (Some(mode), Some(key)) => json!({key: mode}),
                _ => json!({}),
            };
            // Modes share most of what can go wrong.
            let rounds = if mode.is_some() { 5 } else { 20 };
            for round in 0..rounds {
                let inputs = match round {
                    0 => Map::new(),
                    _ => random_inputs(shape, &mut runner),
                };
                let shown = json!(inputs).to_string();
                let run = run_node_with(name, config.clone(), json!(inputs), Services::default());
                let out = tokio::time::timeout(Duration::from_secs(3_600), run).await;
                let out = out.unwrap_or_else(|_| panic!("{name} hangs on {shown}"));
                check(name, shape, out, &shown);
            }
        }
    }
}

fn check(
    name: &str,
    shape: &NodeShape,
    out: Result<Map<String, Json>, crate::NodeError>,
    inputs: &str,
) {
    match out {
        Ok(outputs) => {
            for slot in &shape.outputs {
                let Some(value) = outputs.get(&slot.key) else {
                    continue;
                };
                let is_any = matches!(
                    slot.flow,
                    DataFlowType::Wildcard | DataFlowType::ConvertibleAny
                );
                assert!(
                    is_any || value.is_null() || slot.flow.accepts(value),
                    "{name} of {inputs}: {} is {value}",
                    slot.key
                );
            }
        }
        Err(error) => {
            assert!(!error.code.is_empty(), "{name}: {error}");
            assert!(
                !error.message.is_empty() && !error.message.ends_with('.'),
                "{name}: {error}"
            );
        }
    }
}
