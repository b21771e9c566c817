//! Workflows that chance has made: every kind of node, groups, loops, branches, nodes switched off.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::flow::{SlotKind, fits};
use crate::testing::{Graph, Shelf};
use crate::{DataFlowType, Workflow};

/// From what one node is made.
#[derive(Debug, Clone)]
pub(super) struct Seed {
    kind: u8,
    picks: [u16; 6],
    /// 0–7: switched off if 0; the task's wait.
    chance: u8,
}

#[derive(Clone)]
pub(super) struct Seeds {
    main: Vec<Seed>,
    groups: [Vec<Seed>; 2],
    outputs: Vec<u16>,
}

/// The workflows themselves: that is what has to be looked at.
impl std::fmt::Debug for Seeds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (workflow, shelf) = build(self);
        for workflow in shelf.0.iter().chain([&workflow]) {
            writeln!(f, "{}:", workflow.name)?;
            for node in &workflow.nodes {
                let off = if node.bypassed { " off" } else { "" };
                let parent = node.parent.as_deref().unwrap_or_default();
                let (config, inputs) = (json!(node.config), json!(node.inputs));
                let (id, kind, orders) = (&node.id, &node.full_type, &node.orders);
                writeln!(
                    f,
                    "  {id} {kind}{off} {parent} {config} {inputs} {orders:?}"
                )?;
            }
            for edge in &workflow.edges {
                let handle = |handle: &Option<String>| handle.clone().unwrap_or_default();
                let (from, to) = (handle(&edge.source_handle), handle(&edge.target_handle));
                writeln!(f, "  {}.{from} > {}.{to}", edge.source, edge.target)?;
            }
        }
        Ok(())
    }
}

fn seed() -> impl Strategy<Value = Seed> {
    (0u8..20, any::<[u16; 6]>(), any::<u8>()).prop_map(|(kind, picks, chance)| Seed {
        kind,
        picks,
        chance,
    })
}

pub(super) fn seeds(most: usize) -> impl Strategy<Value = Seeds> {
    let list = |most| proptest::collection::vec(seed(), 0..most);
    let outputs = proptest::collection::vec(any::<u16>(), 1..5);
    (list(most), list(5), list(5), outputs).prop_map(|(main, first, second, outputs)| Seeds {
        main,
        groups: [first, second],
        outputs,
    })
}

/// The workflow, and the groups that it uses.
pub(super) fn build(seeds: &Seeds) -> (Arc<Workflow>, Shelf) {
    let mut shelf = Shelf::default();
    for (number, group) in seeds.groups.iter().enumerate() {
        let mut builder = Builder::new(Graph::named(&format!("g{number}")), number);
        builder.all(group);
        let graph = builder.finish(&[2, 9], &["r", "s"]);
        shelf.0.push(Arc::new(graph.0));
    }
    let mut builder = Builder::new(Graph::named("main"), 2);
    builder.all(&seeds.main);
    let keys: Vec<String> = (0..seeds.outputs.len()).map(|n| format!("o{n}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let graph = builder.finish(&seeds.outputs, &keys);
    (Arc::new(graph.0), shelf)
}

#[derive(Clone)]
struct Source {
    node: String,
    handle: &'static str,
    flow: DataFlowType,
}

struct Builder {
    graph: Graph,
    sources: Vec<Source>,
    /// Groups that it may use.
    groups: usize,
    parent: Option<String>,
    depth: usize,
    next: usize,
}

impl Builder {
    fn new(graph: Graph, groups: usize) -> Self {
        let mut builder = Self {
            graph: graph.inputs(&["p", "q"]),
            sources: Vec::new(),
            groups,
            parent: None,
            depth: 0,
            next: 0,
        };
        builder.gives(
            "in",
            &[("p", DataFlowType::Wildcard), ("q", DataFlowType::Wildcard)],
        );
        builder
    }

    fn gives(&mut self, node: &str, outputs: &[(&'static str, DataFlowType)]) {
        for (handle, flow) in outputs {
            self.sources.push(Source {
                node: node.to_owned(),
                handle,
                flow: *flow,
            });
        }
    }

    fn add(&mut self, full_type: &str) -> String {
        let id = format!("n{}", self.next);
        self.next += 1;
        let mut graph = std::mem::replace(&mut self.graph, Graph::new());
        graph = graph.node(&id, full_type);
        if let Some(parent) = &self.parent {
            graph = graph.inside(parent);
        }
        self.graph = graph;
        id
    }

    fn edge(&mut self, from: &Source, to: &str, input: &str) {
        let edge = format!("{}.{} > {to}.{input}", from.node, from.handle);
        let graph = std::mem::replace(&mut self.graph, Graph::new());
        self.graph = graph.edges(&edge);
    }

    fn set(&mut self, key: &str, value: Json) {
        let graph = std::mem::replace(&mut self.graph, Graph::new());
        self.graph = graph.set(key, value);
    }

    fn config(&mut self, config: Json) {
        let graph = std::mem::replace(&mut self.graph, Graph::new());
        self.graph = graph.config(config);
    }

    fn find(&self, pick: u16, flow: DataFlowType) -> Option<Source> {
        let kind = |flow| SlotKind {
            flow,
            match_categories: &[],
        };
        let fitting = |source: &&Source| fits(kind(source.flow), kind(flow));
        let fitting: Vec<&Source> = self.sources.iter().filter(fitting).collect();
        // The later half is nearer: graphs become deep, not only wide.
        let from = fitting.len() / 2 * usize::from(pick & 1);
        let near = fitting.get(from..)?;
        near.get(usize::from(pick >> 2) % near.len().max(1))
            .map(|source| (*source).clone())
    }

    /// Connected, set, or left alone.
    fn input(&mut self, id: &str, input: &str, flow: DataFlowType, pick: u16) -> bool {
        match (pick % 5, self.find(pick / 5, flow)) {
            (0, _) | (_, None) => false,
            (1, _) => {
                self.set(input, json!((pick / 5) % 50));
                true
            }
            (_, Some(source)) => {
                self.edge(&source, id, input);
                true
            }
        }
    }

    /// Several edges into a multi input, some of them in an order of their own.
    fn multi(&mut self, id: &str, input: &str, pick: u16, least: usize) {
        let count = usize::from(pick % 4).max(least);
        let mut ids = Vec::new();
        for edge in 0..count {
            let pick = pick
                .rotate_left(3 * edge as u32)
                .wrapping_add(edge as u16 * 7);
            let Some(source) = self.find(pick, DataFlowType::Wildcard) else {
                continue;
            };
            ids.push(format!("e{}", self.graph.0.edges.len()));
            self.edge(&source, id, input);
        }
        if pick & 64 != 0 && !ids.is_empty() {
            ids.rotate_left(1);
            ids.truncate(2);
            let node = self.graph.0.nodes.iter_mut().find(|node| node.id == id);
            node.unwrap().orders.push((input.to_owned(), ids));
        }
    }

    fn all(&mut self, seeds: &[Seed]) {
        let mut rest = seeds;
        while let Some((seed, after)) = rest.split_first() {
            rest = after;
            match seed.kind {
                16.. if self.depth < 2 => {
                    let inside = (usize::from(seed.picks[5] % 4) + 1).min(rest.len());
                    let (body, after) = rest.split_at(inside);
                    rest = after;
                    self.looping(seed, body);
                }
                _ => self.node(seed),
            }
        }
    }

    fn node(&mut self, seed: &Seed) {
        use DataFlowType::{Array, ConvertibleAny, Integer, String, Wildcard};
        let picks = seed.picks;
        match seed.kind {
            0..=5 => {
                let kind = ["law:Mix", "law:MixTask"][usize::from(seed.kind % 2)];
                let id = self.add(kind);
                self.config(json!({"ms": seed.chance / 8 % 8}));
                self.input(&id, "a", Integer, picks[0]);
                self.input(&id, "b", Wildcard, picks[1]);
                self.input(&id, "t", String, picks[3]);
                self.multi(&id, "list", picks[2], 0);
                self.switch_off(&id, seed);
                self.gives(
                    &id,
                    &[
                        ("x", Integer),
                        ("y", String),
                        ("none", Wildcard),
                        ("error", Wildcard),
                    ],
                );
            }
            6..=8 => {
                let kind = ["law:Picky", "law:PickyTask"][usize::from(seed.kind % 2)];
                let id = self.add(kind);
                self.config(json!({"ms": seed.chance / 8 % 8}));
                self.input(&id, "a", Integer, picks[0]);
                self.switch_off(&id, seed);
                self.gives(&id, &[("out", Integer), ("error", Wildcard)]);
            }
            9..=11 => {
                let id = self.add("core:If");
                if !self.input(&id, "condition", Wildcard, picks[0]) {
                    self.set("condition", json!(picks[0] % 2));
                }
                self.input(&id, "value", Wildcard, picks[1]);
                self.input(&id, "then", Wildcard, picks[2]);
                self.input(&id, "else", Wildcard, picks[3]);
                self.gives(
                    &id,
                    &[
                        ("true", ConvertibleAny),
                        ("false", ConvertibleAny),
                        ("result", ConvertibleAny),
                    ],
                );
            }
            12 => {
                let id = self.add("core:Switch");
                self.set(
                    "selector",
                    json!(["c0", "c1", "other"][usize::from(picks[0] % 3)]),
                );
                self.input(&id, "value", Wildcard, picks[1]);
                self.input(&id, "c0", Wildcard, picks[2]);
                self.input(&id, "c1", Wildcard, picks[3]);
                self.gives(
                    &id,
                    &[
                        ("result", ConvertibleAny),
                        ("default", ConvertibleAny),
                        ("c0", ConvertibleAny),
                        ("c1", ConvertibleAny),
                    ],
                );
            }
            13 | 14 => {
                let id = self.add("core:Merge");
                let mode = ["first", "last"][usize::from(picks[1] % 2)];
                self.config(json!({"mode": mode}));
                self.multi(&id, "inputs", picks[0], 1);
                self.gives(&id, &[("output", ConvertibleAny), ("all", Array)]);
            }
            _ if self.groups > 0 => {
                let id = self.add("core:NodeGroup");
                let group = usize::from(picks[2]) % self.groups;
                self.config(json!({"referencedWorkflowId": format!("g{group}")}));
                self.input(&id, "p", Wildcard, picks[0]);
                self.input(&id, "q", Wildcard, picks[1]);
                self.gives(&id, &[("r", Wildcard), ("s", Wildcard)]);
            }
            _ => {}
        }
    }

    fn switch_off(&mut self, id: &str, seed: &Seed) {
        if seed.chance.is_multiple_of(8) {
            let node = self.graph.0.nodes.iter_mut().find(|node| node.id == id);
            node.unwrap().bypassed = true;
        }
    }

    /// Through items, with a variable that each turn changes and a list of what each turn made.
    fn looping(&mut self, seed: &Seed, body: &[Seed]) {
        use DataFlowType::{ConvertibleAny, Integer, Wildcard};
        let picks = seed.picks;
        let id = self.add("core:LoopZone");
        let items: Vec<u16> = (0..picks[0] % 4).map(|n| n * 5 + picks[1] % 11).collect();
        let on_error = ["stop", "collect"][usize::from(picks[2] % 2)];
        self.config(json!({"collect": ["each"], "onError": on_error}));
        self.set("items", json!(items));
        if !self.input(&id, "acc", Wildcard, picks[3]) {
            self.set("acc", json!(picks[3] % 9));
        }
        let outside = self.sources.len();
        let around = self.parent.replace(id.clone());
        self.depth += 1;
        let begin = self.add("core:LoopInput");
        self.gives(
            &begin,
            &[
                ("item", Wildcard),
                ("acc", ConvertibleAny),
                ("iteration", Integer),
            ],
        );
        self.all(body);
        let end = self.add("core:LoopOutput");
        for (key, pick) in [("acc", picks[4]), ("each", picks[5])] {
            let inside = self.sources.get(outside..).unwrap_or_default();
            let from = inside[usize::from(pick) % inside.len()].clone();
            self.edge(&from, &end, key);
        }
        self.depth -= 1;
        self.parent = around;
        self.sources.truncate(outside);
        self.gives(
            &id,
            &[
                ("acc", ConvertibleAny),
                ("each", ConvertibleAny),
                ("iterations", Integer),
            ],
        );
    }

    fn finish(mut self, picks: &[u16], keys: &[&str]) -> Graph {
        let graph = std::mem::replace(&mut self.graph, Graph::new());
        self.graph = graph.outputs(keys);
        for (pick, key) in picks.iter().zip(keys) {
            if let Some(source) = self.find(*pick, DataFlowType::Wildcard) {
                self.edge(&source, "out", key);
            }
        }
        self.graph
    }
}
