//! What was judged is what runs: a project's files are no part of what lies elsewhere.

use serde_json::{Value as Json, json};

use super::harness::{codes, result, told};
use super::workflow_nodes::{Flows, around, calling, request};
use super::workflows::shout;

const OWN: &str = "projects/default/workflows";

/// One that takes what `shout` takes and always says the same.
fn other(id: &str) -> Json {
    let outputs = [("loud", "STRING")];
    let mut workflow = around("test:Shout", &[], &outputs, json!({"text": "other"}));
    workflow["id"] = id.into();
    workflow["interfaceInputs"] = shout()["interfaceInputs"].clone();
    workflow
}

#[tokio::test]
async fn a_file_that_came_later_is_not_run_for_the_tool_that_was_judged() {
    let flows = Flows::new().await;
    flows.library("shout", &shout());
    flows.reload();
    let run = flows.agent(&["workflow:shout", "Echo"]);
    let mut later = calling("Echo", &json!({"text": "hi"}));
    later["id"] = "shout".into();
    later["interfaceInputs"] = shout()["interfaceInputs"].clone();
    flows.file(&format!("{OWN}/shout.json"), &later);
    let asked = request("workflow:shout", &json!({"text": "tea"}));
    let said = run.run_call(&asked).await;
    assert_eq!(result(&said), "TEA!");
    assert!(flows.world.echoed().is_empty());
}

#[tokio::test]
async fn what_is_gone_from_its_place_is_not_replaced_from_another() {
    let flows = Flows::new().await;
    flows.file(&format!("{OWN}/x.json"), &other("shout"));
    flows.reload();
    let run = flows.agent(&["*"]);
    let home = flows.world.home.path();
    std::fs::remove_file(home.join(OWN).join("x.json")).unwrap();
    flows.library("shout", &shout());
    let asked = request("workflow:shout", &json!({"text": "tea"}));
    let said = run.run_call(&asked).await;
    assert_eq!(codes(&[said]), ["tool.unavailable"]);
}

#[tokio::test]
async fn groups_are_looked_for_from_where_the_workflow_lies_outward() {
    for (outer_at, inner_at, expected) in [
        ("library/workflows", "library/workflows", "TEA!"),
        (OWN, "library/workflows", "OTHER!"),
    ] {
        let flows = Flows::new().await;
        let mut inner = shout();
        inner["id"] = "inner".into();
        flows.file(&format!("{inner_at}/inner.json"), &inner);
        let text = [("text", "STRING")];
        let mut outer = around("core:NodeGroup", &text, &[("loud", "STRING")], json!({}));
        outer["id"] = "outer".into();
        outer["nodes"][1]["configValues"] = json!({"referencedWorkflowId": "inner"});
        flows.file(&format!("{outer_at}/outer.json"), &outer);
        flows.file(&format!("{OWN}/x.json"), &other("inner"));
        flows.reload();
        let said = flows.call("workflow:outer", json!({"text": "tea"})).await;
        assert_eq!(result(&said), expected, "{outer_at}");
    }
}

#[tokio::test]
async fn a_title_does_not_stand_for_an_id_elsewhere() {
    let flows = Flows::new().await;
    flows.library("shout", &shout());
    let mut titled = other("something-else");
    titled["name"] = "shout".into();
    flows.file(&format!("{OWN}/z.json"), &titled);
    // One of the project that uses `shout` means the one whose id that is.
    let text = [("text", "STRING")];
    let mut outer = around("core:NodeGroup", &text, &[("loud", "STRING")], json!({}));
    outer["id"] = "outer".into();
    outer["nodes"][1]["configValues"] = json!({"referencedWorkflowId": "shout"});
    flows.file(&format!("{OWN}/outer.json"), &outer);
    flows.reload();
    for tool in ["workflow:shout", "workflow:outer"] {
        let said = flows.call(tool, json!({"text": "tea"})).await;
        let text = told(std::slice::from_ref(&said));
        assert_eq!(codes(std::slice::from_ref(&said)), ["ok"], "{text:?}");
        assert_eq!(result(&said), "TEA!", "{tool}");
    }
}
