//! Of how many tools a model is told, as a profile says it.

use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::{comfy, read, version_1, with};
use crate::profile::{AgentProfile, OfferRules, Severity};

#[test]
fn it_is_read_and_written_in_every_format() {
    let usual = OfferRules::default();
    assert_eq!((usual.all_up_to, usual.most), (64, 24));
    for base in [version_1(), comfy()] {
        assert_eq!(read(&base).agent.offer, usual);
        assert_eq!(read(&base).to_json().pointer("/agent/offer"), None);
        for (written, expected) in [
            (json!({}), usual.clone()),
            (
                json!({"most": 0}),
                OfferRules {
                    most: 0,
                    ..usual.clone()
                },
            ),
            (
                json!({"allUpTo": 1000, "pins": ["File.*"]}),
                OfferRules {
                    all_up_to: 1_000,
                    pins: vec!["File.*".to_owned()],
                    ..usual.clone()
                },
            ),
        ] {
            let profile = read(&with(base.clone(), "/agent/offer", written));
            assert_eq!(profile.agent.offer, expected);
            assert_eq!(read(&profile.to_json()), profile);
        }
    }
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let tools = [
        ToolDefinition::new("File.Read", "", json!({"type": "object"})),
        ToolDefinition::new("chat.search", "", json!({"type": "object"})),
    ];
    let told = |offer: Json| {
        let json = with(version_1(), "/agent/offer", offer);
        let problems = match AgentProfile::from_json(&json, Some(&&tools[..])) {
            Ok(reading) => reading.warnings,
            Err(error) => error.problems,
        };
        let problems = problems.into_iter();
        let problems = problems.filter(|problem| problem.path.starts_with("$.agent"));
        problems
            .map(|problem| (problem.reason, problem.path, problem.severity))
            .collect::<Vec<_>>()
    };
    let contract = "agent.profile_contract_invalid";
    for (offer, reason, path, severity) in [
        (
            json!({"most": 1001}),
            contract,
            "$.agent.offer.most",
            Severity::Error,
        ),
        (
            json!({"allUpTo": -1}),
            contract,
            "$.agent.offer.allUpTo",
            Severity::Error,
        ),
        (
            json!({"mosst": 3}),
            contract,
            "$.agent.offer.mosst",
            Severity::Error,
        ),
        (
            json!({"pins": [" "]}),
            contract,
            "$.agent.offer.pins[0]",
            Severity::Error,
        ),
        (
            json!({"pins": ["chat.search", "File.Read"]}),
            "agent.profile_pin_invisible",
            "$.agent.offer.pins[1]",
            Severity::Error,
        ),
        (
            json!({"pins": ["Gone.Tool"]}),
            "agent.profile_unknown_tool",
            "$.agent.offer.pins[0]",
            Severity::Warning,
        ),
    ] {
        let expected = (reason, path.to_owned(), severity);
        assert_eq!(told(offer.clone()), [expected], "{offer}");
    }
    assert!(told(json!({"pins": ["Nothing.*", "chat.search"]})).is_empty());
}

#[test]
fn whoever_has_tools_may_look_for_them_unless_it_is_denied() {
    let search = innkeeper_tools::builtin::search::definition();
    let profile = read(&version_1());
    assert!(profile.shows(&search));
    let denied = read(&with(version_1(), "/tools/deny", json!(["tools.*"])));
    assert!(!denied.shows(&search));
    let toolless = AgentProfile {
        tools: crate::profile::ToolRules::default(),
        ..profile
    };
    assert!(!toolless.shows(&search));
}
