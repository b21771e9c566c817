//! Who drives runs: [`AgentRuntime`] holds all that are alive, an `AgentInstance` takes one through its steps.
//!
//! A run decides (`run/`), the instance does, and what it did goes through the run's log (`log/`) to the disk before
//! anybody hears of it. Nothing is decided here that a replay would not decide again.

mod agents;
mod approve;
mod binding;
mod calls;
mod checkpoints;
mod children;
mod compact;
mod compare;
mod deliberate;
mod door;
mod drive;
mod ending;
mod error;
mod fork;
mod host;
mod invocations;
mod live;
mod log;
mod mailbox;
mod memory;
mod meter;
mod offer;
mod offer_choice;
mod offer_told;
mod papers;
mod partial_json;
mod past;
mod prepare;
mod prompt;
mod questions;
mod reading;
mod recovery;
mod result_paper;
mod retelling;
pub mod retention;
mod rollback;
mod runtime;
mod seat;
mod speak;
mod standing;
mod start;
mod steer;
mod summarise;
mod tap;

pub use approve::{
    ApprovalReceipt, ApproveToolCall, PendingApproval, asked_in, pending_at, pending_in,
};
pub use checkpoints::{
    CheckpointFile, CheckpointPage, CheckpointQuery, CheckpointView, new_request,
};
pub use compare::{DiffEnd, DiffQuery, RunDiff};
pub use error::{AgentError, WaitError};
pub use fork::Fork;
pub use live::{LiveCall, LiveFollower, LiveTurn, LiveUpdate};
pub use mailbox::{Mailbox, RunMessage};
pub use memory::{ChatName, CopiedStates, PrunedStates, StateDiff, state};
pub use reading::{ModelTurnView, Narration, RunReader, TextView, TurnRead, TurnReader};
pub use recovery::Recovered;
pub use retention::{Retention, RetentionQuery, RetentionSettings};
pub use rollback::{Rollback, RollbackPlan, RollbackReceipt};
pub use runtime::{AgentParts, AgentRuntime, RunHandle};
pub use speak::RESPONSE_TOPIC;
pub use start::{ChatSource, StartPrompt, StartRun};
pub use steer::{GuidanceReceipt, HostAnswer};
