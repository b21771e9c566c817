//! `CodeInterpreter:execute` and `CodeInterpreter:session`: code that a model wrote, run in the sandbox.
//!
//! What keeps the code in is `innkeeper_sandbox`'s business. Here it is told what to run (`language.rs`), files go in and
//! out as content (`files.rs`), and what came of it is put into words (`report.rs`). A session is a worker for each run
//! (`worker.rs`, `driver.py`), and `sessions.rs` knows which run has one.

mod declare;
mod execute;
mod files;
mod frames;
mod language;
mod report;
mod session;
mod sessions;
mod shown;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use innkeeper_sandbox::{Limits, Sandbox, SandboxError};

use super::Tool;
use crate::limits::{
    CODE_SESSION_CPU_FACTOR, CODE_SESSION_IDLE, DEFAULT_CODE_TIMEOUT, MAX_CODE_BYTES,
    MAX_CODE_PRINTED_BYTES, MAX_CODE_SESSIONS, MAX_CODE_STDERR_BYTES, MAX_CODE_TIMEOUT,
};
use crate::run_end::RunEnds;
use crate::script::{Interpreters, ScriptLimits};
use crate::{FileLayer, ToolError};
use execute::Execute;
use session::Session;
use sessions::Sessions;

/// What the tools are put together from.
#[derive(Clone)]
pub struct CodeParts {
    pub sandbox: Sandbox,
    pub interpreters: Interpreters,
    pub files: FileLayer,
    /// A session ends with its run.
    pub run_ends: RunEnds,
    pub limits: CodeLimits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeLimits {
    /// When the call says nothing.
    pub timeout: Duration,
    /// Whatever the call says.
    pub max_timeout: Duration,
    /// For one execution. `wall` is the call's timeout instead.
    pub room: Limits,
    /// Of a whole session; everything else is as for an execution.
    pub session_cpu: Duration,
    pub sessions: usize,
    pub session_idle: Duration,
}

/// A model's own programs are bounded as those of plugins are.
impl From<&ScriptLimits> for CodeLimits {
    fn from(scripts: &ScriptLimits) -> Self {
        Self {
            timeout: DEFAULT_CODE_TIMEOUT,
            max_timeout: MAX_CODE_TIMEOUT,
            room: Limits {
                wall: None,
                cpu: Some(scripts.cpu),
                memory: scripts.memory_bytes,
                processes: scripts.processes,
                open_files: scripts.open_files,
                file_size: scripts.file_bytes,
                disk: scripts.disk_bytes,
                output: MAX_CODE_PRINTED_BYTES,
                stderr_kept: MAX_CODE_STDERR_BYTES,
            },
            session_cpu: scripts.cpu.saturating_mul(CODE_SESSION_CPU_FACTOR),
            sessions: MAX_CODE_SESSIONS,
            session_idle: CODE_SESSION_IDLE,
        }
    }
}

impl Default for CodeLimits {
    fn default() -> Self {
        Self::from(&ScriptLimits::default())
    }
}

impl CodeLimits {
    /// A number of seconds, which the schema's `integer` allows to be written as `3.0`.
    fn timeout(&self, asked: Option<f64>) -> Duration {
        asked
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(self.timeout)
            .min(self.max_timeout)
    }
}

pub fn tools(parts: CodeParts) -> Vec<Tool> {
    let sessions = Sessions::new(parts.limits.sessions, parts.limits.session_idle);
    with_sessions(parts, Arc::new(sessions))
}

fn with_sessions(parts: CodeParts, sessions: Arc<Sessions>) -> Vec<Tool> {
    let limits = parts.limits;
    parts.run_ends.listen(Arc::downgrade(&sessions) as _);
    vec![
        (
            declare::execute(&limits),
            Arc::new(Execute(parts.clone())) as _,
        ),
        (
            declare::session(&limits),
            Arc::new(Session { parts, sessions }) as _,
        ),
    ]
}

fn refused(error: &SandboxError) -> ToolError {
    let message = error.to_string();
    match error {
        SandboxError::Unavailable { .. } => ToolError::unavailable(format!(
            "{message}; `innkeeper doctor` shows what holds and what is missing"
        ))
        .because("sandbox.unavailable")
        .permanent(),
        SandboxError::Root { .. } => ToolError::unavailable(message)
            .because("sandbox.root")
            .permanent(),
        SandboxError::Policy { .. } => ToolError::unavailable(message)
            .because("sandbox.policy")
            .permanent(),
        SandboxError::Program { .. } => ToolError::unavailable(message)
            .because("sandbox.program")
            .permanent(),
        SandboxError::Failed { .. } => ToolError::failed(message).because("sandbox.failed"),
        SandboxError::Cancelled => super::declare::cancelled(),
    }
}

/// The code itself: models like to wrap it into a fence, which is code in no language.
fn unfenced(code: &str) -> Result<&str, ToolError> {
    if code.len() > MAX_CODE_BYTES {
        return Err(ToolError::invalid(format!(
            "the code has more than {} KiB; put data into files and name them in 'files'",
            MAX_CODE_BYTES >> 10
        ))
        .because("code.too_large"));
    }
    let inner = || {
        let (opening, rest) = code.trim().strip_prefix("```")?.split_once('\n')?;
        let is_word = opening.trim().chars().all(|c| c.is_ascii_alphanumeric());
        let body = rest.strip_suffix("```")?;
        (is_word && (body.is_empty() || body.ends_with('\n'))).then_some(body)
    };
    Ok(inner().unwrap_or(code))
}

#[cfg(test)]
#[path = "code_tests.rs"]
mod tests;
