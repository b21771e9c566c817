//! Why a script did not run, or not to its end, in words for whoever called it.

use std::path::PathBuf;
use std::time::Duration;

use innkeeper_protocol::ErrorCode;
use innkeeper_sandbox::{Layer, Limit, SandboxError};

use super::{ScriptLimits, answer};
use crate::ToolError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error(
        "scripts run only in a sandbox, and this machine does not give one: {layer}: {why}; {remedy}; `innkeeper doctor` shows what holds and what is missing"
    )]
    NoSandbox {
        layer: Layer,
        why: String,
        remedy: String,
    },
    #[error(
        "'{program}' is needed to run this script and was not found on the PATH; install it{remedy}"
    )]
    InterpreterMissing {
        program: String,
        /// ` from https://…`, or nothing.
        remedy: String,
    },
    #[error(
        "'{program}' is needed to run this script, and {} cannot be used: {why}; repair it, or install it{remedy}",
        path.display()
    )]
    InterpreterUnusable {
        program: String,
        path: PathBuf,
        why: String,
        remedy: String,
    },
    #[error("'{program}' is no program of this plugin: {why}")]
    Program { program: String, why: String },
    #[error(
        "the script gave no answer within {} ms and was stopped (limit: wall)",
        after.as_millis()
    )]
    Timeout {
        after: Duration,
        /// What it had said until then: the end of it, in whole lines.
        stderr: Vec<u8>,
    },
    #[error("{}", over(*limit, limits))]
    Limit {
        limit: Limit,
        limits: ScriptLimits,
        stderr: Vec<u8>,
    },
    /// Nothing was run: what it may write to is full from before, or closed.
    #[error(
        "the script could not be run: its data folder {} cannot be used: {why}; delete files in it that are no longer needed and see that Innkeeper may read and write there, or let whoever runs Innkeeper raise `disk_mb` under [scripts] in innkeeper.toml",
        path.display()
    )]
    DataFolder { path: PathBuf, why: String },
    #[error("the script was stopped before its end")]
    Cancelled,
    #[error("'{program}' could not be run: {why}")]
    Io { program: String, why: String },
    #[error("the script could not be run: {0}")]
    Sandbox(SandboxError),
}

impl ScriptError {
    /// What the script said on stderr, which may hold what it must not tell.
    pub(super) fn stderr_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Timeout { stderr, .. } | Self::Limit { stderr, .. } => Some(stderr),
            _ => None,
        }
    }
}

impl From<ScriptError> for ToolError {
    fn from(error: ScriptError) -> Self {
        let message = error.to_string();
        match error {
            ScriptError::NoSandbox { .. } => Self::unavailable(message)
                .because("sandbox.unavailable")
                .permanent(),
            ScriptError::InterpreterMissing { .. } | ScriptError::InterpreterUnusable { .. } => {
                Self::unavailable(message)
                    .because("script.interpreter_missing")
                    .permanent()
            }
            ScriptError::Program { .. } => Self::unavailable(message)
                .because("script.program")
                .permanent(),
            ScriptError::Timeout { stderr, .. } => {
                Self::new(ErrorCode::ToolTimeout, with_stderr(message, &stderr))
                    .because("script.timeout")
            }
            // The same work takes as much again.
            ScriptError::Limit { limit, stderr, .. } => Self::failed(with_stderr(message, &stderr))
                .because(match limit {
                    Limit::Output => "script.output_too_large".to_owned(),
                    limit => format!("sandbox.limit.{limit}"),
                })
                .permanent(),
            ScriptError::Cancelled => Self::new(ErrorCode::ToolCancelled, message),
            ScriptError::Io { .. } => Self::failed(message).because("script.io"),
            ScriptError::DataFolder { .. } => Self::unavailable(message)
                .because("script.data_folder")
                .permanent(),
            ScriptError::Sandbox(SandboxError::Root { .. }) => Self::unavailable(message)
                .because("sandbox.root")
                .permanent(),
            ScriptError::Sandbox(SandboxError::Policy { .. }) => Self::unavailable(message)
                .because("sandbox.policy")
                .permanent(),
            ScriptError::Sandbox(_) => Self::failed(message).because("sandbox.failed"),
        }
    }
}

fn with_stderr(message: String, stderr: &[u8]) -> String {
    match answer::last_lines(stderr) {
        lines if lines.is_empty() => message,
        lines => format!("{message}; its last words on stderr: {lines}"),
    }
}

/// Which limit, how much it is, and what to do.
fn over(limit: Limit, limits: &ScriptLimits) -> String {
    let (what, key) = match limit {
        Limit::Wall => (
            format!("took more than {} ms", limits.timeout.as_millis()),
            None,
        ),
        Limit::Cpu => (
            format!(
                "used more than {} s of processor time",
                limits.cpu.as_secs()
            ),
            Some("cpu_seconds"),
        ),
        Limit::Memory => (
            format!("used more than {} of memory", size(limits.memory_bytes)),
            Some("memory_mb"),
        ),
        Limit::Processes => (
            format!(
                "started more than {} processes and threads",
                limits.processes
            ),
            Some("processes"),
        ),
        Limit::OpenFiles => (
            format!("opened more than {} files at once", limits.open_files),
            Some("open_files"),
        ),
        Limit::FileSize => (
            format!("wrote a file of more than {}", size(limits.file_bytes)),
            Some("file_mb"),
        ),
        Limit::Disk => (
            format!("left more than {} in its folders", size(limits.disk_bytes)),
            Some("disk_mb"),
        ),
        Limit::Output => (
            format!("printed more than {}", size(limits.output_bytes as u64)),
            None,
        ),
    };
    let remedy = match key {
        Some(key) => format!(
            "give it less to do at once, or let whoever runs Innkeeper raise `{key}` under [scripts] in innkeeper.toml"
        ),
        None => "ask it for less at once".to_owned(),
    };
    format!("the script {what} and was stopped (limit: {limit}); {remedy}")
}

fn size(bytes: u64) -> String {
    match bytes.is_multiple_of(1 << 20) {
        true => format!("{} MiB", bytes >> 20),
        false => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
