//! What there is to draw: boxes within boxes, their slots, and the wires between them. Knows no format and no places.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use innkeeper_engine::{
    DataFlowType, InterfaceSlot, NodeDefinition, NodeShape, NodeTypes, Workflow, WorkflowNode,
    WorkflowSource,
};
use serde_json::Value as Json;

use crate::commands::workflow::check::{GROUP, GROUP_REFERENCE};
use crate::limits::{MAX_DRAWN_DEPTH, MAX_DRAWN_NODES, MAX_DRAWN_SLOTS, MAX_DRAWN_WIRES};

/// How far what a slot carries is followed through slots that say nothing.
const SPREADS: usize = 8;

pub(super) struct Drawing {
    pub(super) title: String,
    pub(super) about: String,
    pub(super) boxes: Vec<Box>,
    pub(super) wires: Vec<Wire>,
}

#[derive(Debug)]
pub(super) struct Box {
    /// Path of the node: `group_1/Merge_2`.
    pub(super) path: String,
    pub(super) title: String,
    pub(super) full_type: String,
    pub(super) about: String,
    pub(super) category: String,
    pub(super) kind: Kind,
    /// The frame, loop or open group that it lies in.
    pub(super) parent: Option<usize>,
    pub(super) position: Option<(f64, f64)>,
    pub(super) inputs: Vec<Slot>,
    pub(super) outputs: Vec<Slot>,
    /// Slots that are not drawn.
    pub(super) hidden: usize,
    pub(super) bypassed: bool,
    /// No such node type is known.
    pub(super) unknown: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Node,
    /// The beginning or end of a workflow or loop.
    End,
    /// A group that is not opened.
    Group,
    /// A group with its inside.
    OpenGroup,
    Loop,
    Frame,
}

impl Kind {
    /// Other boxes may lie in it.
    pub(super) fn holds_others(self) -> bool {
        matches!(self, Self::OpenGroup | Self::Loop | Self::Frame)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) key: String,
    pub(super) flow: DataFlowType,
    pub(super) is_stream: bool,
    /// What was set, where nothing is connected.
    pub(super) value: Option<String>,
    is_connected: bool,
    /// The workflow gave it to the node; what passes is known from those that it is connected to.
    is_open: bool,
}

#[derive(Debug)]
pub(super) struct Wire {
    pub(super) from: usize,
    pub(super) from_slot: String,
    pub(super) to: usize,
    pub(super) to_slot: String,
    pub(super) flow: DataFlowType,
    pub(super) is_stream: bool,
}

impl Drawing {
    /// With a source, groups are opened.
    pub(super) fn of(
        workflow: &Arc<Workflow>,
        types: &NodeTypes,
        groups: Option<&dyn WorkflowSource>,
    ) -> Self {
        let mut drawer = Drawer {
            types,
            groups,
            boxes: Vec::new(),
            wires: Vec::new(),
            open: Vec::new(),
            pairs: Vec::new(),
        };
        drawer.workflow(workflow, None, "");
        drawer.spread();
        let Drawer {
            mut boxes, wires, ..
        } = drawer;
        boxes.iter_mut().for_each(Box::shorten);
        Self {
            title: workflow.name.clone(),
            about: workflow.description.clone().unwrap_or_default(),
            boxes,
            wires,
        }
    }

    pub(super) fn children(&self, parent: Option<usize>) -> impl Iterator<Item = usize> {
        let boxes = self.boxes.iter().enumerate();
        boxes
            .filter(move |(_, one)| one.parent == parent)
            .map(|(at, _)| at)
    }
}

impl Box {
    /// Connected slots are always drawn, the others as far as there is room.
    fn shorten(&mut self) {
        for slots in [&mut self.inputs, &mut self.outputs] {
            let before = slots.len();
            let mut room = MAX_DRAWN_SLOTS
                .saturating_sub(slots.iter().filter(|slot| slot.is_connected).count());
            slots.retain(|slot| {
                let stays = slot.is_connected || room > 0;
                if !slot.is_connected {
                    room = room.saturating_sub(1);
                }
                stays
            });
            self.hidden += before - slots.len();
        }
    }
}

struct Drawer<'d> {
    types: &'d NodeTypes,
    groups: Option<&'d dyn WorkflowSource>,
    boxes: Vec<Box>,
    wires: Vec<Wire>,
    /// Workflows that are open, so that none is opened within itself.
    open: Vec<Arc<Workflow>>,
    /// Slots that carry the same; the first are the ends of the wires.
    pairs: Vec<[(End, String); 2]>,
}

impl Drawer<'_> {
    /// Gives the boxes of its beginning and its end.
    fn workflow(&mut self, workflow: &Arc<Workflow>, around: Option<usize>, prefix: &str) -> Ends {
        let mut ends = Ends::default();
        let mut at: HashMap<&str, Placed> = HashMap::new();
        for node in &workflow.nodes {
            let index = self.boxes.len();
            let one = self.node(node, workflow, prefix);
            match one.full_type.as_str() {
                "core:GroupInput" => ends.begin = Some(index),
                "core:GroupOutput" => ends.end = Some(index),
                _ => {}
            }
            self.boxes.push(one);
            at.entry(node.id.as_str()).or_insert(Placed {
                index,
                inside: None,
            });
        }
        for node in &workflow.nodes {
            let Some(own) = at.get(node.id.as_str()).map(|placed| placed.index) else {
                continue;
            };
            let parent = node.parent.as_deref().and_then(|id| at.get(id));
            let parent = parent.map(|placed| placed.index).filter(|parent| {
                *parent != own
                    && self
                        .boxes
                        .get(*parent)
                        .is_some_and(|one| one.kind.holds_others())
            });
            if let Some(one) = self.boxes.get_mut(own) {
                one.parent = parent.or(around);
            }
        }
        self.untangle();
        self.open.push(workflow.clone());
        for node in &workflow.nodes {
            if let Some(placed) = at.get_mut(node.id.as_str()) {
                placed.inside = self.open_group(node, placed.index);
            }
        }
        self.open.pop();
        for edge in &workflow.edges {
            let (Some(from), Some(to)) =
                (at.get(edge.source.as_str()), at.get(edge.target.as_str()))
            else {
                continue;
            };
            let handle = |handle: &Option<String>| handle.clone().unwrap_or_default();
            let to_slot = handle(&edge.target_handle);
            self.wire(from, &handle(&edge.source_handle), to, bare(&to_slot));
        }
        ends
    }

    fn node(&self, node: &WorkflowNode, workflow: &Workflow, prefix: &str) -> Box {
        let kind = self.types.get(&node.full_type);
        let definition = kind.map(|kind| &kind.definition);
        let full_type = kind.map_or(node.full_type.as_str(), |kind| kind.full_type());
        let (mut inputs, mut outputs) = match definition {
            Some(definition) => slots(shape(node, definition), node),
            None => (Vec::new(), Vec::new()),
        };
        match full_type {
            "core:GroupInput" => outputs = interface(&workflow.inputs),
            "core:GroupOutput" => inputs = interface(&workflow.outputs),
            _ => {}
        }
        let title = node.display_name.clone().filter(|title| !title.is_empty());
        let title = title.or_else(|| definition.map(|one| one.display_name.clone()));
        Box {
            path: format!("{prefix}{}", node.id),
            title: title.unwrap_or_else(|| node.id.clone()),
            full_type: full_type.to_owned(),
            about: node.description.clone().unwrap_or_default(),
            category: definition.map_or_else(String::new, |one| one.category.clone()),
            kind: match full_type {
                "core:frame" => Kind::Frame,
                "core:LoopZone" => Kind::Loop,
                "core:GroupInput" | "core:GroupOutput" | "core:LoopInput" | "core:LoopOutput" => {
                    Kind::End
                }
                GROUP => Kind::Group,
                _ => Kind::Node,
            },
            parent: None,
            position: node.position,
            inputs,
            outputs,
            hidden: 0,
            bypassed: node.bypassed,
            unknown: definition.is_none(),
        }
    }

    /// Boxes that lie in each other lie in none.
    fn untangle(&mut self) {
        for start in 0..self.boxes.len() {
            let mut seen = HashSet::from([start]);
            let mut at = start;
            while let Some(parent) = self.boxes.get(at).and_then(|one| one.parent) {
                if !seen.insert(parent) {
                    if let Some(one) = self.boxes.get_mut(at) {
                        one.parent = None;
                    }
                    break;
                }
                at = parent;
            }
        }
    }

    fn open_group(&mut self, node: &WorkflowNode, index: usize) -> Option<Ends> {
        let source = self.groups?;
        let own = self
            .boxes
            .get(index)
            .filter(|one| one.kind == Kind::Group)?;
        let path = own.path.clone();
        let reference = node.config.get(GROUP_REFERENCE)?.as_str()?;
        let inner = source.find(reference).ok()?;
        let is_open = self
            .open
            .iter()
            .any(|open| Arc::ptr_eq(open, &inner) || **open == *inner);
        let is_full = self.boxes.len() + inner.nodes.len() > MAX_DRAWN_NODES
            || self.wires.len() + inner.edges.len() > MAX_DRAWN_WIRES;
        if is_open || is_full || self.open.len() > MAX_DRAWN_DEPTH {
            return None;
        }
        if let Some(own) = self.boxes.get_mut(index) {
            own.kind = Kind::OpenGroup;
        }
        Some(self.workflow(&inner, Some(index), &format!("{path}/")))
    }

    /// What goes into an open group goes to its beginning, what comes out comes from its end.
    fn wire(&mut self, from: &Placed, from_slot: &str, to: &Placed, to_slot: &str) {
        let from_box = from.inside.and_then(|ends| ends.end);
        let to_box = to.inside.and_then(|ends| ends.begin);
        let into_end = from_box.is_some();
        let out_of_begin = to_box.is_some();
        let (from, to) = (from_box.unwrap_or(from.index), to_box.unwrap_or(to.index));
        let from_end = End {
            at: from,
            is_input: into_end,
        };
        let to_end = End {
            at: to,
            is_input: !out_of_begin,
        };
        if let Some(slots) = from_end.slots(&mut self.boxes) {
            connected(slots, from_slot);
        }
        if let Some(slots) = to_end.slots(&mut self.boxes) {
            connected(slots, to_slot);
        }
        self.wires.push(Wire {
            from,
            from_slot: from_slot.to_owned(),
            to,
            to_slot: to_slot.to_owned(),
            flow: DataFlowType::Wildcard,
            is_stream: false,
        });
        let pair = [
            (from_end, from_slot.to_owned()),
            (to_end, to_slot.to_owned()),
        ];
        self.pairs.push(pair);
    }

    /// Slots that a workflow gave its nodes carry what those carry that they are connected to; so do the ends of a
    /// loop and the loop itself.
    fn spread(&mut self) {
        for (at, one) in self.boxes.iter().enumerate() {
            let (Some(around), true) = (one.parent, one.kind == Kind::End) else {
                continue;
            };
            let is_input = one.full_type == "core:LoopInput";
            let slots = if is_input { &one.outputs } else { &one.inputs };
            for slot in slots.iter().filter(|slot| slot.is_open) {
                let own = End {
                    at,
                    is_input: !is_input,
                };
                let around = End {
                    at: around,
                    is_input,
                };
                self.pairs
                    .push([(own, slot.key.clone()), (around, slot.key.clone())]);
            }
        }
        for _ in 0..SPREADS {
            for [one, other] in &self.pairs {
                for (from, to) in [(one, other), (other, one)] {
                    let known = from
                        .0
                        .slot(&mut self.boxes, &from.1)
                        .map(|slot| slot.kind());
                    if let Some(Some((flow, is_stream))) = known
                        && let Some(slot) = to.0.slot(&mut self.boxes, &to.1)
                        && slot.is_open
                    {
                        (slot.flow, slot.is_stream) = (flow, is_stream);
                        slot.is_open = false;
                    }
                }
            }
        }
        for (wire, [from, _]) in self.wires.iter_mut().zip(&self.pairs) {
            if let Some(slot) = from.0.slot(&mut self.boxes, &from.1) {
                (wire.flow, wire.is_stream) = (slot.flow, slot.is_stream);
            }
        }
    }
}

/// One side of a box.
#[derive(Debug, Clone, Copy)]
struct End {
    at: usize,
    is_input: bool,
}

impl End {
    fn slots(self, boxes: &mut [Box]) -> Option<&mut Vec<Slot>> {
        let one = boxes.get_mut(self.at)?;
        Some(match self.is_input {
            true => &mut one.inputs,
            false => &mut one.outputs,
        })
    }

    fn slot<'b>(self, boxes: &'b mut [Box], key: &str) -> Option<&'b mut Slot> {
        self.slots(boxes)?.iter_mut().find(|slot| slot.key == key)
    }
}

impl Slot {
    /// What passes, if that is known.
    fn kind(&self) -> Option<(DataFlowType, bool)> {
        (!self.is_open).then_some((self.flow, self.is_stream))
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    begin: Option<usize>,
    end: Option<usize>,
}

struct Placed {
    index: usize,
    inside: Option<Ends>,
}

/// The slot of that name, which there is now if there was none.
fn connected(slots: &mut Vec<Slot>, key: &str) {
    match slots.iter_mut().find(|slot| slot.key == key) {
        Some(slot) => {
            slot.is_connected = true;
            slot.value = None;
        }
        None => {
            slots.push(Slot {
                key: key.to_owned(),
                flow: DataFlowType::Wildcard,
                is_stream: false,
                value: None,
                is_connected: true,
                is_open: true,
            });
        }
    }
}

/// `key__3` is the third connection of `key`.
fn bare(handle: &str) -> &str {
    match handle.rsplit_once("__") {
        Some((key, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => key,
        _ => handle,
    }
}

fn shape<'d>(node: &WorkflowNode, definition: &'d NodeDefinition) -> &'d NodeShape {
    let mode = definition.mode_key.as_ref().and_then(|key| {
        let set = node.config.get(key).or(definition.config_values.get(key));
        let id = set.and_then(Json::as_str);
        definition.mode(id.or(definition.default_mode.as_deref())?)
    });
    mode.map_or(&definition.shape, |mode| &mode.shape)
}

fn slots(shape: &NodeShape, node: &WorkflowNode) -> (Vec<Slot>, Vec<Slot>) {
    let slot = |slot: &innkeeper_engine::NodeSlot, value: Option<String>| Slot {
        key: slot.key.clone(),
        flow: slot.flow,
        is_stream: slot.is_stream,
        value,
        is_connected: false,
        is_open: false,
    };
    let inputs = shape.inputs.iter().map(|input| {
        let value = node
            .inputs
            .get(&input.slot.key)
            .filter(|value| !value.is_null());
        slot(&input.slot, value.map(plainly))
    });
    let outputs = shape.outputs.iter().map(|output| slot(output, None));
    (inputs.collect(), outputs.collect())
}

fn interface(slots: &[InterfaceSlot]) -> Vec<Slot> {
    let slot = |slot: &InterfaceSlot| Slot {
        key: slot.key.clone(),
        flow: slot.flow,
        is_stream: slot.is_stream,
        value: None,
        is_connected: false,
        is_open: false,
    };
    slots.iter().map(slot).collect()
}

fn plainly(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "drawing_tests.rs"]
mod tests;
