//! What a profile says about tools, against tools that there are.

use std::sync::Arc;

use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::{Registry, SystemClock, builtin};
use serde_json::{Value as Json, json};

use super::{comfy, read, version_1, with};
use crate::profile::{AgentProfile, Severity};

fn tools() -> Vec<ToolDefinition> {
    let schema = |names: &[&str]| {
        let properties = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "string"})));
        json!({"type": "object", "properties": Json::Object(properties.collect())})
    };
    let mut state = ToolDefinition::new("core:ReadPrivateState", "", schema(&["path"]));
    state.aliases = vec!["ReadPrivateStateTool".into()];
    vec![
        ToolDefinition::new(
            "workspace.write_file",
            "",
            schema(&["path", "content", "mode"]),
        ),
        ToolDefinition::new("workspace.finish", "", json!({"type": "object"})),
        ToolDefinition::new("Weather:today", "", schema(&["town"])),
        state,
    ]
}

fn check(json: &Json) -> Vec<(Severity, String, String, String)> {
    let tools = tools();
    let problems = match AgentProfile::from_json(json, Some(&tools.as_slice())) {
        Ok(reading) => reading.warnings,
        Err(error) => error.problems,
    };
    let told = problems.into_iter();
    told.map(|it| (it.severity, it.reason.to_owned(), it.path, it.message))
        .collect()
}

#[test]
fn names_that_nobody_knows() {
    for (pointer, name, severity, told) in [
        (
            "/tools/allow",
            "workspace.wirte_file",
            Some(Severity::Error),
            "did you mean 'workspace.write_file'?",
        ),
        (
            "/tools/deny",
            "chat.serch",
            Some(Severity::Error),
            "did you mean 'chat.search'?",
        ),
        (
            "/tools/allow",
            "Weather:tody",
            Some(Severity::Warning),
            "did you mean 'Weather:today'?",
        ),
        (
            "/tools/allow",
            "Gone:tool",
            Some(Severity::Warning),
            "until it is there",
        ),
        (
            "/tools/allow",
            "workflow:gone",
            Some(Severity::Warning),
            "until it is there",
        ),
        // Names that are known, here or in other houses.
        ("/tools/allow", "Weather:today", None, ""),
        ("/tools/allow", "ReadPrivateStateTool", None, ""),
        ("/tools/allow", "dice.roll", None, ""),
        ("/tools/allow", "Weather:*", None, ""),
        ("/tools/deny", "skill.*", None, ""),
    ] {
        let problems = check(&with(version_1(), &format!("{pointer}/-"), json!(name)));
        let Some(severity) = severity else {
            assert_eq!(problems, [], "{name}");
            continue;
        };
        let [problem] = problems.as_slice() else {
            panic!("{name}: {problems:?}");
        };
        assert_eq!(problem.0, severity, "{name}");
        assert_eq!(problem.1, "agent.profile_unknown_tool");
        let at = if pointer == "/tools/deny" { 0 } else { 13 };
        assert_eq!(
            problem.2,
            format!("$.{}[{at}]", pointer[1..].replace('/', "."))
        );
        assert!(problem.3.contains(told), "{problem:?}");
    }
}

#[test]
fn what_is_said_of_tools_is_said_of_visible_ones() {
    let describe = |tool: &str, words: Json| {
        let json = with(version_1(), "/tools/allow/-", json!("ReadPrivateStateTool"));
        with(json, "/tools/toolDescriptions", json!({tool: words}))
    };
    let budget = |tool: &str| {
        let json = with(version_1(), "/tools/allow/-", json!("ReadPrivateStateTool"));
        let json = with(json, "/tools/deny", json!(["chat.search"]));
        with(json, "/tools/maxCallsPerTool", json!({tool: 3}))
    };
    for (json, expected) in [
        (budget("workspace.write_file"), None),
        // Allowed under one name, counted under another: it is one tool.
        (budget("core:ReadPrivateState"), None),
        (
            budget("Weather:today"),
            Some((
                "tool_budget_invisible",
                "$.tools.maxCallsPerTool[\"Weather:today\"]",
            )),
        ),
        (
            budget("chat.search"),
            Some((
                "tool_budget_invisible",
                "$.tools.maxCallsPerTool[\"chat.search\"]",
            )),
        ),
        (
            describe(
                "workspace.write_file",
                json!({"description": "Put it there"}),
            ),
            None,
        ),
        (
            describe(
                "core:ReadPrivateState",
                json!({"properties": {"path": "Where"}}),
            ),
            None,
        ),
        (
            describe("Weather:today", json!({"description": "x"})),
            Some((
                "tool_description_invisible",
                "$.tools.toolDescriptions[\"Weather:today\"]",
            )),
        ),
        (
            describe(
                "workspace.write_file",
                json!({"properties": {"contents": "Text"}}),
            ),
            Some((
                "unknown_tool_property",
                "$.tools.toolDescriptions[\"workspace.write_file\"].properties.contents",
            )),
        ),
        (
            describe("workspace.finish", json!({"properties": {"reason": "Why"}})),
            Some((
                "tool_property_schema_invalid",
                "$.tools.toolDescriptions[\"workspace.finish\"].properties",
            )),
        ),
    ] {
        let problems = check(&json);
        let told: Vec<_> = problems
            .iter()
            .map(|it| (it.1.as_str(), it.2.as_str()))
            .collect();
        match expected {
            None => assert_eq!(told, []),
            Some((reason, path)) => {
                assert_eq!(told, [(format!("agent.profile_{reason}").as_str(), path)]);
            }
        }
        // Without tools nobody can know.
        read(&json);
    }
}

#[test]
fn a_registry_knows_tools_by_all_their_names() {
    let registry = Registry::default();
    let clock = builtin::clock::tools(Arc::new(SystemClock), jiff::tz::TimeZone::UTC);
    let source = builtin::source(clock).unwrap();
    registry.replace(builtin::SOURCE, source).unwrap();
    let snapshot = registry.snapshot();
    let id = builtin::clock::definition().id;
    for (allow, counted, warnings) in [
        ("System.Time", id.as_str(), 0),
        (id.as_str(), "system:time", 0),
        ("Sytem.Time", "Sytem.Time", 1),
    ] {
        let json = with(version_1(), "/tools/allow/-", json!(allow));
        let json = with(json, "/tools/maxCallsPerTool", json!({counted: 1}));
        let reading = AgentProfile::from_json(&json, Some(snapshot.as_ref())).unwrap();
        assert_eq!(reading.warnings.len(), warnings, "{allow}");
    }
}

#[test]
fn names_of_a_comfy_profile_are_told_where_they_stand() {
    let problems = check(&with(
        comfy(),
        "/tool_ids_inventory/1",
        json!("Weather:today"),
    ));
    let told: Vec<_> = problems.iter().map(|it| it.2.as_str()).collect();
    assert_eq!(
        told,
        [
            "$.skill_workflow_ids_inventory[0]",
            "$.skill_workflow_ids_inventory[1]"
        ]
    );
}

#[test]
fn what_an_agent_is_offered() {
    let tool = |id: &str| ToolDefinition::new(id, "", json!({"type": "object"}));
    let profile = |allow: Json, deny: Json, delegation: Json| {
        let mut json = version_1();
        for (pointer, value) in [
            ("/tools/allow", allow),
            ("/tools/deny", deny),
            ("/delegation", delegation),
        ] {
            json = with(json, pointer, value);
        }
        read(&json)
    };
    let all = profile(json!(["*"]), json!(["File.Delete"]), json!({}));
    let boss = profile(json!(["*"]), json!([]), json!({"canDelegate": true}));
    let porter = profile(json!(["*"]), json!([]), json!({"canHandoff": true}));
    for (id, of_all, of_boss, of_porter) in [
        ("File.Read", true, true, true),
        ("File.Delete", false, true, true),
        ("task.return", false, false, false),
        ("agent.list", false, true, true),
        ("agent.delegate", false, true, false),
        ("agent.await", false, true, false),
        ("agent.handoff", false, false, true),
    ] {
        assert_eq!(all.shows(&tool(id)), of_all, "{id}");
        assert_eq!(boss.shows(&tool(id)), of_boss, "{id}");
        assert_eq!(porter.shows(&tool(id)), of_porter, "{id}");
    }
    let mut state = tool("core:ReadPrivateState");
    state.aliases = vec!["ReadPrivateStateTool".into()];
    assert!(read(&comfy()).shows(&state));
}
