//! What comes out is what the interpreter says, however the nodes are scheduled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::graph::{Seeds, build, seeds};
use super::interpreter::{Result, interpret};
use super::nodes::engine;
use crate::{EngineOptions, ExecutionEngine, ExecutionOutcome, Plan, RunOptions};

fn arguments() -> Map<String, Json> {
    Map::from_iter([("p".to_owned(), json!(8)), ("q".to_owned(), json!("21"))])
}

pub(super) fn options() -> RunOptions {
    RunOptions {
        inputs: arguments(),
        ..RunOptions::default()
    }
}

/// `None` where chance has left a needed input without anything.
pub(super) fn prepare(engine: &ExecutionEngine, seeds: &Seeds) -> Option<(Plan, Result)> {
    let (workflow, shelf) = build(seeds);
    let prepared = engine.prepare(&workflow, &shelf);
    let Some(plan) = prepared.plan else {
        let mut errors = prepared.problems.errors();
        assert!(
            errors.all(|error| ["input.missing", "input.type"].contains(&error.code)),
            "{}",
            prepared.problems
        );
        return None;
    };
    let types = engine.nodes().types();
    Some((plan, interpret(&workflow, &shelf, &types, &arguments())))
}

/// What the interpreter knows of an outcome.
pub(super) fn known(outcome: &ExecutionOutcome) -> (BTreeMap<String, Json>, BTreeSet<String>) {
    let outputs = outcome.outputs_json().into_iter().collect();
    assert_eq!(outcome.failed, outcome.failures.len());
    let failed = outcome.failures.iter().map(|one| one.node.to_string());
    (outputs, failed.collect())
}

fn check(engine: &ExecutionEngine, seeds: &Seeds, runtime: &tokio::runtime::Runtime) {
    let Some((plan, expected)) = prepare(engine, seeds) else {
        return;
    };
    let run = async {
        let limit = Duration::from_secs(3_600);
        tokio::time::timeout(limit, engine.run(&plan, options())).await
    };
    let outcome = runtime.block_on(run).expect("the run ends").unwrap();
    assert_eq!(known(&outcome), (expected.outputs, expected.failed));
}

fn current_thread() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap()
}

fn with(parallel_nodes: usize, cache_bytes: usize) -> ExecutionEngine {
    engine(EngineOptions {
        parallel_nodes,
        cache_bytes,
        ..EngineOptions::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever runs beside it, whatever takes how long: on a paused clock, tasks end in every order.
    #[test]
    fn the_engine_gives_what_the_interpreter_gives(seeds in seeds(24)) {
        let runtime = current_thread();
        for parallel in [1, 2, 256] {
            check(&with(parallel, 0), &seeds, &runtime);
        }
    }
}

#[test]
fn threads_change_nothing() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = Arc::new(builder.worker_threads(4).enable_all().build().unwrap());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let end = runner.run(&seeds(24), |seeds| {
        check(&with(3, 1 << 20), &seeds, &runtime);
        Ok(())
    });
    end.unwrap();
}
