use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use crate::node::{NodeBuilder, text};
use crate::stream::{Chunk, ChunkKind};
use crate::testing::{engine_with, run_node};
use crate::{
    EventBody, ExecutionStatus, Heard, NoWorkflows, NodeType, RunOptions, Workflow, WorkflowEdge,
    WorkflowNode,
};

/// Says "a", "b", then how it ended.
fn speaker() -> NodeType {
    let mut node = NodeBuilder::new("test", "Speaker", "Test", "Speaker", "Speaks");
    let out = node.output(text("out").stream());
    node.task(move |io| async move {
        let writer = io.writer(out);
        writer.text("a").await?;
        writer.text("b").await?;
        let end = Chunk::new(ChunkKind::FinishReason, "stop");
        writer.send(end).await?;
        io.done()
    })
}

async fn run(kind: &str, inputs: Json, to: &str) -> (Map<String, Json>, Vec<String>) {
    let engine = engine_with(vec![speaker()]);
    let types = engine.nodes().types();
    let Json::Object(inputs) = inputs else {
        panic!("{inputs}")
    };
    let mut workflow = Workflow::of_node(types.get(kind).unwrap(), Map::new(), inputs);
    let listener = workflow.nodes.first().cloned().unwrap();
    workflow.edges.push(WorkflowEdge {
        id: "spoken".to_owned(),
        source: "speaker".to_owned(),
        source_handle: Some("out".to_owned()),
        target: listener.id.clone(),
        target_handle: Some(to.to_owned()),
    });
    workflow.nodes.push(WorkflowNode {
        id: "speaker".to_owned(),
        full_type: "test:Speaker".to_owned(),
        inputs: Map::new(),
        ..listener
    });
    let prepared = engine.prepare(&Arc::new(workflow), &NoWorkflows);
    let problems = prepared.problems;
    let plan = prepared.plan.unwrap_or_else(|| panic!("{problems}"));
    let mut events = engine.subscribe();
    let outcome = engine.run(&plan, RunOptions::default()).await.unwrap();
    let failures = &outcome.failures;
    assert_eq!(outcome.status, ExecutionStatus::Complete, "{failures:?}");
    let mut previews = Vec::new();
    while let Some(Heard::Event(event)) = events.try_next() {
        if let EventBody::NodePreview { text, .. } = &event.body {
            previews.push(text.clone());
        }
    }
    (outcome.outputs_json(), previews)
}

#[tokio::test]
async fn a_logger_shows_and_passes_on() {
    let (out, previews) = run("core:StreamLogger", json!({}), "inputStream").await;
    assert_eq!(out["outputStream"], "ab");
    let expected = [
        "1 text_chunk: a",
        "2 text_chunk: b",
        "3 finish_reason_chunk: stop",
        "end after 3 chunks",
    ];
    assert_eq!(previews, expected);
}

#[tokio::test]
async fn a_suffix_follows_each_text() {
    for (inputs, expected) in [(json!({}), "a---b---"), (json!({"suffix": "!"}), "a!b!")] {
        let (out, _) = run("core:StreamSuffixRelay", inputs, "inputStream").await;
        assert_eq!(out["outputStream"], expected);
    }
}

#[tokio::test]
async fn a_stream_becomes_text() {
    for (output, inputs, expected) in [
        ("text", json!({}), json!("ab")),
        ("text", json!({"separator": ", "}), json!("a, b")),
        ("chunks", json!({}), json!(["a", "b"])),
        ("count", json!({}), json!(2)),
    ] {
        let (out, _) = run("core:StreamToString", inputs, "stream").await;
        assert_eq!(out[output], expected, "{output}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_waits() {
    for (ms, waits) in [(0, 0), (1, 1), (2_500, 2_500), (600_000, 600_000)] {
        let before = tokio::time::Instant::now();
        let inputs = json!({"value": {"a": 1}, "ms": ms});
        let out = run_node("core:Delay", json!({}), inputs).await.unwrap();
        assert_eq!(out["value"], json!({"a": 1}));
        assert_eq!(before.elapsed(), Duration::from_millis(waits), "{ms}");
    }
    for ms in [-1, 600_001] {
        let out = run_node("core:Delay", json!({}), json!({"ms": ms})).await;
        assert_eq!(out.unwrap_err().code, "input.range", "{ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delay_ends_with_its_run() {
    let engine = engine_with(Vec::new());
    let types = engine.nodes().types();
    let Json::Object(inputs) = json!({"ms": 600_000}) else {
        panic!()
    };
    let workflow = Workflow::of_node(types.get("core:Delay").unwrap(), Map::new(), inputs);
    let plan = engine
        .prepare(&Arc::new(workflow), &NoWorkflows)
        .plan
        .unwrap();
    let before = tokio::time::Instant::now();
    let mut events = engine.subscribe();
    let execution = engine.start(&plan, RunOptions::default()).unwrap();
    // The first step has been waited for.
    loop {
        let Heard::Event(event) = events.next().await else {
            continue;
        };
        if let EventBody::NodeProgress { value, max, .. } = event.body {
            assert_eq!((value, max), (1_000.0, 600_000.0));
            break;
        }
    }
    execution.interrupt();
    assert_eq!(
        execution.outcome().await.status,
        ExecutionStatus::Interrupted
    );
    assert_eq!(before.elapsed(), Duration::from_secs(1));
}
