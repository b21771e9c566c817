//! Rules and people: what is decided where, who is asked about what, and what an answer is good for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_store::{AuditDecision, AuditOutcome, Store};
use innkeeper_tools::policy::{Answer, ApprovalRequest, Approver, Nobody, Policy};
use innkeeper_tools::{BudgetLimits, Redactor, RunOptions, Secret};
use serde_json::{Value as Json, json};

use super::harness::{World, codes, object, say, tam, told};
use super::tools::SECRET;

/// A person who has made up their mind, and then says nothing more.
#[derive(Default)]
struct Person {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<Json>>,
}

#[async_trait]
impl Approver for Person {
    async fn ask(&self, request: &ApprovalRequest) -> Answer {
        let question = serde_json::to_value(request).unwrap();
        self.asked.lock().unwrap().push(question);
        let answer = self.answers.lock().unwrap().pop_front();
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

fn no(reason: &str) -> Answer {
    Answer::Deny {
        reason: reason.to_owned(),
    }
}

async fn with_person(answers: impl Into<VecDeque<Answer>>) -> (World, Arc<Person>) {
    let person = Arc::new(Person {
        answers: Mutex::new(answers.into()),
        ..Person::default()
    });
    let world = World::with(Store::in_memory().await.unwrap(), person.clone());
    rules(
        &world,
        json!([{"tool": "Echo", "decision": "ask", "reason": "echoes carry far"}]),
    );
    (world, person)
}

fn rules(world: &World, rules: Json) {
    let rules = rules.as_array().unwrap().clone();
    world.manager.set_policy(Policy::read(rules).unwrap());
}

const ECHO: &str = "command: Echo\n text: hello";

#[tokio::test]
async fn what_the_rules_say_is_done() {
    let deny = "tool.policy_denied";
    let asked = "tool.approval_denied";
    for (written, call, code) in [
        (json!([]), ECHO, "ok"),
        (json!([{"tool": "Echo", "decision": "deny"}]), ECHO, deny),
        (json!([{"tool": "E*", "decision": "deny"}]), ECHO, deny),
        (json!([{"tool": "echo", "decision": "deny"}]), ECHO, deny),
        (
            json!([{"tool": "Echo", "decision": "deny"}]),
            "command: eCHO\n text: hello",
            deny,
        ),
        (json!([{"tool": "Json", "decision": "deny"}]), ECHO, "ok"),
        (
            json!([{"source": "plugin:*", "decision": "deny"}]),
            ECHO,
            deny,
        ),
        (
            json!([{"actor": "agent:tester", "tool": "*", "decision": "deny"}]),
            ECHO,
            deny,
        ),
        (
            json!([{"actor": "agent:other", "tool": "*", "decision": "deny"}]),
            ECHO,
            "ok",
        ),
        (
            json!([{"actor": "person", "tool": "*", "decision": "deny"}]),
            ECHO,
            "ok",
        ),
        (json!([{"tool": "Echo", "decision": "ask"}]), ECHO, asked),
        // The more specific one wins; among equals the stricter one.
        (
            json!([{"tool": "*", "decision": "deny"}, {"tool": "Echo", "decision": "allow"}]),
            ECHO,
            "ok",
        ),
        (
            json!([{"tool": "Echo", "decision": "allow"}, {"tool": "Echo", "decision": "deny"}]),
            ECHO,
            deny,
        ),
        (
            json!([{"tool": "Echo", "arguments": {"text": "hell*"}, "decision": "deny"}]),
            ECHO,
            deny,
        ),
        (
            json!([{"tool": "Echo", "arguments": {"text": "other"}, "decision": "deny"}]),
            ECHO,
            "ok",
        ),
        // What nobody wrote a rule for.
        (json!([]), "command: File.Delete\n file_path: a.txt", asked),
        (json!([]), "command: File.Stat\n file_path: a.txt", "ok"),
        (json!([]), "command: Mcp", asked),
        (json!([]), "command: Stray", deny),
    ] {
        let world = World::new().await;
        world.write("a.txt", "x").await;
        for (id, source) in [("Mcp", "mcp:somewhere"), ("Stray", "")] {
            let mut definition = ToolDefinition::new(id, "", object(json!({}), &[]));
            definition.source = source.to_owned();
            let tool = world.defined(definition, |_, _| Box::pin(async { Ok(json!(null)) }));
            world.offer(id, vec![tool]);
        }
        rules(&world, written.clone());
        let said = world.say(&tam(call)).await;
        assert_eq!(codes(&said), [code], "{written} {call}: {:?}", told(&said));
    }
}

#[tokio::test]
async fn a_rule_about_a_place_holds_in_every_spelling() {
    for path in [
        "fam://secret/a.txt",
        "user://projects/secret/a.txt",
        "fam://user/projects/secret/a.txt",
        "fam://secret/x/../a.txt",
        "FAM://secret/./a.txt",
    ] {
        let world = World::new().await;
        world.write("fam://secret/a.txt", "hidden").await;
        rules(
            &world,
            json!([{"tool": "File.*", "arguments": {"file_path": "fam://secret/*"}, "decision": "deny"}]),
        );
        let said = world
            .say(&tam(&format!("command: File.Read\n file_path: {path}")))
            .await;
        assert_eq!(
            codes(&said),
            ["tool.policy_denied"],
            "{path}: {:?}",
            told(&said)
        );
        let said = world
            .say(&tam("command: File.List\n path: fam://other"))
            .await;
        assert_ne!(codes(&said), ["tool.policy_denied"]);
    }
}

#[tokio::test]
async fn a_refusal_says_why_and_is_never_tried_again() {
    let world = World::new().await;
    rules(
        &world,
        json!([{"name": "quiet hours", "tool": "Echo", "decision": "deny", "reason": "it is late"}]),
    );
    let said = world.say(&tam("command: Echo\n retry: 5")).await;
    assert!(told(&said)[0].contains("it is late"), "{:?}", told(&said));
    assert!(world.ran().is_empty());
    let audit = world.audit().await;
    let entry = &audit[0].entry;
    assert_eq!(
        (audit.len(), entry.outcome, entry.attempts),
        (1, AuditOutcome::Denied, 0)
    );
    assert_eq!(
        (entry.decision, entry.rule.as_deref()),
        (AuditDecision::Deny, Some("quiet hours"))
    );
}

#[tokio::test]
async fn where_nobody_is_the_answer_is_no_with_a_remedy() {
    let world = World::new().await;
    rules(&world, json!([{"tool": "Echo", "decision": "ask"}]));
    let said = told(&world.say(&tam(ECHO)).await);
    assert!(
        said[0].starts_with("Observation: Error - Tool Echo was denied"),
        "{said:?}"
    );
    assert!(said[0].contains("policy.rules"), "{said:?}");
}

#[tokio::test]
async fn a_person_sees_what_would_be_done() {
    let (world, person) = with_person([Answer::Once]).await;
    let said = world
        .say(&tam(&format!("common_x: there\n {ECHO} @{{common_x}}")))
        .await;
    assert_eq!(codes(&said), ["ok"]);
    let asked = person.asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["tool"], "Echo");
    assert_eq!(
        asked[0]["arguments"],
        json!({"text": "hello there", "x": "there"})
    );
    assert_eq!(asked[0]["reason"], "echoes carry far");
    assert_eq!(asked[0]["caller"]["actor"], "agent:tester");
    assert_eq!(asked[0]["run"], "run-1");
}

#[tokio::test]
async fn a_person_is_shown_no_secret() {
    let (world, person) = with_person([Answer::Once]).await;
    let secret = Secret::new(SECRET);
    let known = std::iter::once(("key".to_owned(), &secret));
    world.manager.set_redactor(Redactor::new(known));
    world
        .say(&tam(&format!("command: Echo\n text: {SECRET}")))
        .await;
    let asked = person.asked.lock().unwrap()[0].to_string();
    assert!(!asked.contains(SECRET), "{asked}");
    // The tool gets what was written.
    assert_eq!(world.echoed(), [SECRET]);
}

#[tokio::test]
async fn nobody_is_asked_about_what_cannot_run() {
    let (world, person) = with_person([]).await;
    for text in [
        "command: Echo\n txet: x",
        "command: Echo\n uri_text: no/file",
        "command: Echoo",
    ] {
        world.say(&tam(text)).await;
    }
    assert!(person.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn how_far_an_answer_reaches() {
    // Calls: twice in one run, once in another. How often is a person asked?
    for (answer, questions, by) in [
        (Answer::Once, 3, ["once", "once", "once"]),
        (Answer::Run, 2, ["run", "run", "run"]),
        (Answer::Always, 1, ["always", "always", "always"]),
    ] {
        let (world, person) = with_person(vec![answer.clone(); 3]).await;
        let (first, second) = (world.run("a"), world.run("b"));
        for run in [&first, &first, &second] {
            assert_eq!(codes(&say(run, &tam(ECHO)).await), ["ok"]);
        }
        assert_eq!(person.asked.lock().unwrap().len(), questions, "{answer:?}");
        let audit = world.audit().await;
        let approved: Vec<_> = audit
            .iter()
            .map(|row| row.entry.approved_by.clone().unwrap())
            .collect();
        assert_eq!(approved, by);
        assert!(
            audit
                .iter()
                .all(|row| row.entry.decision == AuditDecision::Ask)
        );
    }
}

#[tokio::test]
async fn a_refusal_by_a_person_is_told_and_logged() {
    let (world, person) = with_person([no("not before breakfast")]).await;
    let said = world
        .say(&tam(
            "command_1: Echo\n retry_1: 3\n command_2: Json\n value_2: 1",
        ))
        .await;
    assert_eq!(codes(&said), ["tool.approval_denied", "tool.skipped"]);
    assert_eq!(
        told(&said)[0],
        "Observation: Error - Tool Echo was denied: not before breakfast"
    );
    assert_eq!(person.asked.lock().unwrap().len(), 1);
    let entry = &world.audit().await[0].entry;
    assert_eq!(
        (entry.outcome, entry.decision),
        (AuditOutcome::Denied, AuditDecision::Ask)
    );
    assert_eq!(entry.approved_by.as_deref(), Some("person"));
    assert_eq!(entry.error_code.as_deref(), Some("tool.approval_denied"));
}

#[tokio::test]
async fn a_refused_call_costs_nothing_and_takes_no_id() {
    let (world, _) = with_person([no("no"), Answer::Once]).await;
    let run = world.run_with(
        "r",
        RunOptions {
            budget: BudgetLimits {
                max_calls: Some(1),
                ..BudgetLimits::default()
            },
            ..RunOptions::default()
        },
    );
    let text = tam(&format!("request_id: a\n {ECHO}"));
    assert_eq!(codes(&say(&run, &text).await), ["tool.approval_denied"]);
    assert_eq!(codes(&say(&run, &text).await), ["ok"]);
    assert_eq!(
        codes(&say(&run, &tam("command: Json\n value: 1")).await),
        ["tool.budget_exhausted"]
    );
}

#[tokio::test]
async fn always_outlives_the_process_and_no_overrules_it() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store.db");
    let person = Arc::new(Person {
        answers: Mutex::new([Answer::Always].into()),
        ..Person::default()
    });
    let ask = json!([{"name": "n", "tool": "Echo", "decision": "ask"}]);
    let before = World::with(Store::open(&path).await.unwrap(), person);
    rules(&before, ask.clone());
    assert_eq!(codes(&before.say(&tam(ECHO)).await), ["ok"]);
    before.manager.store().clone().close().await.unwrap();

    let after = World::with(Store::open(&path).await.unwrap(), Arc::new(Nobody));
    rules(&after, ask);
    assert_eq!(codes(&after.say(&tam(ECHO)).await), ["ok"]);
    rules(
        &after,
        json!([{"name": "n", "tool": "Echo", "decision": "deny"}]),
    );
    assert_eq!(codes(&after.say(&tam(ECHO)).await), ["tool.policy_denied"]);
}

#[tokio::test]
async fn a_new_policy_holds_for_the_next_call_of_a_running_block() {
    let world = World::new().await;
    let run = world.run("r");
    let text = tam("command_1: Gate.Sync\n gate_1: a\n command_2: Echo");
    let mut running = Box::pin(say(&run, &text));
    world.until_at("a", &mut running).await;
    rules(&world, json!([{"tool": "Echo", "decision": "deny"}]));
    world.open("a");
    assert_eq!(codes(&running.await), ["ok", "tool.policy_denied"]);
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_allows_nothing() {
    let world = World::new().await;
    world
        .manager
        .set_policy(Policy::closed("a bracket is missing"));
    assert_eq!(codes(&world.say(&tam(ECHO)).await), ["tool.policy_denied"]);
    for bad in [
        json!({"decision": "allow"}),
        json!({"tool": "x", "decision": "maybe"}),
        json!({"tool": "x", "decision": "deny", "tolo": "x"}),
        json!({"tool": "", "decision": "deny"}),
        json!({"tool": "x"}),
    ] {
        assert!(Policy::read(vec![bad.clone()]).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn stopping_the_run_withdraws_the_question() {
    let (world, person) = with_person([]).await;
    let run = world.run("r");
    let text = tam(ECHO);
    let mut running = Box::pin(say(&run, &text));
    world.still_waits(&mut running).await;
    assert_eq!(person.asked.lock().unwrap().len(), 1);
    run.stop();
    assert_eq!(codes(&running.await), ["tool.cancelled"]);
    assert!(world.ran().is_empty());
    assert_eq!(
        world.audit().await[0].entry.outcome,
        AuditOutcome::Cancelled
    );
}

#[tokio::test]
async fn an_async_tool_is_asked_about_before_it_starts() {
    let (world, _) = with_person([no("no")]).await;
    rules(&world, json!([{"tool": "Gate.Async", "decision": "ask"}]));
    let run = world.run("r");
    let said = say(&run, &tam("command: Gate.Async\n gate: a")).await;
    assert_eq!(codes(&said), ["tool.approval_denied"]);
    assert!(run.tasks().is_empty());
}

/// `uri_x` reads a file, so the rules about reading files hold, whatever tool is called.
#[tokio::test]
async fn what_may_not_be_read_comes_in_by_no_uri() {
    for (decision, code) in [
        ("deny", "tool.policy_denied"),
        ("ask", "tool.approval_denied"),
        ("allow", "ok"),
    ] {
        for path in ["private/a.txt", "x/../private/a.txt", "private/missing"] {
            let world = World::new().await;
            world.write("private/a.txt", "diary").await;
            let place = json!({"file_path": "user://projects/default/private/*"});
            rules(
                &world,
                json!([{"tool": "File.Read", "arguments": place, "decision": decision}]),
            );
            let said = world
                .say(&tam(&format!("command: Echo\n uri_text: {path}")))
                .await;
            if path.ends_with("missing") && decision == "allow" {
                continue;
            }
            assert_eq!(codes(&said), [code], "{path}: {:?}", told(&said));
            assert_eq!(world.ran().is_empty(), decision != "allow");
            let rows = world.audit().await;
            assert_eq!(rows[0].entry.decision.as_str(), decision);
        }
    }
}

/// The same for a file that the tool is handed.
#[tokio::test]
async fn what_may_not_be_read_is_handed_to_no_tool() {
    let world = World::new().await;
    let parameters = object(json!({"file": {"type": "string", "x-file": true}}), &[]);
    let mode = innkeeper_protocol::ExecutionMode::Sync;
    let tool = world.tool("Count", mode, parameters, |_, _| {
        Box::pin(async { Ok(json!(1)) })
    });
    world.offer("plugin:count", vec![tool]);
    let place = json!({"file_path": "user://projects/default/private/*"});
    rules(
        &world,
        json!([{"tool": "File.Read", "arguments": place, "decision": "deny"}]),
    );
    for (path, code) in [
        ("private/a.txt", "tool.policy_denied"),
        ("public/a.txt", "ok"),
    ] {
        let said = world
            .say(&tam(&format!("command: Count\n file: {path}")))
            .await;
        assert_eq!(codes(&said), [code], "{path}: {:?}", told(&said));
    }
}
