//! The formats, in and out.

use innkeeper_protocol::event::Presentation;
use serde_json::json;

use super::{comfy, read, version_1, with};
use crate::profile::{
    AgentProfile, BuiltIn, CHAT, ContextPolicy, DEFAULT_WRITER, Delegation, ProfileFormat, TextTurn,
};

#[test]
fn version_1_has_the_defaults_of_version_2() {
    let profile = read(&version_1());
    assert_eq!(profile.id.as_str(), "my-writer");
    assert_eq!(profile.delegation, Delegation::default());
    assert_eq!(profile.context, ContextPolicy::default());
    assert!(profile.run.direct_runnable && profile.run.stream);
    assert!(profile.plan.beta && profile.plan.nodes.is_empty());
    let written = profile.to_json();
    // All that the file says is said again, and only the version is another.
    let again = with(written.clone(), "/schemaVersion", json!(1));
    for (key, value) in version_1().as_object().unwrap() {
        match value.as_object() {
            None => assert_eq!(&again[key], value, "{key}"),
            Some(fields) => {
                for (name, value) in fields {
                    assert_eq!(&again[key][name], value, "{key}.{name}");
                }
            }
        }
    }
    assert_eq!(written["schemaVersion"], 2);
    assert_eq!(written["context"]["initialChatHistoryMessages"], -1);
    assert_eq!(written["delegation"]["maxHandoffDepth"], 8);
    // Fields that version 2 does not have would make others refuse the file.
    assert!(written.get("agent").is_none() && written["run"].get("stream").is_none());
    assert_eq!(read(&written), profile);
}

#[test]
fn later_versions_are_translated() {
    let json = json!({
        "schemaVersion": 4,
        "kind": "tauritavern.agentProfile",
        "id": "later",
        "displayName": "Later",
        "run": {"presentation": "foreground", "stream": false},
        "tools": {
            "allow": ["builtin:workspace.write_file", "builtin:workspace.commit", "builtin:workspace.finish",
                      "mcp/5f:search"],
            "deny": ["builtin:chat.search"],
            "maxCallsPerTool": {"builtin:workspace.commit": 2},
            "toolDescriptions": {"builtin:workspace.finish": {"description": "Stop"}},
            "mcpResultInlineCharLimit": 50000
        },
        "output": version_1()["output"]
    });
    let profile = read(&json);
    assert_eq!(
        profile.tools.allow,
        [
            "workspace.write_file",
            "workspace.commit",
            "workspace.finish",
            "mcp/5f:search"
        ]
    );
    assert_eq!(profile.tools.deny, ["chat.search"]);
    assert_eq!(profile.tools.max_calls_per_tool["workspace.commit"], 2);
    assert!(
        profile
            .tools
            .tool_descriptions
            .contains_key("workspace.finish")
    );
    assert!(!profile.run.stream);
    assert_eq!(read(&profile.to_json()), profile);
    // An earlier version means what it says: there is no such tool as `builtin:…`.
    let earlier = with(json, "/schemaVersion", json!(2));
    assert!(AgentProfile::from_json(&earlier, None).is_err());
}

#[test]
fn a_comfy_profile_becomes_an_agent() {
    let profile = read(&comfy());
    assert_eq!(profile.id.as_str(), "npc-merchant");
    assert_eq!(profile.display_name, "Merchant");
    assert_eq!(profile.run.presentation, Presentation::Background);
    assert_eq!(profile.agent.format, ProfileFormat::Comfy);
    assert_eq!(profile.agent.text_turn, TextTurn::Answers);
    assert_eq!(
        profile.agent.deliberation_workflow.as_deref(),
        Some("wf_merchant")
    );
    assert_eq!(
        profile.tools.allow,
        [
            "ReadPrivateStateTool",
            "event:Publish",
            "workflow:haggle",
            "workflow:greet"
        ]
    );
    let state = serde_json::Value::Object(profile.initial_private_state());
    assert_eq!(state, json!({"mood": "calm", "gold": 30}));
    let kept: Vec<_> = profile.agent.kept.keys().map(String::as_str).collect();
    assert_eq!(
        kept,
        [
            "version",
            "schema_version",
            "knowledge_base_references",
            "subscribed_event_types",
            "initial_goals_reference",
            "custom_metadata",
            "x_future",
            "id"
        ]
    );
}

#[test]
fn a_comfy_profile_keeps_what_only_its_author_understands() {
    let profile = read(&comfy());
    let expected = with(
        comfy(),
        "/skill_workflow_ids_inventory",
        json!(["haggle", "greet"]),
    );
    assert_eq!(profile.to_json(), expected);
    // Renamed in code, it has the new id alone.
    let mut renamed = profile.clone();
    renamed.id = "smith".into();
    assert_eq!(renamed.to_json()["id"], "smith");
    assert_eq!(read(&renamed.to_json()).id.as_str(), "smith");
}

#[test]
fn a_comfy_profile_may_say_what_the_other_format_says() {
    let mut json = comfy();
    for (pointer, value) in [
        (
            "/tools",
            json!({"allow": ["File.Read"], "deny": ["File.Delete"], "maxRounds": 5}),
        ),
        ("/instructions", json!({"agentSystemPrompt": "Be kind."})),
        (
            "/agent",
            json!({"protocol": "action", "budget": {"maxTokens": 9}}),
        ),
    ] {
        json = with(json, pointer, value);
    }
    let profile = read(&json);
    assert_eq!(profile.tools.allow.len(), 5);
    assert_eq!(profile.tools.deny, ["File.Delete"]);
    assert_eq!(profile.tools.max_rounds, 5);
    assert_eq!(profile.agent.budget.max_tokens, Some(9));
    let written = profile.to_json();
    assert_eq!(written["tools"]["allow"], json!(["File.Read"]));
    assert_eq!(
        written["agent"],
        json!({"protocol": "action", "budget": {"maxTokens": 9}})
    );
    assert_eq!(read(&written), profile);
}

#[test]
fn the_least_that_a_comfy_profile_can_be() {
    let profile = read(&json!({"schema_version": "1", "id": "a", "name": "A"}));
    assert!(profile.tools.allow.is_empty() && profile.answers_in_text());
    assert_eq!(read(&profile.to_json()), profile);
    // Without the version the format must still be seen in the file.
    let mut bare = profile;
    bare.agent.kept.clear();
    assert_eq!(read(&bare.to_json()), bare);
}

#[test]
fn a_tavern_profile_that_answers_in_words_needs_no_tools_to_finish_with() {
    let json = json!({
        "schemaVersion": 2, "kind": "tauritavern.agentProfile", "id": "a", "displayName": "A",
        "run": {"presentation": "background"},
        "agent": {"textTurn": "answers"}
    });
    assert!(read(&json).answers_in_text());
    // Only if it says so itself, and never in the foreground.
    for (pointer, value) in [
        ("/agent", json!({})),
        ("/agent/textTurn", json!("byPresentation")),
        ("/run/presentation", json!("foreground")),
    ] {
        assert!(AgentProfile::from_json(&with(json.clone(), pointer, value), None).is_err());
    }
}

#[test]
fn an_agent_for_other_agents_needs_neither_finish_nor_commit() {
    let mut json = version_1();
    for (pointer, value) in [
        (
            "/run",
            json!({"presentation": "background", "directRunnable": false}),
        ),
        (
            "/delegation",
            json!({"callable": true, "allowAsSubagent": true}),
        ),
        ("/tools/allow", json!(["workspace.write_file"])),
    ] {
        json = with(json, pointer, value);
    }
    read(&json);
    // A target of handoffs may even be in the foreground.
    let json = with(json, "/run/presentation", json!("foreground"));
    read(&with(json, "/delegation/allowAsHandoffTarget", json!(true)));
}

#[test]
fn the_built_in_profiles_are_good_and_are_what_their_files_say() {
    assert_eq!(BuiltIn::ALL[0].id, DEFAULT_WRITER);
    for built_in in BuiltIn::ALL {
        let reading = AgentProfile::read(built_in.text, None).unwrap();
        assert_eq!(reading.profile.id.as_str(), built_in.id);
        assert_eq!(reading.warnings, []);
        assert_eq!(built_in.profile().unwrap(), reading.profile);
        assert_eq!(read(&reading.profile.to_json()), reading.profile);
    }
    let writer = BuiltIn::find(DEFAULT_WRITER).unwrap().profile().unwrap();
    assert!(writer.delegation.can_delegate && !writer.answers_in_text());
    assert_eq!(writer.message_body().unwrap().path, "output/main.md");
    assert!(
        BuiltIn::find(CHAT)
            .unwrap()
            .profile()
            .unwrap()
            .answers_in_text()
    );
}

#[test]
fn the_journal_has_the_profile_whole() {
    for json in [version_1(), comfy()] {
        let profile = read(&json);
        let journaled = serde_json::to_string(&profile).unwrap();
        assert_eq!(
            serde_json::from_str::<AgentProfile>(&journaled).unwrap(),
            profile
        );
    }
}

#[test]
fn a_mark_at_the_beginning_of_the_file_is_no_matter() {
    let text = format!("\u{feff}{}", version_1());
    assert!(AgentProfile::read(&text, None).is_ok());
}
