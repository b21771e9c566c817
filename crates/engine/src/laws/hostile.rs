//! Workflows made to harm: each gives problems that name the place, on a small stack and without much memory.
//!
//! Nothing here watches the clock. What these tests take is bounded because all sizes are at the limits.

use std::sync::Arc;

use serde_json::json;

use super::nodes::engine;
use crate::limits::{MAX_EDGES, MAX_NESTING, MAX_NODES, MAX_PROBLEM_CHARS, MAX_PROBLEMS};
use crate::testing::{Graph, Shelf};
use crate::{
    DataFlowType, EngineOptions, Prepared, Problem, RunOptions, Workflow, WorkflowEdge,
    WorkflowNode,
};

/// Less than any thread of a runtime has.
const STACK: usize = 512 << 10;

fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(STACK);
    thread.spawn(work).unwrap().join().unwrap()
}

fn prepare(graph: Graph, shelf: Shelf) -> Prepared {
    on_a_small_stack(move || {
        let engine = engine(EngineOptions::default());
        let prepared = engine.prepare(&Arc::new(graph.0), &shelf);
        let problems = &prepared.problems;
        assert!(problems.list.len() <= MAX_PROBLEMS);
        for problem in &problems.list {
            assert!(problem.message.chars().count() <= MAX_PROBLEM_CHARS + 1);
        }
        prepared
    })
}

/// The first error of that code.
#[track_caller]
fn refused(graph: Graph, shelf: Shelf, code: &str) -> Problem {
    let prepared = prepare(graph, shelf);
    assert!(prepared.plan.is_none());
    let mut errors = prepared.problems.errors();
    let found = errors.find(|problem| problem.code == code);
    found
        .cloned()
        .unwrap_or_else(|| panic!("{}", prepared.problems))
}

/// Quicker than [`Graph::node`], which copies nothing but moves much.
fn add<'g>(graph: &'g mut Graph, id: String, full_type: &str) -> &'g mut WorkflowNode {
    graph.0.nodes.push(WorkflowNode {
        id,
        full_type: full_type.to_owned(),
        parent: None,
        display_name: None,
        description: None,
        position: None,
        config: Default::default(),
        inputs: Default::default(),
        orders: Vec::new(),
        bypassed: false,
        execution: Default::default(),
    });
    graph.0.nodes.last_mut().unwrap()
}

fn connect(graph: &mut Graph, (source, output): (String, &str), (target, input): (String, &str)) {
    graph.0.edges.push(WorkflowEdge {
        id: format!("e{}", graph.0.edges.len()),
        source,
        source_handle: Some(output.to_owned()),
        target,
        target_handle: Some(input.to_owned()),
    });
}

fn chain(length: usize) -> Graph {
    let mut graph = Graph::new().outputs(&["y"]);
    for index in 0..length {
        add(&mut graph, format!("n{index}"), "test:Add");
        if let Some(before) = index.checked_sub(1) {
            connect(
                &mut graph,
                (format!("n{before}"), "sum"),
                (format!("n{index}"), "a"),
            );
        }
    }
    graph
}

fn group(of: &str) -> serde_json::Value {
    json!({"referencedWorkflowId": of})
}

#[test]
fn the_longest_chain_runs() {
    let last = MAX_NODES - 2;
    let mut graph = chain(MAX_NODES - 1);
    connect(
        &mut graph,
        (format!("n{last}"), "sum"),
        ("out".to_owned(), "y"),
    );
    let output = on_a_small_stack(move || {
        let engine = engine(EngineOptions::default());
        let prepared = engine.prepare(&Arc::new(graph.0), &Shelf::default());
        let plan = prepared.plan.unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let outcome = runtime.block_on(engine.run(&plan, RunOptions::default()));
        outcome.unwrap().output("y").unwrap().as_f64()
    });
    assert_eq!(output, Some((MAX_NODES - 1) as f64));
}

#[test]
fn one_node_too_many_is_refused() {
    let problem = refused(chain(MAX_NODES), Shelf::default(), "workflow.too_large");
    assert!(
        problem.message.contains(&MAX_NODES.to_string()),
        "{problem}"
    );
}

#[test]
fn the_longest_circle_is_named() {
    let last = MAX_NODES - 2;
    let mut graph = chain(MAX_NODES - 1);
    connect(
        &mut graph,
        (format!("n{last}"), "sum"),
        ("n0".to_owned(), "a"),
    );
    let problem = refused(graph, Shelf::default(), "workflow.cycle");
    assert!(problem.message.contains(" → … "), "{problem}");
    assert!(problem.node.is_some_and(|node| node.starts_with('n')));
}

#[test]
fn groups_lie_only_so_deep_in_each_other() {
    let level = |index: usize| {
        let graph = Graph::named(&format!("w{index}")).node("g", "core:NodeGroup");
        Arc::new(graph.config(group(&format!("w{}", index + 1))).0)
    };
    let shelf = Shelf((0..1_000).map(level).collect());
    let problem = refused(Graph((*shelf.0[0]).clone()), shelf, "workflow.too_deep");
    assert_eq!(problem.node.unwrap().matches('/').count(), MAX_NESTING - 1);
}

#[test]
fn groups_that_double_are_refused_before_they_are_there() {
    for double in [2, 300] {
        let level = |index: usize| {
            let mut graph = Graph::named(&format!("w{index}"));
            for number in 0..double {
                let node = add(&mut graph, format!("g{number}"), "core:NodeGroup");
                node.config = group(&format!("w{}", index + 1))
                    .as_object()
                    .unwrap()
                    .clone();
            }
            Arc::new(graph.0)
        };
        let mut shelf: Vec<_> = (0..MAX_NESTING - 1).map(level).collect();
        shelf.push(Arc::new(Graph::named(&format!("w{}", MAX_NESTING - 1)).0));
        let problem = refused(
            Graph((*shelf[0]).clone()),
            Shelf(shelf),
            "workflow.too_large",
        );
        assert!(problem.node.unwrap().starts_with("g0/g0/"));
    }
}

fn loops(mut graph: Graph, count: usize) -> Graph {
    for index in 0..count {
        let parent = index.checked_sub(1).map(|before| format!("l{before}"));
        add(&mut graph, format!("l{index}"), "core:LoopZone").parent = parent;
    }
    graph
}

#[test]
fn loops_lie_only_so_deep_in_each_other() {
    let prepared = prepare(loops(Graph::new(), MAX_NESTING), Shelf::default());
    assert!(prepared.plan.is_some(), "{}", prepared.problems);
    for count in [MAX_NESTING + 2, 10_000] {
        let problem = refused(
            loops(Graph::new(), count),
            Shelf::default(),
            "workflow.too_deep",
        );
        assert!(problem.node.unwrap().starts_with('l'));
    }
}

/// Each lies as deep as it may in the one before, and all together much deeper.
#[test]
fn loops_in_groups_in_loops_lie_only_so_deep() {
    let level = |index: usize| {
        let mut graph = loops(Graph::named(&format!("w{index}")), MAX_NESTING);
        let node = add(&mut graph, "g".to_owned(), "core:NodeGroup");
        node.config = group(&format!("w{}", index + 1))
            .as_object()
            .unwrap()
            .clone();
        node.parent = Some(format!("l{}", MAX_NESTING - 1));
        Arc::new(graph.0)
    };
    let mut shelf: Vec<Arc<Workflow>> = (0..MAX_NESTING - 1).map(level).collect();
    let last = loops(Graph::named(&format!("w{}", MAX_NESTING - 1)), MAX_NESTING);
    shelf.push(Arc::new(last.0));
    let problem = refused(
        Graph((*shelf[0]).clone()),
        Shelf(shelf),
        "workflow.too_deep",
    );
    assert!(problem.node.unwrap().starts_with("g/l"));
}

#[test]
fn ten_thousand_edges_go_into_one_input() {
    let mut graph = Graph::new()
        .node("merge", "core:Merge")
        .config(json!({"mode": "last"}))
        .outputs(&["last", "all"])
        .edges("merge.output > out.last, merge.all > out.all");
    for index in 0..10_000 {
        let node = add(&mut graph, format!("n{index}"), "test:Add");
        node.inputs.insert("a".to_owned(), json!(index));
        connect(
            &mut graph,
            (format!("n{index}"), "sum"),
            ("merge".to_owned(), "inputs"),
        );
    }
    let engine = engine(EngineOptions::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let outcome = runtime.block_on(crate::testing::run(&engine, graph, json!({})));
    assert_eq!(outcome.output("last").unwrap().as_f64(), Some(10_000.0));
    let all = outcome
        .output("all")
        .unwrap()
        .as_json()
        .as_array()
        .unwrap()
        .len();
    assert_eq!(all, 10_000);
}

#[test]
fn nothing_lies_inside_itself() {
    for count in [1, 2, 20_000] {
        for full_type in ["core:LoopZone", "core:frame"] {
            let mut graph = Graph::new();
            for index in 0..count {
                let parent = (index + 1) % count;
                add(&mut graph, format!("l{index}"), full_type).parent = Some(format!("l{parent}"));
            }
            add(&mut graph, "inside".to_owned(), "test:Add").parent = Some("l0".to_owned());
            let problem = refused(graph, Shelf::default(), "node.parent_cycle");
            assert!(
                problem.node.unwrap().starts_with('l'),
                "{count} {full_type}"
            );
            assert_eq!(problem.slot.as_deref(), Some("parentNode"));
        }
    }
}

#[test]
fn groups_that_pass_a_value_round_in_a_circle_are_refused() {
    let pass = Graph::named("pass")
        .inputs(&["p"])
        .outputs(&["r"])
        .edges("in.p > out.r");
    let pass = Arc::new(pass.0);
    for count in [1, 2, 10_000] {
        let mut graph = Graph::new().node("add", "test:Add").edges("g0.r > add.a");
        for index in 0..count {
            let node = add(&mut graph, format!("g{index}"), "core:NodeGroup");
            node.config = group("pass").as_object().unwrap().clone();
            let next = (index + 1) % count;
            connect(
                &mut graph,
                (format!("g{index}"), "r"),
                (format!("g{next}"), "p"),
            );
        }
        let problem = refused(graph, Shelf(vec![pass.clone()]), "workflow.cycle");
        assert!(problem.node.is_some());
    }
}

#[test]
fn what_is_missing_or_of_another_type_is_named() {
    let cases = [
        ("a.nothing > b.a", "edge.unknown_slot", "a", "nothing"),
        ("a.sum > b.nothing", "edge.unknown_slot", "b", "nothing"),
        (
            "a.sum > b.a, c.numbers > b.a",
            "slot.several_connections",
            "b",
            "a",
        ),
        ("d.words > b.a", "edge.type", "b", "a"),
        ("l.strange > b.a", "loop.unknown_output", "l", "strange"),
    ];
    for (edges, code, node, slot) in cases {
        let graph = Graph::new()
            .node("a", "test:Add")
            .node("b", "test:Add")
            .node("c", "test:Count")
            .node("d", "test:Words")
            .node("l", "core:LoopZone")
            .edges(edges);
        let problem = refused(graph, Shelf::default(), code);
        let place = (problem.node.as_deref(), problem.slot.as_deref());
        assert_eq!(place, (Some(node), Some(slot)), "{problem}");
    }
    let set = [
        ("test:Add", "a", json!("many")),
        ("test:Add", "a", json!({})),
        ("test:Count", "to", json!(1.5)),
        ("core:LoopZone", "items", json!(true)),
    ];
    for (full_type, slot, value) in set {
        let graph = Graph::new().node("a", full_type).set(slot, value);
        let problem = refused(graph, Shelf::default(), "input.type");
        let place = (problem.node.as_deref(), problem.slot.as_deref());
        assert_eq!(place, (Some("a"), Some(slot)), "{problem}");
    }
}

/// All edges are wrong: looking for what was meant must not cost more than the problems that are shown.
#[test]
fn many_wrong_edges() {
    for full_type in ["core:Switch", "test:Add", "strange:Node"] {
        let mut graph = Graph::new();
        add(&mut graph, "a".to_owned(), full_type);
        add(&mut graph, "b".to_owned(), full_type);
        let name = "x".repeat(180);
        for index in 0..MAX_EDGES / 20 {
            let (from, to) = (format!("{name}{index}"), format!("{index}{name}"));
            connect(&mut graph, ("a".to_owned(), &from), ("b".to_owned(), &to));
        }
        refused(graph, Shelf::default(), "edge.unknown_slot");
    }
}

#[test]
fn as_many_unknown_types_as_there_may_be() {
    let mut graph = Graph::new();
    for index in 0..MAX_NODES {
        add(
            &mut graph,
            format!("n{index}"),
            &format!("strange:{index}{}", "x".repeat(150)),
        );
    }
    let prepared = prepare(graph, Shelf::default());
    assert_eq!(
        prepared.problems.list.len() + prepared.problems.more,
        MAX_NODES
    );
    assert_eq!(prepared.problems.list[0].code, "node.unknown_type");
}

fn slot(key: String, multi: bool) -> crate::InterfaceSlot {
    crate::InterfaceSlot {
        key,
        flow: DataFlowType::Wildcard,
        display_name: None,
        description: None,
        required: false,
        is_stream: false,
        multi,
        match_categories: Vec::new(),
        min: None,
        max: None,
        config: Default::default(),
    }
}

/// A list of two lists of two lists …
#[test]
fn lists_that_double_are_refused_before_they_are_there() {
    let level = |index: usize| {
        let mut graph = Graph::named(&format!("w{index}"));
        graph.0.inputs = vec![slot("p".to_owned(), true)];
        let graph = graph.node("in", "core:GroupInput");
        let graph = match index {
            30 => graph.node("add", "core:Merge").edges("in.p > add.inputs"),
            _ => graph
                .node("g", "core:NodeGroup")
                .config(group(&format!("w{}", index + 1)))
                .edges("in.p > g.p, in.p > g.p"),
        };
        Arc::new(graph.0)
    };
    let shelf = Shelf((1..=30).map(level).collect());
    let graph = Graph::new()
        .node("a", "test:Add")
        .node("g", "core:NodeGroup")
        .config(group("w1"))
        .edges("a.sum > g.p, a.sum > g.p");
    let problem = refused(graph, shelf, "workflow.too_large");
    assert!(problem.node.unwrap().starts_with("g/"));
}

/// Many who each take a long list.
#[test]
fn lists_that_many_take_are_refused_before_they_are_there() {
    let mut inner = Graph::named("inner");
    inner.0.inputs = vec![slot("p".to_owned(), true)];
    let mut inner = inner.node("in", "core:GroupInput");
    for index in 0..20_000 {
        add(&mut inner, format!("m{index}"), "core:Merge");
        connect(
            &mut inner,
            ("in".to_owned(), "p"),
            (format!("m{index}"), "inputs"),
        );
    }
    let mut graph = Graph::new()
        .node("a", "test:Add")
        .node("g", "core:NodeGroup")
        .config(group("inner"));
    for _ in 0..20_000 {
        connect(&mut graph, ("a".to_owned(), "sum"), ("g".to_owned(), "p"));
    }
    let shelf = Shelf(vec![Arc::new(inner.0)]);
    let problem = refused(graph, shelf, "workflow.too_large");
    assert!(problem.node.unwrap().starts_with("g/m"));
}

/// An end of the workflow with more slots than any node may have.
#[test]
fn an_interface_is_bounded() {
    let mut graph = Graph::new();
    graph.0.outputs = (0..50_000)
        .map(|index| slot(format!("o{index}"), false))
        .collect();
    let mut graph = graph.node("out", "core:GroupOutput").node("a", "test:Add");
    for index in 0..50_000 {
        connect(
            &mut graph,
            ("a".to_owned(), "sum"),
            ("out".to_owned(), &format!("o{index}")),
        );
    }
    let problem = refused(graph, Shelf::default(), "workflow.too_many_slots");
    assert_eq!(problem.node.as_deref(), Some("out"));
}
