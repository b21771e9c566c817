//! All nodes of a workflow beside each other: groups unfolded, and where each value really comes from.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::flow::{SlotKind, effective_default, empty, fits};
use crate::node::NodeInput;
use crate::testing::Shelf;
use crate::{Branch, DataFlowType, NodeTypes, Workflow, WorkflowNode, WorkflowSource};

/// One workflow in one place.
pub(super) struct Scope {
    pub(super) workflow: Arc<Workflow>,
    /// The scope and id of the group that it stands for.
    pub(super) parent: Option<(usize, String)>,
    pub(super) children: HashMap<String, usize>,
    pub(super) flat: HashMap<String, usize>,
}

pub(super) struct FlatNode {
    pub(super) path: String,
    pub(super) scope: usize,
    pub(super) node: WorkflowNode,
    /// The loop that it lies in.
    pub(super) zone: Option<usize>,
}

/// All nodes that do something, groups unfolded.
pub(super) struct Flat<'f> {
    pub(super) types: &'f NodeTypes,
    pub(super) shelf: &'f Shelf,
    pub(super) scopes: Vec<Scope>,
    pub(super) nodes: Vec<FlatNode>,
}

/// Where a value comes from, groups and nodes that are switched off seen through.
#[derive(Debug, Clone)]
pub(super) enum From {
    Node(usize, String),
    Value(Json),
    Nothing,
}

impl Flat<'_> {
    pub(super) fn unfold(
        &mut self,
        workflow: Arc<Workflow>,
        prefix: &str,
        parent: Option<(usize, String)>,
        around: Option<usize>,
    ) -> usize {
        let scope = self.scopes.len();
        self.scopes.push(Scope {
            workflow: workflow.clone(),
            parent,
            children: HashMap::new(),
            flat: HashMap::new(),
        });
        // Loops come before what lies in them.
        for node in &workflow.nodes {
            let zone = node
                .parent
                .as_ref()
                .map(|parent| self.scopes[scope].flat[parent]);
            let zone = zone.or(around);
            let path = format!("{prefix}{}", node.id);
            if node.full_type == "core:NodeGroup" {
                let reference = node.config["referencedWorkflowId"].as_str().unwrap();
                let inner = self.shelf.find(reference).unwrap();
                let at = Some((scope, node.id.clone()));
                let child = self.unfold(inner, &format!("{path}/"), at, zone);
                self.scopes[scope].children.insert(node.id.clone(), child);
                continue;
            }
            let is_end = ["core:GroupInput", "core:GroupOutput"].contains(&node.full_type.as_str());
            if is_end && self.scopes[scope].parent.is_some() {
                continue;
            }
            let number = self.nodes.len();
            self.scopes[scope].flat.insert(node.id.clone(), number);
            self.nodes.push(FlatNode {
                path,
                scope,
                node: node.clone(),
                zone,
            });
        }
        scope
    }

    pub(super) fn inputs(&self, scope: usize, node: &WorkflowNode) -> Vec<NodeInput> {
        let kind = self.types.get(&node.full_type).unwrap();
        let mut inputs = kind.definition.shape.inputs.clone();
        let named = self.scopes[scope].workflow.edges.iter();
        let named = named.filter(|edge| edge.target == node.id);
        let named = named.filter_map(|edge| edge.target_handle.clone());
        for key in named.chain(node.inputs.keys().cloned()) {
            if !inputs.iter().any(|input| input.slot.key == key) {
                let mut input = NodeInput::default();
                input.slot.key = key;
                input.slot.flow = match node.full_type.as_str() {
                    "core:GroupOutput" | "core:NodeGroup" => DataFlowType::Wildcard,
                    _ => DataFlowType::ConvertibleAny,
                };
                if node.full_type == "core:Switch" {
                    input.branch = Branch::Lazy;
                }
                inputs.push(input);
            }
        }
        inputs
    }

    /// What goes into an input: what its edges bring, in their order.
    pub(super) fn sources(&self, scope: usize, node: &WorkflowNode, key: &str) -> Vec<From> {
        let edges = self.scopes[scope].workflow.edges.iter();
        let mut edges: Vec<_> = edges
            .filter(|edge| edge.target == node.id && edge.target_handle.as_deref() == Some(key))
            .collect();
        if let Some((_, order)) = node.orders.iter().find(|(known, _)| known == key) {
            let place = |id: &str| order.iter().position(|known| known == id);
            edges.sort_by_key(|edge| place(&edge.id).unwrap_or(usize::MAX));
        }
        let handles = edges
            .iter()
            .map(|edge| (&edge.source, edge.source_handle.as_ref().unwrap()));
        handles
            .map(|(id, handle)| self.follow(scope, id, handle))
            .collect()
    }

    pub(super) fn set_value(node: &WorkflowNode, input: &NodeInput) -> Json {
        match node.inputs.get(&input.slot.key) {
            Some(value) if !value.is_null() => value.clone(),
            _ => effective_default(input.slot.flow, false, &input.config).into_json(),
        }
    }

    /// What an input that takes one value takes, as it is.
    fn through(&self, scope: usize, node: &WorkflowNode, key: &str) -> From {
        let inputs = self.inputs(scope, node);
        let input = inputs.iter().find(|input| input.slot.key == key);
        match (self.sources(scope, node, key).into_iter().next(), input) {
            (Some(from), _) => from,
            (None, Some(input)) => of_value(Self::set_value(node, input)),
            (None, None) => From::Nothing,
        }
    }

    fn follow(&self, scope: usize, id: &str, handle: &str) -> From {
        let here = &self.scopes[scope];
        let node = here.workflow.node(id).unwrap();
        match node.full_type.as_str() {
            "core:GroupInput" => match &here.parent {
                None => From::Node(here.flat[id], handle.to_owned()),
                Some((outer, group)) => {
                    let group = self.scopes[*outer].workflow.node(group).unwrap().clone();
                    self.through(*outer, &group, handle)
                }
            },
            "core:NodeGroup" => {
                let inner = here.children[id];
                let end = self.scopes[inner].workflow.node("out").unwrap().clone();
                self.through(inner, &end, handle)
            }
            _ if node.bypassed => self.stands_for(scope, node, handle),
            _ => From::Node(here.flat[id], handle.to_owned()),
        }
    }

    /// Each output of a node that is switched off takes the first input that fits and is not taken.
    fn stands_for(&self, scope: usize, node: &WorkflowNode, handle: &str) -> From {
        let shape = &self.types.get(&node.full_type).unwrap().definition.shape;
        let flow = |flow| SlotKind {
            flow,
            match_categories: &[],
        };
        let mut taken = BTreeSet::new();
        for output in &shape.outputs {
            let found = shape.inputs.iter().find(|input| {
                !input.multi
                    && !taken.contains(&input.slot.key)
                    && fits(flow(input.slot.flow), flow(output.flow))
            });
            if output.key == handle {
                return match found {
                    Some(input) => self.through(scope, node, &input.slot.key),
                    None => of_value(empty(output.flow).into_json()),
                };
            }
            taken.extend(found.map(|input| input.slot.key.clone()));
        }
        From::Nothing
    }
}

fn of_value(value: Json) -> From {
    match value.is_null() {
        true => From::Nothing,
        false => From::Value(value),
    }
}
