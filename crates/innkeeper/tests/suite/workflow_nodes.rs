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

/// Two nodes with the same work: the second has it done by the first.
#[test]
fn work_is_done_once_where_the_plugin_says_it_is_always_the_same() {
    let house = House::new();
    house.write(
        "plugins/well/plugin.yaml",
        "name: well\nversion: '1'\nnodes: {entry: nodes}\n",
    );
    let script =
        "import json, sys\nprint(json.dumps({'word': json.load(sys.stdin)['inputs']['word']}))\n";
    house.write("plugins/well/s.py", script);
    let slot = json!({"word": {"dataFlowType": "STRING"}});
    let node = json!({
        "type": "Echo", "deterministic": true, "inputs": slot, "outputs": slot,
        "implementation": {"type": "script", "command": "python s.py"},
    });
    house.write("plugins/well/nodes/e.node.json", &node.to_string());
    assert_eq!(
        house.run(&["plugin", "enable", "well", "--accept"]).code,
        Some(0)
    );
    let edge = |from: &str, to: &str| json!({"id": from, "source": from, "sourceHandle": "word", "target": to, "targetHandle": "word"});
    let workflow = json!({
        "nodes": [
            {"id": "first", "type": "well:Echo", "inputValues": {"word": "hello"}},
            {"id": "second", "type": "well:Echo"},
            {"id": "out", "type": "core:GroupOutput"},
        ],
        "edges": [edge("first", "second"), edge("second", "out")],
        "interfaceOutputs": slot,
    });
    let file = house.write("own/well.json", &workflow.to_string());
    let file = file.to_str().unwrap();
    for (more, cached) in [(None, [false, true]), (Some("--fresh"), [false, false])] {
        let words = ["workflow", "run", file, "--events", "--yes"];
        let words: Vec<_> = words.into_iter().chain(more).collect();
        let run = house.run(&words);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let events = run.stdout.lines().map(serde_json::from_str::<Value>);
        let done: Vec<bool> = events
            .map(Result::unwrap)
            .filter(|event| {
                let node = &event["payload"]["nodeId"];
                event["type"] == "NODE_COMPLETE" && (*node == "first" || *node == "second")
            })
            .map(|event| event["payload"]["cached"] == true)
            .collect();
        assert_eq!(done, cached, "{more:?}: {}", run.stdout);
    }
    let run = house.run(&["workflow", "run", file, "--watch", "--yes"]);
    assert!(run.stderr.contains("cached"), "{}", run.stderr);

    // A workflow that is called takes what whoever calls it has made.
    house.write(
        "projects/default/workflows/inner.json",
        &workflow.to_string(),
    );
    let request = json!({"tool": "workflow:inner", "parameters": {}}).to_string();
    let edge = |from: [&str; 2], to: [&str; 2]| json!({"id": to[0], "source": from[0], "sourceHandle": from[1], "target": to[0], "targetHandle": to[1]});
    let outer = json!({
        "nodes": [
            {"id": "first", "type": "well:Echo", "inputValues": {"word": "hello"}},
            {"id": "then", "type": "core:Template", "inputs": {"word": {"key": "word", "dataFlowType": "STRING"}}, "inputValues": {"template": request}},
            {"id": "call", "type": "core:ExecuteTool"},
            {"id": "out", "type": "core:GroupOutput"},
        ],
        "edges": [
            edge(["first", "word"], ["then", "word"]),
            edge(["then", "text"], ["call", "tool_call_requests"]),
            edge(["call", "observation"], ["out", "word"]),
        ],
        "interfaceOutputs": slot,
    });
    let file = house.write("own/outer.json", &outer.to_string());
    let before = house.json(&["tools", "audit"]).as_array().unwrap().len();
    let run = house.run(&["workflow", "run", file.to_str().unwrap(), "--yes"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let log = house.json(&["tools", "audit"]);
    let rows = log.as_array().unwrap();
    let new = &rows[..rows.len() - before];
    let tries: Vec<_> = new
        .iter()
        .filter(|row| row["tool"] == "well:Echo")
        .map(|row| row["attempts"].as_u64().unwrap())
        .collect();
    assert_eq!(tries, [0, 0, 1], "{log}");
}
