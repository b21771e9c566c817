//! The official JSON-Schema-Test-Suite, draft 2020-12, through the whole way of a call: as the schema of what a
//! tool gives back, and as the schema of a parameter.
//!
//! A value reaches the check of parameters by a hook, because on the usual way it would be fitted to its type first.

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::ToolRun;
use innkeeper_tools::hook::{Hook, HookAction, HookError, HookPoint};
use innkeeper_tools::registry::{Offer, Source};
use serde_json::{Value as Json, json};

use super::harness::{World, codes, say, tam, told};

/// What the tool gives back or the hook puts in.
type Slot = Arc<Mutex<Json>>;

struct Case {
    name: String,
    schema: Json,
    tests: Vec<(String, Json, bool)>,
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/json-schema-suite");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let groups: Vec<Json> =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for group in groups {
            let name = file.file_stem().unwrap().to_string_lossy();
            let test = |test: &Json| {
                let name = test["description"].as_str().unwrap().to_owned();
                (name, test["data"].clone(), test["valid"].as_bool().unwrap())
            };
            cases.push(Case {
                name: format!("{name}: {}", group["description"].as_str().unwrap()),
                schema: group["schema"].clone(),
                tests: group["tests"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(test)
                    .collect(),
            });
        }
    }
    cases
}

/// Whatever is called gets the value of the slot as its `v`.
struct PutIn(Slot);

#[async_trait]
impl Hook for PutIn {
    fn name(&self) -> &str {
        "put-in"
    }
    fn point(&self) -> HookPoint {
        HookPoint::ToolBeforeCall
    }
    fn concerns(&self, subject: &str) -> bool {
        subject.starts_with("Parameter.")
    }
    async fn run(&self, _: &Json) -> Result<HookAction, HookError> {
        let value = json!({"v": *self.0.lock().unwrap()});
        Ok(HookAction::Change { value })
    }
}

struct Bench {
    world: World,
    run: ToolRun,
    slot: Slot,
}

/// One tool for each schema.
async fn bench(definitions: Vec<ToolDefinition>) -> Bench {
    let world = World::new().await;
    let slot = Slot::default();
    let tool = |mut definition: ToolDefinition| -> Offer {
        let slot = slot.clone();
        definition.source = "plugin:suite".to_owned();
        world.defined(definition, move |_, _| {
            let value = slot.lock().unwrap().clone();
            Box::pin(async move { Ok(value) })
        })
    };
    let source = Source {
        tools: definitions.into_iter().map(tool).collect(),
        hooks: vec![Arc::new(PutIn(slot.clone()))],
        ..Source::default()
    };
    world
        .manager
        .registry()
        .replace("plugin:suite", source)
        .unwrap();
    let run = world.run("suite");
    Bench { world, run, slot }
}

impl Bench {
    /// Runs all cases and gives those that came out wrong.
    async fn check(&self, cases: &[Case], tool: &str, refused: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut count = 0;
        for (number, case) in cases.iter().enumerate() {
            for (name, data, valid) in &case.tests {
                *self.slot.lock().unwrap() = data.clone();
                let said = say(&self.run, &tam(&format!("command: {tool}.{number}"))).await;
                let expected = if *valid { "ok" } else { refused };
                count += 1;
                if codes(&said) != [expected] {
                    wrong.push(format!("{} / {name}: {:?}", case.name, codes(&said)));
                }
            }
        }
        println!(
            "{tool}: {count} cases of the JSON-Schema-Test-Suite, {} wrong",
            wrong.len()
        );
        assert!(count > 900, "only {count} cases were found");
        assert!(!self.world.ran().is_empty());
        wrong
    }
}

#[tokio::test]
async fn results_are_checked_as_the_suite_says() {
    let cases = cases();
    let definitions = cases.iter().enumerate().map(|(number, case)| {
        let mut definition =
            ToolDefinition::new(format!("Result.{number}"), "", json!({"type": "object"}));
        definition.output = Some(case.schema.clone());
        definition
    });
    let bench = bench(definitions.collect()).await;
    let wrong = bench.check(&cases, "Result", "tool.result_invalid").await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// References of these schemas begin at the root, which is not where a parameter stands.
fn is_rooted(schema: &Json) -> bool {
    let text = schema.to_string();
    text.contains("\"$ref\"") || text.contains("\"$id\"")
}

#[tokio::test]
async fn parameters_are_checked_as_the_suite_says() {
    let cases: Vec<_> = cases()
        .into_iter()
        .filter(|case| !is_rooted(&case.schema))
        .collect();
    let definitions = cases.iter().enumerate().map(|(number, case)| {
        let parameters = json!({"type": "object", "properties": {"v": case.schema}});
        ToolDefinition::new(format!("Parameter.{number}"), "", parameters)
    });
    let bench = bench(definitions.collect()).await;
    let wrong = bench.check(&cases, "Parameter", "tool.policy_denied").await;
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// On the usual way, from text, a value that fits its schema is never refused, nor made another one.
#[tokio::test]
async fn valid_values_arrive_as_they_are() {
    let cases: Vec<_> = cases()
        .into_iter()
        .filter(|case| !is_rooted(&case.schema))
        .collect();
    let definitions = cases.iter().enumerate().map(|(number, case)| {
        let parameters = json!({"type": "object", "properties": {"v": case.schema}});
        ToolDefinition::new(format!("Usual.{number}"), "", parameters)
    });
    let bench = bench(definitions.collect()).await;
    let mut wrong = Vec::new();
    let mut count = 0;
    for (number, case) in cases.iter().enumerate() {
        let tool = format!("Usual.{number}");
        for (name, data, _) in case.tests.iter().filter(|(_, _, valid)| *valid) {
            let text = tam(&format!("command: {tool}\n type_hint_v: json\n v: {data}"));
            let said = say(&bench.run, &text).await;
            count += 1;
            let arrived = bench.world.given(&tool).pop().unwrap_or_default();
            if codes(&said) != ["ok"] || !is_same(&arrived["v"], data) {
                wrong.push(format!("{} / {name}: {:?}", case.name, told(&said)));
            }
        }
    }
    println!(
        "Usual: {count} valid values of the JSON-Schema-Test-Suite, {} wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// As JSON Schema sees it: 1.0 is 1.
pub(super) fn is_same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| is_same(a, b)))
        }
        (a, b) => a == b,
    }
}
