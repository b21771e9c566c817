use innkeeper_engine::node::{NodeBuilder, text};
use innkeeper_engine::{
    EngineOptions, ExecutionEngine, NoWorkflows, NodeManager, RunOptions, Workflow,
};
use serde_json::json;

use super::*;

/// Runs a test inside a node, where there is a context.
async fn in_a_node(
    test: impl Fn(Queue, mpsc::Receiver<Map<String, Json>>) + Send + Sync + 'static,
) {
    let mut node = NodeBuilder::new("test", "Queue", "Test", "Queue", "For tests");
    let out = node.output(text("out"));
    node.effects();
    let kind = node.task(move |mut io| {
        let (sender, receiver) = mpsc::channel(MAX_WAITING_PIECES);
        let queue = Queue {
            sender,
            is_overfull: AtomicBool::new(false),
            context: io.context().clone(),
        };
        test(queue, receiver);
        async move {
            io.set(out, "done");
            io.done()
        }
    });
    let nodes = NodeManager::new();
    nodes.replace("test", vec![kind]).unwrap();
    let engine = ExecutionEngine::new(nodes, EngineOptions::default());
    let types = engine.nodes().types();
    let kind = types.get("test:Queue").unwrap();
    let workflow = Arc::new(Workflow::of_node(kind, Map::new(), Map::new()));
    let plan = engine.prepare(&workflow, &NoWorkflows).plan.unwrap();
    let outcome = engine.run(&plan, RunOptions::default()).await.unwrap();
    assert!(outcome.output("out").is_some(), "{outcome:?}");
}

fn is_ready(room: &mut Room) -> bool {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    room.as_mut().poll(&mut context).is_ready()
}

#[tokio::test]
async fn a_full_queue_asks_to_wait_until_somebody_reads() {
    in_a_node(|queue, mut receiver| {
        for number in 0..MAX_WAITING_PIECES {
            assert!(queue.room().is_none(), "{number}");
            queue.partial(&json!({"out": number}));
        }
        let mut room = queue.room().unwrap();
        assert!(!is_ready(&mut room));
        assert_eq!(receiver.try_recv().unwrap()["out"], 0);
        assert!(is_ready(&mut room));
        drop(room);
        assert!(queue.room().is_none());
        queue.partial(&json!({"out": "last"}));
        assert!(!queue.is_overfull.load(Ordering::Acquire));
        // Whoever does not wait loses a piece, and it is known.
        queue.partial(&json!({"out": "too much"}));
        assert!(queue.is_overfull.load(Ordering::Acquire));
    })
    .await;
}

#[tokio::test]
async fn nobody_waits_for_a_reader_that_is_gone() {
    in_a_node(|queue, receiver| {
        for number in 0..MAX_WAITING_PIECES {
            queue.partial(&json!({"out": number}));
        }
        let mut room = queue.room().unwrap();
        assert!(!is_ready(&mut room));
        drop(receiver);
        assert!(is_ready(&mut room));
        assert!(queue.room().is_none());
        queue.partial(&json!({"out": "unheard"}));
        assert!(!queue.is_overfull.load(Ordering::Acquire));
    })
    .await;
}

#[test]
fn a_stream_that_is_too_long_is_told_with_its_slot() {
    for (code, expected) in [("stream.too_long", "'notes': why"), ("model.busy", "why")] {
        let error = in_slot("notes", NodeError::invalid(code, "why"));
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            (code, expected)
        );
    }
}
