//! Everyone who takes a stream, chunk by chunk or whole, gets all of it; nobody waits for ever; what is lost is told.
//!
//! `chance.rs` and `graph.rs` make workflows of the nodes in `nodes.rs`, `expected.rs` says what has to come of them.

mod chance;
mod expected;
mod graph;
pub(super) mod nodes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};

use self::chance::{Flag, Kind, Streams, streams};
use self::expected::Expected;
use self::graph::Given;
use super::nodes::{Watch, engine};
use crate::limits::STREAM_CAPACITY;
use crate::port::Services;
use crate::stream::Chunk;
use crate::testing::{Graph, heard};
use crate::{
    DataFlowType, EngineOptions, EventBody, ExecutionEngine, ExecutionEvent, ExecutionStatus,
    NoWorkflows, RunOptions,
};

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

/// The chunks that were told of a stream, and how often its end was.
#[derive(Debug, Default, PartialEq)]
struct Told {
    chunks: Vec<Json>,
    ends: usize,
}

/// By `key` for the outputs of the workflow, by `node.key` for those of its nodes.
fn told(events: &[Arc<ExecutionEvent>]) -> BTreeMap<String, Told> {
    let mut all: BTreeMap<String, Told> = BTreeMap::new();
    for event in events {
        let (name, chunk): (String, &Option<Chunk>) = match &event.body {
            EventBody::NodeYield {
                node,
                output,
                chunk,
            } => (format!("{}.{output}", node.info.id), chunk),
            EventBody::InterfaceYield { key, chunk, .. } => (key.to_string(), chunk),
            _ => continue,
        };
        let told = all.entry(name).or_default();
        match chunk {
            Some(chunk) => told.chunks.push(chunk.content.as_json().clone()),
            None => told.ends += 1,
        }
    }
    all
}

async fn check(streams: &Streams) {
    let engine = engine(EngineOptions {
        parallel_nodes: streams.parallel,
        ..EngineOptions::default()
    });
    let (watch, expected) = (Arc::default(), Expected::of(streams));
    let mut events = engine.subscribe();
    let outcome = run(&engine, streams.graph(), &watch).await;
    assert_eq!(watch.alive.load(Ordering::SeqCst), 0);
    let events = heard(&mut events);
    let told = told(&events);
    let is_complete = outcome.status == ExecutionStatus::Complete;
    let can_fail = expected.may_fail.contains(&true);
    assert!(is_complete || can_fail, "{outcome:?}");
    for (key, given, flow) in streams.outputs() {
        if expected.is_partial[given.node] && !is_complete {
            continue;
        }
        let may_lack = expected.may_fail[given.node] && !is_complete;
        match outcome.output(&key) {
            None => assert!(may_lack, "{key} is lost: {outcome:?}"),
            Some(seen) => {
                assert_eq!(seen.as_json(), &expected.value(given, flow), "{key}");
                if given.is_stream {
                    let whole = Told {
                        chunks: expected.chunks(given),
                        ends: 1,
                    };
                    assert_eq!(told.get(&key), Some(&whole), "{key}");
                }
            }
        }
    }
    // What a node that came to its end has written was told as well.
    let completed = events.iter().filter_map(|event| match &event.body {
        EventBody::NodeComplete { node, .. } => node.info.id.strip_prefix('n'),
        _ => None,
    });
    for node in completed.filter_map(|id| id.parse::<usize>().ok()) {
        if expected.is_partial[node] && !is_complete {
            continue;
        }
        let keys: &[&str] = match streams.nodes[node].kind {
            Kind::Write { .. } | Kind::Relay(_) => &["out", "also"],
            // Where nobody takes it, a loop has no such output.
            Kind::Loop { .. } if told.contains_key(&format!("n{node}.chunks")) => &["chunks"],
            _ => &[],
        };
        for key in keys {
            let given = Given {
                node,
                key,
                flow: DataFlowType::Wildcard,
                is_stream: true,
            };
            let whole = Told {
                chunks: expected.chunks(given),
                ends: 1,
            };
            let name = format!("n{node}.{key}");
            assert_eq!(told.get(&name), Some(&whole), "{name}");
        }
    }
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

fn law(cases: u32, breaks: bool) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    let end = runner(cases).run(&streams(breaks), |streams| {
        runtime.block_on(check(&streams));
        Ok(())
    });
    end.unwrap();
}

#[test]
fn everyone_gets_the_whole_of_a_stream() {
    law(200, false);
}

#[test]
fn what_is_lost_with_a_stream_that_breaks_is_told() {
    law(100, true);
}

#[test]
fn everyone_gets_the_whole_of_a_stream_on_many_threads() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(4).enable_all().build().unwrap();
    // On a clock that goes, nobody waits for it.
    let end = runner(60).run(&streams(true), |mut streams| {
        streams.nodes.iter_mut().for_each(|node| node.ms = 0);
        let limit = Duration::from_secs(60);
        let end = runtime.block_on(async { tokio::time::timeout(limit, check(&streams)).await });
        end.expect("the run ends");
        Ok(())
    });
    end.unwrap();
}

/// What a workflow of streams has in it that went wrong before, or might.
fn features(streams: &Streams) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (index, node) in streams.nodes.iter().enumerate() {
        let is_stream = |wish: &usize| streams.any(index, *wish).is_stream;
        let is_late = node
            .after
            .is_some_and(|after| streams.any(index, after).key == "count");
        let (reads, by_value): (&[&usize], &[&usize]) = match &node.kind {
            Kind::Write { .. } => (&[], &[]),
            Kind::Relay(from) | Kind::Listen { from, .. } => (&[from], &[]),
            Kind::Both { one, two, .. } => (&[one, two], &[]),
            Kind::Take { any, .. } => (&[], &[any]),
            Kind::If {
                then, otherwise, ..
            } => (&[], &[then, otherwise]),
            Kind::Switch { x, y, .. } => (&[], &[x, y]),
            Kind::Pick { yes, no, .. } => (&[yes, no], &[]),
            Kind::Loop { from, .. } => (&[], &[from]),
        };
        let has_stream = reads.iter().any(|wish| is_stream(wish));
        let collects = by_value.iter().any(|wish| is_stream(wish));
        let is_wrapped = reads.iter().any(|wish| !is_stream(wish));
        let is_fast = has_stream && node.ms == 0;
        let mut note = |is_so: bool, name| found.extend(is_so.then_some(name));
        note(is_fast, "a fast reader");
        note(has_stream && node.ms > 0, "a slow reader");
        note(has_stream && is_late, "a reader that begins late");
        note(is_wrapped, "a value into a stream");
        let kind = &node.kind;
        match kind {
            Kind::Listen { most, .. } => note(has_stream && most.is_some(), "one that leaves"),
            Kind::Both {
                one, two, is_twin, ..
            } => {
                let first = streams.any(index, *one);
                let second = streams.second(index, first, *two, *is_twin);
                let is_twin = first.node == second.node && first.key != second.key;
                note(is_twin && first.is_stream, "two streams of one writer");
            }
            Kind::Take {
                text, list, many, ..
            } => {
                note(collects, "a stream into a value");
                let typed = |wish: &Option<usize>, flow| {
                    wish.is_some_and(|wish| streams.granted(index, wish, flow).is_stream)
                };
                note(typed(text, DataFlowType::String), "a stream into a text");
                note(typed(list, DataFlowType::Array), "a stream into a list");
                let streams = many.iter().filter(|wish| is_stream(wish)).count();
                note(streams > 1, "streams into a multi input");
            }
            Kind::If { condition, .. } => {
                note(collects, "a stream into a lazy input of If");
                let is_open = matches!(condition, Flag::From(wish) if is_stream(wish));
                note(is_open, "a stream that decides");
            }
            Kind::Switch { .. } => note(collects, "a stream into a lazy input of Switch"),
            Kind::Pick { .. } => note(has_stream, "a stream into a lazy stream input"),
            Kind::Loop { .. } => note(collects, "a stream into a loop"),
            // The list that was collected is streamed again.
            Kind::Relay(from) => {
                let given = streams.any(index, *from);
                let is_collected = match &streams.nodes[given.node].kind {
                    Kind::Take {
                        list: Some(list), ..
                    } => streams.granted(given.node, *list, DataFlowType::Array),
                    Kind::If { then, .. } => streams.any(given.node, *then),
                    _ => continue,
                };
                let is_whole = ["items", "result"].contains(&given.key);
                note(
                    is_whole && is_collected.is_stream,
                    "collected and streamed again",
                );
            }
            Kind::Write { .. } => {}
        }
    }
    for (_, given, flow) in streams.outputs() {
        if given.is_stream {
            found.push(match flow {
                DataFlowType::String => "an output that is a text of a stream",
                DataFlowType::Array => "an output that is a list of a stream",
                _ => "an output that is a stream",
            });
        }
    }
    found
}

/// A law says nothing of what chance never makes.
#[test]
fn chance_makes_every_kind_of_reader() {
    let mut runner = TestRunner::deterministic();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..500 {
        let streams = streams(false).new_tree(&mut runner).unwrap().current();
        for feature in features(&streams) {
            *counts.entry(feature).or_default() += 1;
        }
    }
    let wanted = [
        "a fast reader",
        "a slow reader",
        "a reader that begins late",
        "one that leaves",
        "two streams of one writer",
        "a value into a stream",
        "a stream into a value",
        "a stream into a text",
        "a stream into a list",
        "streams into a multi input",
        "a stream into a lazy input of If",
        "a stream into a lazy input of Switch",
        "a stream into a lazy stream input",
        "a stream that decides",
        "a stream into a loop",
        "collected and streamed again",
        "an output that is a stream",
        "an output that is a text of a stream",
        "an output that is a list of a stream",
    ];
    for feature in wanted {
        let count = counts.get(feature).copied().unwrap_or_default();
        assert!(count >= 10, "{feature}: {count} of {counts:?}");
    }
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
