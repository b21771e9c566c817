//! Every capability as a tool: found, checked, allowed, run, answered.
//!
//! - [`Registry`] holds what can be called; a run works on one [`Snapshot`] of it.
//! - [`ToolManager`] takes calls through the pipeline (`pipeline/`, one file a step) and gives observations.
//! - [`Executor`] is all that an implementation of a tool has to be; no executor knows how a call was written.
//! - `workflow/` brings workflows and nodes among the tools, and tools to workflows and nodes.
//! - `search/` finds the tools that fit a question.
//! - `plugin/` reads plugin folders, `file/` is the only way to people's files, `policy/` says what may be done.

mod block;
mod budget;
pub mod builtin;
mod caller;
mod clock;
mod executor;
pub mod file;
pub mod hook;
pub mod limits;
mod listener;
pub mod locked_file;
mod manager;
mod mention;
mod meter;
mod pipeline;
pub mod plugin;
pub mod policy;
mod redact;
pub mod registry;
mod request;
mod revision;
mod run;
mod run_end;
pub mod script;
mod script_files;
pub mod search;
mod secret;
mod spill;
pub mod task;
mod unwind;
pub mod workflow;

pub use budget::{BudgetLimits, ToolLimit};
pub use caller::{Actor, Caller, InvalidId, ProjectId, Reach, UserId};
pub use clock::{Clock, SystemClock};
pub use executor::{CallContext, Executor, Invocation, Progress, ProgressSink, Room, ToolError};
pub use file::{FileError, FileLayer, FileUri};
pub use innkeeper_protocol::Pattern;
pub use innkeeper_protocol::Secret;
pub use listener::{BlockOptions, BlockRan, CallEnd, CallListener, Settled, Starting};
pub use manager::{Parts, ToolManager};
pub use meter::ModelMeter;
pub use redact::{Redactor, redact_arguments};
pub use registry::{Registry, Snapshot, Tool};
pub use revision::Revision;
pub use run::{FoundTools, NodeReach, ResultLength, RunOptions, ToolRun};
pub use run_end::{RunEnd, RunEnds};
pub use secret::{SecretName, Secrets, SecretsError};
pub use spill::SpillPlace;
pub use task::{TaskPartial, TaskProgress, TaskRecord, TaskStatus, Tasks};
