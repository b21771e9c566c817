//! An agent that thinks in a workflow of its own.

use innkeeper_protocol::event::RunStatus;
use serde_json::{Value as Json, json};

use super::harness::{House, check_journal, write};

const LOOK: &str = "<|[REQUEST_TOOL]|>
command:»»»ReadWorldStateTool«««
<|[END_TOOL]|>";

/// Asks with what the last turn came to, and with the private state as the settings: so both show in the request.
fn think() -> Json {
    let edge = |id: &str, from: (&str, &str), to: (&str, &str)| json!({"id": id, "source": from.0, "sourceHandle": from.1, "target": to.0, "targetHandle": to.1});
    let node = |id: &str, kind: &str| json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}});
    let slot =
        |key: &str, flow: &str| json!({"key": key, "displayName": key, "dataFlowType": flow});
    json!({
        "id": "think",
        "name": "Think",
        "version": "1.0.0",
        "nodes": [
            node("in", "core:GroupInput"),
            node("say", "core:CreateMessage"),
            node("ask", "core:LlmApiRequest"),
            node("out", "core:GroupOutput"),
        ],
        "edges": [
            edge("e1", ("in", "observations"), ("say", "content")),
            edge("e2", ("say", "messages"), ("ask", "messages")),
            edge("e3", ("in", "private_state"), ("ask", "parameters")),
            edge("e4", ("ask", "responseText"), ("out", "full_text")),
        ],
        "viewport": {"x": 0, "y": 0, "zoom": 1},
        "interfaceInputs": {
            "observations": slot("observations", "STRING"),
            "private_state": slot("private_state", "OBJECT"),
        },
        "interfaceOutputs": {"full_text": slot("full_text", "STRING")},
    })
}

#[tokio::test]
async fn it_is_given_what_its_interface_asks_for() {
    let house = House::new().await;
    let folder = house.home.path().join("library").join("workflows");
    std::fs::create_dir_all(&folder).unwrap();
    write(&folder.join("think.json"), &think());
    house.profile_with("thinker", "tam", |profile| {
        profile["agent"]["deliberationWorkflow"] = json!("think");
        profile["agent"]["privateState"] = json!({"mood": "calm"});
    });
    house.script.say(LOOK);
    house.script.say("It is sunny.");
    let (handle, events) = house.run("thinker", "How is the weather?").await;
    assert_eq!(handle.status, RunStatus::Completed, "{events:?}");
    check_journal(&events);
    assert_eq!(house.script.last_message(0), "[]");
    let told = "Observation: Tool ReadWorldStateTool executed successfully. Result: sunny";
    assert_eq!(house.script.last_message(1), json!([told]).to_string());
    for number in [0, 1] {
        assert_eq!(house.script.parameters(number), json!({"mood": "calm"}));
    }
}
