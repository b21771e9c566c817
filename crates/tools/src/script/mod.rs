//! Scripts: programs of a plugin that stand behind tools, services and hooks.
//!
//! [`ScriptRunner`] runs one program inside what a [`ScriptJob`] states; it knows nothing of tools. What a script is
//! told and how its answer is read is `executor.rs` and `answer.rs`; the contract for authors is in
//! `docs/secrets-and-settings.md`.

mod answer;
mod by_worker;
mod error;
mod executor;
mod files;
mod hook;
mod installation;
mod interpreter;
mod node;
mod node_call;
mod node_type;
mod sandboxed;
mod sources;
mod stderr;
mod values;
mod worker;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use innkeeper_sandbox::{Limits, Usage};
use tokio_util::sync::CancellationToken;

pub use error::ScriptError;
pub use executor::{ScriptExecutor, ScriptHost, ScriptPlugin};
pub use files::{NoFiles, ScriptFiles};
pub use hook::ScriptHook;
pub use interpreter::{Interpreter, Interpreters};
pub use node::{NodeContext, ScriptNode};
pub use node_type::node_type;
pub use sandboxed::SandboxRunner;
pub use worker::{CALL, LastWords, RpcError, WorkerCall, WorkerError, WorkerPool, WorkerSpec};

use crate::limits::{DEFAULT_SCRIPT_TIMEOUT, MAX_SCRIPT_OUTPUT_BYTES, MAX_SCRIPT_STDERR_BYTES};
use crate::{Revision, Secret};

/// Runs one program to its end.
#[async_trait]
pub trait ScriptRunner: Send + Sync {
    /// Whatever happens (the end, the timeout, the token, or the future being dropped), nothing of the program is
    /// left running. An exit code other than 0 is an end, not an error.
    async fn run(&self, job: ScriptJob) -> Result<ScriptEnd, ScriptError>;

    /// Starts a program that stays, for a conversation over its pipes. Its timeout does not count, its `stdin` and
    /// its `stderr` are left to whoever talks with it. Dropping it ends it.
    async fn start(&self, job: ScriptJob) -> Result<innkeeper_sandbox::Running, ScriptError>;

    /// What would run `program` of a script in `directory`, as it is now. None where that cannot be told: then nothing that
    /// it makes is kept.
    async fn revision(&self, _program: &str, _directory: &Path) -> Option<Revision> {
        None
    }
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

/// How much of everything. All processes of the program count together, unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptLimits {
    pub timeout: Duration,
    /// A program that prints more, to stdout or to stderr, is stopped.
    pub output_bytes: usize,
    /// The end of stderr that is kept; the rest is read and forgotten.
    pub stderr_bytes: usize,
    /// Time on all processors.
    pub cpu: Duration,
    pub memory_bytes: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Of each process.
    pub open_files: u32,
    /// Largest single file.
    pub file_bytes: u64,
    /// What lies in `/tmp`, and what lies in each folder it may change.
    pub disk_bytes: u64,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        let sandbox = Limits::default();
        Self {
            timeout: DEFAULT_SCRIPT_TIMEOUT,
            output_bytes: MAX_SCRIPT_OUTPUT_BYTES,
            stderr_bytes: MAX_SCRIPT_STDERR_BYTES,
            cpu: sandbox.cpu.unwrap_or(DEFAULT_SCRIPT_TIMEOUT),
            memory_bytes: sandbox.memory,
            processes: sandbox.processes,
            open_files: sandbox.open_files,
            file_bytes: sandbox.file_size,
            disk_bytes: sandbox.disk,
        }
    }
}

/// What the program may touch, beside a `/tmp` of its own and what its interpreter needs.
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
    /// The end of it.
    pub stderr: Vec<u8>,
    pub stderr_truncated: bool,
    pub usage: Usage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    Code(i32),
    Signal(i32),
}

#[cfg(test)]
pub(crate) use sandboxed::for_tests;

#[cfg(test)]
mod shipped_tests;
