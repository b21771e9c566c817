//! Which way a workflow goes.

use serde_json::json;

use super::outputs;
use crate::ExecutionStatus;
use crate::testing::{Graph, engine, heard, names, run};

#[tokio::test(start_paused = true)]
async fn branches_run_side_by_side() {
    let mut graph = Graph::new();
    for node in ["a", "b", "c", "d"] {
        graph = graph.node(node, "test:Slow").set("ms", json!(1_000));
    }
    let begin = tokio::time::Instant::now();
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete);
    assert_eq!(begin.elapsed().as_secs(), 1);
}

#[tokio::test]
async fn a_branch_not_taken_does_not_run() {
    for (condition, expected, skipped) in [(true, 2.0, "no"), (false, 11.0, "yes")] {
        let graph = Graph::new()
            .inputs(&["c"])
            .node("if", "core:If")
            .set("value", json!(1))
            .node("yes", "test:Slow")
            .node("no", "test:Slow")
            .set("b", json!(10))
            .node("both", "core:Merge")
            .outputs(&["y"])
            .edges("in.c > if.condition, if.true > yes.a, if.false > no.a, yes.sum > both.inputs, no.sum > both.inputs, both.output > out.y");
        let engine = engine();
        let mut events = engine.subscribe();
        let outcome = run(&engine, graph, json!({"c": condition})).await;
        assert_eq!(outputs(&outcome), json!({"y": expected}));
        let heard = names(&heard(&mut events));
        assert!(
            heard.contains(&format!("NODE_SKIPPED {skipped}")),
            "{heard:?}"
        );
        assert!(
            !heard.contains(&format!("NODE_EXECUTING {skipped}")),
            "{heard:?}"
        );
    }
}

#[tokio::test]
async fn what_only_a_lazy_input_needs_is_made_only_if_it_is_wanted() {
    for (condition, expected, skipped) in [(true, 2.0, "e1 e2"), (false, 12.0, "t1 t2")] {
        let graph = Graph::new()
            .inputs(&["c"])
            .node("t1", "test:Slow")
            .node("t2", "test:Add")
            .node("e1", "test:Slow")
            .set("b", json!(11))
            .node("e2", "test:Add")
            .node("shared", "test:Add")
            .node("if", "core:If")
            .outputs(&["y", "s"])
            .edges("shared.sum > t1.a, shared.sum > out.s, t1.sum > t2.a, e1.sum > e2.a, t2.sum > if.then, e2.sum > if.else, in.c > if.condition, if.result > out.y");
        let mut graph = graph;
        graph
            .0
            .nodes
            .iter_mut()
            .find(|node| node.id == "shared")
            .unwrap()
            .inputs = serde_json::Map::from_iter([("b".to_owned(), json!(0))]);
        let engine = engine();
        let mut events = engine.subscribe();
        let outcome = run(&engine, graph, json!({"c": condition})).await;
        assert_eq!(outputs(&outcome), json!({"y": expected, "s": 0.0}));
        let heard = names(&heard(&mut events));
        for skipped in skipped.split(' ') {
            assert!(
                heard.contains(&format!("NODE_SKIPPED {skipped}")),
                "{heard:?}"
            );
        }
        assert!(heard.contains(&"NODE_COMPLETE shared".to_owned()));
    }
}

#[tokio::test]
async fn switch_goes_one_of_many_ways() {
    for (selector, expected) in [
        ("red", json!({"r": 1})),
        ("blue", json!({"b": 1})),
        ("other", json!({"d": 1})),
    ] {
        let graph = Graph::new()
            .inputs(&["s"])
            .node("switch", "core:Switch")
            .set("value", json!(1))
            .outputs(&["r", "b", "d"])
            .edges("in.s > switch.selector, switch.red > out.r, switch.blue > out.b, switch.default > out.d");
        let outcome = run(&engine(), graph, json!({"s": selector})).await;
        assert_eq!(outputs(&outcome), expected, "{selector}");
    }
}

#[tokio::test]
async fn a_chosen_input_that_failed_takes_its_node_with_it() {
    for (condition, expected) in [(true, json!({})), (false, json!({"y": 2.0}))] {
        let graph = Graph::new()
            .inputs(&["c"])
            .node("bad", "test:Fail")
            .node("if", "core:If")
            .set("else", json!(1))
            .node("after", "test:Add")
            .outputs(&["y"])
            // Also needed elsewhere, so it runs whether it is wanted or not.
            .node("other", "core:Merge")
            .edges("bad.out > if.then, bad.out > other.inputs, in.c > if.condition, if.result > after.a, after.sum > out.y");
        let outcome = run(&engine(), graph, json!({"c": condition})).await;
        assert_eq!(outputs(&outcome), expected, "{condition}");
        assert_eq!(outcome.failed, 1);
    }
}
