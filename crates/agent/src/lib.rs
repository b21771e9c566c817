//! Agents: who they are (`profile/`), how a run goes (`run/`, pure), what it holds (`workspace/`, `context/`), what it may
//! read up on (`skills/`), what agents keep beside files (`state/`), and who drives it (`instance/`).
//!
//! - [`AgentProfile`] is what a person wrote: instructions, tools, budgets, workspace.
//! - [`run::AgentRun`] is one run as a state machine without IO: it says what to do next and is fed what came of it. All
//!   that it is fed is journaled first, so that feeding it again after a crash gives the same run.
//! - [`AgentRuntime`] starts, drives, recovers, cancels and resumes runs over the engine, the tools and the store.
//! - [`EngineModels`] is how nodes of workflows, a run's deliberation among them, ask the models of the house.

pub mod chat;
pub mod context;
mod declare;
pub mod delegation;
pub mod instance;
pub mod limits;
mod model_port;
pub mod profile;
pub mod recall;
pub mod run;
pub mod skills;
pub mod state;
pub mod workspace;

pub use instance::AgentRuntime;
pub use model_port::{DefaultUsed, EngineModels};
pub use profile::AgentProfile;
pub use skills::Skills;
