//! Workflows that a person runs: every node of a plugin may be used, and what is trusted stays what it is.

use serde_json::{Value, json};

use super::home::House;

fn with_node(kind: &str, inputs: &Value) -> String {
    json!({
        "nodes": [
            {"id": "work", "type": kind, "inputValues": inputs},
            {"id": "out", "type": "core:GroupOutput"},
        ],
        "edges": [{"id": "e", "source": "work", "sourceHandle": "colour", "target": "out", "targetHandle": "colour"}],
        "interfaceOutputs": {"colour": {"dataFlowType": "STRING"}},
    })
    .to_string()
}

/// Always the same text, which nobody is asked for.
fn saying(id: &str, name: &str, text: &str) -> String {
    json!({
        "id": id,
        "name": name,
        "nodes": [
            {"id": "work", "type": "core:TextMerge", "inputValues": {"text_inputs": [text]}},
            {"id": "out", "type": "core:GroupOutput"},
        ],
        "edges": [{"id": "e", "source": "work", "sourceHandle": "merged_text", "target": "out", "targetHandle": "text"}],
        "interfaceOutputs": {"text": {"dataFlowType": "STRING"}},
    })
    .to_string()
}

#[test]
fn a_person_uses_the_nodes_of_plugins_and_rules_hold_for_them() {
    let house = House::new();
    house.write(
        "plugins/sky/plugin.yaml",
        "name: sky\nversion: '1'\nnodes: {entry: nodes}\n",
    );
    let script = "import json, sys\nhour = json.load(sys.stdin)['inputs']['hour']\nprint(json.dumps({'colour': 'black' if hour > 20 else 'blue'}))\n";
    house.write("plugins/sky/s.py", script);
    let node = json!({
        "type": "Colour",
        "inputs": {"hour": {"dataFlowType": "INTEGER"}},
        "outputs": {"colour": {"dataFlowType": "STRING"}},
        "implementation": {"type": "script", "command": "python s.py"},
    });
    house.write("plugins/sky/nodes/c.node.json", &node.to_string());
    assert_eq!(
        house.run(&["plugin", "enable", "sky", "--accept"]).code,
        Some(0)
    );
    let file = house.write(
        "own/sky.json",
        &with_node("sky:Colour", &json!({"hour": 23})),
    );
    let file = file.to_str().unwrap();
    let run = house.run(&["workflow", "run", file]);
    assert!(
        run.stdout.contains("black"),
        "{} {}",
        run.stdout,
        run.stderr
    );
    house.settings("[[policy.rules]]\ntool = \"sky:Colour\"\ndecision = \"deny\"\nreason = \"no looking up\"\n");
    let run = house.run(&["workflow", "run", file]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no looking up"), "{}", run.stderr);
}

#[test]
fn a_title_in_the_project_does_not_stand_for_an_id_of_the_library() {
    let house = House::new();
    house.write("library/workflows/a.json", &saying("tea", "Tea", "library"));
    let titled = saying("other", "tea", "project");
    house.write("projects/default/workflows/b.json", &titled);
    let run = house.run(&["workflow", "run", "tea"]);
    assert!(
        run.stdout.contains("library"),
        "{} {}",
        run.stdout,
        run.stderr
    );
    let run = house.run(&["workflow", "run", "other"]);
    assert!(
        run.stdout.contains("project"),
        "{} {}",
        run.stdout,
        run.stderr
    );
}
