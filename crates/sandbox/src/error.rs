//! Why a program did not run at all.

use std::io;
use std::path::PathBuf;

use crate::layers::Layer;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// This machine does not give what it takes to keep a program in. Nothing was run.
    #[error("the sandbox cannot be had on this machine: {layer}: {why}; {remedy}")]
    Unavailable {
        layer: Layer,
        why: String,
        remedy: String,
    },
    #[error("the sandbox cannot give access to {}: {why}", path.display())]
    Root { path: PathBuf, why: String },
    #[error("the policy cannot be kept: {why}")]
    Policy { why: String },
    #[error("{} could not be started: {why}", path.display())]
    Program { path: PathBuf, why: String },
    /// The machine is out of something just now, or the launcher broke down.
    #[error("the sandbox failed: {why}")]
    Failed { why: String },
    /// It was cancelled before the program could start.
    #[error("it was stopped before the program started")]
    Cancelled,
}

impl SandboxError {
    pub(crate) fn failed(doing: &str, error: &io::Error) -> Self {
        Self::Failed {
            why: format!("{doing}: {error}"),
        }
    }
}
