//! `retry`: what is tried again, how often, and after which pauses. The tool stops the clock while it fails.

use std::sync::{Arc, Mutex};

use innkeeper_protocol::ExecutionMode;
use innkeeper_tools::ToolError;
use innkeeper_tools::limits::MIN_BACK_OFF;
use serde_json::json;
use tokio::time::Instant;

use super::harness::{World, codes, object, say, tam, told};

#[tokio::test]
async fn only_what_a_retry_can_mend_is_tried_again() {
    for (fields, attempts, code) in [
        ("times_1: 1", 1, "tool.execution_failed"),
        ("times_1: 1\n retry_1: 0", 1, "tool.execution_failed"),
        ("times_1: 1\n retry_1: 1\n of_1: 2", 2, "ok"),
        (
            "times_1: 9\n retry_1: 3\n of_1: 4",
            4,
            "tool.execution_failed",
        ),
        ("times_1: 10\n retry_1: 10\n of_1: 11", 11, "ok"),
        (
            "how_1: unavailable\n retry_1: 2\n of_1: 3",
            3,
            "tool.unavailable",
        ),
        ("how_1: invalid\n retry_1: 5", 1, "tool.invalid_arguments"),
        ("how_1: denied\n retry_1: 5", 1, "tool.policy_denied"),
        ("how_1: permanent\n retry_1: 5", 1, "tool.execution_failed"),
        ("hwo_1: misspelt\n retry_1: 5", 0, "tool.invalid_arguments"),
    ] {
        let world = World::new().await;
        let said = world.say(&tam(&format!("command_1: Fail\n{fields}"))).await;
        assert_eq!(codes(&said), [code], "{fields}: {:?}", told(&said));
        assert_eq!(world.ran().len(), attempts, "{fields}");
        let row = &world.audit().await[0].entry;
        assert_eq!(row.attempts as usize, attempts, "{fields}");
    }
}

#[tokio::test]
async fn an_unnumbered_retry_works_in_a_block_of_one() {
    let world = World::new().await;
    let said = world
        .say(&tam("command: Fail\n times: 1\n of: 2\n retry: 1"))
        .await;
    assert_eq!(
        told(&said),
        ["Observation: Tool Fail executed successfully. Result: attempt 2"]
    );
}

type Attempts = Arc<Mutex<Vec<(Instant, String)>>>;

/// Fails seven times, and remembers when it was called, and as which call.
async fn eight_attempts(mode: ExecutionMode) -> Vec<(Instant, String)> {
    let world = World::new().await;
    let attempts = Attempts::default();
    let noted = attempts.clone();
    let stubborn = world.tool("Stubborn", mode, object(json!({}), &[]), move |_, call| {
        let noted = noted.clone();
        Box::pin(async move {
            let mut noted = noted.lock().unwrap();
            noted.push((Instant::now(), call.context.call_id));
            match call.context.attempt {
                1 => tokio::time::pause(),
                8 => tokio::time::resume(),
                _ => {}
            }
            match call.context.attempt {
                8 => Ok(json!("at last")),
                _ => Err(ToolError::failed("not yet")),
            }
        })
    });
    world.offer("plugin:stubborn", vec![stubborn]);
    let run = world.run("r");
    say(&run, &tam("command_1: Stubborn\n retry_1: 9")).await;
    run.settle().await;
    attempts.lock().unwrap().clone()
}

#[tokio::test]
async fn pauses_double_with_some_chance_in_them() {
    let attempts = eight_attempts(ExecutionMode::Sync).await;
    assert_eq!(attempts.len(), 8);
    let mut shares = Vec::new();
    let mut most = MIN_BACK_OFF;
    for pair in attempts.windows(2) {
        let pause = pair[1].0 - pair[0].0;
        // The timer counts whole milliseconds.
        let share = pause.as_secs_f64() / most.as_secs_f64();
        assert!((0.49..1.01).contains(&share), "{pause:?} of {most:?}");
        shares.push(share);
        most *= 2;
    }
    // Seven times almost the whole pause: once in a hundred million runs.
    assert!(shares.iter().any(|share| *share < 0.97), "{shares:?}");
}

#[tokio::test]
async fn all_attempts_are_one_call() {
    let attempts = eight_attempts(ExecutionMode::Sync).await;
    assert!(attempts.iter().all(|(_, call)| *call == attempts[0].1));
}

#[tokio::test]
async fn a_task_tries_again_as_its_step_was_told() {
    assert_eq!(eight_attempts(ExecutionMode::Async).await.len(), 8);
}

#[tokio::test]
async fn a_call_that_ran_out_of_time_is_tried_again() {
    let world = World::new().await;
    let slow = world.tool(
        "Slow",
        ExecutionMode::Sync,
        object(json!({}), &[]),
        |_, call| {
            Box::pin(async move {
                match call.context.attempt {
                    1 => {
                        tokio::time::pause();
                        std::future::pending().await
                    }
                    _ => {
                        tokio::time::resume();
                        Ok(json!("in time"))
                    }
                }
            })
        },
    );
    world.offer("plugin:slow", vec![slow]);
    let said = world.say(&tam("command: Slow\n retry: 1")).await;
    assert_eq!(codes(&said), ["ok"]);
    assert_eq!(world.events(), ["begin Slow", "begin Slow", "end Slow"]);
}
