//! How runs and nodes end: failures, tries, time, stopping.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;

use super::outputs;
use crate::testing::{Graph, engine, heard, names, run};
use crate::{
    EngineOptions, EventBody, ExecutionEngine, ExecutionStatus, NoWorkflows, NodeError,
    NodeManager, RunOptions,
};

#[tokio::test]
async fn a_failure_fails_only_what_depends_on_it() {
    let graph = Graph::new()
        .node("bad", "test:Fail")
        .node("after", "test:Add")
        .node("beside", "test:Add")
        .set("a", json!(1))
        .outputs(&["x", "y"])
        .edges("bad.out > after.a, after.sum > out.x, beside.sum > out.y");
    let engine = engine();
    let mut events = engine.subscribe();
    let outcome = run(&engine, graph, json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Error);
    assert_eq!(outputs(&outcome), json!({"y": 2.0}));
    assert_eq!(outcome.failed, 1);
    assert_eq!(&*outcome.failures[0].node, "bad");
    assert_eq!(outcome.error.unwrap().message, "bad: it was told to fail");
    let heard = names(&heard(&mut events));
    for wanted in [
        "NODE_ERROR bad",
        "NODE_SKIPPED after",
        "NODE_COMPLETE beside",
        "NODE_COMPLETE",
    ] {
        assert!(heard.contains(&wanted.to_owned()), "{wanted}: {heard:?}");
    }
    assert_eq!(heard.last().unwrap(), "EXECUTION_STATUS_UPDATE");
}

#[tokio::test]
async fn an_error_output_catches_the_error() {
    let graph = Graph::new()
        .node("bad", "test:Fail")
        .node("after", "test:Add")
        .node("both", "core:Merge")
        .outputs(&["x", "y"])
        .edges("bad.out > after.a, bad.error > out.x, after.sum > both.inputs, bad.error > both.inputs, both.output > out.y");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete);
    let error = json!({"message": "it was told to fail", "code": "test.failed", "retryable": true, "node": "bad"});
    assert_eq!(outputs(&outcome), json!({"x": error, "y": error}));
}

#[tokio::test(start_paused = true)]
async fn stopping_a_run_ends_what_is_under_way() {
    let graph = Graph::new()
        .node("slow", "test:Slow")
        .set("ms", json!(3_600_000))
        .node("loop", "core:LoopZone")
        .config(json!({"maxIterations": 1_000_000}))
        .node("inner", "test:Slow")
        .set("ms", json!(1))
        .inside("loop");
    let engine = engine();
    let prepared = engine.prepare(&Arc::new(graph.0), &NoWorkflows);
    let execution = engine
        .start(&prepared.plan.unwrap(), RunOptions::default())
        .unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    execution.interrupt();
    let outcome = execution.outcome().await;
    assert_eq!(outcome.status, ExecutionStatus::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn time_is_kept() {
    let slow = || {
        Graph::new()
            .node("slow", "test:Slow")
            .set("ms", json!(5_000))
    };
    let graph = slow().last(|node| node.execution.timeout_ms = Some(100));
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outcome.error.unwrap().code, "node.timeout");
    let engine = engine();
    let prepared = engine.prepare(&Arc::new(slow().0), &NoWorkflows);
    let options = RunOptions {
        timeout: Some(Duration::from_secs(1)),
        ..RunOptions::default()
    };
    let outcome = engine.run(&prepared.plan.unwrap(), options).await.unwrap();
    assert_eq!(outcome.status, ExecutionStatus::Error);
    assert_eq!(outcome.error.unwrap().code, "run.timeout");
}

#[tokio::test]
async fn a_run_can_be_stopped_while_it_waits_for_its_turn() {
    let nodes = NodeManager::new();
    nodes.replace("test", crate::testing::test_nodes()).unwrap();
    let one = ExecutionEngine::new(
        nodes,
        EngineOptions {
            parallel_runs: 1,
            ..EngineOptions::default()
        },
    );
    let graph = Graph::new()
        .node("slow", "test:Slow")
        .set("ms", json!(3_600_000));
    let plan = one.prepare(&Arc::new(graph.0), &NoWorkflows).plan.unwrap();
    let first = one.start(&plan, RunOptions::default()).unwrap();
    let mut events = one.subscribe();
    tokio::task::yield_now().await;
    let second = one.start(&plan, RunOptions::default()).unwrap();
    loop {
        if let crate::Heard::Event(event) = events.next().await
            && event.body.name() == "SYSTEM_QUEUE_UPDATE"
        {
            break;
        }
    }
    second.interrupt();
    assert_eq!(second.outcome().await.status, ExecutionStatus::Interrupted);
    first.interrupt();
    assert_eq!(first.outcome().await.status, ExecutionStatus::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn a_node_is_tried_again_as_often_as_it_may() {
    use std::sync::atomic::AtomicU32;
    for (retry, fails, expected) in [(0, 1, 1), (2, 1, 2), (2, 2, 3), (2, 9, 3)] {
        let tries = Arc::new(AtomicU32::new(0));
        let counted = tries.clone();
        let mut node = crate::NodeBuilder::new("test", "Flaky", "Test", "Flaky", "Fails at first");
        let out = node.output(crate::node::integer("out"));
        node.effects();
        let node = node.task(move |mut io| {
            let tries = counted.clone();
            async move {
                match tries.fetch_add(1, Ordering::Relaxed) < fails {
                    true => Err(NodeError::failed("test.flaky", "not yet")),
                    false => {
                        let attempt = i64::from(io.context().attempt);
                        io.set(out, attempt);
                        io.done()
                    }
                }
            }
        });
        let nodes = NodeManager::new();
        nodes.replace("test", vec![node]).unwrap();
        let engine = ExecutionEngine::new(nodes, EngineOptions::default());
        let graph = Graph::new()
            .node("flaky", "test:Flaky")
            .last(|node| node.execution.retry = retry)
            .outputs(&["out"])
            .edges("flaky.out > out.out");
        let outcome = run(&engine, graph, json!({})).await;
        assert_eq!(tries.load(Ordering::Relaxed), expected, "{retry} {fails}");
        assert_eq!(outcome.status == ExecutionStatus::Complete, fails <= retry);
    }
}

#[tokio::test]
async fn a_node_that_panics_fails_alone() {
    let panic = |name: &str, is_task: bool| {
        let mut node = crate::NodeBuilder::new("test", name, "Test", name, "Panics");
        node.output(crate::node::integer("out"));
        match is_task {
            true => node.task(|_| async { panic!("oh no") }),
            false => node.inline(|_| panic!("oh no")),
        }
    };
    let nodes = NodeManager::new();
    nodes
        .replace("test", vec![panic("P1", true), panic("P2", false)])
        .unwrap();
    let engine = ExecutionEngine::new(nodes, EngineOptions::default());
    let graph = Graph::new()
        .node("a", "test:P1")
        .node("b", "test:P2")
        .node("ok", "core:If")
        .set("condition", json!(true))
        .outputs(&["ok"])
        .edges("ok.result > out.ok");
    let outcome = run(&engine, graph, json!({})).await;
    assert_eq!(outputs(&outcome), json!({"ok": true}));
    assert_eq!(outcome.failed, 2);
    assert!(
        outcome
            .failures
            .iter()
            .all(|failure| failure.error.code == "node.panicked")
    );
}

#[tokio::test]
async fn a_run_that_is_dropped_while_it_waits_leaves_the_queue() {
    let nodes = NodeManager::new();
    nodes.replace("test", crate::testing::test_nodes()).unwrap();
    let options = EngineOptions {
        parallel_runs: 1,
        ..EngineOptions::default()
    };
    let one = ExecutionEngine::new(nodes, options);
    let graph = Graph::new()
        .node("slow", "test:Slow")
        .set("ms", json!(3_600_000));
    let plan = one.prepare(&Arc::new(graph.0), &NoWorkflows).plan.unwrap();
    let first = one.start(&plan, RunOptions::default()).unwrap();
    tokio::task::yield_now().await;
    let mut second = Box::pin(one.run(&plan, RunOptions::default()));
    assert!(futures_util::poll!(&mut second).is_pending());
    assert_eq!(one.0.queued.load(Ordering::Relaxed), 1);
    drop(second);
    assert_eq!(one.0.queued.load(Ordering::Relaxed), 0);
    first.interrupt();
    first.outcome().await;
}

#[tokio::test]
async fn a_node_does_not_run_with_half_of_what_it_needs() {
    let graph = Graph::new()
        .node("bad", "test:Fail")
        .node("good", "test:Add")
        .node("join", "core:TextMerge")
        .outputs(&["text"])
        .edges("bad.out > join.text_inputs__0, good.sum > join.text_inputs__1, join.merged_text > out.text");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outputs(&outcome), json!({}));
    assert_eq!(outcome.failed, 1);
}

#[tokio::test]
async fn a_run_that_is_dropped_is_told_to_have_ended() {
    let engine = engine();
    let graph = Graph::new()
        .node("slow", "test:Slow")
        .set("ms", json!(3_600_000));
    let plan = engine
        .prepare(&Arc::new(graph.0), &NoWorkflows)
        .plan
        .unwrap();
    let mut events = engine.subscribe();
    let mut work = Box::pin(engine.run(&plan, RunOptions::default()));
    assert!(futures_util::poll!(&mut work).is_pending());
    drop(work);
    let heard = heard(&mut events);
    let last = heard.last().unwrap();
    assert!(
        matches!(&last.body, EventBody::Status { status, .. } if *status == ExecutionStatus::Interrupted),
        "{last:?}"
    );
}

/// The limit is one for the whole run, whatever loops it has.
#[tokio::test(start_paused = true)]
async fn no_more_nodes_wait_at_once_than_may() {
    use std::sync::atomic::AtomicUsize;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_work, peak) = (now.clone(), most.clone());
    let mut node = crate::NodeBuilder::new("test", "Busy", "Test", "Busy", "Waits");
    node.input(crate::node::any("after"));
    node.effects();
    let node = node.task(move |io| {
        let (at_work, peak) = (at_work.clone(), peak.clone());
        async move {
            peak.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
            at_work.fetch_sub(1, Ordering::SeqCst);
            io.done()
        }
    });
    let nodes = NodeManager::new();
    nodes.replace("test", vec![node]).unwrap();
    let options = EngineOptions {
        parallel_nodes: 3,
        ..EngineOptions::default()
    };
    let engine = ExecutionEngine::new(nodes, options);
    let mut graph = Graph::new();
    for zone in ["l1", "l2", "l3"] {
        graph = graph
            .node(zone, "core:LoopZone")
            .config(json!({"maxIterations": 2}));
        for index in 0..4 {
            graph = graph
                .node(&format!("{zone}_{index}"), "test:Busy")
                .inside(zone);
        }
    }
    let outcome = run(&engine, graph, json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete);
    assert_eq!(most.load(Ordering::SeqCst), 3);
    assert_eq!(now.load(Ordering::SeqCst), 0);
}
