//! What chance wished for, as a workflow: whoever wishes takes one of what the nodes before it give.

use serde_json::json;

use super::chance::{Flag, Kind, Node, Streams, Wish};
use crate::DataFlowType;
use crate::testing::Graph;

/// What a node gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Given {
    pub(super) node: usize,
    pub(super) key: &'static str,
    pub(super) flow: DataFlowType,
    pub(super) is_stream: bool,
}

impl Kind {
    /// What it gives: what it tells of itself first.
    fn gives(&self) -> &'static [(&'static str, DataFlowType, bool)] {
        use DataFlowType::{Array, Integer, String, Wildcard};
        match self {
            Self::Write { .. } | Self::Relay(_) => &[
                ("count", Integer, false),
                ("out", Wildcard, true),
                ("also", String, true),
            ],
            Self::Listen { .. } | Self::Both { .. } | Self::Pick { .. } => {
                &[("seen", Array, false)]
            }
            Self::Take { .. } => &[("out", Integer, false), ("items", Array, false)],
            // It may be anything, and fits where anything does.
            Self::If { .. } | Self::Switch { .. } => &[("result", DataFlowType::Object, false)],
            Self::Loop { .. } => &[("each", Array, false), ("chunks", Wildcard, true)],
        }
    }
}

impl Streams {
    /// What the nodes before give, of what may go into such a slot.
    fn fitting(&self, before: usize, flow: DataFlowType) -> Vec<Given> {
        let all = self.nodes.iter().enumerate().take(before);
        let all = all.flat_map(|(node, of)| {
            let gives = of.kind.gives().iter();
            gives.map(move |(key, flow, is_stream)| Given {
                node,
                key,
                flow: *flow,
                is_stream: *is_stream,
            })
        });
        all.filter(|given| match flow {
            DataFlowType::String => {
                // A list that is already one is no text.
                matches!(given.flow, DataFlowType::String | DataFlowType::Integer)
                    || given.is_stream
            }
            DataFlowType::Array => {
                given.flow == flow || given.is_stream && given.flow == DataFlowType::Wildcard
            }
            _ => true,
        })
        .collect()
    }

    /// What a node that wishes for it gets: a stream twice as likely as a value.
    pub(super) fn granted(&self, node: usize, wish: Wish, flow: DataFlowType) -> Given {
        let mut fitting = self.fitting(node, flow);
        let streams: Vec<Given> = fitting
            .iter()
            .filter(|given| given.is_stream)
            .copied()
            .collect();
        fitting.extend(streams);
        fitting[wish % fitting.len()]
    }

    pub(super) fn any(&self, node: usize, wish: Wish) -> Given {
        self.granted(node, wish, DataFlowType::Wildcard)
    }

    /// The second stream of a reader of two.
    pub(super) fn second(&self, node: usize, first: Given, wish: Wish, is_twin: bool) -> Given {
        let key = match first.key {
            "out" if first.is_stream => "also",
            "also" => "out",
            _ => "",
        };
        let all = self.fitting(node, DataFlowType::Wildcard);
        let twin = all
            .iter()
            .find(|other| is_twin && other.node == first.node && other.key == key);
        twin.copied().unwrap_or_else(|| self.any(node, wish))
    }

    /// Every output of the workflow: its name, what goes into it, and as what.
    pub(super) fn outputs(&self) -> Vec<(String, Given, DataFlowType)> {
        let all = self.nodes.len();
        let nodes = self
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.is_shown);
        let nodes = nodes.map(|(index, node)| {
            let (key, flow, is_stream) = node.kind.gives()[0];
            let given = Given {
                node: index,
                key,
                flow,
                is_stream,
            };
            (format!("n{index}"), given, DataFlowType::Wildcard)
        });
        let shown = self.outputs.iter().enumerate().map(|(index, shown)| {
            let given = self.granted(all, shown.from, shown.flow);
            (format!("o{index}"), given, shown.flow)
        });
        nodes.chain(shown).collect()
    }

    pub(super) fn graph(&self) -> Graph {
        let mut graph = Graph::new();
        for (index, node) in self.nodes.iter().enumerate() {
            graph = self.node(graph, index, node);
        }
        let outputs = self.outputs();
        graph = graph.outputs(&[]);
        for (key, given, flow) in &outputs {
            let slot = graph.0.add_output(key, *flow);
            let number = key.strip_prefix('o').map(|index| index.parse::<usize>());
            slot.is_stream = number.is_some_and(|number| self.outputs[number.unwrap()].is_stream);
            graph = wire(graph, *given, &format!("out.{key}"));
        }
        graph
    }

    fn node(&self, graph: Graph, index: usize, node: &Node) -> Graph {
        let id = format!("n{index}");
        let full_type = match &node.kind {
            Kind::Write { .. } | Kind::Relay(_) => "law:Relay",
            Kind::Listen { .. } => "law:Listen",
            Kind::Both { .. } => "law:Both",
            Kind::Take { is_task: false, .. } => "law:Take",
            Kind::Take { is_task: true, .. } => "law:TakeTask",
            Kind::If { .. } => "core:If",
            Kind::Switch { .. } => "core:Switch",
            Kind::Pick { .. } => "law:Pick",
            Kind::Loop { .. } => "core:LoopZone",
        };
        let mut graph = graph.node(&id, full_type);
        if full_type.starts_with("law:") && !matches!(node.kind, Kind::Take { .. }) {
            graph = graph.set("ms", json!(node.ms));
        }
        if let Some(after) = node.after
            && full_type.starts_with("law:")
        {
            graph = wire(graph, self.any(index, after), &format!("{id}.after"));
        }
        let any = |graph: Graph, wish: Wish, key: &str| {
            wire(graph, self.any(index, wish), &format!("{id}.{key}"))
        };
        let flag = |graph: Graph, flag: Flag, key: &str| match flag {
            Flag::Set(yes) => graph.set(key, json!(yes)),
            Flag::From(wish) => any(graph, wish, key),
        };
        match &node.kind {
            Kind::Write { chunks, fails } => {
                let graph = graph.set("to", json!(chunks));
                match fails {
                    Some(at) => graph.set("fail_at", json!(at)),
                    None => graph,
                }
            }
            Kind::Relay(from) => any(graph, *from, "numbers"),
            Kind::Listen { from, most } => {
                let graph = any(graph, *from, "numbers");
                match most {
                    Some(most) => graph.set("most", json!(most)),
                    None => graph,
                }
            }
            Kind::Both {
                one,
                two,
                is_twin,
                order,
            } => {
                let first = self.any(index, *one);
                let second = self.second(index, first, *two, *is_twin);
                let graph = graph.set("order", json!(order));
                let graph = wire(graph, first, &format!("{id}.one"));
                wire(graph, second, &format!("{id}.two"))
            }
            Kind::Take {
                any: one,
                text,
                list,
                many,
                ..
            } => {
                let mut graph = any(graph, *one, "any");
                for (wish, key, flow) in [
                    (text, "text", DataFlowType::String),
                    (list, "list", DataFlowType::Array),
                ] {
                    if let Some(wish) = wish {
                        let given = self.granted(index, *wish, flow);
                        graph = wire(graph, given, &format!("{id}.{key}"));
                    }
                }
                many.iter()
                    .fold(graph, |graph, wish| any(graph, *wish, "many"))
            }
            Kind::If {
                condition,
                then,
                otherwise,
            } => {
                let graph = flag(graph, *condition, "condition");
                any(any(graph, *then, "then"), *otherwise, "else")
            }
            Kind::Switch { case, x, y } => {
                let graph = graph.set("selector", json!(case));
                any(any(graph, *x, "x"), *y, "y")
            }
            Kind::Pick {
                flag: by,
                yes,
                no,
                holds,
            } => {
                let graph = graph.set("holds", json!(i64::from(*holds)));
                any(any(flag(graph, *by, "flag"), *yes, "yes"), *no, "no")
            }
            Kind::Loop { from, turns } => {
                let items: Vec<usize> = (0..*turns).collect();
                let [relay, take, end] = ["relay", "take", "end"].map(|name| format!("{id}{name}"));
                let graph = graph
                    .set("items", json!(items))
                    .config(json!({"streams": ["chunks"], "collect": ["each"]}))
                    .node(&relay, "law:Relay")
                    .inside(&id)
                    .node(&take, "law:Take")
                    .inside(&id)
                    .node(&end, "core:LoopOutput")
                    .inside(&id)
                    .edges(&format!("{relay}.out > {take}.any"))
                    .edges(&format!("{relay}.out > {end}.chunks"))
                    .edges(&format!("{take}.out > {end}.each"));
                wire(graph, self.any(index, *from), &format!("{relay}.numbers"))
            }
        }
    }
}

fn wire(graph: Graph, from: Given, to: &str) -> Graph {
    graph.edges(&format!("n{}.{} > {to}", from.node, from.key))
}
