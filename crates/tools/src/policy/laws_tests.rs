//! What holds for all policies and all calls.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::decide_tests::{decide, tool};
use super::{Decision, Policy, Rule};
use crate::Pattern;

fn pick(texts: &'static [&'static str]) -> impl Strategy<Value = Option<Pattern>> {
    prop::option::of(prop::sample::select(texts).prop_map(Pattern::new))
}

fn rule() -> impl Strategy<Value = Rule> {
    let decision = prop::sample::select(&[Decision::Allow, Decision::Ask, Decision::Deny][..]);
    let tool = pick(&[
        "*",
        "File.*",
        "File.Write",
        "file.write",
        "F*e",
        "Dice.Roll",
    ]);
    let source = pick(&["*", "builtin", "b*", "plugin:*"]);
    let actor = pick(&["*", "person", "agent:*", "agent:a"]);
    let path = pick(&[
        "*",
        "user://*",
        "user://a/*",
        "user://a/b",
        "*.md",
        "https://x/*",
    ]);
    let mode = pick(&["*", "safe", "s*", "wild"]);
    (decision, tool, source, actor, path, mode)
        .prop_map(|(decision, tool, source, actor, path, mode)| {
            let arguments = [("file_path", path), ("mode", mode)]
                .into_iter()
                .filter_map(|(name, pattern)| Some((name.to_owned(), pattern?)));
            Rule {
                tool,
                source,
                actor,
                arguments: arguments.collect(),
                ..Rule::new(decision)
            }
        })
        .prop_filter("names nothing", |rule| !rule.label().is_empty())
}

fn call() -> impl Strategy<Value = (&'static str, &'static str, &'static str, Json)> {
    let arguments = [
        json!({}),
        json!({"file_path": "user://a/b"}),
        json!({"file_path": "user://a/../c.md", "mode": "wild"}),
        json!({"file_path": "a/b.md", "mode": "safe"}),
        json!({"file_path": ["user://a/b", "user://c"]}),
        json!({"file_path": {"x": 1}}),
        json!({"file_path": "ftp://x"}),
        json!({"file_path": "https://x/y"}),
    ];
    (
        prop::sample::select(&["File.Write", "File.Delete", "Dice.Roll"][..]),
        prop::sample::select(&["builtin", "plugin:x", "mcp:y", ""][..]),
        prop::sample::select(&["person", "agent:a", "agent:b"][..]),
        prop::sample::select(arguments.to_vec()),
    )
}

proptest! {
    #[test]
    fn the_order_of_rules_means_nothing(
        (rules, shuffled) in prop::collection::vec(rule(), 0..8)
            .prop_flat_map(|rules| (Just(rules.clone()), Just(rules).prop_shuffle())),
        (id, source, actor, arguments) in call(),
    ) {
        let tool = tool(id, source);
        let verdict = |rules| decide(&Policy::new(rules).unwrap(), &tool, actor, &arguments);
        prop_assert_eq!(verdict(rules), verdict(shuffled));
    }

    #[test]
    fn one_more_refusal_never_lets_more_through(
        rules in prop::collection::vec(rule(), 0..8),
        added in rule(),
        (id, source, actor, arguments) in call(),
    ) {
        let tool = tool(id, source);
        let verdict = |rules| decide(&Policy::new(rules).unwrap(), &tool, actor, &arguments).decision;
        let before = verdict(rules.clone());
        // Over a default anything a person says counts, so the law is about persons' rules and about refusals.
        let added = Rule { decision: Decision::Deny, ..added };
        let after = verdict([rules, vec![added]].concat());
        prop_assert!(after >= before, "{before} became {after}");
    }

    #[test]
    fn one_more_permission_never_refuses_more_unless_it_cannot_be_decided(
        rules in prop::collection::vec(rule(), 0..8),
        added in rule(),
        (id, source, actor, arguments) in call(),
    ) {
        let tool = tool(id, source);
        let verdict = |rules| decide(&Policy::new(rules).unwrap(), &tool, actor, &arguments);
        let before = verdict(rules.clone());
        let added = Rule { decision: Decision::Allow, ..added };
        let after = verdict([rules, vec![added]].concat());
        let undecided = after.reason.is_some_and(|reason| reason.contains("cannot be decided"));
        prop_assert!(after.decision <= before.decision || undecided);
    }
}
