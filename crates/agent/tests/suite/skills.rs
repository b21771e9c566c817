//! Skills in runs: told at the start, read by the model, and no more than the profile gives, over restarts too.

use innkeeper_agent::instance::{StartPrompt, StartRun};
use innkeeper_agent::skills::{ImportInput, InlineEncoding, InlineFile, SkillScope};
use innkeeper_protocol::event::{RunEvent, RunStatus};
use serde_json::{Value as Json, json};

use super::harness::{House, check_journal};

fn package(name: &str, body: &str) -> ImportInput {
    ImportInput::InlineFiles {
        files: vec![InlineFile {
            path: "SKILL.md".to_owned(),
            content: format!("---\nname: {name}\ndescription: About {name}.\n---\n{body}\n"),
            encoding: InlineEncoding::Utf8,
        }],
    }
}

fn call(tool: &str, arguments: &[(&str, &str)]) -> String {
    let arguments: String = arguments
        .iter()
        .map(|(name, value)| format!("{name}:»»»{value}«««\n"))
        .collect();
    format!("<|[REQUEST_TOOL]|>\ncommand:»»»{tool}«««\n{arguments}<|[END_TOOL]|>")
}

fn payload(events: &[RunEvent], name: &str) -> Json {
    let event = events
        .iter()
        .find(|event| event.kind.name() == name)
        .unwrap();
    serde_json::to_value(event).unwrap()["payload"].clone()
}

/// `read` fits once into the budget and not twice.
fn limited(profile: &mut Json) {
    profile["skills"] =
        json!({"visible": ["*"], "maxReadCharsPerCall": 60, "maxReadCharsPerRun": 100});
}

#[tokio::test]
async fn a_run_knows_its_skills_and_reads_them() {
    let house = House::new().await;
    house.profile("worker", "tam");
    let skills = house.runtime.skills().clone();
    let of_profile = SkillScope::Profile {
        profile_id: "worker".to_owned(),
    };
    skills
        .install_import(&package("tea", "green"), &SkillScope::Global, None)
        .unwrap();
    let tea = skills
        .install_import(&package("tea", "Water of 80 degrees"), &of_profile, None)
        .unwrap();
    let other = SkillScope::Profile {
        profile_id: "other".to_owned(),
    };
    skills
        .install_import(&package("coffee", "x"), &other, None)
        .unwrap();
    house.script.say(&call("skill.list", &[]));
    house.script.say(&call("skill.read", &[("name", "tea")]));
    house.script.say("Heat the water to 80 degrees.");
    let (handle, events) = house.run("worker", "Make tea").await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    let resolved = payload(&events, "skill_scopes_resolved");
    assert_eq!(
        resolved["scopes"],
        json!([{"kind": "global"}, {"kind": "profile", "profileId": "worker"}])
    );
    assert_eq!(
        resolved["effectiveSkills"],
        json!([{
            "name": "tea",
            "scope": {"kind": "profile", "profileId": "worker"},
            "installedHash": tea.skill.installed_hash,
        }])
    );
    assert!(house.script.last_message(1).contains("About tea."));
    assert!(!house.script.last_message(1).contains("coffee"));
    assert!(house.script.last_message(2).contains("Water of 80 degrees"));
}

/// Also where there are more tools than are told, and where the profile has a prompt of its own.
#[tokio::test]
async fn an_agent_is_told_what_its_skills_are_for() {
    for (dialect, own_words, rules, is_told) in [
        ("tam", false, json!({"visible": ["*"]}), true),
        ("native", true, json!({"visible": ["tea"]}), true),
        ("native", true, json!({"deny": ["*"]}), false),
    ] {
        let house = House::with(innkeeper_tools::builtin::search::tools()).await;
        house.profile_with("worker", dialect, |profile| {
            profile["agent"]["offer"] = json!({"allUpTo": 0, "most": 0});
            profile["skills"] = rules.clone();
            if own_words {
                profile["instructions"]["agentSystemPrompt"] = json!("You are Ann.");
            }
        });
        let skills = house.runtime.skills().clone();
        for name in ["tea", "secret"] {
            let ImportInput::InlineFiles { mut files } = package(name, "Slowly.") else {
                panic!("other files");
            };
            files.push(InlineFile {
                path: "agents/tauritavern.json".to_owned(),
                content: json!({"version": 1, "allowImplicitInvocation": name == "tea"})
                    .to_string(),
                encoding: InlineEncoding::Utf8,
            });
            let input = ImportInput::InlineFiles { files };
            skills
                .install_import(&input, &SkillScope::Global, None)
                .unwrap();
        }
        house.script.say("Done.");
        let (handle, events) = house.run("worker", "Sing a song").await;
        assert_eq!(handle.status, RunStatus::Completed);
        let asked = house.script.request(0);
        let prompt = asked[0]["content"].as_str().unwrap();
        assert_eq!(prompt.contains("- `tea`: About tea."), is_told, "{prompt}");
        assert!(!prompt.contains("secret"), "{prompt}");
        let context = payload(&events, "context_assembled");
        let told: Vec<&str> = context["tools"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .filter(|name| name.starts_with("skill."))
            .collect();
        let expected: &[&str] = match is_told {
            true => &["skill.list", "skill.read", "skill.search"],
            false => &[],
        };
        assert_eq!(told, expected);
    }
    // Whoever cannot read them is not told of them.
    let house = House::new().await;
    house.profile_with("worker", "tam", |profile| {
        profile["tools"]["deny"] = json!(["skill.*"]);
    });
    let skills = house.runtime.skills().clone();
    skills
        .install_import(&package("tea", "x"), &SkillScope::Global, None)
        .unwrap();
    house.script.say("Done.");
    house.run("worker", "Sing a song").await;
    let asked = house.script.request(0);
    assert!(!asked[0]["content"].as_str().unwrap().contains("About tea"));
}

#[tokio::test]
async fn a_run_that_has_read_enough_is_told_so_after_a_restart_too() {
    let house = House::new().await;
    house.profile_with("worker", "tam", limited);
    let skills = house.runtime.skills().clone();
    skills
        .install_import(
            &package("tea", "Take your time."),
            &SkillScope::Global,
            None,
        )
        .unwrap();
    let read = call("skill.read", &[("name", "tea"), ("max_chars", "60")]);
    house.script.say(&read);
    house.script.say(&call("gate", &[]));
    let handle = house.start("worker", "Make tea").await;
    house.gate.entered.notified().await;
    assert!(house.script.last_message(1).contains("Take your time."));

    let house = house.again().await;
    house.script.say(&read);
    // What is left is given where less will do, and then there is nothing.
    house.script.say(&call("skill.read", &[("name", "tea")]));
    house.script.say(&call("skill.read", &[("name", "tea")]));
    house.script.say("I go on with what I know.");
    house.runtime.recover().await.unwrap();
    let (handle, events) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    let failed: Vec<&str> = events
        .iter()
        .filter(|event| event.kind.name() == "tool_call_failed")
        .map(|event| event.kind.name())
        .collect();
    assert_eq!(failed.len(), 3, "the gate, and both that wanted too much");
    let told = |number| house.script.last_message(number);
    assert!(
        told(1).contains("may read 42 more characters"),
        "{}",
        told(1)
    );
    assert!(
        told(2).contains("\"chars\":42") || told(2).contains("\"chars\": 42"),
        "{}",
        told(2)
    );
    assert!(
        told(3).contains("has read all 100 characters"),
        "{}",
        told(3)
    );
}

#[tokio::test]
async fn what_cannot_be_resolved_starts_nothing() {
    let house = House::new().await;
    house.profile_with("worker", "tam", |profile| {
        profile["skills"] = json!({"visible": ["tea"]});
    });
    for (refs, reason) in [
        (
            Some(json!({"characterId": ""})),
            "agent.skill_scope_character_id_empty",
        ),
        (Some(json!("x")), "agent.skill_scope_refs_invalid"),
        (None, "agent.skill_visible_missing"),
    ] {
        let asked = StartRun {
            profile_id: Some("worker".to_owned()),
            prompt: Some(StartPrompt::Message("Make tea".to_owned())),
            skill_scope_refs: refs,
            ..StartRun::default()
        };
        let error = house.runtime.start(asked).await.unwrap_err();
        assert_eq!(error.reason.as_deref(), Some(reason), "{error}");
    }
    let runs = house
        .runtime
        .list(&innkeeper_store::journal::RunFilter::default())
        .await
        .unwrap();
    assert!(runs.runs.is_empty());
}
