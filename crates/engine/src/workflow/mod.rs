//! A workflow as it stands in a file: nodes, edges, an interface. Knows nothing of how it is run.
//!
//! The form is ComfyTavern's. What we do not know of it is kept, and is there again when the file is saved.

mod build;
mod folder;
mod folder_file;
mod lines;
mod patch;
mod piece;
mod read;
mod read_edge;
mod read_node;
mod read_slot;
mod reader;
mod save;
mod save_parts;
mod scan;
mod schema;
mod source;
mod wrap;
mod write;

use serde_json::{Map, Value as Json};

use crate::DataFlowType;

pub use folder::{WorkflowEntry, WorkflowFolder};
pub use read::Reading;
pub use schema::slot_schema;
pub use source::{FindError, NoWorkflows, WorkflowSource};

/// A workflow.
#[derive(Debug, Clone)]
pub struct Workflow {
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    pub nodes: Vec<WorkflowNode>,
    pub edges: Vec<WorkflowEdge>,
    /// In the order of the file, without the placeholder for the next connection.
    pub inputs: Vec<InterfaceSlot>,
    pub outputs: Vec<InterfaceSlot>,
    /// What it was read from, for saving it.
    pub(crate) origin: save::Origin,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowNode {
    pub id: String,
    /// `core:TextMerge`
    pub full_type: String,
    /// The frame or loop that it lies in.
    pub parent: Option<String>,
    pub display_name: Option<String>,
    pub description: Option<String>,
    pub position: Option<(f64, f64)>,
    pub config: Map<String, Json>,
    /// Values of inputs, where they differ from the defaults.
    pub inputs: Map<String, Json>,
    /// Of multi inputs: edge ids in the order in which their values are taken.
    pub orders: Vec<(String, Vec<String>)>,
    pub bypassed: bool,
    pub execution: NodeExecution,
}

/// How a node is run, whatever it does: `execution` in the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeExecution {
    /// Tries after the first.
    pub retry: u32,
    pub retry_delay_ms: u64,
    pub timeout_ms: Option<u64>,
    /// `false`: its results are never taken from an earlier run.
    pub cache: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowEdge {
    pub id: String,
    pub source: String,
    pub source_handle: Option<String>,
    pub target: String,
    /// As written: `key`, or `key__N` for a multi input.
    pub target_handle: Option<String>,
}

/// One argument or result of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct InterfaceSlot {
    /// What it is called in calls and by edges: its key in the interface.
    pub key: String,
    pub flow: DataFlowType,
    pub display_name: Option<String>,
    pub description: Option<String>,
    pub required: bool,
    pub is_stream: bool,
    pub multi: bool,
    pub match_categories: Vec<String>,
    /// Beside `config`, which may have bounds as well.
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// `default`, `suggestions`, `min`, `max`, …
    pub config: Map<String, Json>,
}

/// Whether they say the same; not whether their files are the same to the byte.
impl PartialEq for Workflow {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            id,
            name,
            description,
            nodes,
            edges,
            inputs,
            outputs,
            origin: _,
        } = self;
        *id == other.id
            && *name == other.name
            && *description == other.description
            && *nodes == other.nodes
            && *edges == other.edges
            && *inputs == other.inputs
            && *outputs == other.outputs
    }
}

impl Workflow {
    pub fn node(&self, id: &str) -> Option<&WorkflowNode> {
        self.nodes.iter().find(|node| node.id == id)
    }
}
