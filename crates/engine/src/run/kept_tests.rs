use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use innkeeper_protocol::{Locale, Observation, Protocol, ToolCallRequest, ToolDefinition};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::node::{integer, text};
use crate::port::{Services, ToolListener, ToolPort};
use crate::testing::{Graph, engine_with, heard};
use crate::{
    EventBody, ExecutionEngine, NoWorkflows, NodeBuilder, NodeError, NodeType, RunOptions,
};

/// Keeps its own: what is asked for decides what it does, `at_work` counts how often it does it.
fn node(at_work: &Arc<AtomicUsize>) -> NodeType {
    let mut node = NodeBuilder::new("test", "Own", "Test", "Own", "Keeps its own");
    let what = node.input(text("what"));
    let out = node.output(integer("out"));
    node.effects();
    let at_work = at_work.clone();
    let node = node.task(move |mut io| {
        let at_work = at_work.clone();
        async move {
            let what = io.get(what)?;
            let Some(kept) = io.context().kept().cloned() else {
                at_work.fetch_add(1, Ordering::SeqCst);
                io.set(out, 0u64);
                return io.done();
            };
            if let Some(found) = kept.take(&[7; 32]) {
                // A try that took something and still failed.
                if what == "spoils" {
                    return Err(NodeError::failed("test.spoilt", "it was not good any more"));
                }
                io.set(out, found);
                return io.done();
            }
            let number = at_work.fetch_add(1, Ordering::SeqCst) + 1;
            kept.made(&[7; 32], &json!(number));
            match what.as_str() {
                "fails" => return Err(NodeError::failed("test.failed", "it was told to fail")),
                "forgets" => {}
                _ => kept.keep(),
            }
            io.set(out, number as u64);
            io.done()
        }
    });
    node.keeping_own()
}

struct Shop {
    engine: ExecutionEngine,
    at_work: Arc<AtomicUsize>,
}

impl Shop {
    fn new() -> Self {
        let at_work = Arc::default();
        Self {
            engine: engine_with(vec![node(&at_work)]),
            at_work,
        }
    }

    /// How often the node has done its work so far, and whether this run was told as kept.
    async fn run(&self, what: &str, cache: Option<bool>, options: RunOptions) -> (usize, bool) {
        let graph = Graph::new()
            .node("own", "test:Own")
            .set("what", json!(what))
            .last(|node| {
                node.execution.cache = cache;
                node.execution.retry = 1;
                node.execution.retry_delay_ms = 1;
            });
        let prepared = self.engine.prepare(&Arc::new(graph.0), &NoWorkflows);
        let mut events = self.engine.subscribe();
        let plan = prepared.plan.unwrap();
        self.engine.run(&plan, options).await.unwrap();
        let is_kept = heard(&mut events)
            .iter()
            .any(|event| matches!(event.body, EventBody::NodeComplete { cached: true, .. }));
        (self.at_work.load(Ordering::SeqCst), is_kept)
    }
}

fn scoped(scope: &str) -> RunOptions {
    RunOptions {
        cache_scope: Some(scope.to_owned()),
        ..RunOptions::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_takes_what_it_kept_for_the_same_scope_alone() {
    let shop = Shop::new();
    assert_eq!(shop.run("", None, scoped("anna")).await, (1, false));
    assert_eq!(shop.run("", None, scoped("anna")).await, (1, true));
    assert_eq!(shop.run("", None, scoped("ben")).await, (2, false));
    // The workflow wants nothing kept.
    assert_eq!(shop.run("", Some(false), scoped("anna")).await, (3, false));
    let fresh = RunOptions {
        is_fresh: true,
        ..scoped("anna")
    };
    assert_eq!(shop.run("", None, fresh).await, (4, false));
    assert_eq!(shop.engine.cache_size().entries, 2);
    shop.engine.clear_cache();
    assert_eq!(shop.run("", None, scoped("anna")).await, (5, false));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_before_the_node_says_so() {
    for (what, works) in [("fails", 2), ("forgets", 1)] {
        let shop = Shop::new();
        assert_eq!(
            shop.run(what, Some(true), scoped("anna")).await,
            (works, false),
            "{what}"
        );
        assert_eq!(shop.engine.cache_size().entries, 0, "{what}");
    }
    let shop = Shop::new();
    shop.run("", None, scoped("anna")).await;
    // It ends as a failure, and not as something that was kept.
    assert_eq!(shop.run("spoils", None, scoped("anna")).await, (1, false));
}

/// A fresh run does also the work of nodes for which the engine keeps.
#[tokio::test]
async fn a_fresh_run_takes_nothing_and_keeps_what_it_makes() {
    let at_work = Arc::new(AtomicUsize::new(0));
    let counted = at_work.clone();
    let mut node = NodeBuilder::new("test", "Count", "Test", "Count", "Counts");
    let out = node.output(integer("out"));
    let node = node.task(move |mut io| {
        let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            io.set(out, number as u64);
            io.done()
        }
    });
    let engine = engine_with(vec![node]);
    let graph = Graph::new()
        .node("count", "test:Count")
        .outputs(&["n"])
        .edges("count.out > out.n");
    let plan = engine.prepare(&Arc::new(graph.0), &NoWorkflows).plan;
    let plan = plan.unwrap();
    for (is_fresh, expected) in [(false, 1), (false, 1), (true, 2), (false, 2)] {
        let options = RunOptions {
            is_fresh,
            ..RunOptions::default()
        };
        let outcome = engine.run(&plan, options).await.unwrap();
        assert_eq!(outcome.output("n").unwrap().as_json(), &json!(expected));
    }
}

/// Looks where it is told to, as those do who decide before.
struct Interpreter {
    told: Json,
    files: Json,
    calls: AtomicUsize,
}

#[async_trait]
impl ToolPort for Interpreter {
    fn list(&self) -> Vec<Arc<ToolDefinition>> {
        Vec::new()
    }

    fn manifest(&self, _: &[Arc<ToolDefinition>], _: Protocol, _: Locale) -> String {
        String::new()
    }

    async fn call(
        &self,
        request: ToolCallRequest<'static>,
        _: Arc<dyn ToolListener>,
        _: CancellationToken,
    ) -> Observation {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let said = json!({"exit": 0, "stdout": self.told.to_string(), "files": self.files});
        Observation::success(request.tool.to_string(), said)
    }

    async fn call_kept(
        &self,
        request: ToolCallRequest<'static>,
        kept: Kept,
        heard: Arc<dyn ToolListener>,
        cancel: CancellationToken,
    ) -> Observation {
        let tool = request.tool.to_string();
        if let Some(result) = kept.take(&[1; 32]) {
            return Observation::success(tool, result);
        }
        let observation = self.call(request, heard, cancel).await;
        if let innkeeper_protocol::Outcome::Success { result, .. } = &observation.outcome {
            kept.made(&[1; 32], result);
        }
        observation
    }
}

#[tokio::test]
async fn code_is_kept_where_its_setting_says_so_and_it_did_nothing_else() {
    let good = json!({"result": 3, "stdout": "", "error": ""});
    let bad = json!({"result": null, "stdout": "", "error": "ValueError"});
    let none = json!([]);
    let some = json!([{"name": "a.txt", "uri": "user://a.txt", "size": 1}]);
    for (setting, told, files, cache, calls) in [
        (Some(json!(true)), &good, &none, None, 1),
        (Some(json!(false)), &good, &none, None, 2),
        (None, &good, &none, Some(true), 2),
        (Some(json!(true)), &good, &none, Some(false), 2),
        (Some(json!(true)), &bad, &none, None, 2),
        (Some(json!(true)), &good, &some, None, 2),
    ] {
        let case = format!("{setting:?} {told} {files} {cache:?}");
        let tools = Arc::new(Interpreter {
            told: told.clone(),
            files: files.clone(),
            calls: AtomicUsize::new(0),
        });
        let engine = engine_with(Vec::new());
        let config = match setting {
            Some(setting) => json!({ "deterministic": setting }),
            None => json!({}),
        };
        let graph = Graph::new()
            .node("code", "core:Code")
            .set("code", json!("result = 3"))
            .config(config)
            .last(|node| node.execution.cache = cache)
            .outputs(&["n"])
            .edges("code.result > out.n");
        let plan = engine.prepare(&Arc::new(graph.0), &NoWorkflows).plan;
        let plan = plan.unwrap();
        for _ in 0..2 {
            let options = RunOptions {
                services: Services {
                    tools: Some(tools.clone()),
                    ..Services::default()
                },
                ..RunOptions::default()
            };
            let outcome = engine.run(&plan, options).await.unwrap();
            assert_eq!(outcome.output("n").unwrap().as_json(), &told["result"]);
        }
        assert_eq!(tools.calls.load(Ordering::SeqCst), calls, "{case}");
    }
}
