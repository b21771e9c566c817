//! Numbers for everything that holds a value: outputs, errors, gates, collected streams, values from outside a loop.

use std::collections::HashMap;

use crate::flow::coerce;
use crate::node::{Behaviour, Branch, NodeInput, NodeSlot, Structure};
use crate::{DataFlowType, Value};

use super::compile::{Compiler, Inner, Need, collect_as};
use super::inputs::Taken;
use super::source::Origin;
use super::{Collected, From, Part, PlanInput, Region, zone};

#[derive(Default)]
pub(super) struct Slots {
    /// By number of the node.
    first: HashMap<usize, u32>,
    error: HashMap<usize, u32>,
    /// By number of the vertex that decides.
    gates: HashMap<u32, u32>,
    captured: HashMap<(usize, usize), u32>,
    next: u32,
    readers: Vec<u32>,
    collected: Vec<Collected>,
    collected_at: HashMap<(u32, DataFlowType), u32>,
}

impl Slots {
    /// Values from outside come first.
    pub(super) fn new(captured: usize) -> Self {
        Self {
            next: u32::try_from(captured).unwrap_or(u32::MAX),
            ..Self::default()
        }
    }

    fn take(&mut self, count: usize) -> u32 {
        let first = self.next;
        self.next += u32::try_from(count).unwrap_or(u32::MAX);
        first
    }

    /// One slot for each output, in the order in which nodes run.
    pub(super) fn assign(
        &mut self,
        compiler: &Compiler<'_>,
        sorted: &[u32],
        vertices: &[usize],
        decides: &[u32],
        inner: &HashMap<usize, Inner>,
        needs: &[Vec<Need>],
    ) {
        let shape = |number: usize| compiler.unfolded.nodes.get(number).map(|node| &node.shape);
        for vertex in sorted {
            match vertices.get(*vertex as usize) {
                Some(number) => {
                    let outputs = shape(*number).map_or(0, |shape| shape.outputs().count());
                    let first = self.take(outputs);
                    self.first.insert(*number, first);
                }
                None => {
                    let chosen = decides.get(*vertex as usize - vertices.len());
                    let number = chosen.and_then(|chosen| vertices.get(*chosen as usize));
                    let inputs = number.and_then(|number| shape(*number));
                    let first = self.take(inputs.map_or(0, |shape| shape.inputs().count()));
                    self.gates.insert(*vertex, first);
                }
            }
        }
        let captured = inner.values().flat_map(|inner| &inner.compiled.captured);
        let needed = needs.iter().flatten().map(|need| &need.place);
        for (number, output) in needed.chain(captured) {
            let is_error = shape(*number).is_some_and(|shape| shape.outputs().count() == *output);
            if is_error && self.first.contains_key(number) && !self.error.contains_key(number) {
                let slot = self.take(1);
                self.error.insert(*number, slot);
            }
        }
    }

    pub(super) fn capture(&mut self, place: (usize, usize), slot: u32) {
        self.captured.insert(place, slot);
    }

    pub(super) fn first(&self, number: usize) -> u32 {
        self.first.get(&number).copied().unwrap_or_default()
    }

    pub(super) fn error(&self, number: usize) -> Option<u32> {
        self.error.get(&number).copied()
    }

    pub(super) fn first_gate(&self, vertex: u32) -> u32 {
        self.gates.get(&vertex).copied().unwrap_or_default()
    }

    pub(super) fn gate(&self, vertex: u32, input: u32) -> Option<u32> {
        Some(self.gates.get(&vertex)? + input)
    }

    fn slot(&self, compiler: &Compiler<'_>, (node, output): (usize, usize)) -> Option<u32> {
        if let Some(slot) = self.captured.get(&(node, output)) {
            return Some(*slot);
        }
        let outputs = compiler.unfolded.nodes.get(node)?.shape.outputs().count();
        match output < outputs {
            true => Some(self.first.get(&node)? + u32::try_from(output).ok()?),
            false => self.error.get(&node).copied(),
        }
    }

    /// Whether what is in the slot is read chunk by chunk.
    pub(super) fn is_stream(&self, compiler: &Compiler<'_>, node: usize, output: usize) -> bool {
        if self.captured.contains_key(&(node, output)) {
            return false;
        }
        let Some(placed) = compiler.unfolded.nodes.get(node) else {
            return false;
        };
        match placed.structure {
            Some(Structure::LoopZone) => zone::is_stream(compiler, node, output),
            Some(_) => false,
            None => {
                let is_task = matches!(placed.shape.behaviour(), Some(Behaviour::Task(_)));
                is_task
                    && placed
                        .shape
                        .output(output)
                        .is_some_and(|slot| slot.is_stream)
            }
        }
    }

    pub(super) fn writes_streams(&self, compiler: &Compiler<'_>, number: usize) -> bool {
        let outputs = compiler.unfolded.nodes.get(number);
        let outputs = outputs.map_or(0, |placed| placed.shape.outputs().count());
        (0..outputs).any(|output| self.is_stream(compiler, number, output))
    }

    fn reader(&mut self, slot: u32) -> u32 {
        let place = slot as usize;
        if self.readers.len() <= place {
            self.readers.resize(place + 1, 0);
        }
        let mut reader = 0;
        if let Some(readers) = self.readers.get_mut(place) {
            reader = *readers;
            *readers += 1;
        }
        reader
    }

    /// The slot that holds a stream's value.
    fn collected(&mut self, stream: u32, flow: DataFlowType, output: Option<usize>) -> u32 {
        if output.is_none()
            && let Some(known) = self.collected_at.get(&(stream, flow))
        {
            return *known;
        }
        let (reader, into) = (self.reader(stream), self.take(1));
        self.collected.push(Collected {
            stream,
            reader,
            into,
            flow,
            output: output.and_then(|output| u32::try_from(output).ok()),
        });
        if output.is_none() {
            self.collected_at.insert((stream, flow), into);
        }
        into
    }

    /// A slot that holds the value, a stream being collected.
    fn value_slot(
        &mut self,
        compiler: &Compiler<'_>,
        place: (usize, usize),
        wanted: DataFlowType,
    ) -> Option<u32> {
        let slot = self.slot(compiler, place)?;
        if !self.is_stream(compiler, place.0, place.1) {
            return Some(slot);
        }
        let made = compiler.unfolded.nodes.get(place.0);
        let made = made.and_then(|placed| placed.shape.output(place.1));
        let made = made.map_or(DataFlowType::Wildcard, |slot| slot.flow);
        Some(self.collected(slot, collect_as(wanted, made), None))
    }

    /// What each input of a node takes.
    pub(super) fn inputs(&mut self, compiler: &Compiler<'_>, number: usize) -> Vec<PlanInput> {
        let Some(placed) = compiler.unfolded.nodes.get(number) else {
            return Vec::new();
        };
        let taken = compiler.taken.get(number).map_or(&[][..], Vec::as_slice);
        let inputs = placed.shape.inputs().zip(taken);
        inputs
            .map(|(input, taken)| self.input(compiler, input, taken))
            .collect()
    }

    /// What a node needs in order to say which lazy inputs it wants: neither those nor streams.
    pub(super) fn deciding_inputs(
        &mut self,
        compiler: &Compiler<'_>,
        number: usize,
    ) -> Vec<PlanInput> {
        let Some(placed) = compiler.unfolded.nodes.get(number) else {
            return Vec::new();
        };
        let taken = compiler.taken.get(number).map_or(&[][..], Vec::as_slice);
        let inputs = placed.shape.inputs().zip(taken);
        inputs
            .map(
                |(input, taken)| match input.branch == Branch::Lazy || input.slot.is_stream {
                    true => PlanInput::Absent,
                    false => self.input(compiler, input, taken),
                },
            )
            .collect()
    }

    fn input(&mut self, compiler: &Compiler<'_>, input: &NodeInput, taken: &Taken) -> PlanInput {
        let slot = &input.slot;
        match taken {
            Taken::Set(value) if value.is_null() => PlanInput::Absent,
            Taken::Set(value) if slot.is_stream => PlanInput::FixedStream(value.clone()),
            Taken::Set(value) => PlanInput::Fixed(value.clone()),
            Taken::One {
                node,
                output,
                otherwise,
            } => {
                let place = (*node, *output);
                let from_stream = self.is_stream(compiler, *node, *output);
                if from_stream && slot.is_stream {
                    return match self.slot(compiler, place) {
                        Some(number) => PlanInput::Stream {
                            slot: number,
                            reader: self.reader(number),
                            branch: input.branch,
                        },
                        None => PlanInput::Absent,
                    };
                }
                let Some(number) = self.value_slot(compiler, place, slot.flow) else {
                    return PlanInput::Absent;
                };
                let fallback = coerce(slot.flow, otherwise.clone());
                let from = From {
                    slot: number,
                    flow: slot.flow,
                    fallback: fallback.filter(|value| !value.is_null()),
                    is_required: input.required,
                    branch: input.branch,
                };
                match slot.is_stream {
                    true => PlanInput::Wrapped(from),
                    false => PlanInput::One(from),
                }
            }
            Taken::Many { origins, is_list } => {
                let mut parts = Vec::with_capacity(origins.len());
                self.parts(compiler, origins, slot.flow, &mut parts);
                let values: Option<Vec<Value>> = parts
                    .iter()
                    .map(|part| match part {
                        Part::Value(value) => Some(value.clone()),
                        Part::Slot(_) => None,
                    })
                    .collect();
                match values {
                    Some(values) if !is_list => PlanInput::FixedMany(values),
                    _ => PlanInput::Many {
                        parts: parts.into(),
                        flow: slot.flow,
                        branch: input.branch,
                        is_list: *is_list,
                    },
                }
            }
        }
    }

    fn parts(
        &mut self,
        compiler: &Compiler<'_>,
        origins: &[Origin],
        flow: DataFlowType,
        parts: &mut Vec<Part>,
    ) {
        for origin in origins {
            match origin {
                Origin::Output { node, output } => {
                    let slot = self.value_slot(compiler, (*node, *output), flow);
                    parts.extend(slot.map(Part::Slot));
                }
                Origin::Value(value) => parts.push(Part::Value(value.clone())),
                Origin::List(list) => self.parts(compiler, list, flow, parts),
                Origin::Nothing => {}
            }
        }
    }

    /// A value that is only told, never waited for as a stream.
    pub(super) fn told(&mut self, compiler: &Compiler<'_>, taken: &Taken) -> PlanInput {
        let is_stream = match taken {
            Taken::One { node, output, .. } => self.is_stream(compiler, *node, *output),
            Taken::Set(_) | Taken::Many { .. } => false,
        };
        if is_stream {
            return PlanInput::Absent;
        }
        let open = NodeInput {
            branch: Branch::Optional,
            ..NodeInput::default()
        };
        self.input(compiler, &open, taken)
    }

    /// A value that a loop uses and does not make.
    pub(super) fn captured_input(
        &mut self,
        compiler: &Compiler<'_>,
        (node, output): (usize, usize),
    ) -> PlanInput {
        let taken = Taken::One {
            node,
            output,
            otherwise: Value::null(),
        };
        self.input(compiler, &NodeInput::default(), &taken)
    }

    /// What becomes an output of the whole, and whether it comes chunk by chunk.
    pub(super) fn output(
        &mut self,
        compiler: &Compiler<'_>,
        taken: &Taken,
        index: usize,
        slot: &NodeSlot,
    ) -> (PlanInput, bool) {
        let open = NodeInput {
            slot: NodeSlot {
                flow: slot.flow,
                ..NodeSlot::default()
            },
            branch: Branch::Optional,
            ..NodeInput::default()
        };
        if let Taken::One { node, output, .. } = taken
            && self.is_stream(compiler, *node, *output)
            && let Some(stream) = self.slot(compiler, (*node, *output))
        {
            let made = compiler.unfolded.nodes.get(*node);
            let made = made.and_then(|placed| placed.shape.output(*output));
            let made = made.map_or(DataFlowType::Wildcard, |slot| slot.flow);
            let into = self.collected(stream, collect_as(slot.flow, made), Some(index));
            let from = From {
                slot: into,
                flow: slot.flow,
                fallback: None,
                is_required: false,
                branch: Branch::Optional,
            };
            return (PlanInput::One(from), true);
        }
        (self.input(compiler, &open, taken), false)
    }

    /// Who waits for what, once everything has its number.
    pub(super) fn finish(mut self, region: &mut Region) {
        let slots = self.next as usize;
        self.readers.resize(slots, 0);
        let mut counts = vec![0u32; slots + 1];
        let each = |region: &Region, found: &mut dyn FnMut(usize, u32)| {
            for (index, node) in region.nodes.iter().enumerate() {
                let slots = node.inputs.iter().flat_map(PlanInput::slots);
                slots.chain(node.gate).for_each(|slot| found(index, slot));
            }
        };
        let mut pending = vec![0u32; region.nodes.len()];
        each(region, &mut |node, slot| {
            if let (Some(pending), Some(count)) =
                (pending.get_mut(node), counts.get_mut(slot as usize + 1))
            {
                *pending += 1;
                *count += 1;
            }
        });
        let mut sum = 0;
        for count in &mut counts {
            sum += *count;
            *count = sum;
        }
        let mut fill = counts.clone();
        let mut dependents = vec![0u32; sum as usize];
        each(region, &mut |node, slot| {
            if let Some(place) = fill.get_mut(slot as usize) {
                if let Some(dependent) = dependents.get_mut(*place as usize) {
                    *dependent = u32::try_from(node).unwrap_or(u32::MAX);
                }
                *place += 1;
            }
        });
        let waiting = (0u32..).zip(&pending);
        region.ready = waiting
            .filter(|(_, pending)| **pending == 0)
            .map(|(node, _)| node)
            .collect();
        region.pending = pending;
        region.first_dependent = counts;
        region.dependents = dependents;
        region.readers = self.readers;
        // Found by their stream.
        self.collected.sort_by_key(|collected| collected.stream);
        region.collected = self.collected;
    }
}
