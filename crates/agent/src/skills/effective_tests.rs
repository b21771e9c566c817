use serde_json::json;

use super::*;
use crate::skills::tests::{House, skill};

fn profile(preset: Json) -> AgentProfile {
    let crate::run::Input::Created(created) = crate::run::testing::created(
        innkeeper_protocol::event::Presentation::Background,
        json!({}),
    ) else {
        panic!("no beginning");
    };
    let mut profile = created.profile.clone();
    profile.preset = serde_json::from_value(preset).unwrap();
    profile
}

#[test]
fn scopes_of_a_run() {
    let character = json!({"kind": "character", "characterId": "Ann", "fileName": "x"});
    let group = json!({"kind": "group", "chatId": "x"});
    let own = json!({"mode": "ref", "ref": {"apiId": "openai", "name": "mine"}});
    let none = json!({});
    for (preset, chat, refs, expected) in [
        (&none, &Json::Null, None, "global profile:{}"),
        (&none, &group, Some(json!({})), "global profile:{}"),
        (&none, &character, None, "global profile:{} character:Ann"),
        (
            &own,
            &character,
            None,
            "global preset:openai/mine profile:{} character:Ann",
        ),
        (
            &none,
            &Json::Null,
            Some(json!({"preset": {"apiId": "a", "name": "b"}, "characterId": "Bo"})),
            "global preset:a/b profile:{} character:Bo",
        ),
        (
            &own,
            &character,
            Some(json!({"preset": {"api_id": "openai", "name": "mine"}, "character_id": "Ann"})),
            "global preset:openai/mine profile:{} character:Ann",
        ),
        (
            &none,
            &Json::Null,
            Some(json!({"preset": null, "characterId": null})),
            "global profile:{}",
        ),
        (
            &none,
            &Json::Null,
            Some(json!([])),
            "agent.skill_scope_refs_invalid",
        ),
        (
            &none,
            &Json::Null,
            Some(json!({"world": 1})),
            "agent.skill_scope_refs_invalid",
        ),
        (
            &none,
            &Json::Null,
            Some(json!({"characterId": "a\0b"})),
            "agent.skill_scope_refs_invalid",
        ),
        (
            &none,
            &Json::Null,
            Some(json!({"characterId": " "})),
            "agent.skill_scope_character_id_empty",
        ),
        (
            &none,
            &Json::Null,
            Some(json!({"characterId": 7})),
            "agent.skill_scope_character_id_empty",
        ),
        (
            &none,
            &Json::Null,
            Some(json!({"preset": "x"})),
            "agent.skill_scope_refs_preset_invalid",
        ),
        (
            &none,
            &Json::Null,
            Some(json!({"preset": {"apiId": "a", "name": ""}})),
            "agent.skill_scope_refs_preset_invalid",
        ),
        (
            &none,
            &character,
            Some(json!({"characterId": "Bo"})),
            "agent.skill_scope_character_mismatch",
        ),
        (
            &own,
            &Json::Null,
            Some(json!({"preset": {"apiId": "openai", "name": "other"}})),
            "agent.skill_scope_preset_mismatch",
        ),
    ] {
        let profile = profile(preset.clone());
        let found = match scopes(&profile, chat, refs.as_ref()) {
            Ok(scopes) => scopes
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => error.reason.unwrap(),
        };
        assert_eq!(
            found,
            expected.replace("{}", profile.id.as_str()),
            "{refs:?}"
        );
    }
}

#[test]
fn later_scopes_win_and_deny_wins_over_visible() {
    let house = House::new();
    let all =
        ["global", "preset:a/b", "profile:p", "character:c"].map(|scope| scope.parse().unwrap());
    for (scope, names) in all.iter().zip([
        ["a", "b", "c"],
        ["b", "c", "d"],
        ["c", "d", "e"],
        ["d", "e", "f"],
    ]) {
        for name in names {
            house
                .skills
                .install_import(&skill(name, &format!("{scope}")), scope, None)
                .unwrap();
        }
    }
    let rules = |visible: &[&str], deny: &[&str]| SkillRules {
        visible: visible.iter().map(ToString::to_string).collect(),
        deny: deny.iter().map(ToString::to_string).collect(),
        ..SkillRules::default()
    };
    for (visible, deny, expected) in [
        (
            &["*"][..],
            &[][..],
            "a:global b:preset:a/b c:profile:p d:character:c e:character:c f:character:c",
        ),
        (&["a", "f"], &[], "a:global f:character:c"),
        (
            &["*"],
            &["a", "c", "nobody"],
            "b:preset:a/b d:character:c e:character:c f:character:c",
        ),
        (&["*"], &["*"], ""),
        (&["a"], &["a"], ""),
        (&["a", "gone"], &["gone"], "a:global"),
        (&["a", "gone"], &[], "agent.skill_visible_missing"),
    ] {
        let found = match house.skills.effective(all.to_vec(), &rules(visible, deny)) {
            Ok(run) => {
                let told = run
                    .effective
                    .iter()
                    .map(|skill| format!("{}:{}", skill.name, skill.scope));
                told.collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.reason.unwrap(),
        };
        assert_eq!(found, expected, "{visible:?} {deny:?}");
    }
    let run = house
        .skills
        .effective(all.to_vec(), &rules(&["*"], &[]))
        .unwrap();
    let shown = house.skills.show(&all[1], "b").unwrap();
    assert_eq!(run.effective[1].installed_hash, shown.installed_hash);
    assert_eq!(
        run.refs(),
        json!({"preset": {"apiId": "a", "name": "b"}, "characterId": "c"})
    );
}
