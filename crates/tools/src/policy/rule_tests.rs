use serde_json::{Value as Json, json};

use super::{Decision, Policy, Rule};
use crate::limits::{MAX_RULE_ARGUMENTS, MAX_RULE_CHARS, MAX_RULES};

#[test]
fn rules_are_written_in_toml() {
    #[derive(serde::Deserialize)]
    struct Settings {
        policy: Rules,
    }
    #[derive(serde::Deserialize)]
    struct Rules {
        rules: Vec<Json>,
    }
    let settings: Settings = toml::from_str(
        r#"
        [[policy.rules]]
        name = "notes"
        tool = "File.*"
        actor = "agent:*"
        decision = "allow"
        [policy.rules.arguments]
        file_path = "fam://Inn/notes/*"

        [[policy.rules]]
        source = "mcp:search"
        decision = "deny"
        reason = "too slow"
        "#,
    )
    .unwrap();
    let policy = Policy::read(settings.policy.rules).unwrap();
    let rules: Vec<_> = policy.rules().take(2).cloned().collect();
    let notes = Rule {
        name: Some("notes".into()),
        tool: Some("File.*".into()),
        actor: Some("agent:*".into()),
        arguments: [("file_path".into(), "user://projects/Inn/notes/*".into())].into(),
        ..Rule::new(Decision::Allow)
    };
    let search = Rule {
        source: Some("mcp:search".into()),
        reason: Some("too slow".into()),
        ..Rule::new(Decision::Deny)
    };
    assert_eq!(rules, [notes, search]);
    assert_eq!(rules[0].label(), "notes");
    let unnamed = Rule {
        name: None,
        ..rules[0].clone()
    };
    assert_eq!(
        unnamed.label(),
        "tool=File.* actor=agent:* file_path=user://projects/Inn/notes/*"
    );
}

#[test]
fn what_makes_no_sense_is_told_by_number() {
    let good = json!({"tool": "File.*", "decision": "allow"});
    let long = "x".repeat(MAX_RULE_CHARS + 1);
    let many: serde_json::Map<_, _> = (0..=MAX_RULE_ARGUMENTS)
        .map(|number| (format!("a{number}"), json!("x")))
        .collect();
    let path = |pattern: &str| json!({"arguments": {"path": pattern}, "decision": "deny"});
    for (rule, problem) in [
        (
            json!({"tool": "x", "decision": "maybe"}),
            "unknown variant `maybe`",
        ),
        (json!({"tool": "x"}), "missing field `decision`"),
        (
            json!({"tols": "x", "decision": "deny"}),
            "unknown field `tols`",
        ),
        (json!({"tool": 5, "decision": "deny"}), "expected a string"),
        (json!("deny"), "cannot be read"),
        (json!({"decision": "deny"}), "names nothing"),
        (
            json!({"arguments": {}, "decision": "deny"}),
            "names nothing",
        ),
        (
            json!({"tool": "", "decision": "deny"}),
            "a tool that is empty",
        ),
        (
            json!({"tool": " x", "decision": "deny"}),
            "begins or ends with a blank",
        ),
        (
            json!({"tool": "a\nb", "decision": "deny"}),
            "control character",
        ),
        (
            json!({"tool": long, "decision": "deny"}),
            "more than 500 characters",
        ),
        (
            json!({"tool": "x", "reason": long, "decision": "deny"}),
            "a reason with more than",
        ),
        (
            json!({"tool": "x", "name": "", "decision": "deny"}),
            "a name that is empty",
        ),
        (
            json!({"actor": "agents:x", "decision": "deny"}),
            "which is nobody",
        ),
        (
            json!({"actor": "Person", "decision": "deny"}),
            "which is nobody",
        ),
        (
            json!({"actor": "agent", "decision": "deny"}),
            "which is nobody",
        ),
        (
            json!({"arguments": many, "decision": "deny"}),
            "more than 20 arguments",
        ),
        (
            json!({"arguments": {"": "x"}, "decision": "deny"}),
            "is empty",
        ),
        (path("user://a/../b"), "no place fits"),
        (path("user://a//b"), "no place fits"),
        (path("user://a/"), "no place fits"),
        (path("user://a\\b"), "backslash"),
        (path("fam://*"), "which project"),
        (path("https://a b/"), "not written as addresses"),
        (path("https://müller.de/"), "not written as addresses"),
        (path("https://a@b/"), "no address fits"),
        (path("https://a/../b"), "no address fits"),
        (path("https:///x"), "no web address"),
    ] {
        let error = Policy::read(vec![good.clone(), rule.clone()]).unwrap_err();
        assert_eq!(error.number, 2, "{rule}");
        let text = error.to_string();
        assert!(text.starts_with("rule 2 of the policy "), "{text}");
        assert!(text.contains(problem), "{rule}: {text}");
    }
    let error = Policy::read(vec![good; MAX_RULES + 1]).unwrap_err();
    assert_eq!(error.number, MAX_RULES + 1);
}

#[test]
fn patterns_about_places_have_one_form() {
    for (pattern, canonical) in [
        ("fam://inn/a/*", "user://projects/inn/a/*"),
        ("fam://inn/*", "user://projects/inn/*"),
        ("fam://shared/library/*", "shared://library/*"),
        ("fam://user/*", "user://*"),
        ("USER://a", "user://a"),
        ("user://e\u{301}/*", "user://é/*"),
        ("HTTPS://API.Example.com/*", "https://api.example.com/*"),
        ("https://example.com:443", "https://example.com/"),
        ("http://example.com:8080/*", "http://example.com:8080/*"),
        ("https://*.Example.com/*", "https://*.example.com/*"),
        ("https://*", "https://*/*"),
        ("*.md", "*.md"),
        ("", ""),
    ] {
        let rule = json!({"arguments": {"a": pattern}, "decision": "deny"});
        let policy = Policy::read(vec![rule]).unwrap();
        let rule = policy.rules().next().unwrap();
        assert_eq!(rule.arguments["a"].as_str(), canonical, "{pattern}");
    }
}

#[test]
fn actors_that_exist_are_taken() {
    for actor in [
        "person",
        "*",
        "agent:*",
        "agent:storyteller",
        "a*",
        "agent*",
        "p*",
        "*teller",
    ] {
        Policy::read(vec![json!({"actor": actor, "decision": "deny"})]).unwrap();
    }
}
