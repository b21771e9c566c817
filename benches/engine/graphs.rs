//! Node types that do next to nothing, and the workflows made of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use innkeeper_benches::Failed;
use innkeeper_engine::node::{any, integer, text};
use innkeeper_engine::stream::Chunk;
use innkeeper_engine::{
    DataFlowType, EngineOptions, ExecutionEngine, InterfaceSlot, NoWorkflows, NodeBuilder,
    NodeManager, NodeType, Plan, RunOptions, Workflow, WorkflowEdge, WorkflowNode,
};
use serde_json::{Map, Value as Json, json};

pub(super) const MODULUS: i64 = 1_000_003;
pub(super) const WAIT: Duration = Duration::from_millis(50);

/// Pages of the process at the iterations that are asked about.
pub(super) static PAGES_EARLY: AtomicUsize = AtomicUsize::new(0);
pub(super) static PAGES_LATE: AtomicUsize = AtomicUsize::new(0);
pub(super) const EARLY: i64 = 1_000;
pub(super) const LATE: i64 = 10_000;

pub(super) fn engine() -> Result<ExecutionEngine, Failed> {
    let nodes = NodeManager::new();
    nodes.replace("bench", types())?;
    Ok(ExecutionEngine::new(nodes, EngineOptions::default()))
}

fn node(name: &str) -> NodeBuilder {
    NodeBuilder::new("bench", name, "Bench", name, "For measuring")
}

fn types() -> Vec<NodeType> {
    let mut add = node("Add");
    let (a, sum) = (add.input(integer("a")), add.output(integer("sum")));
    let add = add.inline(move |io| {
        let next = io.get(a)? + 1;
        io.set(sum, next);
        Ok(())
    });

    let mut cell = node("Cell");
    let (left, above) = (cell.input(integer("left")), cell.input(integer("above")));
    let sum = cell.output(integer("sum"));
    let cell = cell.inline(move |io| {
        let both = (io.get(left)? + io.get(above)?) % MODULUS;
        io.set(sum, both);
        Ok(())
    });

    let mut total = node("Sum");
    let parts = total.input(integer("parts").multi());
    let sum = total.output(integer("sum"));
    let total = total.inline(move |io| {
        let all: i64 = io.get(parts)?.into_iter().sum();
        io.set(sum, all);
        Ok(())
    });

    let mut task = node("AddTask");
    let (a, sum) = (task.input(integer("a")), task.output(integer("sum")));
    task.effects();
    let task = task.task(move |mut io| async move {
        let next = io.get(a)? + 1;
        io.set(sum, next);
        io.done()
    });

    let mut wait = node("Wait");
    let (a, sum) = (wait.input(integer("a")), wait.output(integer("sum")));
    wait.effects();
    let wait = wait.task(move |mut io| async move {
        tokio::time::sleep(WAIT).await;
        let next = io.get(a)? + 1;
        io.set(sum, next);
        io.done()
    });

    let mut count = node("Count");
    let to = count.input(integer("to"));
    let numbers = count.output(integer("numbers").stream());
    count.effects();
    let count = count.task(move |mut io| async move {
        let writer = io.writer(numbers);
        for number in 0..io.get(to)? {
            writer.send(Chunk::of(number.into())).await?;
        }
        io.done()
    });

    let mut drain = node("Drain");
    let numbers = drain.input(any("numbers").stream());
    let seen = drain.output(integer("seen"));
    drain.effects();
    let drain = drain.task(move |mut io| async move {
        let (mut reader, mut count) = (io.get(numbers)?, 0i64);
        while let Some(chunk) = reader.next().await {
            chunk?;
            count += 1;
        }
        io.set(seen, count);
        io.done()
    });

    // 16 KB of new text each time, so that whatever is kept of an iteration is seen in the size of the process.
    let mut weigh = node("Weigh");
    let (iteration, before) = (weigh.input(integer("iteration")), weigh.input(text("text")));
    let made = weigh.output(text("text"));
    let weigh = weigh.inline(move |io| {
        let (iteration, before) = (io.get(iteration)?, io.get(before)?);
        match iteration {
            EARLY => PAGES_EARLY.store(pages(), Ordering::Relaxed),
            LATE => PAGES_LATE.store(pages(), Ordering::Relaxed),
            _ => {}
        }
        let first = before.len() as i64 % 7 + iteration;
        io.set(made, first.to_string().repeat(4_096));
        Ok(())
    });
    vec![add, cell, total, task, wait, count, drain, weigh]
}

fn pages() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    resident.unwrap_or_default()
}

/// A workflow in the making. What it gives is called `result`.
pub(super) struct Graph(Workflow);

impl Graph {
    pub(super) fn new(engine: &ExecutionEngine) -> Result<Self, Failed> {
        let types = engine.nodes().types();
        let kind = types.get("bench:Add").ok_or("the node type is there")?;
        let mut workflow = Workflow::of_node(kind, Map::new(), Map::new());
        workflow.nodes.clear();
        workflow.edges.clear();
        workflow.outputs = vec![InterfaceSlot {
            key: "result".to_owned(),
            flow: DataFlowType::Wildcard,
            display_name: None,
            description: None,
            required: false,
            is_stream: false,
            multi: false,
            match_categories: Vec::new(),
            min: None,
            max: None,
            config: Map::new(),
        }];
        Ok(Self(workflow).node("end", "core:GroupOutput", json!({}), None))
    }

    pub(super) fn node(
        mut self,
        id: &str,
        full_type: &str,
        inputs: Json,
        parent: Option<&str>,
    ) -> Self {
        self.0.nodes.push(WorkflowNode {
            id: id.to_owned(),
            full_type: full_type.to_owned(),
            parent: parent.map(str::to_owned),
            display_name: None,
            description: None,
            position: None,
            config: Map::new(),
            inputs: inputs.as_object().cloned().unwrap_or_default(),
            orders: Vec::new(),
            bypassed: false,
            execution: Default::default(),
        });
        self
    }

    pub(super) fn config(mut self, config: Json) -> Self {
        if let Some(node) = self.0.nodes.last_mut() {
            node.config = config.as_object().cloned().unwrap_or_default();
        }
        self
    }

    pub(super) fn edge(mut self, (from, output): (&str, &str), (to, input): (&str, &str)) -> Self {
        self.0.edges.push(WorkflowEdge {
            id: format!("e{}", self.0.edges.len()),
            source: from.to_owned(),
            source_handle: Some(output.to_owned()),
            target: to.to_owned(),
            target_handle: Some(input.to_owned()),
        });
        self
    }

    pub(super) fn workflow(self) -> Arc<Workflow> {
        Arc::new(self.0)
    }

    pub(super) fn plan(self, engine: &ExecutionEngine) -> Result<Plan, Failed> {
        plan(engine, &self.workflow())
    }
}

pub(super) fn plan(engine: &ExecutionEngine, workflow: &Arc<Workflow>) -> Result<Plan, Failed> {
    let prepared = engine.prepare(workflow, &NoWorkflows);
    prepared
        .plan
        .ok_or_else(|| prepared.problems.to_string().into())
}

/// Runs it once, and gives its result.
pub(super) async fn run(engine: &ExecutionEngine, plan: &Plan) -> Result<Json, String> {
    let outcome = engine.run(plan, RunOptions::default()).await;
    let outcome = outcome.map_err(|error| error.to_string())?;
    if let Some(error) = outcome.error {
        return Err(error.to_string());
    }
    let result = outcome.output("result").ok_or("there is no result")?;
    Ok(result.as_json().clone())
}

/// Each adds 1 to the one before.
pub(super) fn chain(
    engine: &ExecutionEngine,
    full_type: &str,
    length: usize,
) -> Result<Graph, Failed> {
    let mut graph = Graph::new(engine)?;
    for index in 0..length {
        graph = graph.node(&format!("n{index}"), full_type, json!({}), None);
        if let Some(before) = index.checked_sub(1) {
            let (from, to) = (format!("n{before}"), format!("n{index}"));
            graph = graph.edge((&from, "sum"), (&to, "a"));
        }
    }
    let last = format!("n{}", length - 1);
    Ok(graph.edge((&last, "sum"), ("end", "result")))
}

/// One, many that each add 1 to it, and one that sums them.
pub(super) fn fan(
    engine: &ExecutionEngine,
    full_type: &str,
    width: usize,
) -> Result<Graph, Failed> {
    let mut graph = Graph::new(engine)?
        .node("source", "bench:Add", json!({}), None)
        .node("sum", "bench:Sum", json!({}), None)
        .edge(("sum", "sum"), ("end", "result"));
    for index in 0..width {
        let id = format!("n{index}");
        graph = graph
            .node(&id, full_type, json!({}), None)
            .edge(("source", "sum"), (&id, "a"))
            .edge((&id, "sum"), ("sum", "parts"));
    }
    Ok(graph)
}

/// Each is the sum of its left and its upper neighbour; the first is 1.
pub(super) fn grid(engine: &ExecutionEngine, rows: usize, columns: usize) -> Result<Graph, Failed> {
    let mut graph = Graph::new(engine)?;
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let id = format!("{row}.{column}");
        let inputs = match (row, column) {
            (0, 0) => json!({"left": 1}),
            _ => json!({}),
        };
        graph = graph.node(&id, "bench:Cell", inputs, None);
        if let Some(before) = column.checked_sub(1) {
            graph = graph.edge((&format!("{row}.{before}"), "sum"), (&id, "left"));
        }
        if let Some(before) = row.checked_sub(1) {
            graph = graph.edge((&format!("{before}.{column}"), "sum"), (&id, "above"));
        }
    }
    let last = format!("{}.{}", rows - 1, columns - 1);
    Ok(graph.edge((&last, "sum"), ("end", "result")))
}

/// The corner of the grid, counted without an engine.
pub(super) fn corner(rows: usize, columns: usize) -> i64 {
    let mut line = vec![0; columns];
    for row in 0..rows {
        let mut left = i64::from(row == 0);
        for above in &mut line {
            left = (left + *above) % MODULUS;
            *above = left;
        }
    }
    line.last().copied().unwrap_or_default()
}

/// Each turn adds 1.
pub(super) fn counting(
    engine: &ExecutionEngine,
    turns: usize,
    until: bool,
) -> Result<Graph, Failed> {
    let config = match until {
        true => json!({"maxIterations": 2 * turns, "until": format!("n >= {turns}")}),
        false => json!({"maxIterations": turns}),
    };
    let inside = Some("loop");
    Ok(Graph::new(engine)?
        .node("loop", "core:LoopZone", json!({"n": 0}), None)
        .config(config)
        .node("begin", "core:LoopInput", json!({}), inside)
        .node("add", "bench:Add", json!({}), inside)
        .node("stop", "core:LoopOutput", json!({}), inside)
        .edge(("begin", "n"), ("add", "a"))
        .edge(("add", "sum"), ("stop", "n"))
        .edge(("loop", "n"), ("end", "result")))
}

/// Each turn makes a new text of the last.
pub(super) fn weighing(engine: &ExecutionEngine) -> Result<Graph, Failed> {
    let inside = Some("loop");
    Ok(Graph::new(engine)?
        .node("loop", "core:LoopZone", json!({"text": "a"}), None)
        .config(json!({"maxIterations": LATE}))
        .node("begin", "core:LoopInput", json!({}), inside)
        .node("weigh", "bench:Weigh", json!({}), inside)
        .node("stop", "core:LoopOutput", json!({}), inside)
        .edge(("begin", "iteration"), ("weigh", "iteration"))
        .edge(("begin", "text"), ("weigh", "text"))
        .edge(("weigh", "text"), ("stop", "text"))
        .edge(("loop", "iterations"), ("end", "result")))
}

/// One who writes, and several who read all of it.
pub(super) fn streaming(
    engine: &ExecutionEngine,
    chunks: usize,
    readers: usize,
) -> Result<Graph, Failed> {
    let mut graph = Graph::new(engine)?
        .node("count", "bench:Count", json!({"to": chunks}), None)
        .node("sum", "bench:Sum", json!({}), None)
        .edge(("sum", "sum"), ("end", "result"));
    for index in 0..readers {
        let id = format!("r{index}");
        graph = graph
            .node(&id, "bench:Drain", json!({}), None)
            .edge(("count", "numbers"), (&id, "numbers"))
            .edge((&id, "seen"), ("sum", "parts"));
    }
    Ok(graph)
}

/// Ten nodes, one of which waits.
pub(super) fn waiting(engine: &ExecutionEngine) -> Result<Graph, Failed> {
    let mut graph = Graph::new(engine)?;
    for index in 0..10 {
        let full_type = if index == 5 {
            "bench:Wait"
        } else {
            "bench:Add"
        };
        graph = graph.node(&format!("n{index}"), full_type, json!({}), None);
        if let Some(before) = i32::checked_sub(index, 1).filter(|before| *before >= 0) {
            let (from, to) = (format!("n{before}"), format!("n{index}"));
            graph = graph.edge((&from, "sum"), (&to, "a"));
        }
    }
    Ok(graph.edge(("n9", "sum"), ("end", "result")))
}
