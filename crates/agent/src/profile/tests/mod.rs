//! Tests of profiles, by subject.

mod bad;
mod compaction;
mod folder;
mod form;
mod formats;
mod host;
mod house;
mod laws;
mod offer;
mod page;
mod prompt;
mod tools;

use serde_json::{Value as Json, json};

use super::AgentProfile;

/// The example of the documentation of schema version 1.
fn version_1() -> Json {
    json!({
        "schemaVersion": 1,
        "kind": "tauritavern.agentProfile",
        "id": "my-writer",
        "displayName": "My Writer",
        "preset": {"mode": "currentPromptSnapshot"},
        "model": {"mode": "currentPromptSnapshot"},
        "run": {"presentation": "foreground", "modelRetry": {"maxRetries": 3, "intervalMs": 3000}},
        "instructions": {"agentSystemPrompt": null},
        "tools": {
            "allow": [
                "chat.search", "chat.read_messages", "worldinfo.read_activated", "skill.list", "skill.search",
                "skill.read", "workspace.list_files", "workspace.search_files", "workspace.read_file",
                "workspace.write_file", "workspace.apply_patch", "workspace.commit", "workspace.finish"
            ],
            "deny": [],
            "maxRounds": 80,
            "maxCallsPerRun": 80
        },
        "skills": {
            "visible": ["*"],
            "deny": [],
            "maxReadCharsPerCall": 20000,
            "maxReadCharsPerRun": 80000
        },
        "workspace": {
            "visibleRoots": ["output", "scratch", "plan", "summaries", "persist"],
            "writableRoots": ["output", "scratch", "plan", "summaries", "persist"]
        },
        "plan": {"mode": "none"},
        "output": {
            "artifacts": [{
                "id": "main",
                "path": "output/main.md",
                "kind": "markdown",
                "target": "messageBody",
                "required": true,
                "assemblyOrder": 0
            }]
        }
    })
}

/// With a field of each kind that ComfyTavern knows, one that nobody knows, and an id in its spelling.
fn comfy() -> Json {
    json!({
        "id": "NPC.Merchant",
        "name": "Merchant",
        "description": "Sells things.",
        "version": "1.2.0",
        "schema_version": "0.3",
        "core_deliberation_workflow_id": "wf_merchant",
        "initial_private_state_schema": {
            "type": "object",
            "properties": {
                "gold": {"type": "integer", "minimum": 0},
                "mood": {"type": "string", "default": "calm"}
            },
            "required": ["gold", "mood"]
        },
        "initial_private_state_values": {"gold": 30},
        "knowledge_base_references": [{"source_id": "kb_town", "alias": "town"}],
        "subscribed_event_types": ["player.action.speak", {"type": "world.time", "filter_condition": "hour == 8"}],
        "skill_workflow_ids_inventory": ["haggle", "workflow:greet"],
        "tool_ids_inventory": ["ReadPrivateStateTool", "event:Publish"],
        "initial_goals_reference": [{"caiu_id": "goal_profit", "activation_priority": 0.8}],
        "custom_metadata": {"author": "me"},
        "x_future": [1, 2.5, null]
    })
}

fn read(json: &Json) -> AgentProfile {
    AgentProfile::from_json(json, None)
        .unwrap_or_else(|error| panic!("{error}"))
        .profile
}

/// Sets a place, given as a JSON pointer, making objects on the way. `null` in `value` takes it out.
fn with(mut json: Json, pointer: &str, value: Json) -> Json {
    let (above, key) = pointer.rsplit_once('/').unwrap();
    let mut at = &mut json;
    for step in above.split('/').skip(1) {
        let step = step.replace("~1", "/");
        at = match at {
            Json::Array(list) => &mut list[step.parse::<usize>().unwrap()],
            other => {
                let map = other.as_object_mut().unwrap();
                map.entry(step).or_insert_with(|| json!({}))
            }
        };
    }
    match (at, value) {
        (Json::Object(map), Json::Null) => drop(map.shift_remove(key)),
        (Json::Object(map), value) => drop(map.insert(key.replace("~1", "/"), value)),
        (Json::Array(list), value) => match key.parse::<usize>() {
            Ok(at) => list[at] = value,
            Err(_) => list.push(value),
        },
        _ => panic!("nothing at {pointer}"),
    }
    json
}
