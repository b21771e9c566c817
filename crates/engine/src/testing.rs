//! For tests of this crate: one node run alone, and workflows in a few words.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::node::{any, array, float, integer, text};
use crate::port::Services;
use crate::stream::Chunk;
use crate::{
    DataFlowType, EngineOptions, ExecutionEngine, ExecutionEvent, ExecutionOutcome,
    ExecutionStatus, FindError, Heard, NoWorkflows, NodeBuilder, NodeError, NodeManager, NodeType,
    RunOptions, Subscription, Workflow, WorkflowNode, WorkflowSource,
};

fn object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(map) => map,
        Json::Null => Map::new(),
        other => panic!("{other} is no object"),
    }
}

/// The outputs of one node, streams collected; `Err` if it failed.
pub(crate) async fn run_node(
    full_type: &str,
    config: Json,
    inputs: Json,
) -> Result<Map<String, Json>, NodeError> {
    run_node_with(full_type, config, inputs, Services::default()).await
}

pub(crate) async fn run_node_with(
    full_type: &str,
    config: Json,
    inputs: Json,
    services: Services,
) -> Result<Map<String, Json>, NodeError> {
    let engine = ExecutionEngine::new(NodeManager::new(), EngineOptions::default());
    let types = engine.nodes().types();
    let kind = types.get(full_type).expect(full_type);
    let workflow = Arc::new(Workflow::of_node(kind, object(config), object(inputs)));
    let prepared = engine.prepare(&workflow, &NoWorkflows);
    let Some(plan) = prepared.plan else {
        return Err(NodeError::invalid("plan", prepared.problems.to_string()));
    };
    let options = RunOptions {
        services,
        ..RunOptions::default()
    };
    let outcome = engine.run(&plan, options).await.unwrap();
    match outcome.status {
        ExecutionStatus::Complete => Ok(outcome.outputs_json()),
        _ => Err(outcome.failures.first().map_or_else(
            || outcome.error.clone().unwrap(),
            |failure| failure.error.clone(),
        )),
    }
}

/// An engine with the built-in nodes and those for tests.
pub(crate) fn engine() -> ExecutionEngine {
    engine_with(test_nodes())
}

/// An engine with the built-in nodes and these.
pub(crate) fn engine_with(more: Vec<NodeType>) -> ExecutionEngine {
    let nodes = NodeManager::new();
    nodes.replace("test", more).unwrap();
    ExecutionEngine::new(nodes, EngineOptions::default())
}

pub(crate) async fn run(engine: &ExecutionEngine, graph: Graph, inputs: Json) -> ExecutionOutcome {
    let prepared = engine.prepare(&Arc::new(graph.0), &NoWorkflows);
    let problems = prepared.problems;
    let plan = prepared.plan.unwrap_or_else(|| panic!("{problems}"));
    let options = RunOptions {
        inputs: object(inputs),
        ..RunOptions::default()
    };
    engine.run(&plan, options).await.unwrap()
}

/// A workflow in a few words.
#[derive(Clone)]
pub(crate) struct Graph(pub(crate) Workflow);

impl Graph {
    pub(crate) fn new() -> Self {
        Self(Workflow::new("test"))
    }

    pub(crate) fn named(id: &str) -> Self {
        let mut graph = Self::new();
        graph.0.id = Some(id.to_owned());
        graph.0.name = id.to_owned();
        graph
    }

    pub(crate) fn node(mut self, id: &str, full_type: &str) -> Self {
        self.0.add_node(full_type, id);
        self
    }

    /// The node that was added last.
    pub(crate) fn last(mut self, change: impl FnOnce(&mut WorkflowNode)) -> Self {
        change(self.0.nodes.last_mut().unwrap());
        self
    }

    pub(crate) fn set(self, key: &str, value: Json) -> Self {
        self.last(|node| drop(node.inputs.insert(key.to_owned(), value)))
    }

    pub(crate) fn config(self, config: Json) -> Self {
        self.last(|node| node.config = object(config))
    }

    pub(crate) fn inside(self, parent: &str) -> Self {
        self.last(|node| node.parent = Some(parent.to_owned()))
    }

    /// `a.out > b.in, b.out > c.in`
    pub(crate) fn edges(mut self, edges: &str) -> Self {
        for edge in edges
            .split(',')
            .map(str::trim)
            .filter(|edge| !edge.is_empty())
        {
            let (from, to) = edge.split_once(" > ").expect(edge);
            let (source, source_handle) = from.split_once('.').expect(from);
            let (target, target_handle) = to.split_once('.').expect(to);
            self.0
                .connect((source, source_handle), (target, target_handle));
        }
        self
    }

    /// Inputs of the interface, and the node `in` that gives them.
    pub(crate) fn inputs(mut self, keys: &[&str]) -> Self {
        for key in keys {
            self.0.add_input(*key, DataFlowType::Wildcard);
        }
        self.node("in", "core:GroupInput")
    }

    /// Outputs of the interface, and the node `out` that takes them.
    pub(crate) fn outputs(mut self, keys: &[&str]) -> Self {
        for key in keys {
            self.0.add_output(*key, DataFlowType::Wildcard);
        }
        self.node("out", "core:GroupOutput")
    }
}

/// Workflows by their ids.
#[derive(Default)]
pub(crate) struct Shelf(pub(crate) Vec<Arc<Workflow>>);

impl WorkflowSource for Shelf {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        let found = self
            .0
            .iter()
            .find(|one| one.id.as_deref() == Some(reference));
        found.cloned().ok_or(FindError::Unknown {
            reference: reference.to_owned(),
            hint: String::new(),
        })
    }
}

/// Nodes for tests: sums, texts, streams, failures.
pub(crate) fn test_nodes() -> Vec<NodeType> {
    let mut add = NodeBuilder::new("test", "Add", "Test", "Add", "Adds");
    let a = add.input(float("a"));
    let b = add.input(float("b").default(1.0));
    let sum = add.output(float("sum"));
    let add = add.inline(move |io| {
        let total = io.get(a)? + io.get(b)?;
        io.set(sum, total);
        Ok(())
    });

    let mut slow = NodeBuilder::new("test", "Slow", "Test", "Slow", "Adds, as a task");
    let a = slow.input(float("a"));
    let b = slow.input(float("b").default(1.0));
    let wait = slow.input(integer("ms").default(0));
    let sum = slow.output(float("sum"));
    slow.effects();
    let slow = slow.task(move |mut io| async move {
        let wait = u64::try_from(io.get(wait)?).unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
        let total = io.get(a)? + io.get(b)?;
        io.set(sum, total);
        io.done()
    });

    let mut fail = NodeBuilder::new("test", "Fail", "Test", "Fail", "Fails");
    fail.input(any("after"));
    let limit = fail.input(integer("below").optional());
    let value = fail.input(integer("value").default(0));
    let out = fail.output(any("out"));
    fail.effects();
    let fail = fail.task(move |mut io| async move {
        let value = io.get(value)?;
        match io.get(limit)? {
            Some(limit) if value >= limit => {
                io.set(out, value);
                io.done()
            }
            _ => Err(NodeError::failed("test.failed", "it was told to fail")),
        }
    });

    let mut count = NodeBuilder::new("test", "Count", "Test", "Count", "Streams numbers");
    let to = count.input(integer("to").default(3));
    let fail_at = count.input(integer("fail_at").optional());
    let stream = count.output(integer("numbers").stream());
    let total = count.output(integer("total"));
    count.effects();
    let count = count.task(move |mut io| async move {
        let (to, fail_at) = (io.get(to)?, io.get(fail_at)?);
        let writer = io.writer(stream);
        for number in 0..to {
            if fail_at == Some(number) {
                return Err(NodeError::failed("test.failed", "the stream breaks"));
            }
            writer.send(Chunk::of(number.into())).await?;
        }
        io.set(total, to);
        io.done()
    });

    let mut words = NodeBuilder::new("test", "Words", "Test", "Words", "Streams a text by word");
    let said = words.input(text("text"));
    let stream = words.output(text("words").stream());
    words.effects();
    let words = words.task(move |mut io| async move {
        let said: String = io.get(said)?;
        for word in said.split_inclusive(' ') {
            io.writer(stream).text(word).await?;
        }
        io.done()
    });

    let mut sum = NodeBuilder::new("test", "SumStream", "Test", "Sum", "Adds up a stream");
    let numbers = sum.input(any("numbers").stream().required());
    sum.input(any("also"));
    let total = sum.output(integer("sum"));
    let seen = sum.output(array("seen"));
    sum.effects();
    let sum = sum.task(move |mut io| async move {
        let mut reader = io.get(numbers)?;
        let (mut all, mut list) = (0, Vec::new());
        while let Some(chunk) = reader.next().await {
            let chunk = chunk?;
            all += chunk.content.as_json().as_i64().unwrap_or_default();
            list.push(chunk.content);
        }
        io.set(total, all);
        io.set(seen, list);
        io.done()
    });
    vec![add, slow, fail, count, words, sum]
}

/// Every event that has come, by name and node.
pub(crate) fn heard(subscription: &mut Subscription) -> Vec<Arc<ExecutionEvent>> {
    let mut events = Vec::new();
    while let Some(heard) = subscription.try_next() {
        match heard {
            Heard::Event(event) => events.push(event),
            Heard::Lost(lost) => panic!("{lost} events lost"),
        }
    }
    events
}

/// `NODE_COMPLETE a`, without the numbers.
pub(crate) fn names(events: &[Arc<ExecutionEvent>]) -> Vec<String> {
    let name = |event: &Arc<ExecutionEvent>| {
        let node = event.body.node().map(|node| node.info.id.to_string());
        format!("{} {}", event.body.name(), node.unwrap_or_default())
            .trim()
            .to_owned()
    };
    events.iter().map(name).collect()
}
