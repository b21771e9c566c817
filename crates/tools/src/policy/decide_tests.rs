//! Rules × call × verdict.

use innkeeper_protocol::ToolDefinition;
use serde_json::{Map, Value as Json, json};

use super::{Decision, Policy, Question, Verdict};
use crate::limits::{MAX_PLACE_CHARS, MAX_RULE_ELEMENTS};

pub(super) fn tool(id: &str, source: &str) -> ToolDefinition {
    let mut tool = ToolDefinition::new(
        id,
        "",
        json!({"type": "object", "properties": {
            "file_path": {"type": "string"},
            "mode": {"type": "string", "default": "safe"},
            "options": {"type": "object"},
        }}),
    );
    tool.source = source.to_owned();
    if id == "File.Delete" {
        tool.aliases = vec!["FileOperator.DeleteFile".into()];
    }
    tool
}

/// A small copy of what `file/` does.
pub(super) fn normalise(text: &str) -> Option<String> {
    let text = text.trim();
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme @ ("user" | "shared"), rest)) => (scheme, rest.to_owned()),
        Some(_) => return None,
        None => (
            "user",
            format!("projects/default/{}", text.trim_start_matches('/')),
        ),
    };
    let mut segments = Vec::new();
    for segment in rest.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            segment => segments.push(segment),
        }
    }
    Some(format!("{scheme}://{}", segments.join("/")))
}

pub(super) fn decide(
    policy: &Policy,
    tool: &ToolDefinition,
    actor: &str,
    arguments: &Json,
) -> Verdict {
    let arguments: Map<String, Json> = arguments.as_object().cloned().unwrap_or_default();
    policy.decide(&Question {
        tool,
        actor,
        arguments: &arguments,
        normalise: &normalise,
    })
}

const ALLOW: Decision = Decision::Allow;
const ASK: Decision = Decision::Ask;
const DENY: Decision = Decision::Deny;

/// `[rules]`, tool, source, actor, arguments, decision, the rule that decided.
type Row<'r> = (Json, &'r str, &'r str, &'r str, Json, Decision, &'r str);

fn check(rows: &[Row<'_>]) {
    for (rules, id, source, actor, arguments, decision, rule) in rows {
        let rules = rules.as_array().unwrap().clone();
        let policy = Policy::read(rules.clone()).unwrap();
        let verdict = decide(&policy, &tool(id, source), actor, arguments);
        let row = format!("{rules:?} {id} {source} {actor} {arguments}: {verdict:?}");
        assert_eq!(verdict.decision, *decision, "{row}");
        assert_eq!(verdict.rule, *rule, "{row}");
    }
}

fn allow(fields: Json) -> Json {
    with("allow", fields)
}

fn ask(fields: Json) -> Json {
    with("ask", fields)
}

fn deny(fields: Json) -> Json {
    with("deny", fields)
}

fn with(decision: &str, mut fields: Json) -> Json {
    fields["decision"] = json!(decision);
    fields
}

fn path(pattern: &str) -> Json {
    json!({"file_path": pattern})
}

#[test]
fn without_rules_the_defaults_hold() {
    let none = json!([]);
    let row = |id, source, decision, rule| {
        (
            none.clone(),
            id,
            source,
            "agent:a",
            json!({}),
            decision,
            rule,
        )
    };
    check(&[
        row("File.Read", "builtin", ALLOW, "default:builtin"),
        row("File.Write", "builtin", ALLOW, "default:builtin"),
        row("File.Delete", "builtin", ASK, "default:deleting"),
        row("File.Delete", "plugin:x", ALLOW, "default:plugins"),
        row("Weather:now", "plugin:weather", ALLOW, "default:plugins"),
        row("search", "mcp:web", ASK, "default:mcp"),
        row("workflow:x", "workflow:x", ALLOW, "default:workflows"),
        row("T", "", DENY, "default:unknown"),
        row("T", "Builtin", DENY, "default:unknown"),
        row("T", "builtin2", DENY, "default:unknown"),
        row("T", "plugin", DENY, "default:unknown"),
        row("T", "xplugin:a", DENY, "default:unknown"),
    ]);
}

#[test]
fn a_persons_rule_comes_before_every_default() {
    let agent = "agent:a";
    check(&[
        (
            json!([allow(json!({"tool": "*"}))]),
            "File.Delete",
            "builtin",
            agent,
            json!({}),
            ALLOW,
            "tool=*",
        ),
        (
            json!([allow(json!({"actor": "agent:a"}))]),
            "T",
            "",
            agent,
            json!({}),
            ALLOW,
            "actor=agent:a",
        ),
        (
            json!([deny(json!({"actor": "*"}))]),
            "File.Read",
            "builtin",
            agent,
            json!({}),
            DENY,
            "actor=*",
        ),
        (
            json!([allow(json!({"source": "mcp:web"}))]),
            "search",
            "mcp:web",
            agent,
            json!({}),
            ALLOW,
            "source=mcp:web",
        ),
        (
            json!([allow(json!({"source": "mcp:web"}))]),
            "search",
            "mcp:other",
            agent,
            json!({}),
            ASK,
            "default:mcp",
        ),
        (
            json!([ask(json!({"tool": "File.Write"}))]),
            "File.Write",
            "builtin",
            agent,
            json!({}),
            ASK,
            "tool=File.Write",
        ),
        (
            json!([ask(json!({"actor": "agent:*"}))]),
            "File.Read",
            "builtin",
            "person",
            json!({}),
            ALLOW,
            "default:builtin",
        ),
    ]);
}

#[test]
fn the_most_specific_rule_wins() {
    let any = json!({"file_path": "user://a/b/c"});
    let row = |rules: [Json; 2], decision, rule| {
        (
            json!(rules),
            "File.Write",
            "builtin",
            "agent:a",
            any.clone(),
            decision,
            rule,
        )
    };
    let tool = |pattern: &str| json!({"tool": pattern});
    let at = |pattern: &str| json!({"arguments": path(pattern)});
    check(&[
        row(
            [deny(tool("File.*")), allow(tool("File.Write"))],
            ALLOW,
            "tool=File.Write",
        ),
        row(
            [allow(tool("File.*")), deny(tool("File.Write"))],
            DENY,
            "tool=File.Write",
        ),
        row(
            [allow(tool("File.W*")), deny(tool("File.*"))],
            ALLOW,
            "tool=File.W*",
        ),
        row(
            [allow(tool("*")), deny(json!({"source": "builtin"}))],
            ALLOW,
            "tool=*",
        ),
        row(
            [allow(json!({"source": "b*"})), deny(json!({"source": "*"}))],
            ALLOW,
            "source=b*",
        ),
        row(
            [
                allow(json!({"source": "b*"})),
                deny(json!({"actor": "agent:a"})),
            ],
            ALLOW,
            "source=b*",
        ),
        row(
            [
                allow(json!({"actor": "agent:a"})),
                deny(json!({"actor": "agent:*"})),
            ],
            ALLOW,
            "actor=agent:a",
        ),
        // More is said about the arguments.
        row(
            [deny(tool("File.Write")), allow(at("user://a/*"))],
            ALLOW,
            "file_path=user://a/*",
        ),
        row(
            [allow(tool("File.Write")), deny(at("user://a/*"))],
            DENY,
            "file_path=user://a/*",
        ),
        // The same is said, about a smaller place.
        row(
            [deny(at("user://a/*")), allow(at("user://a/b/*"))],
            ALLOW,
            "file_path=user://a/b/*",
        ),
        row(
            [allow(at("user://a/*")), deny(at("user://a/b/*"))],
            DENY,
            "file_path=user://a/b/*",
        ),
        row(
            [deny(at("user://a/b/*")), allow(at("user://a/b/c"))],
            ALLOW,
            "file_path=user://a/b/c",
        ),
        row(
            [
                deny(json!({"tool": "File.*", "arguments": path("user://a/b/*")})),
                allow(json!({"tool": "File.Write", "arguments": path("user://a/*")})),
            ],
            DENY,
            "tool=File.* file_path=user://a/b/*",
        ),
        row(
            [
                allow(json!({"tool": "File.*", "arguments": path("user://a/b/*")})),
                deny(json!({"tool": "File.Write", "arguments": path("user://a/*")})),
            ],
            ALLOW,
            "tool=File.* file_path=user://a/b/*",
        ),
        row(
            [
                deny(at("user://a/*")),
                allow(json!({"arguments": {"file_path": "user://a/*", "mode": "safe"}})),
            ],
            ALLOW,
            "file_path=user://a/* mode=safe",
        ),
        // The same is said about the arguments: then names count.
        row(
            [
                deny(json!({"tool": "File.*", "arguments": path("user://a/*")})),
                allow(json!({"tool": "File.Write", "arguments": path("user://a/*")})),
            ],
            ALLOW,
            "tool=File.Write file_path=user://a/*",
        ),
        // Something else is said, however long: the stricter.
        row(
            [
                deny(json!({"arguments": {"mode": "s*"}})),
                allow(at("user://a/b/c")),
            ],
            DENY,
            "mode=s*",
        ),
        row(
            [
                deny(at("*c")),
                allow(json!({"tool": "File.Write", "arguments": path("user://a/b/*")})),
            ],
            DENY,
            "file_path=*c",
        ),
        row(
            [
                deny(at("user://a/b/*")),
                allow(json!({"arguments": {"file_path": "user://a/*", "mode": "safe"}})),
            ],
            DENY,
            "file_path=user://a/b/*",
        ),
        // Equal: the stricter.
        row(
            [allow(tool("File.Write")), ask(tool("File.Write"))],
            ASK,
            "tool=File.Write",
        ),
        row(
            [ask(tool("File.Write")), deny(tool("File.Write"))],
            DENY,
            "tool=File.Write",
        ),
    ]);
}

#[test]
fn denying_fits_what_looks_alike_and_allowing_does_not() {
    let row = |rule, decision, label| {
        (
            json!([rule]),
            "File.Delete",
            "builtin",
            "agent:a",
            json!({}),
            decision,
            label,
        )
    };
    let tool = |pattern: &str| json!({"tool": pattern});
    check(&[
        row(deny(tool("file:delete")), DENY, "tool=file:delete"),
        row(deny(tool("FILEOPERATOR.*")), DENY, "tool=FILEOPERATOR.*"),
        row(
            allow(tool("FileOperator.DeleteFile")),
            ALLOW,
            "tool=FileOperator.DeleteFile",
        ),
        row(allow(tool("file.delete")), ASK, "default:deleting"),
        row(allow(tool("File:Delete")), ASK, "default:deleting"),
        row(ask(tool("file.delete")), ASK, "default:deleting"),
        row(deny(json!({"source": "Builtin"})), DENY, "source=Builtin"),
        row(allow(json!({"source": "Builtin"})), ASK, "default:deleting"),
        row(deny(json!({"actor": "agent:A"})), DENY, "actor=agent:A"),
        row(allow(json!({"actor": "agent:A"})), ASK, "default:deleting"),
    ]);
}

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

#[test]
fn a_closed_policy_allows_nothing() {
    let policy = Policy::closed("rule 2 of the policy is empty");
    let verdict = decide(&policy, &tool("File.Read", "builtin"), "person", &json!({}));
    assert_eq!(verdict.decision, DENY);
    assert!(verdict.reason.unwrap().contains("rule 2"));
}

#[test]
fn the_rules_reason_is_passed_on() {
    let rule = deny(json!({"tool": "T", "reason": "not on Sundays"}));
    let policy = Policy::read(vec![rule]).unwrap();
    let verdict = decide(&policy, &tool("T", "builtin"), "person", &json!({}));
    assert_eq!(verdict.reason.as_deref(), Some("not on Sundays"));
}
