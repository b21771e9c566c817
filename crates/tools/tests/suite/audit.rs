//! The audit log: one row for each call and each refusal, however it ended.

use innkeeper_store::AuditOutcome::{self, Cancelled, Denied, Error, Skipped, Started, Success};
use innkeeper_store::{AuditDecision, AuditRecord};
use innkeeper_tools::{
    BudgetLimits, Caller, Pattern, Reach, Redactor, RunOptions, Secret, ToolRun,
};
use serde_json::json;

use super::harness::{World, say, tam};
use super::tools::SECRET;

fn rows(audit: &[AuditRecord]) -> Vec<(&str, AuditOutcome, Option<&str>)> {
    let row = |record: &'_ AuditRecord| record.entry.outcome;
    audit
        .iter()
        .map(|record| {
            let entry = &record.entry;
            (
                entry.tool.as_str(),
                row(record),
                entry.error_code.as_deref(),
            )
        })
        .collect()
}

fn limited(world: &World) -> ToolRun {
    let reach = Reach {
        allow: vec![Pattern::new("*")],
        deny: vec![Pattern::new("Big")],
    };
    let options = RunOptions {
        budget: BudgetLimits {
            max_calls: Some(1),
            ..BudgetLimits::default()
        },
        ..RunOptions::default()
    };
    world
        .manager
        .begin(Caller::agent("tester", "r".into(), reach), options)
}

#[tokio::test]
async fn every_way_in_which_a_call_can_end_is_one_row() {
    for (text, expected) in [
        ("command: Echo", vec![("Echo", Success, None)]),
        ("command: echo", vec![("Echo", Success, None)]),
        (
            "command: Fail",
            vec![("Fail", Error, Some("tool.execution_failed"))],
        ),
        (
            "command: Panic",
            vec![("Panic", Error, Some("tool.execution_failed"))],
        ),
        (
            "command: Nobody.Knows",
            vec![("Nobody.Knows", Error, Some("tool.unknown"))],
        ),
        (
            "command: Echo\n txet: x",
            vec![("Echo", Error, Some("tool.invalid_arguments"))],
        ),
        (
            "command: Echo\n text: @{step_1.result}",
            vec![("Echo", Error, Some("tool.reference_unresolved"))],
        ),
        (
            "command: Echo\n uri_text: no/file",
            vec![("Echo", Error, Some("workspace.file_not_found"))],
        ),
        (
            "command: Big\n chars: 1",
            vec![("Big", Denied, Some("tool.policy_denied"))],
        ),
        (
            "command_1: Echo\n command_2: Echo",
            vec![
                ("Echo", Success, None),
                ("Echo", Denied, Some("tool.budget_exhausted")),
            ],
        ),
        (
            "command: Fail\n how: denied",
            vec![("Fail", Denied, Some("tool.policy_denied"))],
        ),
        (
            "command: Fail\n times: 2\n of: 3\n retry: 2",
            vec![("Fail", Success, None)],
        ),
        (
            "command: Big\n chars: 99999",
            vec![("Big", Denied, Some("tool.policy_denied"))],
        ),
    ] {
        let world = World::new().await;
        say(&limited(&world), &tam(text)).await;
        assert_eq!(rows(&world.audit().await), expected, "{text}");
    }
}

#[tokio::test]
async fn a_row_says_who_what_how_long_and_why() {
    let world = World::new().await;
    say(
        &world.run("r-7"),
        &tam("request_id: q\n command: Echo\n text: hello"),
    )
    .await;
    let audit = world.audit().await;
    let entry = &audit[0].entry;
    assert_eq!(
        (entry.user.as_str(), entry.actor.as_str()),
        ("default", "agent:tester")
    );
    assert_eq!(
        (entry.project.as_str(), entry.run.as_str()),
        ("default", "r-7")
    );
    assert_eq!(entry.request_id.as_deref(), Some("q"));
    assert_eq!(entry.source, "plugin:test");
    assert_eq!(entry.arguments, json!({"text": "hello"}));
    assert_eq!(entry.decision, AuditDecision::Allow);
    assert!(entry.rule.as_deref().is_some_and(|rule| !rule.is_empty()));
    assert_eq!((entry.attempts, entry.result_chars), (1, 5));
    assert!(entry.duration_us > 0);
    assert!(entry.call_id.starts_with("call_"));
}

#[tokio::test]
async fn a_task_is_begun_and_ended() {
    let world = World::new().await;
    world.open("a");
    let run = world.run("r");
    say(&run, &tam("command: Gate.Async\n gate: a")).await;
    run.settle().await;
    let audit = world.audit().await;
    let found = rows(&audit);
    assert!(found.contains(&("Gate.Async", Started, None)), "{found:?}");
    assert!(found.contains(&("Gate.Async", Success, None)), "{found:?}");
    assert_eq!(found.len(), 2);
    assert_eq!(audit[0].entry.call_id, audit[1].entry.call_id);
}

#[tokio::test]
async fn a_run_that_is_dropped_or_stopped_leaves_its_row() {
    for dropped in [true, false] {
        let world = World::new().await;
        let run = world.run("r");
        let text = tam("command: Gate.Sync\n gate: a");
        let mut running = Box::pin(say(&run, &text));
        world.until_at("a", &mut running).await;
        match dropped {
            true => drop(running),
            false => {
                run.stop();
                running.await;
            }
        }
        let audit = world.audit().await;
        assert_eq!(audit.len(), 1);
        assert_eq!(audit[0].entry.outcome, Cancelled);
        assert_eq!(audit[0].entry.arguments, json!({"gate": "a"}));
    }
}

#[tokio::test]
async fn a_skipped_step_is_a_row() {
    let world = World::new().await;
    world.say(&tam("command_1: Fail\n command_2: Echo")).await;
    let audit = world.audit().await;
    assert_eq!(
        rows(&audit),
        [
            ("Fail", Error, Some("tool.execution_failed")),
            ("Echo", Skipped, Some("tool.skipped")),
        ]
    );
}

#[tokio::test]
async fn a_conflict_of_request_ids_is_a_row() {
    let world = World::new().await;
    let run = world.run("r");
    say(&run, &tam("request_id: a\n command: Echo")).await;
    say(&run, &tam("request_id: a\n command: Json\n value: 1")).await;
    let audit = world.audit().await;
    assert_eq!(audit.len(), 2);
    assert_eq!(
        audit[1].entry.error_code.as_deref(),
        Some("protocol.request_id_conflict")
    );
}

#[tokio::test]
async fn a_block_that_is_refused_whole_is_a_row_for_each_call() {
    let world = World::new().await;
    world
        .say(&tam(
            "command_1: Echo\n command_2: Echo\n text_2: a\n uri_text_2: b",
        ))
        .await;
    assert_eq!(world.audit().await.len(), 2);
}

#[tokio::test]
async fn a_call_that_is_stopped_while_it_waits_is_a_row() {
    let world = World::new().await;
    let run = world.run("r");
    let text =
        tam("command_1: Gate.Async\n gate_1: a\n command_2: Echo\n text_2: @{step_1.result}");
    let mut running = Box::pin(say(&run, &text));
    world.until_at("a", &mut running).await;
    world.still_waits(&mut running).await;
    run.stop();
    running.await;
    run.settle().await;
    let audit = world.audit().await;
    assert!(
        audit
            .iter()
            .any(|row| row.entry.tool == "Echo" && row.entry.outcome == Cancelled),
        "{:?}",
        rows(&audit)
    );
}

#[tokio::test]
async fn a_refused_call_keeps_what_it_asked_for() {
    for text in [
        "command: Nobody.Knows\n file: a.txt",
        "command: Big\n file: a.txt",
        "command: Echo\n text: a.txt\n x: @{step_1.result}",
    ] {
        let world = World::new().await;
        say(&limited(&world), &tam(text)).await;
        let arguments = world.audit().await[0].entry.arguments.to_string();
        assert!(arguments.contains("a.txt"), "{text}: {arguments}");
    }
}

#[tokio::test]
async fn what_was_asked_again_is_not_done_again_nor_logged_as_done() {
    let world = World::new().await;
    let run = world.run("r");
    for _ in 0..3 {
        say(&run, &tam("request_id: a\n command: Echo")).await;
    }
    let audit = world.audit().await;
    assert_eq!(audit.iter().filter(|row| row.entry.attempts > 0).count(), 1);
}

#[tokio::test]
async fn secrets_are_not_kept() {
    let world = World::new().await;
    let secret = Secret::new(SECRET);
    let known = std::iter::once(("key".to_owned(), &secret));
    world.manager.set_redactor(Redactor::new(known));
    let parameters = super::harness::object(
        json!({
            "password": {"type": "string"},
            "pin": {"type": "string", "x-secret": true},
            "login": {"type": "object", "properties": {"token": {"type": "string"}}},
        }),
        &[],
    );
    let tool = world.tool(
        "Login",
        innkeeper_protocol::ExecutionMode::Sync,
        parameters,
        |_, _| Box::pin(async { Ok(json!(null)) }),
    );
    world.offer("plugin:login", vec![tool]);
    for text in [
        format!("command: Echo\n text: {SECRET}"),
        format!("command: Echo\n txet: {SECRET}"),
        format!("command: Echo\n n: {SECRET}"),
        format!("command: {SECRET}"),
        "command: Leak\n how: error".to_owned(),
        "command: Login\n password: open sesame\n pin: 1234567\n type_hint_login: json\n login: {\"token\": \"tok-tok\"}".to_owned(),
    ] {
        world.say(&tam(&text)).await;
    }
    let audit = world.audit().await;
    assert_eq!(audit.len(), 6);
    for row in &audit {
        let kept = serde_json::to_string(&row.entry).unwrap();
        for hidden in [SECRET, "open sesame", "1234567", "tok-tok"] {
            assert!(!kept.contains(hidden), "{kept}");
        }
    }
}

#[tokio::test]
async fn a_wrong_value_of_a_secret_parameter_is_not_kept() {
    let world = World::new().await;
    let parameters = super::harness::object(
        json!({
            "pin": {"type": "integer", "x-secret": true},
            "password": {"type": "string", "maxLength": 4},
        }),
        &[],
    );
    let tool = world.tool(
        "Login",
        innkeeper_protocol::ExecutionMode::Sync,
        parameters,
        |_, _| Box::pin(async { Ok(json!(null)) }),
    );
    world.offer("plugin:login", vec![tool]);
    world.say(&tam("command: Login\n pin: sesame")).await;
    world.say(&tam("command: Login\n password: sesame")).await;
    for row in &world.audit().await {
        let kept = serde_json::to_string(&row.entry).unwrap();
        assert!(!kept.contains("sesame"), "{kept}");
    }
}

/// However a message shortens or escapes what it quotes.
#[tokio::test]
async fn a_quoted_secret_is_not_kept_in_another_form() {
    for (written, telling) in [
        ("open-sesame-".repeat(40), "open-sesame"),
        ("open\"sesame\\mine".to_owned(), "sesame"),
        ("{\"deep\": \"sesame\"}".to_owned(), "sesame"),
    ] {
        let world = World::new().await;
        let parameters = super::harness::object(
            json!({
                "password": {"type": "string", "maxLength": 4},
                "token": {"type": "integer"},
                "secret": {"type": "object", "additionalProperties": {"type": "integer"}},
            }),
            &[],
        );
        let mode = innkeeper_protocol::ExecutionMode::Sync;
        let tool = world.tool("Login", mode, parameters, |_, _| {
            Box::pin(async { Ok(json!(null)) })
        });
        world.offer("plugin:login", vec![tool]);
        for name in ["password", "token", "secret"] {
            world
                .say(&tam(&format!("command: Login\n {name}: {written}")))
                .await;
        }
        let audit = world.audit().await;
        assert_eq!(audit.len(), 3);
        for row in &audit {
            let kept = serde_json::to_string(&row.entry).unwrap();
            assert!(!kept.contains(telling), "{kept}");
        }
    }
}

#[tokio::test]
async fn a_secret_on_the_cut_is_not_kept() {
    use innkeeper_tools::limits::MAX_AUDIT_NAME_CHARS;
    let world = World::new().await;
    let secret = Secret::new(SECRET);
    let known = std::iter::once(("key".to_owned(), &secret));
    world.manager.set_redactor(Redactor::new(known));
    let half = SECRET.get(..SECRET.len() / 2).unwrap();
    let name = format!("{}{SECRET}", "x".repeat(MAX_AUDIT_NAME_CHARS - half.len()));
    world.say(&tam(&format!("command: {name}"))).await;
    let kept = serde_json::to_string(&world.audit().await[0].entry).unwrap();
    assert!(!kept.contains(half), "{kept}");
}

#[tokio::test]
async fn the_log_is_intact() {
    let world = World::new().await;
    world
        .say(&tam("command_1: Echo\n command_2: Fail\n command_3: Echo"))
        .await;
    world.audit().await;
    let checked = world.manager.store().audit().verify().await.unwrap();
    assert!(checked.is_intact(), "{checked:?}");
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_done() {
    let world = World::new().await;
    world.say(&tam("command: Echo")).await;
    world.manager.store().clone().close().await.unwrap();
    for _ in 0..3 {
        world.say(&tam("command: Echo")).await;
    }
    // The first one found out.
    assert!(world.ran().len() <= 2, "{:?}", world.ran());
    let said = world.say(&tam("command: Echo")).await;
    assert_eq!(super::harness::codes(&said), ["tool.unavailable"]);
}

/// What came in by reference is written down with where it came from.
#[tokio::test]
async fn a_file_that_was_read_for_a_call_is_named() {
    let world = World::new().await;
    world.write("a.txt", "content").await;
    world.say(&tam("command: Echo\n uri_text: a.txt")).await;
    let rows = world.audit().await;
    let expected = json!({"text": "content", "uri_text": "a.txt"});
    assert_eq!(rows[0].entry.arguments, expected);
}
