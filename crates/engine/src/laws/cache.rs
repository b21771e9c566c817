//! Kept results change nothing but what is done again.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::graph::{Seeds, seeds};
use super::nodes::{Watch, engine};
use super::results::{known, options, prepare};
use crate::port::Services;
use crate::testing::Graph;
use crate::{EngineOptions, ExecutionEngine, ExecutionOutcome, NoWorkflows, Plan, RunOptions};

fn with(cache_bytes: usize) -> ExecutionEngine {
    engine(EngineOptions {
        cache_bytes,
        ..EngineOptions::default()
    })
}

/// The outcome, and how often each node that is a task ran.
async fn run(engine: &ExecutionEngine, plan: &Plan) -> (ExecutionOutcome, BTreeMap<String, usize>) {
    let watch = Arc::new(Watch::default());
    let options = RunOptions {
        services: Services {
            host: Some(Arc::new(watch.clone())),
            ..Services::default()
        },
        ..options()
    };
    let outcome = engine.run(plan, options).await.unwrap();
    let runs = watch.runs.lock().unwrap().clone();
    (outcome, runs)
}

async fn check(seeds: &Seeds) {
    let (without, keeping) = (with(0), with(1 << 20));
    let Some((plan, _)) = prepare(&keeping, seeds) else {
        return;
    };
    let (expected, all) = run(&without, &plan).await;
    let (first, some) = run(&keeping, &plan).await;
    let (again, rest) = run(&keeping, &plan).await;
    assert_eq!(known(&first), known(&expected));
    assert_eq!(known(&again), known(&expected));
    for (node, runs) in &some {
        assert!(runs <= all.get(node).unwrap_or(&0), "{node}");
    }
    // Only what failed is done again.
    for node in rest.keys() {
        let info = plan.info(node);
        assert_eq!(&*info.full_type, "law:PickyTask", "{node}");
    }
    assert_eq!(without.cache_size().entries, 0);
}

impl Plan {
    fn info(&self, id: &str) -> Arc<crate::node::NodeInfo> {
        fn find(region: &crate::plan::Region, id: &str) -> Option<Arc<crate::node::NodeInfo>> {
            region.nodes.iter().find_map(|node| match &node.op {
                _ if &*node.info.id == id => Some(node.info.clone()),
                crate::plan::Op::Loop(zone) => find(&zone.body, id),
                _ => None,
            })
        }
        find(&self.0, id).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn kept_results_are_the_same_results(seeds in seeds(20)) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(check(&seeds));
    }
}

const LENGTH: usize = 8;

fn chain(change: impl Fn(usize, Graph) -> Graph) -> Graph {
    let mut graph = Graph::new().inputs(&["p", "q"]);
    for index in 0..LENGTH {
        graph = graph.node(&format!("n{index}"), "law:MixTask");
        graph = change(index, graph);
        if let Some(before) = index.checked_sub(1) {
            graph = graph.edges(&format!("n{before}.x > n{index}.a"));
        }
    }
    graph.outputs(&["y"]).edges("n7.x > out.y")
}

fn plan(engine: &ExecutionEngine, graph: Graph) -> Plan {
    let prepared = engine.prepare(&Arc::new(graph.0), &NoWorkflows);
    prepared
        .plan
        .unwrap_or_else(|| panic!("{}", prepared.problems))
}

#[tokio::test(start_paused = true)]
async fn an_edited_workflow_does_again_what_has_changed() {
    for place in 0..LENGTH {
        let engine = with(1 << 20);
        let (before, all) = run(&engine, &plan(&engine, chain(|_, graph| graph))).await;
        assert_eq!(all.len(), LENGTH);
        // Another setting, the same result: what comes after it has not changed.
        let same = chain(|index, graph| match index == place {
            true => graph.config(json!({"ms": 1})),
            false => graph,
        });
        let (outcome, runs) = run(&engine, &plan(&engine, same)).await;
        assert_eq!(known(&outcome), known(&before));
        assert_eq!(runs, BTreeMap::from([(format!("n{place}"), 1)]));
        // Another input, another result: what comes after it is done again.
        let other = chain(|index, graph| match index == place {
            true => graph.set("t", json!("other")),
            false => graph,
        });
        let (outcome, runs) = run(&engine, &plan(&engine, other)).await;
        assert_ne!(known(&outcome), known(&before));
        let expected = (place..LENGTH).map(|index| (format!("n{index}"), 1));
        assert_eq!(runs, expected.collect());
    }
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_bounded() {
    let engine = with(8_192);
    for number in 0..50 {
        let graph = chain(|_, graph| graph.set("t", json!(number.to_string())));
        run(&engine, &plan(&engine, graph)).await;
        let size = engine.cache_size();
        assert!((1..=8_192).contains(&size.bytes), "{size:?}");
        assert!(size.entries > 0 && size.entries < 40, "{size:?}");
    }
    engine.clear_cache();
    assert_eq!(engine.cache_size().entries, 0);
}

/// Not even where the workflow asks for it.
#[tokio::test(start_paused = true)]
async fn what_a_node_does_is_never_left_out() {
    let engine = with(1 << 20);
    let graph = Graph::new()
        .inputs(&["p", "q"])
        .node("slow", "test:Slow")
        .last(|node| node.execution.cache = Some(true))
        .node("fails", "law:PickyTask")
        .set("a", json!(3))
        .last(|node| node.execution.cache = Some(true));
    let plan = plan(&engine, graph);
    for _ in 0..3 {
        let (_, runs) = run(&engine, &plan).await;
        assert_eq!(runs.get("fails"), Some(&1));
        assert_eq!(engine.cache_size().entries, 0);
    }
}

/// A plugin that was changed and loaded again does not give what it gave before.
#[tokio::test]
async fn a_changed_type_does_its_work_again() {
    let engine = with(1 << 20);
    let answer = |number: i64| {
        let mut node = crate::NodeBuilder::new("plugin", "Answer", "Law", "Answer", "Answers");
        let out = node.output(crate::node::integer("out"));
        let node = node.task(move |mut io| async move {
            io.set(out, number);
            io.done()
        });
        engine.nodes().replace("plugin", vec![node]).unwrap();
        let graph = Graph::new()
            .inputs(&["p", "q"])
            .node("a", "plugin:Answer")
            .outputs(&["y"])
            .edges("a.out > out.y");
        plan(&engine, graph)
    };
    for number in [1, 2] {
        let plan = answer(number);
        let (outcome, _) = run(&engine, &plan).await;
        assert_eq!(outcome.output("y").unwrap().as_json(), &json!(number));
    }
}
