//! A workflow made ready to run: groups unfolded, names turned into numbers, everything checked.
//!
//! - `scope.rs` finds the groups and loops, and what each node is;
//! - `wire.rs` finds the slots that each edge connects;
//! - `source.rs` follows an edge to where its value really comes from;
//! - `inputs.rs` says what each input of a node takes;
//! - `order.rs` sorts, and names cycles; `gate.rs` finds what only a lazy input needs;
//! - `hints.rs` names what is probably not meant;
//! - `compile.rs` puts a region together, `emit.rs` its nodes, `slots.rs` gives everything its number.

mod bypass;
mod compile;
mod emit;
mod gate;
mod hints;
mod inputs;
mod order;
mod rules;
mod scope;
mod shape;
mod slots;
mod source;
mod wire;
mod zone;

use std::sync::Arc;

use crate::node::{Behaviour, Branch, Choose, Input, NodeInfo};
use crate::problem::Problems;
use crate::workflow::{Workflow, WorkflowSource};
use crate::{DataFlowType, NodeError, NodeTypes, Value};

/// A workflow, ready to run any number of times. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Plan(pub(crate) Arc<Region>);

/// What came of checking a workflow.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// `None` if there are errors.
    pub plan: Option<Plan>,
    pub problems: Problems,
}

impl Plan {
    /// Checks a workflow, and makes it ready.
    pub fn prepare(
        workflow: &Arc<Workflow>,
        types: &NodeTypes,
        source: &dyn WorkflowSource,
    ) -> Prepared {
        compile::prepare(workflow, types, source)
    }

    /// How many nodes there are, loops and groups unfolded.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.nodes.is_empty()
    }

    /// Whether it has an argument of that name.
    pub fn takes(&self, key: &str) -> bool {
        self.0.arguments.iter().any(|own| &*own.key == key)
    }

    /// Nodes and what they are called, in an order in which they can run.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<NodeInfo>> {
        self.0.nodes.iter().map(|node| &node.info)
    }
}

/// The nodes that run together: a whole workflow, or the inside of a loop.
#[derive(Debug, Default)]
pub(crate) struct Region {
    pub(crate) nodes: Vec<PlanNode>,
    /// Nodes that wait for nothing.
    pub(crate) ready: Vec<u32>,
    /// For each node, what it waits for.
    pub(crate) pending: Vec<u32>,
    /// For each slot, where its dependents begin in `dependents`; one more at the end.
    pub(crate) first_dependent: Vec<u32>,
    pub(crate) dependents: Vec<u32>,
    /// For each slot, how many read it as a stream. Only streams have any.
    pub(crate) readers: Vec<u32>,
    /// Streams that are collected into values, by stream.
    pub(crate) collected: Vec<Collected>,
    /// The arguments of the workflow, or the variables of the loop.
    pub(crate) arguments: Vec<Argument>,
    /// Values from outside a loop that are used inside it: filled in before anything runs.
    pub(crate) captured: Vec<u32>,
    pub(crate) outputs: Vec<PlanOutput>,
}

impl Region {
    pub(crate) fn slots(&self) -> usize {
        self.readers.len()
    }

    fn len(&self) -> usize {
        let inner = self.nodes.iter().map(|node| match &node.op {
            Op::Loop(zone) => zone.body.len(),
            _ => 0,
        });
        self.nodes.len() + inner.sum::<usize>()
    }
}

/// A value that is given from outside.
#[derive(Debug)]
pub(crate) struct Argument {
    pub(crate) key: Arc<str>,
    pub(crate) slot: u32,
    pub(crate) flow: DataFlowType,
    /// Where nothing is given.
    pub(crate) default: Option<Value>,
    pub(crate) is_required: bool,
}

#[derive(Debug)]
pub(crate) struct PlanOutput {
    pub(crate) key: Arc<str>,
    pub(crate) display_name: Option<Arc<str>>,
    pub(crate) input: PlanInput,
    pub(crate) is_stream: bool,
}

/// A stream that is wanted as a value.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) stream: u32,
    pub(crate) reader: u32,
    /// Where the value goes.
    pub(crate) into: u32,
    pub(crate) flow: DataFlowType,
    /// The output of the workflow that it is told as, chunk by chunk.
    pub(crate) output: Option<u32>,
}

pub(crate) struct PlanNode {
    pub(crate) info: Arc<NodeInfo>,
    pub(crate) op: Op,
    pub(crate) inputs: Box<[PlanInput]>,
    /// Slot of the first output; the others follow.
    pub(crate) first_slot: u32,
    /// It waits behind this one, and does not run if it stays shut.
    pub(crate) gate: Option<u32>,
    /// Says which lazy inputs are wanted.
    pub(crate) choose: Option<Arc<Choose>>,
    /// Where an error goes, if somebody wants it.
    pub(crate) error_slot: Option<u32>,
    /// Has stream inputs: it must be able to start while those who write run.
    pub(crate) reads_streams: bool,
    pub(crate) writes_streams: bool,
    pub(crate) rules: Rules,
}

impl std::fmt::Debug for PlanNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {} {:?}", self.op, self.info.id, self.inputs)
    }
}

/// How a node is run, whatever it does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    pub(crate) retry: u32,
    pub(crate) retry_delay_ms: u64,
    pub(crate) timeout_ms: Option<u64>,
    /// What its results are kept under, without the inputs.
    pub(crate) cache_key: Option<Arc<[u8]>>,
    /// It looks itself for what is kept.
    pub(crate) lends_kept: bool,
}

#[derive(Clone)]
pub(crate) enum Op {
    Run(Behaviour),
    /// The arguments of the workflow or the variables of a loop: already in their slots.
    Arguments,
    /// Says which lazy inputs of another node are wanted.
    Decide(Arc<Choose>),
    /// Switched off: only told.
    Bypass,
    Loop(Arc<Zone>),
    /// Cannot run, and says why when it is reached.
    Fail(NodeError),
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Run(_) => "Run",
            Self::Arguments => "Arguments",
            Self::Decide(_) => "Decide",
            Self::Bypass => "Bypass",
            Self::Loop(_) => "Loop",
            Self::Fail(_) => "Fail",
        })
    }
}

/// A loop.
#[derive(Debug)]
pub(crate) struct Zone {
    pub(crate) body: Region,
    /// From where in the node's inputs the captured values begin.
    pub(crate) first_captured: usize,
    pub(crate) settings: crate::run::LoopSettings,
    /// For each output of the node, what it gives.
    pub(crate) outputs: Vec<ZoneOutput>,
    /// For each argument of the body: the input of the node that begins it, the output of the body that changes it.
    pub(crate) variables: Vec<Variable>,
    /// The output of the body that says that it is enough.
    pub(crate) stop: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZoneOutput {
    /// The last value of an output of the body.
    Last(usize),
    /// All values of an output of the body.
    All(usize),
    /// All chunks of a stream of the body, as they come.
    Stream(usize),
    /// A variable that the body does not change.
    Variable(usize),
    Iterations,
    StoppedBy,
    Errors,
    /// Nothing inside gives it.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) kind: VariableKind,
    pub(crate) changed_by: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableKind {
    /// Begins with an input of the loop.
    Input(usize),
    /// Begins with nothing.
    Unset,
    /// From 1.
    Iteration,
    /// From 0.
    Index,
    Item,
}

/// What an input of a node takes.
#[derive(Debug, Clone)]
pub(crate) enum PlanInput {
    Absent,
    Fixed(Value),
    FixedMany(Vec<Value>),
    /// A value as a stream of one chunk.
    FixedStream(Value),
    One(From),
    Many {
        parts: Box<[Part]>,
        flow: DataFlowType,
        branch: Branch,
        /// The parts together are one list; else each is one of many.
        is_list: bool,
    },
    Stream {
        slot: u32,
        reader: u32,
        branch: Branch,
    },
    /// A value from a slot as a stream of one chunk.
    Wrapped(From),
}

/// A value from a slot.
#[derive(Debug, Clone)]
pub(crate) struct From {
    pub(crate) slot: u32,
    pub(crate) flow: DataFlowType,
    /// What there is where the slot turns out to hold nothing.
    pub(crate) fallback: Option<Value>,
    pub(crate) is_required: bool,
    pub(crate) branch: Branch,
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    Slot(u32),
    Value(Value),
}

impl PlanInput {
    /// Slots that it waits for.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        let (one, parts): (Option<u32>, &[Part]) = match self {
            Self::Absent | Self::Fixed(_) | Self::FixedMany(_) | Self::FixedStream(_) => {
                (None, &[])
            }
            Self::One(from) | Self::Wrapped(from) => (Some(from.slot), &[]),
            Self::Stream { slot, .. } => (Some(*slot), &[]),
            Self::Many { parts, .. } => (None, parts),
        };
        let parts = parts.iter().filter_map(|part| match part {
            Part::Slot(slot) => Some(*slot),
            Part::Value(_) => None,
        });
        one.into_iter().chain(parts)
    }

    pub(crate) fn fixed(&self) -> Option<Input> {
        match self {
            Self::Absent => Some(Input::Absent),
            Self::Fixed(value) => Some(Input::Value(value.clone())),
            Self::FixedMany(values) => Some(Input::Many(values.clone())),
            _ => None,
        }
    }
}
