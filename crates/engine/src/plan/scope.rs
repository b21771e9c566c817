//! Groups unfolded: every node of a workflow and of the groups in it, with a path of its own.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::NodeTypes;
use crate::limits::{MAX_EDGES, MAX_NESTING, MAX_NODES, MAX_PATH_BYTES, MAX_SLOTS};
use crate::node::{NodeType, Structure};
use crate::problem::{Problem, Problems, Severity, quoted};
use crate::workflow::{NodeExecution, Workflow, WorkflowNode, WorkflowSource};

use super::shape::Shape;

/// One workflow in one place: the whole, or a group.
pub(super) struct Scope {
    pub(super) workflow: Arc<Workflow>,
    /// `group_1/`, empty for the whole.
    prefix: String,
    /// The scope and the node that it stands for.
    pub(super) parent: Option<(usize, usize)>,
    pub(super) by_id: HashMap<String, usize>,
    /// For each node: edges that come in, by number.
    pub(super) incoming: Vec<Vec<u32>>,
    pub(super) outgoing: Vec<Vec<u32>>,
    /// For each node: its number among all nodes.
    pub(super) first: usize,
    /// Scope of the group that a node stands for.
    pub(super) groups: HashMap<usize, usize>,
    pub(super) input_node: Option<usize>,
    pub(super) output_node: Option<usize>,
}

/// A node in its place.
pub(super) struct Placed {
    pub(super) path: Arc<str>,
    pub(super) scope: usize,
    /// Within the scope's workflow.
    pub(super) index: usize,
    /// `None` for a type that is not there.
    pub(super) kind: Option<Arc<NodeType>>,
    pub(super) structure: Option<Structure>,
    pub(super) shape: Shape,
    /// The loop that it lies in.
    pub(super) zone: Option<usize>,
    /// What stands for its outputs where it is switched off.
    pub(super) pairs: OnceCell<Vec<Option<usize>>>,
}

pub(super) struct Unfolded {
    pub(super) scopes: Vec<Scope>,
    pub(super) nodes: Vec<Placed>,
    /// For each node, what is connected to its inputs: by input, then in the order in which it is taken.
    pub(super) connections: Vec<Vec<Connection>>,
    edges: usize,
}

/// One edge into an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Connection {
    pub(super) input: usize,
    /// The output that the edge names: of a node in the same scope.
    pub(super) from: (usize, usize),
}

impl Unfolded {
    pub(super) fn node(&self, number: usize) -> Option<&WorkflowNode> {
        let placed = self.nodes.get(number)?;
        self.scopes
            .get(placed.scope)?
            .workflow
            .nodes
            .get(placed.index)
    }

    /// What is connected to an input, in the order in which it is taken.
    pub(super) fn incoming(
        &self,
        number: usize,
        input: usize,
    ) -> impl Iterator<Item = (usize, usize)> {
        let all = self.connections.get(number).map_or(&[][..], Vec::as_slice);
        let begin = all.partition_point(|one| one.input < input);
        let rest = all.get(begin..).unwrap_or_default().iter();
        rest.take_while(move |one| one.input == input)
            .map(|one| one.from)
    }

    pub(super) fn path(&self, number: usize) -> String {
        self.nodes
            .get(number)
            .map(|placed| placed.path.to_string())
            .unwrap_or_default()
    }
}

pub(super) fn unfold(
    workflow: &Arc<Workflow>,
    types: &NodeTypes,
    source: &dyn WorkflowSource,
    problems: &mut Problems,
) -> Unfolded {
    let mut unfolded = Unfolded {
        scopes: Vec::new(),
        nodes: Vec::new(),
        connections: Vec::new(),
        edges: 0,
    };
    let mut unfolder = Unfolder {
        types,
        source,
        known: HashMap::new(),
        problems,
        unfolded: &mut unfolded,
        is_full: false,
    };
    unfolder.enter(workflow.clone(), None, None, &mut Vec::new());
    super::wire::wire(&mut unfolded, problems);
    unfolded
}

/// The setting of a group that names its workflow.
const REFERENCE: &str = "referencedWorkflowId";

struct Unfolder<'u> {
    types: &'u NodeTypes,
    source: &'u dyn WorkflowSource,
    /// Workflows that were looked up.
    known: HashMap<String, Option<Arc<Workflow>>>,
    problems: &'u mut Problems,
    unfolded: &'u mut Unfolded,
    is_full: bool,
}

impl Unfolder<'_> {
    /// `path` holds the workflows that are open, each with what it is called.
    fn enter(
        &mut self,
        workflow: Arc<Workflow>,
        parent: Option<(usize, usize)>,
        around: Option<usize>,
        path: &mut Vec<(Arc<Workflow>, String)>,
    ) -> usize {
        let number = self.unfolded.scopes.len();
        let first = self.unfolded.nodes.len();
        let prefix = parent.map_or_else(String::new, |(scope, node)| {
            let path = self
                .unfolded
                .scopes
                .get(scope)
                .map(|scope| scope.first + node);
            format!("{}/", self.unfolded.path(path.unwrap_or_default()))
        });
        let scope = Scope::new(workflow.clone(), prefix, parent, first);
        self.unfolded.edges += workflow.edges.len();
        let grown = first + workflow.nodes.len();
        if grown > MAX_NODES || self.unfolded.edges > MAX_EDGES {
            if !std::mem::replace(&mut self.is_full, true) {
                let message = format!(
                    "with its groups unfolded the workflow has more than {MAX_NODES} nodes or {MAX_EDGES} edges; split it"
                );
                let mut problem = Problem::error("workflow.too_large", message);
                if let Some((scope, node)) = parent {
                    let number = self
                        .unfolded
                        .scopes
                        .get(scope)
                        .map(|scope| scope.first + node);
                    problem = problem.at(self.unfolded.path(number.unwrap_or_default()));
                }
                self.problems.add(problem);
            }
            self.unfolded.scopes.push(scope);
            return number;
        }
        self.place(&scope, number, around);
        self.unfolded.scopes.push(scope);
        self.find_ends(number);
        path.push((workflow.clone(), workflow.name.clone()));
        for index in 0..workflow.nodes.len() {
            self.enter_group(number, index, path);
        }
        path.pop();
        self.add_dynamic_slots(number);
        number
    }

    fn place(&mut self, scope: &Scope, number: usize, around: Option<usize>) {
        let zones = self.zones(scope, around);
        for (index, node) in scope.workflow.nodes.iter().enumerate() {
            let kind = self.types.get(&node.full_type).cloned();
            let path: Arc<str> = format!("{}{}", scope.prefix, node.id).into();
            let structure = kind.as_ref().and_then(|kind| kind.structure());
            if kind.is_none() {
                let message = match self.problems.lists(Severity::Warning) {
                    true => format!(
                        "{}; it fails when the run comes to it",
                        self.types.unknown(&node.full_type)
                    ),
                    false => String::new(),
                };
                let problem = Problem::warning("node.unknown_type", message);
                self.problems.add(problem.at(&*path));
            }
            let mut shape = Shape::of(node, kind.clone(), &path, self.problems);
            let slots = match structure {
                Some(Structure::GroupInput) => scope.workflow.inputs.len(),
                Some(Structure::GroupOutput) => scope.workflow.outputs.len(),
                _ => 0,
            };
            if slots > MAX_SLOTS {
                let message = format!(
                    "the interface has {slots} slots on this side; {MAX_SLOTS} are allowed"
                );
                let problem = Problem::error("workflow.too_many_slots", message);
                self.problems.add(problem.at(&*path));
            }
            shape.add_interface(structure, &scope.workflow);
            self.unfolded.nodes.push(Placed {
                shape,
                path,
                scope: number,
                index,
                kind,
                structure,
                zone: zones.get(index).copied().flatten(),
                pairs: OnceCell::new(),
            });
        }
    }

    /// Slots that the workflow itself gave its nodes; after the groups are known, which have slots of their own.
    fn add_dynamic_slots(&mut self, number: usize) {
        let Some(scope) = self.unfolded.scopes.get(number) else {
            return;
        };
        for (index, node) in scope.workflow.nodes.iter().enumerate() {
            let Some(placed) = self.unfolded.nodes.get_mut(scope.first + index) else {
                continue;
            };
            let edges = |list: &[Vec<u32>]| {
                let numbers = list.get(index).cloned().unwrap_or_default();
                let edges = numbers.into_iter();
                edges.filter_map(|edge| scope.workflow.edges.get(edge as usize))
            };
            let (incoming, outgoing) = (edges(&scope.incoming), edges(&scope.outgoing));
            placed.shape.add_dynamic(node, incoming, outgoing);
        }
    }

    /// For each node of a scope, the loop that it lies in, by its number among all nodes.
    fn zones(&mut self, scope: &Scope, around: Option<usize>) -> Vec<Option<usize>> {
        let nodes = &scope.workflow.nodes;
        let is_zone = |index: usize| {
            let node = nodes.get(index);
            let kind = node.and_then(|node| self.types.get(&node.full_type));
            kind.and_then(|kind| kind.structure()) == Some(Structure::LoopZone)
        };
        let parents: Vec<Option<usize>> = nodes
            .iter()
            .map(|node| scope.by_id.get(node.parent.as_ref()?).copied())
            .collect();
        // 0 unknown, 1 on the way, 2 known.
        let mut state = vec![0u8; nodes.len()];
        let mut zones = vec![around; nodes.len()];
        let around_it = std::iter::successors(around, |zone| {
            self.unfolded
                .nodes
                .get(*zone)
                .and_then(|placed| placed.zone)
        });
        let mut depth = vec![around_it.count(); nodes.len()];
        for begin in 0..nodes.len() {
            let mut way = Vec::new();
            let mut at = begin;
            let mut is_circle = false;
            while state[at] == 0 {
                state[at] = 1;
                way.push(at);
                let Some(parent) = parents[at] else {
                    break;
                };
                at = parent;
                is_circle = state[at] == 1;
            }
            if is_circle {
                let node = nodes.get(at).map(|node| node.id.as_str());
                let message = "it lies inside itself: parentNode goes round in a circle".to_owned();
                let problem = Problem::error("node.parent_cycle", message);
                let path = format!("{}{}", scope.prefix, node.unwrap_or_default());
                self.problems.add(problem.at(path).slot("parentNode"));
                for one in way {
                    state[one] = 2;
                }
                continue;
            }
            for one in way.into_iter().rev() {
                state[one] = 2;
                let Some(parent) = parents[one] else {
                    continue;
                };
                let is_inner = is_zone(parent);
                zones[one] = match is_inner {
                    true => Some(scope.first + parent),
                    false => zones[parent],
                };
                depth[one] = depth[parent] + usize::from(is_inner);
                if depth[one] > MAX_NESTING {
                    zones[one] = around;
                    if depth[one] == MAX_NESTING + 1 {
                        let node = nodes.get(one).map(|node| node.id.as_str());
                        let message =
                            format!("loops lie more than {MAX_NESTING} deep in each other");
                        let problem = Problem::error("workflow.too_deep", message);
                        let path = format!("{}{}", scope.prefix, node.unwrap_or_default());
                        self.problems.add(problem.at(path));
                    }
                }
            }
        }
        zones
    }

    /// The ends of the interface: one node each.
    fn find_ends(&mut self, number: usize) {
        let Some(scope) = self.unfolded.scopes.get_mut(number) else {
            return;
        };
        for index in 0..scope.workflow.nodes.len() {
            let Some(placed) = self.unfolded.nodes.get(scope.first + index) else {
                continue;
            };
            let place = match placed.structure {
                Some(Structure::GroupInput) => &mut scope.input_node,
                Some(Structure::GroupOutput) => &mut scope.output_node,
                _ => continue,
            };
            if let Some(first) = place.replace(index) {
                *place = Some(first);
                let first = scope.workflow.nodes.get(first);
                let first = first.map_or("", |node| node.id.as_str());
                let message = format!("{} is already that end of the workflow", quoted(first));
                let problem = Problem::error("node.second_interface", message);
                self.problems.add(problem.at(&*placed.path));
            }
        }
    }

    fn enter_group(
        &mut self,
        number: usize,
        index: usize,
        path: &mut Vec<(Arc<Workflow>, String)>,
    ) {
        let Some(scope) = self.unfolded.scopes.get(number) else {
            return;
        };
        let placed_number = scope.first + index;
        let Some(placed) = self.unfolded.nodes.get(placed_number) else {
            return;
        };
        let Some(node) = scope.workflow.nodes.get(index) else {
            return;
        };
        if placed.structure != Some(Structure::NodeGroup) || self.is_full {
            return;
        }
        let (at, zone, is_bypassed) = (placed.path.clone(), placed.zone, node.bypassed);
        let has_rules = node.execution != NodeExecution::default();
        // A node that stands for one workflow brings its name itself.
        let preset = placed
            .kind
            .as_ref()
            .map(|kind| &kind.definition.config_values);
        let named = node.config.get(REFERENCE).filter(|id| !id.is_null());
        let reference = named.or_else(|| preset?.get(REFERENCE));
        let Some(reference) = reference.and_then(|id| id.as_str()).map(str::to_owned) else {
            let message = "it names no workflow; set referencedWorkflowId";
            let problem = Problem::error("group.no_workflow", message);
            self.problems.add(problem.at(&*at).slot(REFERENCE));
            return;
        };
        let found = match self.known.get(&reference) {
            Some(known) => known.clone(),
            None => {
                let found = self.source.find(&reference).map_err(|error| {
                    let problem = Problem::error("group.unknown_workflow", error.to_string());
                    self.problems.add(problem.at(&*at).slot(REFERENCE));
                });
                self.known.insert(reference, found.clone().ok());
                found.ok()
            }
        };
        let Some(workflow) = found else {
            return;
        };
        let same = |known: &Workflow| {
            std::ptr::eq(known, &*workflow) || (known.id.is_some() && known.id == workflow.id)
        };
        if let Some(begin) = path.iter().position(|(known, _)| same(known)) {
            let names = path.iter().skip(begin).map(|(_, name)| quoted(name));
            let mut names: Vec<_> = names.collect();
            names.push(quoted(&workflow.name));
            let message = format!("the group contains itself: {}", names.join(" → "));
            self.problems
                .add(Problem::error("group.recursive", message).at(&*at));
            return;
        }
        if at.len() > MAX_PATH_BYTES {
            let message = format!(
                "the names of the groups around it are together longer than {MAX_PATH_BYTES} bytes; shorten them"
            );
            self.problems
                .add(Problem::error("workflow.too_deep", message).at(&*at));
            return;
        }
        if path.len() >= MAX_NESTING {
            let message = format!("groups lie more than {MAX_NESTING} deep in each other");
            self.problems
                .add(Problem::error("workflow.too_deep", message).at(&*at));
            return;
        }
        if let Some(placed) = self.unfolded.nodes.get_mut(placed_number) {
            placed.shape.add_group(&workflow);
        }
        if has_rules {
            let message = "it has no effect on a group; say it of the nodes in it";
            let problem = Problem::warning("node.idle_rule", message);
            self.problems.add(problem.at(&*at).slot("execution"));
        }
        if is_bypassed {
            return;
        }
        let child = self.enter(workflow, Some((number, index)), zone, path);
        if let Some(scope) = self.unfolded.scopes.get_mut(number) {
            scope.groups.insert(index, child);
        }
    }
}

impl Scope {
    fn new(
        workflow: Arc<Workflow>,
        prefix: String,
        parent: Option<(usize, usize)>,
        first: usize,
    ) -> Self {
        let mut by_id = HashMap::with_capacity(workflow.nodes.len());
        for (index, node) in workflow.nodes.iter().enumerate() {
            by_id.entry(node.id.clone()).or_insert(index);
        }
        let mut incoming = vec![Vec::new(); workflow.nodes.len()];
        let mut outgoing = vec![Vec::new(); workflow.nodes.len()];
        for (number, edge) in workflow.edges.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let (from, to) = (by_id.get(&edge.source), by_id.get(&edge.target));
            if let (Some(from), Some(to)) = (from, to) {
                if let Some(list) = outgoing.get_mut(*from) {
                    list.push(number);
                }
                if let Some(list) = incoming.get_mut(*to) {
                    list.push(number);
                }
            }
        }
        Self {
            workflow,
            prefix,
            parent,
            by_id,
            incoming,
            outgoing,
            first,
            groups: HashMap::new(),
            input_node: None,
            output_node: None,
        }
    }
}
