//! Workflows: their files, their nodes, and the engine that runs them.
//!
//! - [`Workflow`] is a file as it was read, [`Plan`] the same made ready to run;
//! - [`NodeManager`] knows the node types; `node/` is how one is written, `nodes/` are those built in;
//! - [`ExecutionEngine`] runs plans: `run/`.
//!
//! Knows nothing of tools, models or people's files: nodes reach those through the traits of [`port`].

mod engine;
pub mod expression;
pub mod flow;
#[cfg(test)]
mod laws;
pub mod limits;
pub mod node;
mod nodes;
mod plan;
pub mod port;
mod problem;
mod run;
pub mod shipped;
pub mod stream;
#[cfg(test)]
mod testing;
mod value;
mod workflow;

pub use engine::{
    EngineOptions, Execution, ExecutionEngine, ExecutionOutcome, RunOptions, StartError,
};
pub use node::{
    Branch, Bypass, DataFlowType, Keeping, NodeBuilder, NodeDefinition, NodeError, NodeInput,
    NodeManager, NodeMode, NodeShape, NodeSlot, NodeType, NodeTypes,
};
pub use plan::{Plan, Prepared};
pub use problem::{Problem, Problems, Severity};
pub use run::{
    CacheSize, EventBody, ExecutionEvent, ExecutionStatus, Failure, Heard, INTERFACE_OUTPUTS,
    IterationStatus, Kept, NodeRef, OutputSink, Skip, Subscription, Trace,
};
pub use value::Value;
pub use workflow::{
    FindError, InterfaceSlot, NoWorkflows, NodeExecution, Reading, Workflow, WorkflowEdge,
    WorkflowEntry, WorkflowFolder, WorkflowNode, WorkflowSource, slot_schema,
};
