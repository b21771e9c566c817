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
