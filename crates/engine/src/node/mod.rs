//! What a node is: its definition, and what it does.

mod builder;
mod definition;
mod error;
mod input;
mod io;
mod json;
mod manager;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use builder::{
    In, NodeBuilder, Out, ShapeBuilder, Slot, StreamOut, any, array, binary, boolean, convertible,
    float, integer, object, text,
};
pub use definition::{
    Branch, Bypass, DataFlowType, NodeDefinition, NodeInput, NodeMode, NodeShape, NodeSlot,
};
pub use error::NodeError;
pub use input::{FromInput, FromValue, Input};
pub use io::{Io, NodeContext, NodeInfo, Output, Outputs, SlotInfo, TaskIo, Writer};
pub use manager::{NodeManager, NodeTypes, RegisterError};

/// A kind of node: what it is, and what it does.
pub struct NodeType {
    pub definition: NodeDefinition,
    pub(crate) full_type: Arc<str>,
    /// Told apart from others of the same name: what one made is not the work of another.
    pub(crate) serial: u64,
    /// Where no mode says otherwise.
    pub(crate) behaviour: Behaviour,
    /// In the order of the definition's modes.
    pub(crate) modes: Vec<Behaviour>,
    pub(crate) is_cached: bool,
    /// The engine keeps nothing for it, but lends it what is kept.
    pub(crate) keeps_own: bool,
    /// The setting by which a workflow says that the results of this node may be kept.
    pub(crate) kept_if: Option<&'static str>,
    pub(crate) aliases: Vec<String>,
    /// For a node with lazy inputs.
    pub(crate) choose: Option<Arc<Choose>>,
}

/// Says which lazy inputs are wanted, by their numbers, when the others are there.
pub type Choose = dyn Fn(&mut Io, &mut dyn FnMut(usize)) -> Result<(), NodeError> + Send + Sync;

pub type InlineRun = dyn Fn(&mut Io) -> Result<(), NodeError> + Send + Sync;
pub type TaskFuture = Pin<Box<dyn Future<Output = Result<Outputs, NodeError>> + Send>>;
pub type TaskRun = dyn Fn(TaskIo) -> TaskFuture + Send + Sync;

/// What a node does.
#[derive(Clone)]
pub enum Behaviour {
    /// Quick, and waits for nothing: run in place.
    Inline(Arc<InlineRun>),
    /// A task of its own.
    Task(Arc<TaskRun>),
    /// Part of the workflow's structure; the engine knows it.
    Structure(Structure),
}

/// Whether what a node makes may stand for its work the next time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    Always,
    Never,
    /// If the workflow says so by this setting.
    If(&'static str),
}

/// Nodes that are no work but tell how the others hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structure {
    /// A box on the canvas.
    Frame,
    GroupInput,
    GroupOutput,
    NodeGroup,
    LoopZone,
    LoopInput,
    LoopOutput,
}

impl NodeType {
    pub fn full_type(&self) -> &str {
        &self.full_type
    }

    /// A node whose definition comes from elsewhere: a plugin's file.
    pub fn from_definition(definition: NodeDefinition, behaviour: Behaviour) -> Self {
        let is_cached = definition.deterministic && matches!(behaviour, Behaviour::Task(_));
        Self {
            full_type: definition.full_type().into(),
            serial: next_serial(),
            modes: definition.modes.iter().map(|_| behaviour.clone()).collect(),
            definition,
            behaviour,
            is_cached,
            keeps_own: false,
            kept_if: None,
            aliases: Vec::new(),
            choose: None,
        }
    }

    /// Whether it may do its work is decided each time, so the engine must not pass over it: it finds what is kept by
    /// [`NodeContext::kept`].
    #[must_use]
    pub fn keeping_own(self) -> Self {
        Self {
            is_cached: false,
            keeps_own: true,
            ..self
        }
    }

    /// The same for one whose workflow has to ask for it by a setting.
    #[must_use]
    pub fn keeping_own_if(self, setting: &'static str) -> Self {
        Self {
            kept_if: Some(setting),
            ..self.keeping_own()
        }
    }

    pub fn keeping(&self) -> Keeping {
        let definition = &self.definition;
        let streams = |shape: &NodeShape| shape.outputs.iter().any(|slot| slot.is_stream);
        let modes = &definition.modes;
        let always_streams = match modes.is_empty() {
            true => streams(&definition.shape),
            false => modes.iter().all(|mode| streams(&mode.shape)),
        };
        match self.kept_if {
            Some(setting) => Keeping::If(setting),
            None if !definition.deterministic => Keeping::Never,
            // It passes its pieces on, and holds no whole that could be kept.
            None if self.keeps_own && always_streams => Keeping::Never,
            None => Keeping::Always,
        }
    }

    /// Nothing by itself: it tells how the nodes around it hang together.
    pub fn structure(&self) -> Option<Structure> {
        match self.behaviour {
            Behaviour::Structure(structure) => Some(structure),
            Behaviour::Inline(_) | Behaviour::Task(_) => None,
        }
    }
}

/// Counts the node types of this process.
pub(crate) fn next_serial() -> u64 {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    SERIAL.fetch_add(1, Ordering::Relaxed)
}

impl fmt::Debug for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeType({})", self.full_type)
    }
}
