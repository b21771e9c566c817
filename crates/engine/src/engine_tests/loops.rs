//! Loops: variables, items, errors, streams.

use std::sync::Arc;

use serde_json::json;

use super::outputs;
use crate::testing::{Graph, engine, run};
use crate::{ExecutionStatus, NoWorkflows, RunOptions};

fn counting_loop() -> Graph {
    Graph::new()
        .inputs(&["n"])
        .node("loop", "core:LoopZone")
        .config(json!({"maxIterations": 10_000, "until": "n >= 100"}))
        .node("begin", "core:LoopInput")
        .inside("loop")
        .node("add", "test:Add")
        .inside("loop")
        .node("end", "core:LoopOutput")
        .inside("loop")
        .outputs(&["n", "iterations", "why"])
        .edges("in.n > loop.n, begin.n > add.a, add.sum > end.n, loop.n > out.n, loop.iterations > out.iterations, loop.stoppedBy > out.why")
}

#[tokio::test]
async fn a_loop_carries_its_variables() {
    let outcome = run(&engine(), counting_loop(), json!({"n": 7})).await;
    let expected = json!({"n": 100.0, "iterations": 93, "why": "until"});
    assert_eq!(outputs(&outcome), expected, "{outcome:?}");
    let outcome = run(&engine(), counting_loop(), json!({"n": -1e9})).await;
    let expected = json!({"n": -1e9 + 10_000.0, "iterations": 10_000, "why": "maxIterations"});
    assert_eq!(outputs(&outcome), expected);
}

#[tokio::test]
async fn a_loop_goes_through_items_and_collects() {
    let graph = Graph::new()
        .inputs(&["items", "more"])
        .node("loop", "core:LoopZone")
        .config(json!({"collect": ["sum"]}))
        .node("begin", "core:LoopInput")
        .inside("loop")
        .node("add", "test:Slow")
        .inside("loop")
        .node("end", "core:LoopOutput")
        .inside("loop")
        .outputs(&["sums", "why"])
        // `more` comes from outside the loop.
        .edges("in.items > loop.items, begin.item > add.a, in.more > add.b, add.sum > end.sum, loop.sum > out.sums, loop.stoppedBy > out.why");
    let outcome = run(&engine(), graph, json!({"items": [1, 2, 3], "more": 10})).await;
    let expected = json!({"sums": [11.0, 12.0, 13.0], "why": "items"});
    assert_eq!(outputs(&outcome), expected, "{outcome:?}");
}

#[tokio::test]
async fn errors_in_a_loop_stop_it_or_are_collected() {
    let graph = |on_error: &str| {
        Graph::new()
            .node("loop", "core:LoopZone")
            .config(json!({"onError": on_error, "maxIterations": 4}))
            .node("begin", "core:LoopInput")
            .inside("loop")
            .node("try", "test:Fail")
            .set("below", json!(3))
            .inside("loop")
            .node("end", "core:LoopOutput")
            .inside("loop")
            .outputs(&["last", "errors", "n"])
            .edges("begin.iteration > try.value, try.out > end.last, loop.last > out.last, loop.errors > out.errors, loop.iterations > out.n")
    };
    let outcome = run(&engine(), graph("stop"), json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Error);
    let message = outcome.error.unwrap().message;
    assert_eq!(message, "loop: iteration 1, try: it was told to fail");
    let outcome = run(&engine(), graph("collect"), json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete);
    assert_eq!(outcome.output("last").unwrap().as_json(), &json!(4));
    assert_eq!(outcome.output("n").unwrap().as_json(), &json!(4));
    let errors = outcome
        .output("errors")
        .unwrap()
        .as_json()
        .as_array()
        .unwrap()
        .clone();
    let iterations: Vec<_> = errors
        .iter()
        .map(|error| error["iteration"].clone())
        .collect();
    assert_eq!(iterations, [json!(1), json!(2)]);
}

#[tokio::test]
async fn a_value_that_grows_ever_deeper_is_stopped() {
    let graph = Graph::new()
        .node("loop", "core:LoopZone")
        .config(json!({"maxIterations": 1_000}))
        .set("x", json!(1))
        .node("begin", "core:LoopInput")
        .inside("loop")
        .node("nest", "core:Merge")
        .inside("loop")
        .node("end", "core:LoopOutput")
        .inside("loop")
        .outputs(&["x"])
        .edges("begin.x > nest.inputs, nest.all > end.x, loop.x > out.x");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outcome.error.unwrap().code, "value.too_deep");
}

/// What a loop takes from outside and is not there keeps only those inside from running that need it.
#[tokio::test]
async fn a_merge_inside_a_loop_is_a_merge() {
    let graph = Graph::new()
        .node("fine", "test:Add")
        .node("loop", "core:LoopZone")
        .config(json!({"maxIterations": 1}))
        .node("merge", "core:Merge")
        .inside("loop")
        .node("one", "test:Add")
        .inside("loop")
        .node("needs", "test:Add")
        .inside("loop")
        .node("end", "core:LoopOutput")
        .inside("loop")
        .outputs(&["t", "n"])
        .edges("fine.error > merge.inputs, one.sum > merge.inputs, merge.output > end.t, fine.error > needs.a, needs.sum > end.n, loop.t > out.t, loop.n > out.n");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outputs(&outcome), json!({"t": 1.0}), "{outcome:?}");
}

#[tokio::test]
async fn a_loop_with_nothing_in_it_can_be_stopped() {
    let graph = Graph::new()
        .node("loop", "core:LoopZone")
        .config(json!({"maxIterations": 1_000_000, "until": "iteration > 999999"}));
    let engine = engine();
    let prepared = engine.prepare(&Arc::new(graph.0), &NoWorkflows);
    let execution = engine
        .start(&prepared.plan.unwrap(), RunOptions::default())
        .unwrap();
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    execution.interrupt();
    let outcome = execution.outcome().await;
    assert_eq!(outcome.status, ExecutionStatus::Interrupted);
}
