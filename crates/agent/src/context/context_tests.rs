use innkeeper_protocol::event::CallId;
use std::sync::Arc;

use innkeeper_protocol::{Locale, Observation, Outcome};
use serde_json::{Value as Json, json};

use super::*;
use crate::profile::ContextPolicy;
use crate::run::{CallState, ModelTurn, PlannedBlock, PlannedCall, Turn};

fn said(roles: &[&str]) -> Vec<Json> {
    let numbered = roles.iter().enumerate();
    numbered
        .map(|(at, role)| json!({"role": role, "content": at}))
        .collect()
}

/// Roles of what is sent, with the agent's own instructions as `*`.
fn order(messages: &[Json], is_snapshot: bool, newest: i64) -> String {
    let policy = ContextPolicy {
        initial_chat_history_messages: newest,
        ..ContextPolicy::default()
    };
    let sent = opening(&Opening {
        system_prompt: "You write",
        skills: "Skills: tea",
        manifest: "Tools: none",
        messages,
        is_snapshot,
        policy: &policy,
        private_state: &json!({"mood": "calm"}),
        locale: Locale::En,
    });
    let one = |message: &Json| match message["content"].as_str() {
        Some(
            "You write\n\nSkills: tea\n\nTools: none\n\nYour private state:\n{\"mood\":\"calm\"}",
        ) => "*".to_owned(),
        _ => message["content"].to_string(),
    };
    sent.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn instructions_follow_those_that_were_there() {
    let talk = said(&["system", "system", "user", "assistant", "system", "user"]);
    for (messages, is_snapshot, newest, expected) in [
        (&talk[..], true, -1, "0 1 * 2 3 4 5"),
        (&talk[..], true, 1, "0 1 * 2 3 4 5"),
        (&talk[..], false, -1, "0 1 * 2 3 4 5"),
        (&talk[..], false, 1, "0 1 * 4 5"),
        (&talk[..], false, 0, "0 1 * 5"),
        (&talk[2..3], false, 0, "* 2"),
        (&[], false, 0, "*"),
    ] {
        assert_eq!(order(messages, is_snapshot, newest), expected);
    }
}

#[test]
fn nothing_is_said_where_there_is_nothing_to_say() {
    let sent = opening(&Opening {
        system_prompt: " ",
        skills: "",
        manifest: "",
        messages: &said(&["user"]),
        is_snapshot: false,
        policy: &ContextPolicy::default(),
        private_state: &Json::Null,
        locale: Locale::Zh,
    });
    assert_eq!(sent.len(), 1);
}

fn call(id: &str, native: Option<&str>, result: &str) -> PlannedCall {
    let outcome = Outcome::Success {
        result: json!(result),
        spilled: None,
    };
    PlannedCall {
        call: CallId::new(id),
        index: 1,
        tool: "t".to_owned(),
        meant: None,
        asked: Vec::new(),
        arguments: Arc::new(json!({})),
        provider_id: native.map(str::to_owned),
        state: CallState::Ended {
            observation: Arc::new(Observation {
                call_id: native.map(str::to_owned),
                ..Observation::new("t", outcome)
            }),
            full: None,
        },
    }
}

fn turn(reply: ModelTurn, calls: Vec<PlannedCall>) -> Turn {
    Turn {
        round: 1,
        reply: Arc::new(reply),
        blocks: vec![PlannedBlock {
            calls,
            ended: true,
            notes: Vec::new(),
        }],
        notes: Vec::new(),
        nudge: None,
    }
}

#[test]
fn calls_in_the_text_are_answered_in_one_message() {
    let reply = ModelTurn {
        text: "…".to_owned(),
        message: json!({"role": "assistant", "content": "…"}),
        ..ModelTurn::default()
    };
    let calls = vec![call("a", None, "one"), call("b", None, "two")];
    let sent = after_turn(&turn(reply, calls), &[]);
    assert_eq!(sent.len(), 2);
    assert_eq!(
        sent[1]["content"],
        "Observation: Tool t executed successfully. Result: one\n\nObservation: Tool t executed successfully. Result: two"
    );
}

#[test]
fn every_native_call_is_answered_in_order() {
    let calls = ["x", "y", "z"].map(|id| json!({"id": id, "function": {"name": "t"}}));
    let reply = ModelTurn {
        tool_calls: calls.to_vec(),
        ..ModelTurn::default()
    };
    let ended = vec![call("2", Some("y"), "two"), call("1", Some("x"), "one")];
    let task = Observation::new(
        "slow",
        Outcome::Cancelled {
            reason: String::new(),
        },
    );
    let sent = after_turn(&turn(reply, ended), &[Arc::new(task)]);
    let shown: Vec<_> = sent
        .iter()
        .map(|message| {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            format!("{} {id}", message["role"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(shown[1..], ["tool x", "tool y", "tool z", "user "]);
    assert!(sent[1]["content"].as_str().unwrap().contains("one"));
    assert!(sent[3]["content"].as_str().unwrap().contains("not run"));
}

#[test]
fn guidance_and_nudges_are_the_users_words() {
    let said = guidance(["faster", "and kinder"]);
    assert_eq!(
        said["content"],
        "<user_guidance>\nfaster\n\nand kinder\n</user_guidance>"
    );
    for locale in [Locale::En, Locale::Zh] {
        let said = nudge(Some("output/direct_output.md"), locale);
        let text = said["content"].as_str().unwrap();
        assert!(text.contains("output/direct_output.md") && text.contains("workspace.finish"));
        let without = nudge(None, locale);
        assert!(!without["content"].as_str().unwrap().contains(".md"));
    }
}

#[test]
fn tools_that_come_later_follow_the_observations() {
    let observed = json!({"role": "user", "content": "Observation: found"});
    let answered = json!({"role": "tool", "tool_call_id": "x", "content": "found"});
    for (before, tools, expected) in [
        (vec![observed.clone()], "", vec![observed.clone()]),
        (
            vec![observed],
            "Tools: a",
            vec![json!({"role": "user", "content": "Observation: found\n\nTools: a"})],
        ),
        (
            vec![answered.clone()],
            "Tools: a",
            vec![answered, json!({"role": "user", "content": "Tools: a"})],
        ),
        (
            vec![],
            "Tools: a",
            vec![json!({"role": "user", "content": "Tools: a"})],
        ),
    ] {
        let mut messages = before;
        with_tools(&mut messages, tools);
        assert_eq!(messages, expected);
    }
}
