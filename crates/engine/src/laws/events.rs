//! What is told of a run is whole, in order, and ends once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::graph::{Seeds, build, seeds};
use super::nodes::engine;
use super::results::{options, prepare};
use crate::testing::heard;
use crate::{EngineOptions, EventBody, ExecutionEvent};

/// Beginnings and ends of each node, those in loops by their turns.
#[derive(Default)]
struct Told {
    executing: BTreeMap<String, u64>,
    ended: BTreeMap<String, u64>,
    skipped: BTreeSet<String>,
}

/// `is_whole`: the run was not interrupted.
pub(super) fn check_order(events: &[Arc<ExecutionEvent>], is_whole: bool) {
    let mut open: BTreeMap<(String, Option<u64>), u64> = BTreeMap::new();
    let mut ends = 0;
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(event.seq, seq, "numbers have no gaps");
        assert_eq!(ends, 0, "nothing comes after the end: {:?}", event.body);
        if let EventBody::Status { status, .. } = &event.body {
            ends += usize::from(status.is_end());
        }
        let Some(node) = event.body.node() else {
            continue;
        };
        let key = (node.info.id.to_string(), node.iteration);
        match &event.body {
            EventBody::NodeExecuting(_) => {
                assert_eq!(open.insert(key.clone(), seq), None, "{key:?} begins twice");
            }
            EventBody::NodeComplete { .. } | EventBody::NodeError { retry: false, .. } => {
                assert!(
                    open.remove(&key).is_some(),
                    "{key:?} ends, and did not begin"
                );
            }
            EventBody::NodeSkipped { .. } => {
                assert!(!open.contains_key(&key), "{key:?} is skipped while it runs");
            }
            _ => {}
        }
    }
    assert_eq!(ends, 1, "there is one end");
    assert!(!is_whole || open.is_empty(), "{open:?} never ended");
}

fn told(events: &[Arc<ExecutionEvent>]) -> Told {
    let mut told = Told::default();
    for event in events {
        let Some(node) = event.body.node().filter(|node| node.iteration.is_none()) else {
            continue;
        };
        let id = node.info.id.to_string();
        match &event.body {
            EventBody::NodeExecuting(_) => drop(told.executing.insert(id, event.seq)),
            EventBody::NodeComplete { .. } | EventBody::NodeError { .. } => {
                told.ended.insert(id, event.seq);
            }
            EventBody::NodeSkipped { .. } => {
                assert!(told.skipped.insert(id), "skipped twice");
            }
            _ => {}
        }
    }
    told
}

fn check(seeds: &Seeds, parallel_nodes: usize, runtime: &tokio::runtime::Runtime) {
    let engine = engine(EngineOptions {
        parallel_nodes,
        ..EngineOptions::default()
    });
    let Some((plan, expected)) = prepare(&engine, seeds) else {
        return;
    };
    let mut subscription = engine.subscribe();
    runtime.block_on(engine.run(&plan, options())).unwrap();
    let events = heard(&mut subscription);
    check_order(&events, true);
    let told = told(&events);
    for skipped in &told.skipped {
        assert!(
            !told.executing.contains_key(skipped),
            "{skipped} was skipped, and ran"
        );
    }
    let ran = expected.ran.iter().chain(&expected.failed);
    for id in ran {
        assert!(
            told.ended.contains_key(id),
            "{id} ran, and nobody heard of it"
        );
    }
    // A node begins after all that it takes from have ended.
    let (workflow, _) = build(seeds);
    for edge in &workflow.edges {
        if let (Some(from), Some(to)) = (
            told.ended.get(&edge.source),
            told.executing.get(&edge.target),
        ) {
            let is_off = |id: &str| workflow.node(id).is_some_and(|node| node.bypassed);
            assert!(from < to || is_off(&edge.target), "{edge:?}");
        }
    }
}

fn run(cases: u32, runtime: &tokio::runtime::Runtime) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let strategy = (seeds(20), prop_oneof![Just(1usize), Just(256)]);
    let end = runner.run(&strategy, |(seeds, parallel)| {
        check(&seeds, parallel, runtime);
        Ok(())
    });
    end.unwrap();
}

#[test]
fn events_are_whole_and_in_order() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    run(
        150,
        &builder.enable_all().start_paused(true).build().unwrap(),
    );
}

#[test]
fn events_are_whole_and_in_order_on_many_threads() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    run(40, &builder.worker_threads(4).enable_all().build().unwrap());
}
