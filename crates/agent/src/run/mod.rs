//! One run as a state machine without IO. [`AgentRun::next`] says what to do, [`AgentRun::apply`] is fed what came of it.
//!
//! Pure: the same inputs give the same run and the same events. Time, ids and everything from outside arrive in inputs;
//! whoever drives a run journals an input together with its events before anything else is done.

mod apply;
pub mod approval;
mod calls;
mod ceiling;
mod child;
mod commit;
pub mod compact;
mod conclude;
mod delegate;
mod deliver;
mod effect;
mod end;
mod finish;
mod fit;
mod fork;
mod guard;
mod guidance;
mod handoff;
pub mod input;
mod ledger;
mod leftover;
mod model;
pub mod names;
mod plan;
mod recover;
mod rollback;
mod spent;
mod start;
mod state;
pub mod step;
pub mod timeline;
pub mod told;
pub mod turn;
mod waiting;

pub use approval::{Answer, AnsweredBy, Asked, Edit, Question, Remember};
pub use ceiling::Allowance;
pub use child::{Child, Standing, TaskStatus};
pub use commit::{Commit, CommitAnswer};
pub use compact::{Compacting, Compaction, Dropped, Oversize, SummaryBy};
pub use delegate::{Assignment, Edition, ReturnStatus, ReturnedArtifact, TaskReturn};
pub use fork::Forked;
pub use guidance::Guidance;
pub use handoff::Past;
pub use input::{Created, Input, Stamped};
pub use ledger::{ModelUse, ToolSpent, Used, Wanted};
pub use rollback::{Published, Restored, RolledBack, SetBack};
pub use spent::{Left, Spent};
pub use state::{AgentRun, OpenTask, RunFailure};
pub use step::{Draft, Misfit, Step, Why};
pub use timeline::{DelegationEdge, InvocationView, TimelineProjection};
pub use told::ToldTools;
pub use turn::{CallState, ModelTurn, Nudge, PlannedBlock, PlannedCall, Turn};
pub use waiting::{Await, AwaitMode};

#[cfg(test)]
mod approval_tests;
#[cfg(test)]
mod compact_tests;
#[cfg(test)]
mod delegation_tests;
#[cfg(test)]
mod end_tests;
#[cfg(test)]
mod fit_tests;
#[cfg(test)]
mod guard_tests;
#[cfg(test)]
mod guidance_tests;
#[cfg(test)]
mod law_tests;
#[cfg(test)]
mod limits_tests;
#[cfg(test)]
mod loop_tests;
#[cfg(test)]
mod recover_tests;
#[cfg(test)]
mod rollback_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod together_tests;
