//! Workflows made and changed in code.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::{InterfaceSlot, NodeExecution, Workflow, WorkflowEdge, WorkflowNode};
use crate::DataFlowType;

/// How far apart new nodes stand on the canvas.
const STEP: (f64, f64) = (320.0, 240.0);
/// New nodes in one row.
const ROW: usize = 8;

impl Workflow {
    /// An empty workflow.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            id: None,
            name: name.into(),
            description: None,
            nodes: Vec::new(),
            edges: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            origin: Default::default(),
        }
    }

    /// An argument.
    pub fn add_input(&mut self, key: impl Into<String>, flow: DataFlowType) -> &mut InterfaceSlot {
        self.inputs.push_mut(InterfaceSlot::new(key, flow))
    }

    /// A result.
    pub fn add_output(&mut self, key: impl Into<String>, flow: DataFlowType) -> &mut InterfaceSlot {
        self.outputs.push_mut(InterfaceSlot::new(key, flow))
    }

    /// A node of its own place on the canvas. That the id is not taken is the caller's to see to.
    #[expect(clippy::cast_precision_loss, reason = "a place on a screen")]
    pub fn add_node(
        &mut self,
        full_type: impl Into<String>,
        id: impl Into<String>,
    ) -> &mut WorkflowNode {
        let (row, column) = (self.nodes.len() / ROW, self.nodes.len() % ROW);
        let place = (STEP.0 * column as f64, STEP.1 * row as f64);
        self.nodes.push_mut(WorkflowNode {
            position: Some(place),
            ..WorkflowNode::new(full_type, id)
        })
    }

    /// An edge from an output to an input: `connect(("a", "text"), ("b", "inputText"))`. Its id is made up.
    pub fn connect(&mut self, from: (&str, &str), to: (&str, &str)) -> &mut WorkflowEdge {
        let number = match self.origin.named {
            Some((edges, number)) if edges == self.edges.len() => number,
            _ => self.highest_edge(),
        };
        self.origin.named = Some((self.edges.len() + 1, number + 1));
        self.edges.push_mut(WorkflowEdge {
            id: format!("e{}", number + 1),
            source: from.0.to_owned(),
            source_handle: Some(from.1.to_owned()),
            target: to.0.to_owned(),
            target_handle: Some(to.1.to_owned()),
        })
    }

    /// Edges from several outputs to one input that takes a list, in this order, after those that it has.
    pub fn connect_all<'f>(
        &mut self,
        from: impl IntoIterator<Item = (&'f str, &'f str)>,
        (node, slot): (&str, &str),
    ) {
        let known = self.node(node).and_then(|node| node.order(slot));
        let mut order = known.map(<[String]>::to_vec).unwrap_or_default();
        for from in from {
            let handle = format!("{slot}__{}", order.len());
            order.push(self.connect(from, (node, &handle)).id.clone());
        }
        let Some(node) = self.node_mut(node) else {
            return;
        };
        match node.orders.iter_mut().find(|(key, _)| key == slot) {
            Some((_, known)) => *known = order,
            None => node.orders.push((slot.to_owned(), order)),
        }
    }

    pub fn node_mut(&mut self, id: &str) -> Option<&mut WorkflowNode> {
        self.nodes.iter_mut().find(|node| node.id == id)
    }

    pub fn edge(&self, id: &str) -> Option<&WorkflowEdge> {
        self.edges.iter().find(|edge| edge.id == id)
    }

    /// Takes a node out, with its edges. What lay in it lies where it lay.
    pub fn remove_node(&mut self, id: &str) -> Option<WorkflowNode> {
        let at = self.nodes.iter().position(|node| node.id == id)?;
        let gone = self.nodes.remove(at);
        self.origin.renamed.remove(id);
        self.retain_edges(|edge| edge.source != id && edge.target != id);
        for node in &mut self.nodes {
            if node.parent.as_deref() == Some(id) {
                node.parent.clone_from(&gone.parent);
            }
        }
        Some(gone)
    }

    pub fn remove_edge(&mut self, id: &str) -> Option<WorkflowEdge> {
        let at = self.edges.iter().position(|edge| edge.id == id)?;
        let gone = self.edges.get(at).cloned();
        self.retain_edges(|edge| edge.id != id);
        gone
    }

    /// Gives a node another id, everywhere. `false` where there is no such node or the new id is taken.
    pub fn rename_node(&mut self, from: &str, to: &str) -> bool {
        if self.node(to).is_some() || self.node(from).is_none() {
            return false;
        }
        for node in &mut self.nodes {
            if node.id == from {
                node.id = to.to_owned();
            }
            if node.parent.as_deref() == Some(from) {
                node.parent = Some(to.to_owned());
            }
        }
        for edge in &mut self.edges {
            for end in [&mut edge.source, &mut edge.target] {
                if end == from {
                    *end = to.to_owned();
                }
            }
        }
        let renamed = &mut self.origin.renamed;
        let was = renamed.remove(from).unwrap_or_else(|| from.to_owned());
        renamed.insert(to.to_owned(), was);
        true
    }

    fn retain_edges(&mut self, keep: impl Fn(&WorkflowEdge) -> bool) {
        let gone = self.edges.extract_if(.., |edge| !keep(edge));
        let gone: HashSet<String> = gone.map(|edge| edge.id).collect();
        for node in &mut self.nodes {
            for (_, order) in &mut node.orders {
                order.retain(|id| !gone.contains(id));
            }
            node.orders.retain(|(_, order)| !order.is_empty());
        }
    }

    /// The highest number of the edges `e1`, `e2`, …
    fn highest_edge(&self) -> usize {
        let ids = self.edges.iter();
        let numbers = ids.filter_map(|edge| edge.id.strip_prefix('e')?.parse::<u32>().ok());
        numbers.max().map_or(0, |number| number as usize)
    }
}

impl WorkflowNode {
    pub fn new(full_type: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            full_type: full_type.into(),
            parent: None,
            display_name: None,
            description: None,
            position: None,
            config: Map::new(),
            inputs: Map::new(),
            orders: Vec::new(),
            bypassed: false,
            execution: NodeExecution::default(),
        }
    }

    /// Sets the value of an input.
    pub fn input(&mut self, slot: impl Into<String>, value: impl Into<Json>) -> &mut Self {
        self.inputs.insert(slot.into(), value.into());
        self
    }

    /// Sets a setting.
    pub fn setting(&mut self, name: impl Into<String>, value: impl Into<Json>) -> &mut Self {
        self.config.insert(name.into(), value.into());
        self
    }

    pub fn display(&mut self, name: impl Into<String>) -> &mut Self {
        self.display_name = Some(name.into());
        self
    }

    /// Where it stands on the canvas.
    pub fn place(&mut self, x: f64, y: f64) -> &mut Self {
        self.position = Some((x, y));
        self
    }

    /// The frame or loop that it lies in.
    pub fn inside(&mut self, parent: impl Into<String>) -> &mut Self {
        self.parent = Some(parent.into());
        self
    }

    /// The edges into an input that takes a list, in their order.
    pub fn order(&self, slot: &str) -> Option<&[String]> {
        let known = self.orders.iter().find(|(key, _)| key == slot);
        known.map(|(_, order)| order.as_slice())
    }
}

impl InterfaceSlot {
    pub fn new(key: impl Into<String>, flow: DataFlowType) -> Self {
        Self {
            key: key.into(),
            flow,
            display_name: None,
            description: None,
            required: false,
            is_stream: false,
            multi: false,
            match_categories: Vec::new(),
            min: None,
            max: None,
            config: Map::new(),
        }
    }

    pub fn describe(&mut self, description: impl Into<String>) -> &mut Self {
        self.description = Some(description.into());
        self
    }

    pub fn required(&mut self) -> &mut Self {
        self.required = true;
        self
    }

    /// It carries many values, one after the other.
    pub fn stream(&mut self) -> &mut Self {
        self.is_stream = true;
        self
    }

    /// What it is where no argument is given.
    pub fn default_value(&mut self, value: impl Into<Json>) -> &mut Self {
        self.config.insert("default".to_owned(), value.into());
        self
    }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
