//! Everyone who reads a stream to its end sees all of it, and nobody waits for ever.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};

use super::nodes::{Watch, engine};
use crate::limits::STREAM_CAPACITY;
use crate::port::Services;
use crate::testing::Graph;
use crate::{EngineOptions, ExecutionEngine, ExecutionStatus, NoWorkflows, RunOptions};

/// Somebody who reads.
#[derive(Debug, Clone)]
struct Reader {
    /// The stream that it reads, modulo how many there are.
    stream: usize,
    ms: u64,
    /// Leaves after so many.
    most: Option<usize>,
    /// Cannot begin before this stream has ended.
    after: Option<usize>,
}

#[derive(Debug, Clone)]
struct Streams {
    chunks: usize,
    ms: u64,
    /// Streams made from streams: from which, and how slowly; whether only after its own source has ended.
    relays: Vec<(usize, u64, bool)>,
    readers: Vec<Reader>,
    /// Streams that are outputs of the workflow too.
    outputs: Vec<usize>,
    parallel: usize,
}

fn streams() -> impl Strategy<Value = Streams> {
    let reader = (
        0usize..4,
        0u64..3,
        proptest::option::weighted(0.3, 0usize..200),
    )
        .prop_flat_map(|(stream, ms, most)| {
            let after = proptest::option::weighted(0.3, 0usize..4);
            after.prop_map(move |after| Reader {
                stream,
                ms,
                most,
                after,
            })
        });
    let relay = (0usize..4, 0u64..2, proptest::bool::weighted(0.2));
    (
        (1usize..400, 0u64..2),
        proptest::collection::vec(relay, 0..3),
        proptest::collection::vec(reader, 1..7),
        proptest::collection::vec(0usize..4, 0..2),
        prop_oneof![Just(1usize), Just(2), Just(256)],
    )
        .prop_map(
            |((chunks, ms), relays, readers, outputs, parallel)| Streams {
                chunks,
                ms,
                relays,
                readers,
                outputs,
                parallel,
            },
        )
}

impl Streams {
    fn graph(&self) -> Graph {
        let mut graph = Graph::new()
            .node("s0", "law:Relay")
            .set("to", json!(self.chunks))
            .set("ms", json!(self.ms));
        for (index, (from, ms, is_late)) in self.relays.iter().enumerate() {
            let (from, to) = (from % (index + 1), index + 1);
            graph = graph
                .node(&format!("s{to}"), "law:Relay")
                .set("ms", json!(ms));
            graph = graph.edges(&format!("s{from}.out > s{to}.numbers"));
            if *is_late {
                graph = graph.edges(&format!("s{from}.count > s{to}.after"));
            }
        }
        for (index, reader) in self.readers.iter().enumerate() {
            graph = graph
                .node(&format!("r{index}"), "law:Listen")
                .set("ms", json!(reader.ms))
                .edges(&format!(
                    "s{}.out > r{index}.numbers",
                    self.stream(reader.stream)
                ));
            if let Some(most) = reader.most {
                graph = graph.set("most", json!(most));
            }
            if let Some(after) = reader.after {
                let after = self.stream(after);
                graph = graph.edges(&format!("s{after}.count > r{index}.after"));
            }
        }
        let readers = (0..self.readers.len()).map(|index| format!("r{index}"));
        let outputs = (0..self.outputs.len()).map(|index| format!("o{index}"));
        let keys: Vec<String> = readers.chain(outputs).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        graph = graph.outputs(&keys);
        for index in 0..self.readers.len() {
            graph = graph.edges(&format!("r{index}.seen > out.r{index}"));
        }
        for (index, stream) in self.outputs.iter().enumerate() {
            graph = graph.edges(&format!("s{}.out > out.o{index}", self.stream(*stream)));
        }
        graph
    }

    fn stream(&self, number: usize) -> usize {
        number % (self.relays.len() + 1)
    }

    /// What is in a stream: each relay on the way adds 1.
    fn content(&self, number: usize) -> Vec<usize> {
        let (mut at, mut added) = (self.stream(number), 0);
        while at > 0 {
            at = self.relays[at - 1].0 % at;
            added += 1;
        }
        (0..self.chunks).map(|number| number + added).collect()
    }
}

async fn run(
    engine: &ExecutionEngine,
    graph: Graph,
    watch: &Arc<Watch>,
) -> crate::ExecutionOutcome {
    let prepared = engine.prepare(&Arc::new(graph.0), &NoWorkflows);
    let plan = prepared
        .plan
        .unwrap_or_else(|| panic!("{}", prepared.problems));
    let options = RunOptions {
        services: Services {
            host: Some(Arc::new(watch.clone())),
            ..Services::default()
        },
        ..RunOptions::default()
    };
    let limit = Duration::from_secs(3_600);
    let outcome = tokio::time::timeout(limit, engine.run(&plan, options)).await;
    outcome.expect("the run ends").unwrap()
}

async fn check(streams: &Streams) {
    let engine = engine(EngineOptions {
        parallel_nodes: streams.parallel,
        ..EngineOptions::default()
    });
    let watch = Arc::default();
    let outcome = run(&engine, streams.graph(), &watch).await;
    assert_eq!(outcome.status, ExecutionStatus::Complete, "{outcome:?}");
    assert_eq!(watch.alive.load(Ordering::SeqCst), 0);
    for (index, reader) in streams.readers.iter().enumerate() {
        let mut expected = streams.content(reader.stream);
        expected.truncate(reader.most.unwrap_or(usize::MAX));
        let seen = outcome
            .output(&format!("r{index}"))
            .map(|seen| seen.as_json());
        assert_eq!(seen, Some(&json!(expected)), "r{index}");
    }
    for (index, stream) in streams.outputs.iter().enumerate() {
        let seen = outcome
            .output(&format!("o{index}"))
            .map(|seen| seen.as_json());
        assert_eq!(seen, Some(&json!(streams.content(*stream))), "o{index}");
    }
}

fn law(cases: u32, runtime: &tokio::runtime::Runtime) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let end = runner.run(&streams(), |streams| {
        runtime.block_on(check(&streams));
        Ok(())
    });
    end.unwrap();
}

#[test]
fn every_reader_sees_everything() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    law(
        150,
        &builder.enable_all().start_paused(true).build().unwrap(),
    );
}

#[test]
fn every_reader_sees_everything_on_many_threads() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(4).enable_all().build().unwrap();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    // On a clock that goes, nobody waits for it.
    let end = runner.run(&streams(), |mut streams| {
        streams.ms = 0;
        streams.relays.iter_mut().for_each(|(_, ms, _)| *ms = 0);
        streams.readers.iter_mut().for_each(|reader| reader.ms = 0);
        runtime.block_on(check(&streams));
        Ok(())
    });
    end.unwrap();
}

/// Sent and received are counted by those who do it.
#[tokio::test(start_paused = true)]
async fn a_writer_is_never_further_ahead_than_a_stream_holds() {
    let graph = |others: usize| {
        let mut graph = Graph::new()
            .node("s0", "law:Relay")
            .set("to", json!(1_000))
            .node("slow", "law:Listen")
            .set("ms", json!(5))
            .outputs(&["seen"])
            .edges("s0.out > slow.numbers, slow.seen > out.seen");
        for other in 0..others {
            // Others that read nothing, or leave at once, do not matter.
            graph = graph
                .node(&format!("gone{other}"), "law:Listen")
                .set("most", json!(0))
                .edges(&format!("s0.out > gone{other}.numbers"));
        }
        graph
    };
    let capacity = isize::try_from(STREAM_CAPACITY).unwrap();
    for others in [0, 3] {
        let watch = Arc::new(Watch::default());
        let outcome = run(&engine(EngineOptions::default()), graph(others), &watch).await;
        let seen = outcome.output("seen").unwrap().as_json();
        assert_eq!(seen.as_array().map(Vec::len), Some(1_000));
        assert_eq!(watch.most_ahead.load(Ordering::SeqCst), capacity);
        assert_eq!(watch.ahead.load(Ordering::SeqCst), 0);
    }
}

/// The one that reads only after the end needs all of it kept; the slow one beside it is not hurried.
#[tokio::test(start_paused = true)]
async fn only_a_run_that_would_wait_for_itself_is_given_more_room() {
    let graph = Graph::new()
        .node("s0", "law:Relay")
        .set("to", json!(1_000))
        .node("late", "law:Listen")
        .outputs(&["seen"])
        .edges("s0.out > late.numbers, s0.count > late.after, late.seen > out.seen");
    let watch = Arc::new(Watch::default());
    let outcome = run(&engine(EngineOptions::default()), graph, &watch).await;
    let expected: Vec<Json> = (0..1_000).map(Json::from).collect();
    assert_eq!(
        outcome.output("seen").unwrap().as_json(),
        &Json::Array(expected)
    );
    assert_eq!(watch.most_ahead.load(Ordering::SeqCst), 1_000);
}
