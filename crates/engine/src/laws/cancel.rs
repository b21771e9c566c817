//! A run that is stopped, at whatever moment, leaves nothing behind.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::events::check_order;
use super::graph::{Seeds, build, seeds};
use super::nodes::{Watch, engine};
use super::results::options;
use crate::port::Services;
use crate::testing::{Graph, heard};
use crate::{EngineOptions, ExecutionStatus, RunOptions};

/// How a run is ended before its time.
#[derive(Debug, Clone, Copy)]
enum How {
    Interrupted,
    OutOfTime,
}

/// What chance has made, and beside it what never ends: alone, in a loop, and in a loop in a loop.
fn endless(seeds: &Seeds) -> Graph {
    let (workflow, _) = build(seeds);
    Graph((*workflow).clone())
        .node("x1", "law:Endless")
        .node("x2", "core:LoopZone")
        .node("x3", "law:Endless")
        .inside("x2")
        .node("x4", "core:LoopZone")
        .inside("x2")
        .node("x5", "law:Endless")
        .inside("x4")
        .node("x6", "law:MixTask")
        .config(json!({"ms": 3}))
        .inside("x4")
        .edges("x6.x > x5.after")
}

async fn check(seeds: &Seeds, after: Duration, how: How) {
    let engine = engine(EngineOptions::default());
    let (_, shelf) = build(seeds);
    let prepared = engine.prepare(&Arc::new(endless(seeds).0), &shelf);
    let Some(plan) = prepared.plan else {
        return;
    };
    let watch = Arc::new(Watch::default());
    let mut subscription = engine.subscribe();
    let options = RunOptions {
        services: Services {
            host: Some(Arc::new(watch.clone())),
            ..Services::default()
        },
        timeout: matches!(how, How::OutOfTime).then_some(after),
        ..options()
    };
    let execution = engine.start(&plan, options).unwrap();
    let expected = match how {
        How::OutOfTime => ExecutionStatus::Error,
        How::Interrupted => {
            tokio::time::sleep(after).await;
            execution.interrupt();
            ExecutionStatus::Interrupted
        }
    };
    let limit = Duration::from_secs(3_600);
    let outcome = tokio::time::timeout(limit, execution.outcome()).await;
    let outcome = outcome.expect("the run ends");
    assert_eq!(
        watch.alive.load(Ordering::SeqCst),
        0,
        "something still runs"
    );
    assert_eq!(outcome.status, expected, "{outcome:?}");
    check_order(&heard(&mut subscription), false);
}

fn run(cases: u32, runtime: &tokio::runtime::Runtime) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let how = prop_oneof![Just(How::Interrupted), Just(How::OutOfTime)];
    let end = runner.run(&(seeds(14), 0u64..30, how), |(seeds, after, how)| {
        runtime.block_on(check(&seeds, Duration::from_millis(after), how));
        Ok(())
    });
    end.unwrap();
}

#[test]
fn nothing_keeps_running_after_the_end() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    run(
        150,
        &builder.enable_all().start_paused(true).build().unwrap(),
    );
}

#[test]
fn nothing_keeps_running_after_the_end_on_many_threads() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    run(30, &builder.worker_threads(4).enable_all().build().unwrap());
}
