//! Nodes of plugins, from the folder to the outputs.

use innkeeper_testkit::plugins::{SKY, copy};
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::script::NodeContext;
use crate::{Progress, ToolError};

impl House {
    fn sky(&self) {
        copy(SKY, &self.home.path().join("plugins")).unwrap();
        self.plugins.reload();
    }

    fn node(&self, full_type: &str) -> Option<Arc<ScriptNode>> {
        let nodes = self.plugins.nodes();
        let mut nodes = nodes.iter();
        nodes
            .find(|node| node.definition().full_type() == full_type)
            .cloned()
    }
}

async fn run(node: &ScriptNode, inputs: Json, progress: Progress) -> Result<Json, ToolError> {
    let Json::Object(inputs) = inputs else {
        panic!("{inputs}");
    };
    let context = NodeContext {
        caller: Arc::new(Caller::person(RunId::new("r"))),
        call_id: "c".into(),
        attempt: 1,
        cancel: CancellationToken::new(),
        progress,
    };
    let outputs = node.run(inputs, Map::new(), context).await;
    outputs.map(Json::Object)
}

#[tokio::test]
async fn nodes_are_there_while_their_plugin_is_on() {
    let house = House::new().await;
    house.sky();
    assert!(matches!(house.standing(SKY), Standing::Pending { .. }));
    assert!(house.plugins.nodes().is_empty());
    let status = house.plugins.find(SKY).unwrap();
    assert_eq!(status.warnings, []);
    assert!(status.package.unwrap().permissions.has("run:python"));
    house.accept(SKY);
    assert!(house.node("sky:Colour").is_some());
    assert!(house.node("sky:Frame").is_none(), "nothing to run");
    house.plugins.disable(SKY).unwrap();
    assert!(house.plugins.nodes().is_empty());
}

#[tokio::test]
async fn a_node_runs_its_script() {
    let house = House::new().await;
    house.sky();
    house.accept(SKY);
    let node = house.node("sky:Colour").unwrap();
    for (hour, colour) in [(12, "blue"), (23, "black")] {
        let outputs = run(&node, json!({"hour": hour}), Progress::default()).await;
        let expected = json!({"colour": colour, "node": "sky:Colour", "stars": null});
        assert_eq!(outputs, Ok(expected));
    }
    let error = run(&node, json!({}), Progress::default())
        .await
        .unwrap_err();
    assert!(error.message.contains("KeyError"), "{error}");
}

#[tokio::test]
async fn the_engine_has_the_nodes_of_plugins_that_are_on() {
    let house = House::new().await;
    house.sky();
    let types = house.plugins.0.parts.workflows.engine().nodes().clone();
    assert!(types.types().get("sky:Colour").is_none());
    house.accept(SKY);
    assert!(types.types().get("sky:Colour").is_some());
    assert!(types.types().get("sky:Frame").is_none(), "nothing to run");
    let before = types.types();
    house.plugins.reload();
    assert!(
        Arc::ptr_eq(&before, &types.types()),
        "nothing changed, so plans stay good"
    );

    let caller = Caller::person(RunId::new("r"));
    let run = house.manager.begin(caller, RunOptions::default());
    let said = run
        .run_reply(&parse(
            "<ACTION><sky:Colour><hour>23</hour></sky:Colour></ACTION>",
        ))
        .await;
    let told = render_observation(&said[0]);
    assert!(told.contains("black"), "{told}");

    house.plugins.disable(SKY).unwrap();
    assert!(types.types().get("sky:Colour").is_none());
    assert!(!house.has("sky:Colour"));
}

const COUNTER: &str = r#"
import json, sys
def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") != "call":
        continue
    asked = message["params"]["arguments"]
    if asked["node"] == "counter:Length":
        send(id=message["id"], result={"length": len(asked["inputs"]["text"])})
    else:
        many = asked["inputs"]["many"]
        for number in range(many):
            send(method="partial", params={"id": message["id"], "data": {"numbers": "%d," % number}})
        send(method="progress", params={"id": message["id"], "fraction": 0.5, "message": "half"})
        send(id=message["id"], result={"count": many})
    sys.stdout.flush()
"#;

impl House {
    /// A plugin whose nodes stream, and a workflow that runs them.
    fn counter(&self) {
        let root = self.home.path().join("plugins/counter");
        fs::create_dir_all(root.join("nodes")).unwrap();
        let manifest = "name: counter\nversion: '1'\nnodes: {entry: ./nodes}\n";
        write(&root.join("plugin.yaml"), manifest);
        write(&root.join("w.py"), COUNTER);
        let implementation = json!({"type": "script", "command": "python w.py", "protocol": "jsonrpc", "concurrency": 2});
        let numbers = json!({
            "type": "Numbers",
            "inputs": {"many": {"dataFlowType": "INTEGER"}},
            "outputs": {
                "numbers": {"dataFlowType": "STRING", "isStream": true},
                "count": {"dataFlowType": "INTEGER"},
            },
            "implementation": implementation,
        });
        let length = json!({
            "type": "Length",
            "inputs": {"text": {"dataFlowType": "STRING", "isStream": true}},
            "outputs": {"length": {"dataFlowType": "INTEGER"}},
            "implementation": implementation,
        });
        write(&root.join("nodes/numbers.node.json"), &numbers.to_string());
        write(&root.join("nodes/length.node.json"), &length.to_string());
        let edge = |id: &str, from: [&str; 2], to: [&str; 2]| json!({"id": id, "source": from[0], "sourceHandle": from[1], "target": to[0], "targetHandle": to[1]});
        let workflow = json!({
            "name": "Count",
            "nodes": [
                {"id": "in", "type": "core:GroupInput"},
                {"id": "numbers", "type": "counter:Numbers"},
                {"id": "length", "type": "counter:Length"},
                {"id": "out", "type": "core:GroupOutput"},
            ],
            "edges": [
                edge("a", ["in", "many"], ["numbers", "many"]),
                edge("b", ["numbers", "numbers"], ["length", "text"]),
                edge("c", ["numbers", "numbers"], ["out", "numbers"]),
                edge("d", ["numbers", "count"], ["out", "count"]),
                edge("e", ["length", "length"], ["out", "length"]),
            ],
            "interfaceInputs": {"many": {"key": "many", "dataFlowType": "INTEGER"}},
            "interfaceOutputs": {
                "numbers": {"key": "numbers", "dataFlowType": "STRING", "isStream": true},
                "count": {"key": "count", "dataFlowType": "INTEGER"},
                "length": {"key": "length", "dataFlowType": "INTEGER"},
            },
        });
        fs::create_dir_all(root.join("workflows")).unwrap();
        write(&root.join("workflows/count.json"), &workflow.to_string());
        self.plugins.reload();
        self.accept("counter");
    }
}

/// Far more pieces than wait at once: its reader stops for them, and none is lost.
#[tokio::test]
async fn a_nodes_stream_waits_for_its_readers() {
    let house = House::new().await;
    house.counter();
    let said = house
        .say("<ACTION><workflow:count><many>3000</many></workflow:count></ACTION>")
        .await;
    let numbers: String = (0..3000).map(|number| format!("{number},")).collect();
    let caller = Caller::person(RunId::new("r"));
    let options = RunOptions {
        results: crate::ResultLength::Whole,
        ..RunOptions::default()
    };
    let run = house.manager.begin(caller, options);
    let reply = parse("<ACTION><workflow:count><many>3000</many></workflow:count></ACTION>");
    let whole = run.run_reply(&reply).await;
    let innkeeper_protocol::Outcome::Success { result, .. } = &whole[0].outcome else {
        panic!("{said:?}");
    };
    let expected = json!({"numbers": numbers, "count": 3000, "length": numbers.len()});
    assert_eq!(result, &expected);
}
