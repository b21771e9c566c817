//! Streams between nodes, and out of the workflow.

use std::sync::Arc;

use serde_json::json;

use super::outputs;
use crate::testing::{Graph, engine, heard, run};
use crate::{EventBody, ExecutionStatus, NoWorkflows, RunOptions};

#[tokio::test]
async fn all_consumers_of_a_stream_see_all_of_it() {
    let graph = Graph::new()
        .node("count", "test:Count")
        .set("to", json!(1_000))
        .node("s1", "test:SumStream")
        .node("s2", "test:SumStream")
        .node("add", "test:Add")
        .outputs(&["a", "b", "list", "total", "stream"])
        .edges("count.numbers > s1.numbers, count.numbers > s2.numbers, s1.sum > out.a, s2.sum > out.b, count.numbers > out.stream, count.total > out.total, s2.seen > out.list");
    let engine = engine();
    let mut events = engine.subscribe();
    let outcome = run(&engine, graph, json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete, "{outcome:?}");
    let all: Vec<u32> = (0..1_000).collect();
    assert_eq!(outcome.output("a").unwrap().as_json(), &json!(499_500));
    assert_eq!(outcome.output("b").unwrap().as_json(), &json!(499_500));
    assert_eq!(outcome.output("list").unwrap().as_json(), &json!(all));
    assert_eq!(outcome.output("stream").unwrap().as_json(), &json!(all));
    assert_eq!(outcome.output("total").unwrap().as_json(), &json!(1_000));
    let heard = heard(&mut events);
    let yields = |name: &str| {
        heard
            .iter()
            .filter(|event| event.body.name() == name)
            .count()
    };
    assert_eq!(yields("NODE_YIELD"), 1_001);
    assert_eq!(yields("WORKFLOW_INTERFACE_YIELD"), 1_001);
}

#[tokio::test]
async fn a_stream_into_a_value_is_collected_and_a_value_into_a_stream_is_one_chunk() {
    let graph = Graph::new()
        .node("words", "test:Words")
        .set("text", json!("a b c"))
        .node("merge", "core:Merge")
        .node("sum", "test:SumStream")
        .outputs(&["text", "sum"])
        .edges("words.words > merge.inputs, merge.output > out.text, merge.output > sum.numbers, sum.seen > out.sum");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(
        outputs(&outcome),
        json!({"text": "a b c", "sum": ["a b c"]})
    );
}

/// The reader of the stream cannot begin before the stream has ended.
#[tokio::test]
async fn a_run_does_not_wait_for_itself() {
    let graph = Graph::new()
        .node("count", "test:Count")
        .set("to", json!(10_000))
        .node("sum", "test:SumStream")
        .outputs(&["sum"])
        .edges("count.numbers > sum.numbers, count.total > sum.also, sum.sum > out.sum");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outputs(&outcome), json!({"sum": 49_995_000}));
}

#[tokio::test]
async fn a_broken_stream_breaks_whoever_reads_it() {
    let graph = Graph::new()
        .node("count", "test:Count")
        .set("fail_at", json!(2))
        .node("sum", "test:SumStream")
        .outputs(&["sum", "list"])
        .edges("count.numbers > sum.numbers, sum.sum > out.sum, count.numbers > out.list");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Error);
    assert_eq!(outputs(&outcome), json!({}));
    assert!(
        outcome
            .failures
            .iter()
            .any(|failure| &*failure.node == "count")
    );
}

#[tokio::test]
async fn a_skipped_reader_holds_nobody_up() {
    let graph = Graph::new()
        .node("count", "test:Count")
        .set("to", json!(1_000))
        .node("bad", "test:Fail")
        .node("sum", "test:SumStream")
        .outputs(&["total"])
        .edges("count.numbers > sum.numbers, bad.out > sum.also, count.total > out.total");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outputs(&outcome), json!({"total": 1_000}));
}

#[tokio::test]
async fn loops_lie_in_loops_and_streams_leave_them() {
    let graph = Graph::new()
        .node("outer", "core:LoopZone")
        .config(json!({"maxIterations": 3, "streams": ["words"], "collect": ["inner"]}))
        .node("begin", "core:LoopInput")
        .inside("outer")
        .node("words", "test:Words")
        .set("text", json!("x y "))
        .inside("outer")
        .node("inner", "core:LoopZone")
        .config(json!({"maxIterations": 2}))
        .set("n", json!(0))
        .inside("outer")
        .node("ib", "core:LoopInput")
        .inside("inner")
        .node("add", "test:Add")
        .inside("inner")
        .node("ie", "core:LoopOutput")
        .inside("inner")
        .node("end", "core:LoopOutput")
        .inside("outer")
        .outputs(&["words", "inner"])
        .edges("words.words > end.words, ib.n > add.a, begin.iteration > add.b, add.sum > ie.n, inner.n > end.inner, outer.words > out.words, outer.inner > out.inner");
    let engine = engine();
    let mut events = engine.subscribe();
    let outcome = run(&engine, graph, json!({})).await;
    let expected = json!({"words": "x y x y x y ", "inner": [2.0, 4.0, 6.0]});
    assert_eq!(outputs(&outcome), expected, "{outcome:?}");
    let heard = heard(&mut events);
    let yields = heard
        .iter()
        .filter(|event| event.body.name() == "WORKFLOW_INTERFACE_YIELD");
    assert_eq!(yields.count(), 7);
}

/// A reader waits for what comes only after the stream, while something else takes long: the stream is not held up.
#[tokio::test(start_paused = true)]
async fn a_late_reader_does_not_wait_for_strangers() {
    let graph = Graph::new()
        .node("count", "test:Count")
        .set("to", json!(10_000))
        .node("sum", "test:SumStream")
        .node("slow", "test:Slow")
        .set("ms", json!(3_600_000))
        .outputs(&["sum"])
        .edges("count.numbers > sum.numbers, count.total > sum.also, sum.sum > out.sum");
    let engine = engine();
    let plan = engine
        .prepare(&Arc::new(graph.0), &NoWorkflows)
        .plan
        .unwrap();
    let mut events = engine.subscribe();
    let execution = engine.start(&plan, RunOptions::default()).unwrap();
    let begin = tokio::time::Instant::now();
    loop {
        if let crate::Heard::Event(event) = events.next().await
            && let EventBody::NodeComplete { node, .. } = &event.body
            && &*node.info.id == "sum"
        {
            break;
        }
    }
    assert!(begin.elapsed().as_secs() < 3_600);
    execution.interrupt();
    execution.outcome().await;
}

#[tokio::test]
async fn streams_are_collected_whatever_the_order_of_their_consumers() {
    let graph = Graph::new()
        .node("a", "test:Words")
        .set("text", json!("1 2 3"))
        .node("b", "test:Words")
        .set("text", json!("4 5 6"))
        .node("c", "test:Words")
        .set("text", json!("7 8 9"))
        .node("mc", "core:Merge")
        .node("mb", "core:Merge")
        .node("ma", "core:Merge")
        .outputs(&["a", "b", "c", "sa"])
        .edges("c.words > mc.inputs, mc.output > mb.inputs__1, b.words > mb.inputs__0, mb.output > ma.inputs__1, a.words > ma.inputs__0, ma.output > out.a, mb.output > out.b, mc.output > out.c, a.words > out.sa");
    let outcome = run(&engine(), graph, json!({})).await;
    let expected = json!({"a": "1 2 3", "b": "4 5 6", "c": "7 8 9", "sa": "1 2 3"});
    assert_eq!(outputs(&outcome), expected, "{outcome:?}");
}

#[tokio::test]
async fn an_error_that_is_taken_is_none_of_the_readers_either() {
    let graph = Graph::new()
        .node("count", "test:Count")
        .set("fail_at", json!(2))
        .node("sum", "test:SumStream")
        .node("add", "core:Merge")
        .outputs(&["error", "sum", "list"])
        .edges("count.numbers > sum.numbers, count.error > out.error, sum.sum > out.sum, count.numbers > add.inputs, add.all > out.list");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete, "{outcome:?}");
    assert_eq!(outcome.failed, 0);
    assert!(outcome.output("error").is_some() && outcome.output("sum").is_none());
}

#[tokio::test]
async fn whoever_takes_the_chunks_cannot_take_the_run_down() {
    struct Panics;
    #[async_trait::async_trait]
    impl crate::OutputSink for Panics {
        async fn chunk(&self, _: &str, _: &crate::stream::Chunk) {
            panic!("the sink is broken");
        }
    }
    let graph = Graph::new()
        .node("words", "test:Words")
        .set("text", json!("a b"))
        .outputs(&["words"])
        .edges("words.words > out.words");
    let engine = engine();
    let plan = engine
        .prepare(&Arc::new(graph.0), &NoWorkflows)
        .plan
        .unwrap();
    let options = RunOptions {
        sink: Some(Arc::new(Panics)),
        ..RunOptions::default()
    };
    let outcome = engine.run(&plan, options).await.unwrap();
    assert_eq!(outcome.status, ExecutionStatus::Error);
    assert_eq!(outcome.error.unwrap().code, "node.panicked");
}

#[tokio::test]
async fn a_node_that_streams_and_is_switched_off_passes_its_value_on() {
    let graph = Graph::new()
        .node("words", "test:Words")
        .set("text", json!("a b"))
        .last(|node| node.bypassed = true)
        .node("sum", "test:SumStream")
        .outputs(&["text", "seen"])
        .edges("words.words > out.text, words.words > sum.numbers, sum.seen > out.seen");
    let outcome = run(&engine(), graph, json!({})).await;
    assert_eq!(outputs(&outcome), json!({"text": "a b", "seen": ["a b"]}));
}
