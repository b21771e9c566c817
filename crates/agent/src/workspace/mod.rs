//! The files of a run: roots, paths, limits, read-state guards, and the tools that reach them.
//!
//! A workspace is a map of paths to contents that are kept by their hash; changing it is making a [`state::WorkspaceChange`],
//! which takes effect when the run's journal has it. So a write happens once or not at all, whatever ends the process.
//!
//! - Pure: [`state`], `reads.rs` (what an agent was shown), `path.rs`, `plan.rs` (roots), `staging.rs` (what open calls did),
//!   `find.rs` and `hits.rs` (searching), `lines.rs`, `ids.rs`, [`diff`] (what is different between two of them).
//! - [`WorkspaceSession`] is the workspace of a live run, [`Workspaces`] all of them; `tools/` work on those.
//! - [`RunDoor`] is what tools ask of the run. [`persist`] keeps a root for later runs; [`host`] is what hosts may read.

mod cache;
pub mod diff;
mod diff_lines;
mod diff_renames;
mod door;
mod fault;
pub(crate) mod find;
pub(crate) mod hits;
pub mod host;
mod ids;
mod lines;
pub mod metrics;
mod path;
pub mod persist;
#[cfg(test)]
mod pipeline_tests;
mod plan;
mod reads;
mod session;
mod spill;
mod staging;
pub mod state;
mod states;
#[cfg(test)]
pub(crate) mod testing;
mod text;
mod tools;
mod workspaces;

pub use door::{CommitMode, CommitReceipt, CommitRefused, CommitRequest, RunDoor};
pub(crate) use fault::{fault, quoted};
pub use ids::{call_stem, workspace_id};
pub(crate) use lines::Lines;
pub(crate) use path::is_below;
pub use path::{PathFault, WorkspacePath};
pub use persist::{PersistentState, PersistentStates, StateChat, StatesInMemory};
pub use plan::{MessageBody, PERSIST, RESERVED, ROOTS, WorkspacePlan};
pub(crate) use session::NewFile;
pub use session::WorkspaceSession;
pub use staging::Taken;
pub use states::StatesInStore;
pub(crate) use text::{aside, measured};
pub use tools::tools;
pub use workspaces::Workspaces;
