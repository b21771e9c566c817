//! Runs one untrusted program inside stated limits, or says why it cannot. Knows nothing of tools.
//!
//! [`Sandbox::run`] takes a [`Program`] and a [`SandboxPolicy`] and gives an [`Outcome`]; [`Sandbox::start`] leaves
//! it running for a conversation over its pipes. Where this machine cannot keep a program in, nothing is run.
//!
//! How it is done is in `docs/sandbox.md`. In short: the sandbox starts its *launcher*, which is this same code in a
//! process of its own (`launcher/`); the launcher builds namespaces, a root and limits around the program and tells
//! how it ended. The two speak through `wire.rs`.

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod launcher;
mod layers;
pub mod limits;
pub mod network;
mod outcome;
mod policy;
#[cfg(target_os = "linux")]
mod remedy;
mod running;
mod sandbox;
mod verdict;
#[cfg(target_os = "linux")]
mod wire;

pub use error::SandboxError;
pub use layers::{Layer, LayerState, Strength};
pub use outcome::{Collected, End, Limit, Outcome, Usage};
pub use policy::{
    Environment, HostGrant, Limits, Network, Program, SandboxPolicy, Workspace, WorkspaceFile,
};
pub use running::{Ended, PipeReader, PipeWriter, Running};
pub use sandbox::{Job, LAUNCHER_ARGUMENT, Sandbox, SandboxOptions, StderrTap};

/// The first thing in `main` of a binary that is its own launcher: does not return if it was started as one.
pub fn take_over_if_launcher() {
    #[cfg(target_os = "linux")]
    launcher::take_over();
}
