//! The slots that one node of a workflow really has: those of its type and mode, and those that the workflow gave it.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::DataFlowType;
use crate::limits::MAX_SLOTS;
use crate::node::{Behaviour, Branch, NodeInput, NodeShape, NodeSlot, NodeType, Structure};
use crate::problem::{Problem, Problems, did_you_mean, quoted};
use crate::workflow::{InterfaceSlot, Workflow, WorkflowEdge, WorkflowNode};

/// The output that every node has for its error, unless it has one of that name for something else.
pub(super) const ERROR_OUTPUT: &str = "error";

pub(super) struct Shape {
    kind: Option<Arc<NodeType>>,
    mode: Option<usize>,
    is_dynamic: bool,
    more_inputs: Vec<NodeInput>,
    more_outputs: Vec<NodeSlot>,
}

/// Which input an edge goes to, and its place among several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) input: usize,
    pub(super) place: Option<u64>,
}

impl Shape {
    pub(super) fn of(
        node: &WorkflowNode,
        kind: Option<Arc<NodeType>>,
        path: &str,
        problems: &mut Problems,
    ) -> Self {
        let mode = kind
            .as_ref()
            .and_then(|kind| mode_of(node, kind, path, problems));
        Self {
            is_dynamic: kind
                .as_ref()
                .is_none_or(|kind| kind.definition.dynamic_slots),
            kind,
            mode,
            more_inputs: Vec::new(),
            more_outputs: Vec::new(),
        }
    }

    fn base(&self) -> Option<&NodeShape> {
        let definition = &self.kind.as_ref()?.definition;
        match self.mode.and_then(|mode| definition.modes.get(mode)) {
            Some(mode) => Some(&mode.shape),
            None => Some(&definition.shape),
        }
    }

    pub(super) fn inputs(&self) -> impl Iterator<Item = &NodeInput> {
        let base = self.base().map_or(&[][..], |shape| &shape.inputs);
        base.iter().chain(&self.more_inputs)
    }

    pub(super) fn outputs(&self) -> impl Iterator<Item = &NodeSlot> {
        let base = self.base().map_or(&[][..], |shape| &shape.outputs);
        base.iter().chain(&self.more_outputs)
    }

    pub(super) fn settings(&self) -> impl Iterator<Item = &NodeInput> {
        let whole = self.kind.as_ref().map(|kind| &kind.definition.shape);
        let of_mode = self.mode.and(self.base());
        let all = whole.into_iter().chain(of_mode);
        all.flat_map(|shape| &shape.config)
    }

    pub(super) fn output(&self, index: usize) -> Option<&NodeSlot> {
        self.outputs().nth(index)
    }

    pub(super) fn mode_id(&self) -> Option<&str> {
        let definition = &self.kind.as_ref()?.definition;
        Some(definition.modes.get(self.mode?)?.id.as_str())
    }

    pub(super) fn behaviour(&self) -> Option<&Behaviour> {
        let kind = self.kind.as_ref()?;
        match self.mode.and_then(|mode| kind.modes.get(mode)) {
            Some(behaviour) => Some(behaviour),
            None => Some(&kind.behaviour),
        }
    }

    pub(super) fn input_index(&self, key: &str) -> Option<usize> {
        self.inputs().position(|input| input.slot.key == key)
    }

    pub(super) fn output_index(&self, key: &str) -> Option<usize> {
        self.outputs().position(|slot| slot.key == key)
    }

    /// Where an edge with that handle goes.
    pub(super) fn target(&self, handle: Option<&str>) -> Option<Target> {
        let Some(handle) = handle else {
            let mut inputs = self.inputs();
            let is_only = inputs.next().is_some() && inputs.next().is_none();
            return is_only.then_some(Target {
                input: 0,
                place: None,
            });
        };
        if let Some(input) = self.input_index(handle) {
            return Some(Target { input, place: None });
        }
        let (key, place) = numbered(handle)?;
        Some(Target {
            input: self.input_index(key)?,
            place: Some(place),
        })
    }

    /// Why an edge with that handle goes nowhere.
    pub(super) fn no_target(&self, handle: Option<&str>) -> String {
        let names = self.inputs().map(|input| input.slot.key.as_str());
        match handle {
            None => "the edge does not say into which input it goes".to_owned(),
            Some(name) => {
                format!(
                    "the node has no input {}{}",
                    quoted(name),
                    hint(name, names)
                )
            }
        }
    }

    /// Which output an edge with that handle comes from; the number after the last is the error.
    pub(super) fn origin(&self, handle: Option<&str>) -> Option<usize> {
        let Some(handle) = handle else {
            let mut outputs = self.outputs();
            let is_only = outputs.next().is_some() && outputs.next().is_none();
            return is_only.then_some(0);
        };
        let found = self.output_index(handle);
        found
            .or_else(|| (handle == ERROR_OUTPUT && self.can_fail()).then(|| self.outputs().count()))
    }

    /// Whether it does work of its own; the ends of a workflow and groups do none.
    fn can_fail(&self) -> bool {
        let structure = self.kind.as_ref().and_then(|kind| kind.structure());
        matches!(structure, None | Some(Structure::LoopZone))
    }

    /// Why an edge with that handle comes from nowhere.
    pub(super) fn no_origin(&self, handle: Option<&str>) -> String {
        let names = self.outputs().map(|slot| slot.key.as_str());
        match handle {
            None => "the edge does not say from which output it comes".to_owned(),
            Some(ERROR_OUTPUT) => {
                "it does no work of its own that could fail, so it has no output 'error'; take that of the nodes in it"
                    .to_owned()
            }
            Some(name) => {
                format!(
                    "the node has no output {}{}",
                    quoted(name),
                    hint(name, names)
                )
            }
        }
    }

    /// The ends of a workflow have the slots of its interface.
    pub(super) fn add_interface(&mut self, structure: Option<Structure>, workflow: &Workflow) {
        match structure {
            Some(Structure::GroupInput) => {
                let slots = workflow.inputs.iter().take(MAX_SLOTS).map(output_of);
                self.more_outputs.extend(slots);
            }
            Some(Structure::GroupOutput) => {
                let slots = workflow.outputs.iter().take(MAX_SLOTS).map(input_of);
                self.more_inputs.extend(slots);
            }
            _ => {}
        }
    }

    /// A group has the slots of the workflow that it stands for.
    pub(super) fn add_group(&mut self, workflow: &Workflow) {
        self.is_dynamic = false;
        let (inputs, outputs) = (workflow.inputs.iter(), workflow.outputs.iter());
        self.more_inputs = inputs.take(MAX_SLOTS).map(input_of).collect();
        self.more_outputs = outputs.take(MAX_SLOTS).map(output_of).collect();
    }

    /// Slots that the workflow mentions, where the type leaves it to the workflow.
    pub(super) fn add_dynamic<'e>(
        &mut self,
        node: &WorkflowNode,
        incoming: impl Iterator<Item = &'e WorkflowEdge>,
        outgoing: impl Iterator<Item = &'e WorkflowEdge>,
    ) {
        if !self.is_dynamic {
            return;
        }
        let handles = incoming.filter_map(|edge| edge.target_handle.as_deref());
        for handle in handles.chain(node.inputs.keys().map(String::as_str)) {
            if self.more_inputs.len() < MAX_SLOTS && self.target(Some(handle)).is_none() {
                // Who chooses between inputs has the others made in vain.
                let is_choosing = self.kind.as_ref().is_some_and(|kind| kind.choose.is_some());
                self.more_inputs.push(NodeInput {
                    slot: dynamic(handle),
                    branch: match is_choosing {
                        true => Branch::Lazy,
                        false => Branch::Needed,
                    },
                    ..NodeInput::default()
                });
            }
        }
        for handle in outgoing.filter_map(|edge| edge.source_handle.as_deref()) {
            let is_error = handle == ERROR_OUTPUT;
            if !is_error
                && self.more_outputs.len() < MAX_SLOTS
                && self.output_index(handle).is_none()
            {
                self.more_outputs.push(dynamic(handle));
            }
        }
    }
}

fn dynamic(key: &str) -> NodeSlot {
    NodeSlot {
        key: key.to_owned(),
        flow: DataFlowType::ConvertibleAny,
        ..NodeSlot::default()
    }
}

fn output_of(slot: &InterfaceSlot) -> NodeSlot {
    NodeSlot {
        key: slot.key.clone(),
        display_name: slot.display_name.clone(),
        description: slot.description.clone(),
        flow: slot.flow,
        is_stream: slot.is_stream,
        match_categories: slot.match_categories.clone(),
        allow_dynamic_type: false,
        hide_handle: false,
    }
}

fn input_of(slot: &InterfaceSlot) -> NodeInput {
    NodeInput {
        slot: output_of(slot),
        required: slot.required,
        multi: slot.multi,
        config: slot.config.clone(),
        ..NodeInput::default()
    }
}

/// `key__3` is the third connection of `key`.
fn numbered(handle: &str) -> Option<(&str, u64)> {
    let (key, number) = handle.rsplit_once("__")?;
    Some((key, number.parse().ok()?))
}

fn hint<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let known: Vec<_> = known.collect();
    let meant = did_you_mean(name, known.iter().copied());
    match known.len() {
        _ if !meant.is_empty() => meant,
        0 => "; it has none".to_owned(),
        1..=8 => format!("; there are: {}", known.join(", ")),
        _ => String::new(),
    }
}

fn mode_of(
    node: &WorkflowNode,
    kind: &NodeType,
    path: &str,
    problems: &mut Problems,
) -> Option<usize> {
    let definition = &kind.definition;
    let key = definition.mode_key.as_deref()?;
    let set = node.config.get(key).or(definition.config_values.get(key));
    let id = match set {
        None | Some(Json::Null) => definition.default_mode.as_deref(),
        Some(Json::String(id)) => Some(id.as_str()),
        Some(_) => None,
    };
    let found = id.and_then(|id| definition.modes.iter().position(|mode| mode.id == id));
    if found.is_none() {
        let modes: Vec<_> = definition
            .modes
            .iter()
            .map(|mode| mode.id.as_str())
            .collect();
        let given = set.map(|set| set.to_string()).unwrap_or_default();
        let near = did_you_mean(given.trim_matches('"'), modes.iter().copied());
        let list = match near.is_empty() {
            true => format!("; there are: {}", modes.join(", ")),
            false => near,
        };
        let message = format!("the node has no mode {}{list}", quoted(&given));
        problems.add(
            Problem::error("node.unknown_mode", message)
                .at(path)
                .slot(key),
        );
    }
    found
}
