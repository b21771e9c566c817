//! Values along edges, arguments, outputs.

use std::sync::Arc;

use serde_json::json;

use super::outputs;
use crate::testing::{Graph, engine, run};
use crate::{ExecutionStatus, NoWorkflows, RunOptions, StartError};

/// Two additions side by side, and a third that takes both.
fn diamond(kind: &str) -> Graph {
    Graph::new()
        .inputs(&["x"])
        .node("a", kind)
        .node("b", kind)
        .node("c", "test:Add")
        .outputs(&["y"])
        .edges("in.x > a.a, in.x > b.a, a.sum > c.a, b.sum > c.b, c.sum > out.y")
}

#[tokio::test]
async fn values_go_along_edges() {
    for kind in ["test:Add", "test:Slow"] {
        let outcome = run(&engine(), diamond(kind), json!({"x": 3})).await;
        assert_eq!(outcome.status, ExecutionStatus::Complete);
        assert_eq!(outputs(&outcome), json!({"y": 8.0}), "{kind}");
    }
}

#[tokio::test]
async fn arguments_are_checked_before_anything_runs() {
    let mut graph = diamond("test:Add");
    graph.0.inputs[0].required = true;
    graph.0.inputs[0].flow = crate::DataFlowType::Integer;
    let engine = engine();
    let plan = engine
        .prepare(&Arc::new(graph.0), &NoWorkflows)
        .plan
        .unwrap();
    for (inputs, code) in [
        (json!({}), "argument.missing"),
        (json!({"x": "much"}), "argument.type"),
        (json!({"x": 1, "z": 1}), "argument.unknown"),
    ] {
        let options = RunOptions {
            inputs: inputs.as_object().unwrap().clone(),
            ..RunOptions::default()
        };
        let Err(StartError::Arguments(problems)) = engine.run(&plan, options).await else {
            panic!("{inputs}");
        };
        assert_eq!(problems.list[0].code, code);
    }
}

#[tokio::test]
async fn values_that_grow_too_large_are_stopped() {
    let mut graph = Graph::new()
        .node("n0", "core:TextMerge")
        .set("text_inputs", json!(["x".repeat(1 << 20)]));
    for number in 1..12 {
        let (before, id) = (format!("n{}", number - 1), format!("n{number}"));
        graph = graph.node(&id, "core:TextMerge").set("separator", json!("")).edges(&format!(
            "{before}.merged_text > {id}.text_inputs__0, {before}.merged_text > {id}.text_inputs__1"
        ));
    }
    let outcome = run(&engine(), graph, json!({})).await;
    let failure = &outcome.failures[0];
    assert_eq!(
        (&*failure.node, failure.error.code.as_str()),
        ("n6", "value.too_large")
    );
}

#[tokio::test]
async fn what_all_nodes_make_together_is_bounded() {
    let mut graph = Graph::new();
    for number in 0..40 {
        let text = format!("{number}{}", "x".repeat(16 << 20));
        graph = graph
            .node(&format!("n{number}"), "core:TextMerge")
            .set("text_inputs", json!([text, "y"]));
    }
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outcome.error.unwrap().code, "run.too_large");
    assert!(outcome.failed < 20, "{}", outcome.failed);
}

#[tokio::test]
async fn what_is_probably_not_meant_is_said() {
    let graph = Graph::new()
        .node("a", "test:Add")
        .set("c", json!(1))
        .node("m", "core:MathOperation")
        .config(json!({"operationmode": "sqrt"}))
        .node("g", "core:Merge")
        .set("inputs", json!([1]))
        .last(|node| node.execution.retry = 2)
        .outputs(&["x", "y"])
        .edges("a.sum > out.x, m.result > out.z");
    let prepared = engine().prepare(&Arc::new(graph.0), &NoWorkflows);
    let found: Vec<_> = prepared
        .problems
        .list
        .iter()
        .map(|problem| {
            let at = (problem.node.as_deref(), problem.slot.as_deref());
            (problem.code, at.0.unwrap(), at.1.unwrap_or_default())
        })
        .collect();
    for wanted in [
        ("input.unknown", "a", "c"),
        ("setting.unknown", "m", "operationmode"),
        ("interface.undeclared", "out", "z"),
        ("interface.unfed", "out", "y"),
        ("node.idle_rule", "g", "execution.retry"),
    ] {
        assert!(found.contains(&wanted), "{wanted:?} {found:?}");
    }
    assert!(prepared.plan.is_some());
}
