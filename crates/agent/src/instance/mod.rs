//! Who drives runs: [`AgentRuntime`] holds all that are alive, an `AgentInstance` takes one through its steps.
//!
//! A run decides (`run/`), the instance does, and what it did goes through the run's log (`log/`) to the disk before
//! anybody hears of it. Nothing is decided here that a replay would not decide again.

mod agents;
mod binding;
mod calls;
mod checkpoints;
mod children;
mod compare;
mod deliberate;
mod door;
mod drive;
mod ending;
mod error;
mod host;
mod invocations;
mod live;
mod log;
mod mailbox;
mod offer;
mod offer_choice;
mod offer_told;
mod papers;
mod partial_json;
mod prepare;
mod prompt;
mod reading;
mod recovery;
mod result_paper;
mod retelling;
mod runtime;
mod seat;
mod speak;
mod start;
mod steer;
mod tap;

pub use checkpoints::{CheckpointFile, CheckpointPage, CheckpointQuery, CheckpointView};
pub use compare::{DiffEnd, DiffQuery, RunDiff};
pub use error::{AgentError, WaitError};
pub use live::{LiveCall, LiveFollower, LiveTurn, LiveUpdate};
pub use mailbox::{Mailbox, RunMessage};
pub use reading::{ModelTurnView, Narration, RunReader, TextView, TurnRead, TurnReader};
pub use recovery::Recovered;
pub use runtime::{AgentParts, AgentRuntime, RunHandle};
pub use speak::RESPONSE_TOPIC;
pub use start::{ChatSource, StartPrompt, StartRun};
pub use steer::{GuidanceReceipt, HostAnswer};
