use innkeeper_protocol::Locale;
use serde_json::{Value as Json, json};

use super::list::found;
use super::{Brief, Purpose, may_call, tools};
use crate::limits::MAX_BRIEF_CHARS;
use crate::profile::AgentProfile;
use crate::run::testing::profile;
use crate::workspace::Workspaces;

fn agent(id: &str, delegation: Json) -> AgentProfile {
    let mut agent = profile(json!({"delegation": delegation}));
    agent.id = id.into();
    agent.display_name = format!("The {id}");
    agent
}

#[test]
fn who_may_call_whom() {
    let task = json!({"callable": true, "allowAsSubagent": true});
    let both = json!({"callable": true, "allowAsSubagent": true, "allowAsHandoffTarget": true});
    let only =
        json!({"callable": true, "allowAsSubagent": true, "allowedCallers": ["boss", "lead-*"]});
    for (rules, caller, purpose, expected) in [
        (
            json!({}),
            "boss",
            Purpose::Delegate,
            Some("agent.target_not_callable"),
        ),
        (task.clone(), "boss", Purpose::Delegate, None),
        (
            task,
            "boss",
            Purpose::Handoff,
            Some("agent.target_not_handoff"),
        ),
        (both, "boss", Purpose::Handoff, None),
        (
            json!({"callable": true, "allowAsHandoffTarget": true}),
            "boss",
            Purpose::Delegate,
            Some("agent.target_not_subagent"),
        ),
        (only.clone(), "boss", Purpose::Delegate, None),
        (only.clone(), "lead-1", Purpose::Delegate, None),
        (
            only,
            "other",
            Purpose::Delegate,
            Some("agent.target_caller_denied"),
        ),
    ] {
        let asked = may_call(&agent("a", rules), caller, purpose);
        let reason = asked.err().and_then(|error| error.reason);
        assert_eq!(reason.as_deref(), expected);
    }
}

#[test]
fn agents_are_sorted_before_they_are_cut() {
    let rules =
        json!({"callable": true, "allowAsSubagent": true, "descriptionForAgents": "Checks facts"});
    let all: Vec<AgentProfile> = ["zed", "ann", "boss", "mia"]
        .into_iter()
        .map(|id| agent(id, rules.clone()))
        .chain([agent("hidden", json!({}))])
        .collect();
    let ids = |query: &str| -> Vec<String> {
        let purposes = [Purpose::Delegate, Purpose::Handoff];
        let found = found(&all, "boss", &purposes, query);
        found
            .iter()
            .map(|agent| agent["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(""), ["ann", "mia", "zed"]);
    assert_eq!(ids("FACTS ann"), ["ann"]);
    assert!(ids("poems").is_empty());
    assert!(found(&all, "boss", &[Purpose::Handoff], "").is_empty());
}

#[test]
fn lengths_are_characters() {
    let fits = "茶".repeat(MAX_BRIEF_CHARS);
    for (objective, is_taken) in [
        (fits.clone(), true),
        (format!("{fits}茶"), false),
        (" ".to_owned(), false),
    ] {
        let task = json!({"objective": objective});
        let read = Brief::of_task(task.as_object().unwrap());
        assert_eq!(read.is_ok(), is_taken);
    }
}

#[test]
fn an_agent_is_told_all_that_its_caller_wrote() {
    let task = json!({"objective": "Find out.", "title": "Tea", "context": "For a book.",
        "expectedOutput": "A line.", "workspaceRefs": ["plan/a.md"]});
    let brief = Brief::of_task(task.as_object().unwrap()).unwrap();
    assert_eq!(brief.title(), "Tea");
    for locale in [Locale::En, Locale::Zh] {
        let said = brief.message("boss", Purpose::Delegate, locale);
        let text = said["content"].as_str().unwrap();
        for part in [
            "boss",
            "Find out.",
            "Tea",
            "For a book.",
            "A line.",
            "- plan/a.md",
            "task.return",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn every_tool_is_declared_with_an_example() {
    let all = tools(&Workspaces::default());
    let ids: Vec<&str> = all.iter().map(|(tool, _)| tool.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "agent.list",
            "agent.delegate",
            "agent.await",
            "agent.handoff",
            "task.return"
        ]
    );
    for (tool, _) in &all {
        assert!(
            !tool.examples.is_empty() && tool.execution.idempotent,
            "{}",
            tool.id
        );
    }
}
