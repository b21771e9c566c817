use innkeeper_protocol::event::Presentation;
use serde_json::json;

use super::*;
use crate::limits::ALL_TOLD_UP_TO;
use crate::run::{Input, testing};

fn tools(ids: &[&str]) -> Vec<Arc<ToolDefinition>> {
    let tool = |id: &&str| Arc::new(ToolDefinition::new(*id, "", json!({"type": "object"})));
    ids.iter().map(tool).collect()
}

fn created() -> Created {
    let Input::Created(created) = testing::created(Presentation::Background, json!({})) else {
        panic!("a run begins with its creation");
    };
    Arc::unwrap_or_clone(created)
}

fn rules(all_up_to: u32, most: u32) -> OfferRules {
    OfferRules {
        all_up_to,
        most,
        pins: Vec::new(),
    }
}

#[test]
fn few_are_told_whole_and_of_many_those_that_fit() {
    assert!(is_all(ALL_TOLD_UP_TO as usize, &OfferRules::default()));
    assert!(!is_all(ALL_TOLD_UP_TO as usize + 1, &OfferRules::default()));
    assert!(is_all(0, &rules(0, 0)));
    let all = tools(&["a", "b", "c", "d", "tools.search", "workspace.finish"]);
    let ids = |most: u32, always: &str, fitting: &[&str]| {
        let is_always = |tool: &ToolDefinition| tool.id.as_str() == always;
        let told = choose(&all, &rules(2, most), is_always, fitting.iter().copied());
        told.iter()
            .map(|tool| tool.id.to_string())
            .collect::<Vec<_>>()
    };
    for (most, always, fitting, expected) in [
        (0, "", &["a"][..], &["tools.search"][..]),
        (2, "", &["d", "b", "a"], &["b", "d", "tools.search"]),
        // What is told anyway takes nobody's place.
        (
            2,
            "d",
            &["d", "b", "a", "c"],
            &["a", "b", "d", "tools.search"],
        ),
        (
            9,
            "workspace.finish",
            &["c"],
            &["c", "tools.search", "workspace.finish"],
        ),
        (1, "", &["b", "b"], &["b", "tools.search"]),
        (1, "", &[], &["tools.search"]),
    ] {
        assert_eq!(
            ids(most, always, fitting),
            expected,
            "{most} {always} {fitting:?}"
        );
    }
}

#[test]
fn pins_and_the_workspace_of_a_writer_are_always_told() {
    let mut created = created();
    created.profile.agent.offer.pins = vec!["File.*".to_owned(), "Old.Name".to_owned()];
    let mut renamed = ToolDefinition::new("New.Name", "", json!({"type": "object"}));
    renamed.aliases = vec!["Old.Name".into()];
    let other = &tools(&["File.Read", "workspace.finish", "Text.Case"]);
    for (own_words, answers, workspace) in [
        (false, false, true),
        (false, true, true),
        (true, false, true),
        (true, true, false),
    ] {
        let words = own_words.then(|| "You are Ann.".to_owned());
        created.profile.instructions.agent_system_prompt = words;
        let always = Always::of(&created, answers);
        assert!(always.has(&renamed));
        let told: Vec<bool> = other.iter().map(|tool| always.has(tool)).collect();
        assert_eq!(told, [true, workspace, false], "{own_words} {answers}");
    }
}

#[test]
fn whoever_has_skills_is_told_how_to_read_them() {
    let mut created = created();
    let other = tools(&["skill.list", "skill.read", "skills.other"]);
    let told = |created: &Created| {
        let always = Always::of(created, true);
        let each = other.iter();
        each.map(|tool| (always.has(tool), always.is_of_use(tool.id.as_str())))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        told(&created),
        [(false, false), (false, false), (false, true)]
    );
    created.skills.effective = vec![crate::skills::RunSkill {
        name: "tea".to_owned(),
        description: "Makes tea.".to_owned(),
        scope: crate::skills::SkillScope::Global,
        installed_hash: String::new(),
        is_on_request: false,
    }];
    assert_eq!(told(&created), [(true, true), (true, true), (false, true)]);
}

#[test]
fn the_task_is_what_was_said_last_and_a_little_of_what_came_before() {
    let mut created = created();
    created.messages = vec![
        json!({"role": "system", "content": "instructions"}),
        json!({"role": "user", "content": "earlier"}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "answered"}]}),
        json!({"role": "user", "content": "latest"}),
    ];
    created.chat = vec![json!({"mes": "chatted", "is_user": true})];
    assert_eq!(task(&created).text(), "latest\nanswered\nearlier\nchatted");
    created.messages.clear();
    created.chat.clear();
    assert!(task(&created).is_empty());
}
