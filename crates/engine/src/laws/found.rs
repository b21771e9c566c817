//! What the laws have found, each as the smallest workflow that shows it.

use serde_json::{Value as Json, json};

use super::nodes::engine;
use crate::testing::{Graph, heard, names, run};
use crate::{EngineOptions, ExecutionStatus};

/// The outputs, the nodes that failed, and what was told.
async fn all(graph: Graph) -> (Json, Vec<String>, Vec<String>) {
    let engine = engine(EngineOptions::default());
    let mut events = engine.subscribe();
    let outcome = run(&engine, graph, json!({})).await;
    let failed = outcome.failures.iter().map(|one| one.node.to_string());
    let outputs = Json::Object(outcome.outputs_json());
    (outputs, failed.collect(), names(&heard(&mut events)))
}

#[tokio::test]
async fn a_switch_has_only_the_chosen_case_made() {
    let graph = Graph::new()
        .node("good", "test:Add")
        .node("bad", "test:Fail")
        .node("switch", "core:Switch")
        .set("selector", json!("x"))
        .outputs(&["y"])
        .edges("good.sum > switch.x, bad.out > switch.other, switch.result > out.y");
    let (outputs, failed, told) = all(graph).await;
    assert_eq!(outputs, json!({"y": 1.0}));
    assert!(failed.is_empty(), "{failed:?}");
    assert!(told.contains(&"NODE_SKIPPED bad".to_owned()), "{told:?}");
}

/// It fails once, and everything behind its lazy inputs is skipped.
#[tokio::test]
async fn a_choice_that_cannot_be_made_is_one_failure() {
    let graph = Graph::new()
        .inputs(&["c"])
        .node("then", "test:Add")
        .node("else", "test:Add")
        .node("if", "core:If")
        .node("after", "test:Add")
        .edges("in.c > if.condition, then.sum > if.then, else.sum > if.else, if.result > after.a");
    let (_, failed, told) = all(graph).await;
    assert_eq!(failed, ["if"]);
    let about = |name: &str| told.iter().filter(|told| told.ends_with(name)).count();
    assert_eq!(about("NODE_ERROR if"), 1, "{told:?}");
    for skipped in ["then", "else", "after"] {
        assert_eq!(about(&format!("NODE_SKIPPED {skipped}")), 1, "{told:?}");
    }
}

#[tokio::test]
async fn a_loop_without_turns_gives_what_its_variables_began_with() {
    let graph = Graph::new()
        .node("loop", "core:LoopZone")
        .set("items", json!([]))
        .set("n", json!(7))
        .node("begin", "core:LoopInput")
        .inside("loop")
        .node("add", "test:Add")
        .inside("loop")
        .node("end", "core:LoopOutput")
        .inside("loop")
        .outputs(&["n"])
        .edges("begin.n > add.a, add.sum > end.n, loop.n > out.n");
    assert_eq!(all(graph).await.0, json!({"n": 7}));
}

#[tokio::test]
async fn what_is_switched_off_takes_no_error() {
    let graph = Graph::new()
        .node("bad", "test:Fail")
        .node("off", "test:Add")
        .last(|node| node.bypassed = true)
        .edges("bad.error > off.a");
    assert_eq!(all(graph).await.1, ["bad"]);
}

#[tokio::test]
async fn what_is_switched_off_does_not_keep_a_loop_from_running() {
    let graph = Graph::new()
        .node("if", "core:If")
        .set("condition", json!(true))
        .node("loop", "core:LoopZone")
        .config(json!({"maxIterations": 2}))
        .node("off", "test:Add")
        .last(|node| node.bypassed = true)
        .inside("loop")
        .outputs(&["n"])
        .edges("if.false > off.a, loop.iterations > out.n");
    assert_eq!(all(graph).await.0, json!({"n": 2}));
}

#[tokio::test]
async fn what_is_switched_off_hides_no_lazy_input() {
    let graph = Graph::new()
        .node("bad", "test:Fail")
        .node("off", "test:Add")
        .last(|node| node.bypassed = true)
        .node("if", "core:If")
        .set("condition", json!(false))
        .set("else", json!(3))
        .outputs(&["y"])
        .edges("bad.out > off.a, off.sum > if.then, if.result > out.y");
    let (outputs, failed, _) = all(graph).await;
    assert_eq!(outputs, json!({"y": 3}));
    assert!(failed.is_empty(), "{failed:?}");
}

/// What stands for an output of a node that is switched off may be nothing: then the input has what it has alone.
#[tokio::test]
async fn what_is_switched_off_leaves_the_default() {
    let graph = Graph::new()
        .node("one", "test:Add")
        .node("off", "core:Merge")
        .last(|node| node.bypassed = true)
        .node("add", "test:Add")
        .outputs(&["y"])
        .edges("one.sum > off.inputs, off.output > add.b, add.sum > out.y");
    assert_eq!(all(graph).await.0, json!({"y": 1.0}));
}

/// A node may leave something behind that goes on talking.
#[tokio::test(start_paused = true)]
async fn nothing_is_told_after_the_end() {
    let mut node = crate::NodeBuilder::new("late", "Node", "Law", "Late", "Talks on");
    node.effects();
    let node = node.task(move |io| async move {
        let context = io.context().clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            context.preview("late");
        });
        io.done()
    });
    let engine = engine(EngineOptions::default());
    engine.nodes().replace("late", vec![node]).unwrap();
    let mut events = engine.subscribe();
    let outcome = run(&engine, Graph::new().node("a", "late:Node"), json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete);
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let told = names(&heard(&mut events));
    assert_eq!(told.last().unwrap(), "EXECUTION_STATUS_UPDATE", "{told:?}");
}
