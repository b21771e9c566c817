//! `request_id`: the same id with the same content takes effect once; with other content it is an error.

use std::path::Path;
use std::sync::Arc;

use innkeeper_protocol::Outcome;
use innkeeper_store::Store;
use innkeeper_tools::policy::Nobody;
use innkeeper_tools::{BudgetLimits, RunOptions, ToolRun};

use super::harness::{World, codes, say, soon, tam, told};

const BLOCK: &str =
    "request_id: r-1\n command_1: Echo\n text_1: one\n command_2: Echo\n text_2: two";

#[tokio::test]
async fn the_same_again_gives_the_first_outcome_and_runs_nothing() {
    let world = World::new().await;
    let run = world.run("r");
    let first = say(&run, &tam(BLOCK)).await;
    // Layout and comments are no content.
    let again = BLOCK.replace("\n", "\n comment: x\n");
    for text in [
        tam(BLOCK),
        tam(&again),
        tam(BLOCK)
            .to_uppercase()
            .replace("ONE", "one")
            .replace("TWO", "two")
            .replace("ECHO", "Echo")
            .replace("R-1", "r-1"),
    ] {
        assert_eq!(told(&say(&run, &text).await), told(&first), "{text}");
    }
    assert_eq!(world.echoed(), ["one", "two"]);
}

#[tokio::test]
async fn a_failure_is_an_outcome_too() {
    let world = World::new().await;
    let run = world.run("r");
    let text = tam("request_id: a\n command_1: Fail\n command_2: Echo");
    let first = say(&run, &text).await;
    assert_eq!(say(&run, &text).await, first);
    assert_eq!(world.ran(), ["Fail"]);
}

#[tokio::test]
async fn other_content_under_the_same_id_is_an_error() {
    for other in [
        "request_id: r-1\n command_1: Echo\n text_1: other\n command_2: Echo\n text_2: two",
        "request_id: r-1\n command_1: Echo\n text_1: one",
        "request_id: r-1\n command_1: Echo\n text_1: one\n command_2: Json\n value_2: two",
        "request_id: r-1\n command_1: Echo\n text_1: two\n command_2: Echo\n text_2: one",
        "request_id: r-1\n common_x: new\n command_1: Echo\n text_1: one\n command_2: Echo\n text_2: two",
        "request_id: r-1\n command_1: Echo\n uri_text_1: one\n command_2: Echo\n text_2: two",
    ] {
        let world = World::new().await;
        let run = world.run("r");
        say(&run, &tam(BLOCK)).await;
        let said = say(&run, &tam(other)).await;
        assert!(!said.is_empty(), "{other}");
        for code in codes(&said) {
            assert_eq!(code, "protocol.request_id_conflict", "{other}");
        }
        assert_eq!(world.ran(), ["Echo", "Echo"], "{other}");
    }
}

#[tokio::test]
async fn a_key_that_is_only_referred_to_is_content() {
    let world = World::new().await;
    let run = world.run("r");
    let text = |who: &str| {
        tam(&format!(
            "request_id: a\n who: {who}\n command_1: Echo\n text_1: @{{who}}\n command_2: Echo"
        ))
    };
    say(&run, &text("Ann")).await;
    let said = say(&run, &text("Bob")).await;
    assert!(
        codes(&said).contains(&"protocol.request_id_conflict"),
        "{:?}",
        told(&said)
    );
}

#[tokio::test]
async fn two_at_once_are_one() {
    let world = World::new().await;
    let run = world.run("r");
    let text = tam("request_id: a\n command: Gate.Sync\n gate: a\n result: once");
    let mut first = Box::pin(say(&run, &text));
    world.until_at("a", &mut first).await;
    let mut second = Box::pin(say(&run, &text));
    world.still_waits(&mut second).await;
    let other = tam("request_id: a\n command: Gate.Sync\n gate: b");
    let conflict = soon(say(&run, &other)).await;
    assert_eq!(codes(&conflict), ["protocol.request_id_conflict"]);
    world.open("a");
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first, second);
    assert_eq!(codes(&first), ["ok"]);
    assert_eq!(world.ran(), ["Gate.Sync"]);
}

#[tokio::test]
async fn an_id_is_taken_only_if_a_tool_was_asked() {
    for refused in [
        "request_id: a\n command: Nobody.Knows",
        "request_id: a\n command: Echo\n txet: x",
        "request_id: a\n command: Echo\n text: @{step_1.result}",
        "request_id: a\n command: Echo\n uri_text: not/there",
        "request_id: a\n command: Echo\n retry: 99",
    ] {
        let world = World::new().await;
        let run = world.run("r");
        let said = say(&run, &tam(refused)).await;
        assert!(
            said.iter().any(|one| one.error_code().is_some()),
            "{refused}"
        );
        let said = say(&run, &tam("request_id: a\n command: Echo\n text: right")).await;
        assert_eq!(codes(&said), ["ok"], "{refused}: {:?}", told(&said));
    }
}

#[tokio::test]
async fn a_used_up_budget_takes_no_id() {
    let world = World::new().await;
    let budget = |calls| RunOptions {
        budget: BudgetLimits {
            max_calls: Some(calls),
            ..BudgetLimits::default()
        },
        request_scope: Some("chat".to_owned()),
        ..RunOptions::default()
    };
    let text = tam("request_id: a\n command: Echo");
    let said = say(&world.run_with("r", budget(0)), &text).await;
    assert_eq!(codes(&said), ["tool.budget_exhausted"]);
    assert_eq!(
        codes(&say(&world.run_with("s", budget(1)), &text).await),
        ["ok"]
    );
}

#[tokio::test]
async fn an_id_means_one_thing_in_a_run_or_in_the_scope_it_is_given() {
    let world = World::new().await;
    let text = |word: &str| tam(&format!("request_id: a\n command: Echo\n text: {word}"));
    assert_eq!(codes(&say(&world.run("r"), &text("one")).await), ["ok"]);
    assert_eq!(codes(&say(&world.run("s"), &text("two")).await), ["ok"]);
    let scoped = |run: &str| -> ToolRun {
        world.run_with(
            run,
            RunOptions {
                request_scope: Some("chat".to_owned()),
                ..RunOptions::default()
            },
        )
    };
    assert_eq!(codes(&say(&scoped("t"), &text("three")).await), ["ok"]);
    let said = say(&scoped("u"), &text("four")).await;
    assert_eq!(codes(&said), ["protocol.request_id_conflict"]);
    assert_eq!(world.echoed(), ["one", "two", "three"]);
}

async fn reopened(home: &Path) -> World {
    let store = Store::open(&home.join("store.db")).await.unwrap();
    World::with(store, Arc::new(Nobody))
}

#[tokio::test]
async fn the_outcome_outlives_the_process() {
    let home = tempfile::tempdir().unwrap();
    let before = reopened(home.path()).await;
    let first = say(&before.run("r"), &tam(BLOCK)).await;
    before.manager.store().clone().close().await.unwrap();
    let after = reopened(home.path()).await;
    assert_eq!(say(&after.run("r"), &tam(BLOCK)).await, first);
    assert!(after.ran().is_empty());
    let other = tam("request_id: r-1\n command: Echo");
    let said = say(&after.run("r"), &other).await;
    assert_eq!(codes(&said), ["protocol.request_id_conflict"]);
}

#[tokio::test]
async fn what_was_interrupted_is_not_begun_again() {
    let home = tempfile::tempdir().unwrap();
    let text = tam("request_id: a\n command_1: Echo\n command_2: Gate.Sync\n gate_2: a");
    let before = reopened(home.path()).await;
    let run = before.run("r");
    let mut running = Box::pin(say(&run, &text));
    before.until_at("a", &mut running).await;
    drop(running);
    // In the same process, and after it has gone.
    before.open("a");
    let said = say(&run, &text).await;
    assert_eq!(codes(&said), ["tool.outcome_unknown"; 2]);
    assert!(matches!(said[0].outcome, Outcome::OutcomeUnknown { .. }));
    before.manager.store().clone().close().await.unwrap();
    let after = reopened(home.path()).await;
    assert_eq!(
        codes(&say(&after.run("r"), &text).await),
        ["tool.outcome_unknown"; 2]
    );
    assert!(after.ran().is_empty());
    assert_eq!(before.ran(), ["Echo", "Gate.Sync"]);
}

#[tokio::test]
async fn an_empty_or_endless_id_is_refused() {
    for id in ["", "   ", &"x".repeat(500)] {
        let world = World::new().await;
        let said = world
            .say(&tam(&format!("request_id: {id}\n command: Echo")))
            .await;
        assert_eq!(
            world.ran().len(),
            codes(&said).iter().filter(|code| **code == "ok").count()
        );
        if id.len() == 500 {
            assert_eq!(codes(&said), ["protocol.malformed"]);
        }
    }
}
