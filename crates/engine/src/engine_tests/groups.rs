//! Groups, switched-off nodes, cycles and unknown types.

use std::sync::Arc;

use serde_json::json;

use super::outputs;
use crate::testing::{Graph, Shelf, engine, heard, names, run};
use crate::{ExecutionStatus, NoWorkflows, RunOptions};

#[tokio::test]
async fn groups_are_unfolded_each_with_its_own_nodes() {
    let inner = Graph::named("twice")
        .inputs(&["x"])
        .node("a", "test:Add")
        .node("b", "test:Add")
        .outputs(&["y", "same"])
        .edges("in.x > a.a, in.x > b.a, a.sum > b.b, b.sum > out.y, in.x > out.same");
    let group = json!({"referencedWorkflowId": "twice"});
    let graph = Graph::new()
        .inputs(&["x"])
        .node("g1", "core:NodeGroup")
        .config(group.clone())
        .node("g2", "core:NodeGroup")
        .config(group.clone())
        .node("g3", "core:NodeGroup")
        .config(group)
        .set("x", json!(100))
        .outputs(&["y", "same", "set"])
        .edges("in.x > g1.x, g1.y > g2.x, g2.y > out.y, g2.same > out.same, g3.y > out.set");
    let shelf = Shelf(vec![Arc::new(inner.0)]);
    let engine = engine();
    let prepared = engine.prepare(&Arc::new(graph.0), &shelf);
    let plan = prepared
        .plan
        .unwrap_or_else(|| panic!("{}", prepared.problems));
    let mut events = engine.subscribe();
    let options = RunOptions {
        inputs: [("x".to_owned(), json!(1))].into_iter().collect(),
        ..RunOptions::default()
    };
    let outcome = engine.run(&plan, options).await.unwrap();
    // 1 → 2+1 = 3 → 4+3 = 7
    assert_eq!(
        outputs(&outcome),
        json!({"y": 7.0, "same": 3.0, "set": 201.0})
    );
    let heard = names(&heard(&mut events));
    for id in ["g1/a", "g1/b", "g2/a", "g2/b", "g3/a"] {
        assert!(heard.contains(&format!("NODE_COMPLETE {id}")), "{heard:?}");
    }
}

#[tokio::test]
async fn a_group_that_contains_itself_is_refused_with_its_path() {
    let group = |of: &str, name: &str| {
        Graph::named(name)
            .node("g", "core:NodeGroup")
            .config(json!({"referencedWorkflowId": of}))
            .0
    };
    let shelf = Shelf(vec![Arc::new(group("b", "a")), Arc::new(group("a", "b"))]);
    let prepared = engine().prepare(&shelf.0[0].clone(), &shelf);
    assert!(prepared.plan.is_none());
    let problem = prepared.problems.errors().next().unwrap();
    assert_eq!(problem.code, "group.recursive");
    assert!(problem.message.contains("'a' → 'b' → 'a'"), "{problem}");
    assert_eq!(problem.node.as_deref(), Some("g/g"));
}

#[tokio::test]
async fn cycles_are_named_by_their_path() {
    let graph = Graph::new()
        .node("a", "test:Add")
        .node("b", "test:Add")
        .node("c", "test:Add")
        .node("d", "test:Add")
        .edges("a.sum > b.a, b.sum > c.a, c.sum > b.b, c.sum > d.a");
    let prepared = engine().prepare(&Arc::new(graph.0), &NoWorkflows);
    let problem = prepared.problems.errors().next().unwrap();
    assert_eq!(problem.code, "workflow.cycle");
    assert!(
        problem.message.contains("b → c → b") || problem.message.contains("c → b → c"),
        "{problem}"
    );
}

#[tokio::test]
async fn bypassed_nodes_pass_on_what_fits() {
    let graph = Graph::new()
        .inputs(&["x"])
        .node("off", "test:Add")
        .last(|node| node.bypassed = true)
        .node("add", "test:Add")
        .outputs(&["y"])
        .edges("in.x > off.a, off.sum > add.a, add.sum > out.y");
    let engine = engine();
    let mut events = engine.subscribe();
    let outcome = run(&engine, graph, json!({"x": 5})).await;
    assert_eq!(outputs(&outcome), json!({"y": 6.0}));
    let heard = heard(&mut events);
    let off = heard
        .iter()
        .find(|event| event.body.name() == "NODE_BYPASSED")
        .unwrap();
    let told = serde_json::to_value(&**off).unwrap();
    assert_eq!(told["payload"]["pseudoOutputs"], json!({"sum": 5}));
}

#[tokio::test]
async fn unknown_types_fail_only_when_they_are_reached() {
    let graph = Graph::new()
        .inputs(&["c"])
        .node("if", "core:If")
        .node("strange", "weather:Sky")
        .node("ok", "test:Add")
        .outputs(&["x", "y"])
        .edges("in.c > if.condition, if.true > strange.place, strange.sky > out.x, ok.sum > out.y");
    let prepared = engine().prepare(&Arc::new(graph.0.clone()), &NoWorkflows);
    assert_eq!(prepared.problems.list[0].code, "node.unknown_type");
    let outcome = run(&engine(), graph.clone(), json!({"c": false})).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete);
    let outcome = run(&engine(), graph, json!({"c": true})).await;
    assert_eq!(outcome.status, ExecutionStatus::Error);
    assert_eq!(outputs(&outcome), json!({"y": 1.0}));
}

#[tokio::test]
async fn groups_and_loops_can_be_switched_off() {
    let inner = Graph::named("inner")
        .inputs(&["x"])
        .node("a", "test:Fail")
        .outputs(&["x"])
        .edges("in.x > a.after, a.out > out.x");
    let graph = Graph::new()
        .inputs(&["x"])
        .node("g", "core:NodeGroup")
        .config(json!({"referencedWorkflowId": "inner"}))
        .last(|node| node.bypassed = true)
        .node("loop", "core:LoopZone")
        .last(|node| node.bypassed = true)
        .node("bad", "test:Fail")
        .inside("loop")
        .outputs(&["x"])
        .edges("in.x > g.x, g.x > loop.x, loop.x > out.x");
    let engine = engine();
    let prepared = engine.prepare(&Arc::new(graph.0), &Shelf(vec![Arc::new(inner.0)]));
    let plan = prepared
        .plan
        .unwrap_or_else(|| panic!("{}", prepared.problems));
    let mut events = engine.subscribe();
    let options = RunOptions {
        inputs: [("x".to_owned(), json!(1))].into_iter().collect(),
        ..RunOptions::default()
    };
    let outcome = engine.run(&plan, options).await.unwrap();
    assert_eq!(outputs(&outcome), json!({"x": 1}));
    let heard = names(&heard(&mut events));
    for id in ["g", "loop"] {
        assert!(heard.contains(&format!("NODE_BYPASSED {id}")), "{heard:?}");
    }
}

#[tokio::test]
async fn an_unknown_node_that_is_switched_off_does_no_harm() {
    let graph = Graph::new()
        .inputs(&["x"])
        .node("gone", "weather:Sky")
        .last(|node| node.bypassed = true)
        .outputs(&["y"])
        .edges("in.x > gone.a, gone.b > out.y");
    let outcome = run(&engine(), graph, json!({"x": 1})).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete);
    assert_eq!(outputs(&outcome), json!({"y": 1}));
}

#[tokio::test]
async fn a_group_has_no_error_of_its_own() {
    let inner = Graph::named("inner").node("a", "test:Fail");
    let graph = Graph::new()
        .node("g", "core:NodeGroup")
        .config(json!({"referencedWorkflowId": "inner"}))
        .outputs(&["e"])
        .edges("g.error > out.e, g.nope > out.f");
    let shelf = Shelf(vec![Arc::new(inner.0)]);
    let prepared = engine().prepare(&Arc::new(graph.0), &shelf);
    let slots: Vec<_> = prepared
        .problems
        .errors()
        .map(|problem| (problem.code, problem.slot.as_deref().unwrap()))
        .collect();
    assert_eq!(
        slots,
        [
            ("edge.unknown_slot", "error"),
            ("edge.unknown_slot", "nope")
        ]
    );
}
