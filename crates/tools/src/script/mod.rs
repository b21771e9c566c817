//! Scripts: programs of a plugin that stand behind tools, services and hooks.
//!
//! [`ScriptRunner`] runs one program inside what a [`ScriptJob`] states; it knows nothing of tools. What a script is
//! told and how its answer is read is `executor.rs` and `answer.rs`; the contract for authors is in
//! `docs/secrets-and-settings.md`.

mod answer;
mod executor;
mod files;
mod group;
mod hook;
mod interpreter;
mod stderr;
mod unsandboxed;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use innkeeper_protocol::ErrorCode;
use tokio_util::sync::CancellationToken;

pub use executor::{ScriptExecutor, ScriptHost, ScriptPlugin};
pub use files::{NoFiles, ScriptFiles};
pub use hook::ScriptHook;
pub use interpreter::{Interpreter, Interpreters};
pub use unsandboxed::Unsandboxed;

use crate::limits::{
    DEFAULT_SCRIPT_TIMEOUT, MAX_SCRIPT_MEMORY_BYTES, MAX_SCRIPT_OUTPUT_BYTES,
    MAX_SCRIPT_STDERR_BYTES,
};
use crate::{Secret, ToolError};

/// Runs one program to its end.
#[async_trait]
pub trait ScriptRunner: Send + Sync {
    /// Whatever happens (the end, the timeout, the token, or the future being dropped), nothing of the program is
    /// left running. An exit code other than 0 is an end, not an error.
    async fn run(&self, job: ScriptJob) -> Result<ScriptEnd, ScriptError>;

    /// Starts a program that stays, for a conversation over its pipes. Its timeout does not count, its `stdin` and
    /// its `stderr` are left to whoever talks with it. Dropping it ends it.
    async fn start(&self, job: ScriptJob) -> Result<innkeeper_sandbox::Running, ScriptError>;
}

/// One program to be run. States what it may do, not how it is kept to that.
#[derive(Debug, Clone)]
pub struct ScriptJob {
    /// A bare name is an interpreter to be found; one with a slash is a file in `directory`.
    pub program: String,
    pub arguments: Vec<String>,
    pub directory: PathBuf,
    /// All it gets, beside what every program needs to start. A name that stands here twice has its last value.
    pub environment: Vec<(String, EnvironmentValue)>,
    pub stdin: Vec<u8>,
    pub limits: ScriptLimits,
    pub reach: ScriptReach,
    pub stderr: StderrLines,
    pub cancel: CancellationToken,
}

#[derive(Debug, Clone)]
pub enum EnvironmentValue {
    Plain(String),
    Secret(Secret),
}

impl EnvironmentValue {
    pub fn expose(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Secret(secret) => secret.expose(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptLimits {
    pub timeout: Duration,
    /// A program that prints more is stopped.
    pub stdout_bytes: usize,
    /// The end of stderr that is kept; the rest is read and forgotten.
    pub stderr_bytes: usize,
    pub memory_bytes: u64,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        Self {
            timeout: DEFAULT_SCRIPT_TIMEOUT,
            stdout_bytes: MAX_SCRIPT_OUTPUT_BYTES,
            stderr_bytes: MAX_SCRIPT_STDERR_BYTES,
            memory_bytes: MAX_SCRIPT_MEMORY_BYTES,
        }
    }
}

/// What the program may touch, beside a scratch folder of its own and what its interpreter needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptReach {
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Names of hosts, with `*` for any text; empty: no network.
    pub hosts: Vec<String>,
}

/// Reads along while the program prints to stderr.
#[derive(Clone, Default)]
pub struct StderrLines(Option<Arc<ReadLine>>);

type ReadLine = dyn Fn(&str) -> Line + Send + Sync;

/// What becomes of a line on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Keep,
    /// It said something else than what went wrong.
    Taken,
}

impl StderrLines {
    pub fn to(read: impl Fn(&str) -> Line + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(read)))
    }

    fn read(&self, line: &str) -> Line {
        self.0.as_ref().map_or(Line::Keep, |read| read(line))
    }
}

impl fmt::Debug for StderrLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StderrLines")
    }
}

/// What came of a program that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptEnd {
    pub exit: ExitKind,
    pub stdout: Vec<u8>,
    /// It printed more than it may, and was stopped.
    pub stdout_truncated: bool,
    /// The end of it.
    pub stderr: Vec<u8>,
    pub stderr_truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    Code(i32),
    Signal(i32),
}

/// Why a program did not run, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error(
        "scripts run only in a sandbox, and this build has none; whoever runs Innkeeper can let scripts run with their own rights by setting `[scripts] sandbox = \"off\"` in innkeeper.toml"
    )]
    NoSandbox,
    #[error(
        "'{program}' is needed to run this script and was not found on the PATH; install it{remedy}"
    )]
    InterpreterMissing {
        program: String,
        /// ` from https://…`, or nothing.
        remedy: String,
    },
    #[error("'{program}' is no program of this plugin: {why}")]
    Program { program: String, why: String },
    #[error("the script gave no answer within {} ms and was stopped", after.as_millis())]
    Timeout { after: Duration },
    #[error("the script was stopped before its end")]
    Cancelled,
    #[error("'{program}' could not be run: {why}")]
    Io { program: String, why: String },
}

impl From<ScriptError> for ToolError {
    fn from(error: ScriptError) -> Self {
        let message = error.to_string();
        match error {
            ScriptError::NoSandbox => Self::unavailable(message)
                .because("sandbox.missing")
                .permanent(),
            ScriptError::InterpreterMissing { .. } => Self::unavailable(message)
                .because("script.interpreter_missing")
                .permanent(),
            ScriptError::Program { .. } => Self::unavailable(message)
                .because("script.program")
                .permanent(),
            ScriptError::Timeout { .. } => {
                Self::new(ErrorCode::ToolTimeout, message).because("script.timeout")
            }
            ScriptError::Cancelled => Self::new(ErrorCode::ToolCancelled, message),
            ScriptError::Io { .. } => Self::failed(message).because("script.io"),
        }
    }
}

/// The runner where there is no sandbox and nobody has said that it may be done without: it refuses.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSandbox;

#[async_trait]
impl ScriptRunner for NoSandbox {
    async fn run(&self, _: ScriptJob) -> Result<ScriptEnd, ScriptError> {
        Err(ScriptError::NoSandbox)
    }

    async fn start(&self, _: ScriptJob) -> Result<innkeeper_sandbox::Running, ScriptError> {
        Err(ScriptError::NoSandbox)
    }
}

#[cfg(test)]
mod shipped_tests;
