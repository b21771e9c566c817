//! Who drives runs: [`AgentRuntime`] holds all that are alive, an `AgentInstance` takes one through its steps.
//!
//! A run decides (`run/`), the instance does, and what it did goes through the run's log (`log.rs`) to the disk before
//! anybody hears of it. Nothing is decided here that a replay would not decide again.

mod calls;
mod deliberate;
mod door;
mod drive;
mod ending;
mod error;
mod live;
mod log;
mod mailbox;
mod partial_json;
mod prepare;
mod prompt;
mod reading;
mod recovery;
mod runtime;
mod start;
mod steer;
mod tap;

pub use error::AgentError;
pub use live::{LiveCall, LiveFollower, LiveTurn, LiveUpdate};
pub use mailbox::{Mailbox, RunMessage};
pub use reading::{
    ModelTurnView, Narration, RunReader, TextView, TurnRead, TurnReader, WorkspaceFileView,
};
pub use recovery::Recovered;
pub use runtime::{AgentParts, AgentRuntime, RunHandle};
pub use start::{ChatSource, StartPrompt, StartRun};
pub use steer::{GuidanceReceipt, HostAnswer};
