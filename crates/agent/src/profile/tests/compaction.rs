//! When a conversation is made shorter, and what tools may ask of models, as a profile says it.

use serde_json::{Value as Json, json};

use super::{comfy, read, version_1, with};
use crate::profile::{AgentProfile, CompactionRules};

#[test]
fn it_is_read_and_written_in_every_format() {
    let usual = CompactionRules::default();
    assert!(usual.enabled && usual.keep_rounds == 2 && usual.keep_first == 0);
    for base in [version_1(), comfy()] {
        assert_eq!(read(&base).agent.compaction, usual);
        assert_eq!(read(&base).to_json().pointer("/agent/compaction"), None);
        for (written, expected) in [
            (json!({}), usual.clone()),
            (
                json!({"enabled": false}),
                CompactionRules {
                    enabled: false,
                    ..usual.clone()
                },
            ),
            (
                json!({"maxRequestTokens": 500, "keepRounds": 9, "keepFirst": 1, "model": "small"}),
                CompactionRules {
                    enabled: true,
                    max_request_tokens: Some(500),
                    keep_rounds: 9,
                    keep_first: 1,
                    model: Some("small".to_owned()),
                },
            ),
        ] {
            let profile = read(&with(base.clone(), "/agent/compaction", written));
            assert_eq!(profile.agent.compaction, expected);
            assert_eq!(read(&profile.to_json()), profile);
        }
    }
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let told = |place: &str, value: Json| {
        let json = with(version_1(), place, value);
        let error = AgentProfile::from_json(&json, None).unwrap_err();
        let problems = error.problems.into_iter();
        problems.map(|problem| problem.path).collect::<Vec<_>>()
    };
    for (field, value) in [
        ("maxRequestTokens", json!(499)),
        ("maxRequestTokens", json!("all")),
        ("keepRounds", json!(0)),
        ("keepFirst", json!(-1)),
        ("enabled", json!("no")),
        ("model", json!(" ")),
        ("keepLast", json!(3)),
    ] {
        let found = told("/agent/compaction", json!({field: value}));
        assert_eq!(found, [format!("$.agent.compaction.{field}")]);
    }
    for (field, value) in [
        ("maxTokensPerTool", json!({"chat.search": 0})),
        ("maxCostPerTool", json!({"chat.search": 0.0})),
        ("maxCostPerTool", json!({"chat.search": "much"})),
    ] {
        let found = told("/agent/budget", json!({field: value}));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(&format!("$.agent.budget.{field}")),
            "{found:?}"
        );
    }
}

#[test]
fn whoever_has_tools_may_read_what_was_left_out_unless_it_is_denied() {
    let tools = crate::recall::tools(&crate::workspace::Workspaces::default());
    let denied = read(&with(version_1(), "/tools/deny", json!(["context.*"])));
    for (tool, _) in &tools {
        assert!(read(&version_1()).shows(tool));
        assert!(!denied.shows(tool));
    }
}
