//! Rules × call × verdict.

use innkeeper_protocol::ToolDefinition;
use serde_json::{Map, Value as Json, json};

use super::{Decision, Policy, Question, Verdict};
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

pub(super) const ALLOW: Decision = Decision::Allow;
pub(super) const ASK: Decision = Decision::Ask;
pub(super) const DENY: Decision = Decision::Deny;

/// `[rules]`, tool, source, actor, arguments, decision, the rule that decided.
pub(super) type Row<'r> = (Json, &'r str, &'r str, &'r str, Json, Decision, &'r str);

pub(super) fn check(rows: &[Row<'_>]) {
    for (rules, id, source, actor, arguments, decision, rule) in rows {
        let rules = rules.as_array().unwrap().clone();
        let policy = Policy::read(rules.clone()).unwrap();
        let verdict = decide(&policy, &tool(id, source), actor, arguments);
        let row = format!("{rules:?} {id} {source} {actor} {arguments}: {verdict:?}");
        assert_eq!(verdict.decision, *decision, "{row}");
        assert_eq!(verdict.rule, *rule, "{row}");
    }
}

pub(super) fn allow(fields: Json) -> Json {
    with("allow", fields)
}

pub(super) fn ask(fields: Json) -> Json {
    with("ask", fields)
}

pub(super) fn deny(fields: Json) -> Json {
    with("deny", fields)
}

pub(super) fn with(decision: &str, mut fields: Json) -> Json {
    fields["decision"] = json!(decision);
    fields
}

pub(super) fn path(pattern: &str) -> Json {
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

/// Two rules that differ in nothing but what they say, and neither can be decided.
#[test]
fn the_words_of_a_verdict_do_not_depend_on_the_order_either() {
    let rule = |decision: &str| json!({"arguments": {"file_path": "*.md"}, "decision": decision});
    let arguments = json!({"file_path": {}});
    let told = |rules: [&str; 2]| {
        let policy = Policy::read(rules.map(rule).to_vec()).unwrap();
        decide(&policy, &tool("T", "builtin"), "person", &arguments)
    };
    assert_eq!(told(["allow", "deny"]), told(["deny", "allow"]));
}

#[test]
fn what_is_denied_whatever_the_arguments() {
    let path = json!({"file_path": "user://notes/*"});
    for (rules, source, forbidden) in [
        (vec![], "builtin", false),
        (vec![], "mcp:x", false),
        (vec![], "somewhere", true),
        (vec![deny(json!({"tool": "T"}))], "builtin", true),
        (vec![deny(json!({"tool": "t"}))], "builtin", true),
        (vec![deny(json!({"tool": "Other"}))], "builtin", false),
        (vec![deny(json!({"actor": "person"}))], "builtin", false),
        (
            vec![deny(json!({"tool": "*"})), ask(json!({"tool": "T"}))],
            "builtin",
            false,
        ),
        (
            vec![allow(json!({"tool": "*"})), deny(json!({"tool": "T"}))],
            "builtin",
            true,
        ),
        // A call with other arguments may pass.
        (
            vec![deny(json!({"tool": "T", "arguments": path}))],
            "builtin",
            false,
        ),
        (
            vec![
                deny(json!({"tool": "T"})),
                allow(json!({"tool": "T", "arguments": path})),
            ],
            "builtin",
            false,
        ),
    ] {
        let policy = Policy::read(rules.clone()).unwrap();
        assert_eq!(
            policy.forbids(&tool("T", source), "agent:a"),
            forbidden,
            "{rules:?}"
        );
    }
    assert!(Policy::closed("it is broken").forbids(&tool("T", "builtin"), "person"));
}

#[test]
fn a_question_waits_as_long_as_its_rule_says_or_all_of_them() {
    let rules = json!([
        {"tool": "a", "decision": "ask", "expires": "30m"},
        {"tool": "b", "decision": "ask"},
        {"tool": "c", "decision": "allow"},
    ]);
    let rules = Policy::read(rules.as_array().unwrap().clone()).unwrap();
    let minutes = |count: u64| Some(std::time::Duration::from_secs(count * 60));
    let usual = rules.clone().with_expires(Some("24h".parse().unwrap()));
    for (policy, id, waits) in [
        (&rules, "a", minutes(30)),
        (&rules, "b", None),
        (&usual, "a", minutes(30)),
        (&usual, "b", minutes(24 * 60)),
        (&usual, "c", None),
    ] {
        let verdict = decide(policy, &tool(id, "builtin"), "person", &json!({}));
        assert_eq!(verdict.expires, waits, "{id}");
    }
}
