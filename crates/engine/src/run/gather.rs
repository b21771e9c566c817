//! What a node takes, found in the slots when it is ready.

use std::sync::Arc;

use super::event::Skip;
use super::ledger::Ledger;
use super::state::{Held, State};
use crate::flow::{coerce, kind};
use crate::node::{Branch, Input, NodeInfo};
use crate::plan::{From, Op, Part, PlanInput, PlanNode, Zone};
use crate::stream::{Chunk, of_one};
use crate::{DataFlowType, NodeError, Value};

/// What came of it.
pub(super) enum Gathered {
    Ready,
    Skip(Skip),
    Fail(NodeError),
}

/// Either there is a value, or there is none, or the node cannot run.
enum Found {
    Value(Value),
    Absent,
    Stop(Gathered),
}

impl State {
    /// Fills the node's inputs in.
    pub(super) fn gather(&mut self, node: &PlanNode, ledger: &Arc<Ledger>) -> Gathered {
        let mut inputs = std::mem::take(&mut self.io.inputs);
        inputs.clear();
        self.failed_lazy.clear();
        let mut end = Gathered::Ready;
        // What a loop takes from outside goes in as it is: who needs it is decided inside.
        let own = match &node.op {
            Op::Loop(zone) => zone.first_captured,
            _ => node.inputs.len(),
        };
        for (index, planned) in node.inputs.iter().enumerate().take(own) {
            match self.take_input(planned, &node.info, index, ledger) {
                Ok(input) => {
                    if matches!(input, Input::Absent) && self.is_failed_lazy(planned) {
                        self.failed_lazy.push(index);
                    }
                    inputs.push(input);
                }
                Err(stop) => {
                    end = stop;
                    break;
                }
            }
        }
        if !matches!(end, Gathered::Ready) {
            inputs.clear();
            self.leave_streams(node);
        }
        self.io.inputs = inputs;
        end
    }

    /// The values that a loop takes from outside.
    pub(super) fn captured(&self, node: &PlanNode, zone: &Zone) -> Vec<Held> {
        let captured = node.inputs.iter().skip(zone.first_captured);
        captured
            .map(|planned| match planned {
                PlanInput::One(from) => match self.get(from.slot) {
                    Held::Value(value) => Held::Value(value.clone()),
                    Held::Dead(why) => Held::Dead(*why),
                    Held::Absent | Held::Pending | Held::Stream(_) => Held::Absent,
                },
                PlanInput::Fixed(value) => Held::Value(value.clone()),
                _ => Held::Absent,
            })
            .collect()
    }

    /// A lazy input that cannot be had: it matters only if it is wanted.
    fn is_failed_lazy(&self, planned: &PlanInput) -> bool {
        let (slot, branch) = match planned {
            PlanInput::One(from) | PlanInput::Wrapped(from) => (from.slot, from.branch),
            PlanInput::Stream { slot, branch, .. } => (*slot, *branch),
            _ => return false,
        };
        branch == Branch::Lazy && matches!(self.get(slot), Held::Dead(Skip::UpstreamFailed))
    }

    /// Whoever does not run must not hold up those who write.
    pub(super) fn leave_streams(&mut self, node: &PlanNode) {
        for input in &node.inputs {
            if let PlanInput::Stream { slot, reader, .. } = input {
                drop(self.take_reader(*slot, *reader));
            }
        }
    }

    fn take_reader(&mut self, slot: u32, reader: u32) -> Option<crate::stream::StreamReader> {
        match self.slots.get_mut(slot as usize) {
            Some(Held::Stream(readers)) => readers.get_mut(reader as usize)?.take(),
            _ => None,
        }
    }

    fn take_input(
        &mut self,
        planned: &PlanInput,
        info: &NodeInfo,
        index: usize,
        ledger: &Arc<Ledger>,
    ) -> Result<Input, Gathered> {
        Ok(match planned {
            PlanInput::One(from) => match self.find(from, info, index) {
                Found::Value(value) => Input::Value(value),
                Found::Absent => Input::Absent,
                Found::Stop(stop) => return Err(stop),
            },
            PlanInput::Absent => Input::Absent,
            PlanInput::Fixed(value) => Input::Value(value.clone()),
            PlanInput::FixedMany(values) => Input::Many(values.clone()),
            PlanInput::FixedStream(value) => {
                Input::Stream(of_one(Chunk::of(value.clone()), ledger))
            }
            PlanInput::Wrapped(from) => match self.find(from, info, index) {
                Found::Value(value) => Input::Stream(of_one(Chunk::of(value), ledger)),
                Found::Absent => Input::Absent,
                Found::Stop(stop) => return Err(stop),
            },
            PlanInput::Stream {
                slot,
                reader,
                branch,
            } => match self.get(*slot) {
                Held::Dead(why) if *branch == Branch::Needed => return Err(Gathered::Skip(*why)),
                Held::Stream(_) => match self.take_reader(*slot, *reader) {
                    Some(reader) => {
                        reader.begins();
                        Input::Stream(reader)
                    }
                    None => Input::Absent,
                },
                _ => Input::Absent,
            },
            PlanInput::Many {
                parts,
                flow,
                branch,
                is_list,
            } => self.find_many(parts, *flow, *branch, *is_list, info, index)?,
        })
    }

    fn find(&self, from: &From, info: &NodeInfo, index: usize) -> Found {
        match self.get(from.slot) {
            Held::Value(value)
                if from.flow.accepts(value.as_json()) && !is_loose(from.flow, value) =>
            {
                Found::Value(value.clone())
            }
            Held::Value(value) if !value.is_null() => match coerce(from.flow, value.clone()) {
                Some(value) => Found::Value(value),
                None => Found::Stop(Gathered::Fail(wrong(info, index, from.flow, value))),
            },
            Held::Dead(why) if from.branch == Branch::Needed => Found::Stop(Gathered::Skip(*why)),
            _ => match &from.fallback {
                Some(value) => Found::Value(value.clone()),
                None if from.is_required => Found::Stop(Gathered::Fail(missing(info, index))),
                None => Found::Absent,
            },
        }
    }

    fn find_many(
        &self,
        parts: &[Part],
        flow: DataFlowType,
        branch: Branch,
        is_list: bool,
        info: &NodeInfo,
        index: usize,
    ) -> Result<Input, Gathered> {
        let mut values = Vec::with_capacity(parts.len());
        let mut dead = None;
        let flow = if is_list {
            DataFlowType::Wildcard
        } else {
            flow
        };
        for part in parts {
            let value = match part {
                Part::Value(value) => value.clone(),
                Part::Slot(slot) => match self.get(*slot) {
                    Held::Value(value) => value.clone(),
                    // With half of what it needs a node would do half of its work.
                    Held::Dead(Skip::UpstreamFailed) if branch == Branch::Needed => {
                        return Err(Gathered::Skip(Skip::UpstreamFailed));
                    }
                    Held::Dead(why) => {
                        dead = Some(*why);
                        continue;
                    }
                    _ => continue,
                },
            };
            if value.is_null() && flow != DataFlowType::Wildcard {
                continue;
            }
            match coerce(flow, value.clone()) {
                Some(value) => values.push(value),
                None => return Err(Gathered::Fail(wrong(info, index, flow, &value))),
            }
        }
        if let Some(why) = dead
            && values.is_empty()
            && branch == Branch::Needed
        {
            return Err(Gathered::Skip(why));
        }
        Ok(match is_list {
            true => Input::Value(values.into()),
            false => Input::Many(values),
        })
    }
}

/// A number that has to be looked at again: whole, but written with a point.
fn is_loose(flow: DataFlowType, value: &Value) -> bool {
    flow == DataFlowType::Integer && value.as_json().is_f64()
}

fn key(info: &NodeInfo, index: usize) -> &str {
    info.inputs.get(index).map_or("?", |slot| &slot.key)
}

fn wrong(info: &NodeInfo, index: usize, flow: DataFlowType, found: &Value) -> NodeError {
    let message = format!(
        "the input '{}' takes {flow}, and got {}",
        key(info, index),
        kind(found.as_json())
    );
    NodeError::invalid("input.type", message)
}

fn missing(info: &NodeInfo, index: usize) -> NodeError {
    let message = format!(
        "the input '{}' is needed, and got nothing",
        key(info, index)
    );
    NodeError::invalid("input.missing", message)
}
