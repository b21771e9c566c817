//! Workflows and nodes as tools, and tools for workflows and nodes.
//!
//! - `service.rs` holds the engine and all that a run of it is given; `places.rs` says where workflows lie and which one
//!   is meant, `plans.rs` keeps them ready to run;
//! - `executor.rs` runs one behind a tool, `outcome.rs` says what came of it in the words of tools, `told.rs` passes on
//!   what is told on the way;
//! - `named.rs` says which of them a person means;
//! - `catalogue.rs` offers workflows and nodes as tools; `node_tool.rs` is a node in the words of tools;
//! - `tool_port.rs` and `event_port.rs` are how nodes reach tools and the event bus.
//!
//! How workflows run is the engine's; whether a call may be made, the pipeline's.

mod catalogue;
mod event_port;
mod executor;
mod named;
pub(crate) mod node_tool;
mod outcome;
mod places;
mod plans;
mod service;
mod told;
pub(crate) mod tool_port;

pub use catalogue::{SOURCE, WorkflowStatus};
pub use event_port::{BusPublisher, event_topic};
pub use executor::{NodeExecutor, WorkflowExecutor};
pub use named::{NotNamed, WAYS, named};
pub use outcome::{result_of, start_error};
pub use places::{Place, Seen};
pub use plans::Ready;
pub(crate) use service::{NodeLeave, WorkflowHost};
pub use service::{PluginWorkflows, WorkflowParts, WorkflowService};
pub use tool_port::RunTools;
