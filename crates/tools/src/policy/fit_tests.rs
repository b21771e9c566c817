//! When a rule applies: places, lists, what is absent, what cannot be decided.

use serde_json::{Value as Json, json};

use super::decide_tests::{ALLOW, ASK, DENY, allow, ask, check, decide, deny, path, tool, with};
use super::{Decision, Policy};
use crate::limits::{MAX_PLACE_CHARS, MAX_RULE_ELEMENTS};

#[test]
fn places_are_compared_in_their_one_form() {
    let row = |rule: Json, at: Json, decision| {
        let label = format!(
            "file_path={}",
            rule["arguments"]["file_path"].as_str().unwrap()
        );
        let rules = json!([
            rule,
            with(
                if rule["decision"] == "allow" {
                    "deny"
                } else {
                    "allow"
                },
                json!({"name": "other", "tool": "*"})
            )
        ]);
        (rules, at, decision, label)
    };
    let at = |pattern: &str| json!({"arguments": path(pattern)});
    let x = "user://projects/default/x/*";
    for (rules, place, decision, label) in [
        row(allow(at(x)), json!("x/a"), ALLOW),
        row(allow(at(x)), json!("user://projects/default/x/a/b"), ALLOW),
        row(allow(at(x)), json!("x/../x/a"), ALLOW),
        row(allow(at(x)), json!("x/../y"), DENY),
        row(
            allow(at(x)),
            json!("user://projects/default/x/../../../secret"),
            DENY,
        ),
        row(allow(at(x)), json!("x"), DENY),
        row(allow(at(x)), json!("X/a"), DENY),
        row(allow(at(x)), json!("https://example.com/x/a"), DENY),
        row(deny(at(x)), json!("x/a"), DENY),
        row(deny(at(x)), json!("y/../x/a"), DENY),
        row(deny(at(x)), json!("X/A"), DENY),
        row(deny(at(x)), json!("xy"), ALLOW),
        row(deny(at(x)), json!("https://example.com/x/a"), ALLOW),
        // The folder itself, and those above it.
        row(deny(at(x)), json!("x"), DENY),
        row(deny(at(x)), json!("user://projects"), DENY),
        row(deny(at(x)), json!("user://"), DENY),
        row(deny(at(x)), json!("user://projects/default/xx"), ALLOW),
        row(ask(at(x)), json!("user://projects/default"), ASK),
        row(ask(at(x)), json!("shared://library"), ALLOW),
        // As written; but what is written in a roundabout way is found.
        row(deny(at("*.env")), json!("a/.env"), DENY),
        row(deny(at("*.env")), json!("a/.ENV/."), DENY),
        row(deny(at("*projects*")), json!("harmless"), ALLOW),
        row(allow(at("*.md")), json!("a.md"), ALLOW),
        row(allow(at("*.md")), json!("a.md/../b"), DENY),
        // Lists.
        row(allow(at(x)), json!(["x/a", "x/b"]), ALLOW),
        row(allow(at(x)), json!(["x/a", "y"]), DENY),
        row(allow(at(x)), json!([]), DENY),
        row(deny(at(x)), json!(["y", "x/a"]), DENY),
        row(deny(at(x)), json!(["y"]), ALLOW),
        row(ask(at(x)), json!(["y", "x/a"]), ASK),
        // Numbers and flags are compared as they are written.
        row(deny(at("4*")), json!(42), DENY),
        row(deny(at("true")), json!(true), DENY),
        row(allow(at("true")), json!(false), DENY),
        row(allow(at("")), json!(""), ALLOW),
        row(allow(at("")), json!("x"), DENY),
    ] {
        let policy = Policy::read(rules.as_array().unwrap().clone()).unwrap();
        let verdict = decide(&policy, &tool("T", "builtin"), "person", &path_json(&place));
        let decided_by_it = verdict.rule == label;
        let row = format!("{rules} {place}: {verdict:?}");
        assert_eq!(verdict.decision, decision, "{row}");
        let expected: Decision = serde_json::from_value(rules[0]["decision"].clone()).unwrap();
        assert_eq!(decided_by_it, decision == expected, "{row}");
    }
}

fn path_json(value: &Json) -> Json {
    json!({"file_path": value})
}

#[test]
fn hosts_end_where_they_end() {
    for (pattern, address, allowed, denied) in [
        (
            "https://api.example.com/*",
            "https://api.example.com/v1",
            true,
            true,
        ),
        (
            "https://api.example.com/*",
            "HTTPS://API.example.com:443/v1",
            true,
            true,
        ),
        (
            "https://api.example.com/*",
            "http://api.example.com/v1",
            false,
            false,
        ),
        (
            "https://api.example.com/*",
            "https://api.example.com.evil.net/v1",
            false,
            false,
        ),
        (
            "https://api.example.com/*",
            "https://api.example.com@evil.net/",
            false,
            false,
        ),
        (
            "https://api.example.com/*",
            "https://evil.net@api.example.com/",
            false,
            true,
        ),
        (
            "https://api.example.com/v1/*",
            "https://api.example.com/v1/../admin",
            false,
            false,
        ),
        (
            "https://api.example.com/v1/*",
            "https://api.example.com/x/../v1/a",
            true,
            true,
        ),
        (
            "https://*.example.com/*",
            "https://a.example.com/",
            true,
            true,
        ),
        (
            "https://*.example.com/*",
            "https://evil.net/.example.com/",
            false,
            false,
        ),
        (
            "https://*.example.com/*",
            "https://evil.net/?.example.com/",
            false,
            false,
        ),
        ("https://*", "https://anything/at/all", true, true),
        (
            "http://169.254.169.254/*",
            "http://2852039166/meta",
            true,
            true,
        ),
        (
            "http://localhost:8080/*",
            "http://localhost:8080/x",
            true,
            true,
        ),
        (
            "http://localhost:8080/*",
            "http://localhost/x",
            false,
            false,
        ),
    ] {
        let tool = tool("T", "builtin");
        let verdict = |rule: Json| {
            let policy =
                Policy::read(vec![rule, ask(json!({"tool": "T", "name": "other"}))]).unwrap();
            decide(&policy, &tool, "person", &json!({"url": address}))
        };
        let fields = json!({"arguments": {"url": pattern}});
        assert_eq!(
            verdict(allow(fields.clone())).decision == ALLOW,
            allowed,
            "allow {pattern} {address}"
        );
        assert_eq!(
            verdict(deny(fields)).decision == DENY,
            denied,
            "deny {pattern} {address}"
        );
    }
}

#[test]
fn what_cannot_be_decided_is_no_and_says_which_rule() {
    let place = json!({"arguments": {"file_path": "user://a/*"}});
    let long = "x".repeat(MAX_PLACE_CHARS + 1);
    let many = vec!["user://a/b"; MAX_RULE_ELEMENTS + 1];
    for (rule, arguments, why) in [
        (
            allow(place.clone()),
            json!({"file_path": "ftp://x"}),
            "names no file",
        ),
        (
            ask(place.clone()),
            json!({"file_path": "user://../x"}),
            "names no file",
        ),
        (
            deny(place.clone()),
            json!({"file_path": "system://x"}),
            "names no file",
        ),
        (
            allow(place.clone()),
            json!({"file_path": {"a": 1}}),
            "neither text",
        ),
        (
            allow(place.clone()),
            json!({"file_path": ["user://a/b", ["x"]]}),
            "neither text",
        ),
        (
            deny(place.clone()),
            json!({"file_path": ["user://b", null]}),
            "neither text",
        ),
        (allow(place.clone()), json!({"file_path": long}), "too long"),
        (
            allow(place.clone()),
            json!({"file_path": many}),
            "more than 1000 elements",
        ),
        (deny(place.clone()), json!({}), "give it"),
        (deny(place.clone()), json!({"file_path": null}), "give it"),
        (
            deny(json!({"arguments": {"/options/deep": "x"}})),
            json!({"options": {}}),
            "give it",
        ),
        (
            allow(json!({"arguments": {"file_path": "https://a/"}})),
            json!({"file_path": "a"}),
            "no web address",
        ),
    ] {
        let policy = Policy::read(vec![rule.clone()]).unwrap();
        let verdict = decide(&policy, &tool("T", "builtin"), "person", &arguments);
        let reason = verdict.reason.clone().unwrap_or_default();
        assert_eq!(verdict.decision, DENY, "{rule} {arguments}");
        assert!(reason.contains(why), "{rule} {arguments}: {reason}");
        assert!(reason.contains(&format!("'{}'", verdict.rule)), "{reason}");
    }
}

#[test]
fn a_no_from_one_part_settles_the_whole_rule() {
    let rule = deny(json!({"arguments": {"file_path": "user://a/*", "mode": "wild"}}));
    let policy = Policy::read(vec![rule]).unwrap();
    let verdict = decide(
        &policy,
        &tool("T", "builtin"),
        "person",
        &json!({"file_path": "ftp://x"}),
    );
    assert_eq!(verdict.decision, ALLOW);
}

#[test]
fn absent_arguments_have_their_default() {
    let mode = |pattern: &str| json!({"name": "it", "arguments": {"mode": pattern}});
    let path = |name: &str| json!({"name": "it", "arguments": {name: "user://a/*"}});
    let row = |rule, arguments, decision, by| {
        (
            json!([rule]),
            "T",
            "builtin",
            "person",
            arguments,
            decision,
            by,
        )
    };
    check(&[
        row(deny(mode("safe")), json!({}), DENY, "it"),
        row(deny(mode("safe")), json!({"mode": null}), DENY, "it"),
        row(
            deny(mode("safe")),
            json!({"mode": "wild"}),
            ALLOW,
            "default:builtin",
        ),
        row(deny(mode("wild")), json!({}), ALLOW, "default:builtin"),
        row(allow(mode("safe")), json!({}), ALLOW, "it"),
        // The tool has it, but nobody says what it will be.
        row(
            allow(path("file_path")),
            json!({}),
            ALLOW,
            "default:builtin",
        ),
        row(ask(path("file_path")), json!({}), ASK, "it"),
        row(deny(path("file_path")), json!({}), DENY, "it"),
        // The tool has no such thing.
        row(
            deny(path("destination")),
            json!({}),
            ALLOW,
            "default:builtin",
        ),
        row(
            deny(path("destination")),
            json!({"destination": "user://a/b"}),
            DENY,
            "it",
        ),
    ]);
}

#[test]
fn arguments_are_named_in_any_spelling_or_by_pointer() {
    let rule = |name: &str| deny(json!({"name": "it", "arguments": {name: "x"}}));
    let row = |rule, arguments, decision, by| {
        (
            json!([rule]),
            "T",
            "builtin",
            "person",
            arguments,
            decision,
            by,
        )
    };
    check(&[
        row(rule("filePath"), json!({"file_path": "x"}), DENY, "it"),
        row(rule("file_path"), json!({"File-Path": "x"}), DENY, "it"),
        row(rule("/file_path"), json!({"file_path": "x"}), DENY, "it"),
        row(
            rule("/options/a/0"),
            json!({"options": {"a": ["x"]}}),
            DENY,
            "it",
        ),
        row(
            rule("/options/a/0"),
            json!({"options": {"a": ["y"]}}),
            ALLOW,
            "default:builtin",
        ),
        row(rule("/a~1b"), json!({"a/b": "x"}), DENY, "it"),
    ]);
}

/// A tool that takes any argument may be given two that look alike.
#[test]
fn the_argument_that_a_rule_names_is_the_one_it_looks_at() {
    let rules = json!([
        {"tool": "*", "decision": "deny"},
        {"name": "narrow", "tool": "*", "arguments": {"extra": "safe"}, "decision": "allow"},
    ]);
    let rules = rules.as_array().unwrap().clone();
    let policy = Policy::read(rules).unwrap();
    for (arguments, decision) in [
        (json!({"Extra": "safe", "extra": "danger"}), DENY),
        (json!({"Extra": "danger", "extra": "safe"}), ALLOW),
        (json!({"Extra": "safe"}), ALLOW),
    ] {
        let verdict = decide(&policy, &tool("T", "builtin"), "person", &arguments);
        assert_eq!(verdict.decision, decision, "{arguments}");
    }
}
