//! Workflows as tools, from a file in the house to an observation.

use serde_json::{Value, json};

use super::home::House;

/// A workflow that gives back what it is given, and asks the model where it is told to.
fn repeat(id: &str) -> Value {
    json!({
        "id": id,
        "name": "Repeat",
        "description": "Says it again.",
        "nodes": [
            {"id": "in", "type": "core:GroupInput"},
            {"id": "out", "type": "core:GroupOutput"},
        ],
        "edges": [
            {"id": "e", "source": "in", "sourceHandle": "text", "target": "out", "targetHandle": "said"},
        ],
        "interfaceInputs": {"text": {"key": "text", "dataFlowType": "STRING", "required": true}},
        "interfaceOutputs": {"said": {"key": "said", "dataFlowType": "STRING"}},
    })
}

/// A workflow with a node that asks the default model.
pub(crate) fn ask() -> Value {
    json!({
        "id": "ask",
        "name": "Ask",
        "nodes": [
            {"id": "in", "type": "core:GroupInput"},
            {"id": "model", "type": "core:LlmApiRequest"},
            {"id": "out", "type": "core:GroupOutput"},
        ],
        "edges": [
            {"id": "a", "source": "in", "sourceHandle": "messages", "target": "model", "targetHandle": "messages"},
            {"id": "b", "source": "model", "sourceHandle": "responseText", "target": "out", "targetHandle": "text"},
        ],
        "interfaceInputs": {"messages": {"key": "messages", "dataFlowType": "STRING", "required": true}},
        "interfaceOutputs": {"text": {"key": "text", "dataFlowType": "STRING"}},
    })
}

impl House {
    pub(crate) fn workflow(&self, path: &str, workflow: &Value) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, workflow.to_string()).unwrap();
    }
}

const CALL: &str = "<ACTION><workflow:repeat><text>good evening</text></workflow:repeat></ACTION>";

#[test]
fn a_workflow_of_the_library_or_the_project_is_called_like_any_tool() {
    for (place, project) in [
        ("library/workflows/any.json", "default"),
        ("projects/default/workflows/any.json", "default"),
        ("projects/inn/workflows/any.json", "inn"),
    ] {
        let house = House::new();
        house.workflow(place, &repeat("repeat"));
        let run = house.fed(&["call", "--project", project], CALL);
        assert_eq!(run.code, Some(0), "{place}: {}{}", run.stdout, run.stderr);
        assert_eq!(
            run.stdout,
            "Observation: Tool workflow:repeat executed successfully. Result: good evening\n",
            "{place}"
        );
        let words = [
            "tools",
            "call",
            "workflow:repeat",
            "text=tea",
            "--project",
            project,
        ];
        let run = house.run(&words);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), "tea\n"),
            "{place}: {}",
            run.stderr
        );
    }
    let house = House::new();
    house.workflow("projects/inn/workflows/any.json", &repeat("repeat"));
    let run = house.fed(&["call"], CALL);
    assert_eq!(run.code, Some(1), "another project's: {}", run.stdout);
}

#[test]
fn workflows_are_listed_and_nodes_are_not() {
    let house = House::new();
    house.workflow("projects/default/workflows/any.json", &repeat("repeat"));
    let list = house.json(&["tools", "list"]);
    let ids: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["id"].as_str())
        .collect();
    assert!(ids.contains(&"workflow:repeat"), "{ids:?}");
    assert!(ids.contains(&"event:Publish"), "{ids:?}");
    let is_node = |id: &&str| id.starts_with("core:") && !id.ends_with("PrivateState");
    assert!(!ids.iter().any(is_node), "{ids:?}");
    let shown = house.json(&["tools", "show", "workflow:repeat"]);
    assert_eq!(shown["parameters"]["required"], json!(["text"]));
    let node = house.json(&["tools", "show", "core:If"]);
    assert_eq!(node["source"], "builtin");
}

#[test]
fn a_workflow_that_cannot_run_says_why() {
    let house = House::new();
    let mut round = repeat("round");
    round["nodes"] = json!([
        {"id": "group", "type": "core:NodeGroup", "configValues": {"referencedWorkflowId": "round"}},
        {"id": "out", "type": "core:GroupOutput"},
    ]);
    round["edges"] = json!([]);
    house.workflow("library/workflows/round.json", &round);
    let run = house.run(&["tools", "call", "workflow:round", "text=x"]);
    assert_eq!(run.code, Some(2), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("is no tool as it is"), "{}", run.stderr);
}

#[test]
fn a_workflow_asks_the_rehearsal_model_of_the_house() {
    let house = House::new();
    house.workflow("library/workflows/ask.json", &ask());
    house.write(
        "mine.yaml",
        "name: mine\nscenes:\n  - when: {contains: tea}\n    reply: With milk.\n",
    );
    house.write("innkeeper.toml", "[models]\nrehearsal = \"mine.yaml\"\n");
    let run = house.run(&["tools", "call", "workflow:ask", "messages=Is there tea?"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("With milk."), "{}", run.stdout);

    house.write("mine.yaml", "scenes: 5\n");
    let run = house.run(&["tools", "call", "workflow:ask", "messages=Is there tea?"]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("mine.yaml"), "{}", run.stderr);
}
