//! The runner of scripts: each in a sandbox of its own, with what its job grants and nothing else.
//!
//! Says in the sandbox's words what a [`ScriptJob`] says in ours, and the other way round what came of it. How a
//! program is kept in is the sandbox's business.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use innkeeper_sandbox::{
    End, Environment, HostGrant, Job, Limit, Limits, Network, Outcome, Program, Running, Sandbox,
    SandboxError, SandboxPolicy, StderrTap,
};

use super::interpreter::Found;
use super::stderr::Stderr;
use super::{
    ExitKind, Interpreters, ScriptEnd, ScriptError, ScriptJob, ScriptLimits, ScriptRunner,
};
use crate::Revision;
use crate::limits::WORKER_CPU;

/// Folders of programs that are in every sandbox.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What a program needs to start, whatever it is told beside.
const ALWAYS: &[(&str, &str)] = &[
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("PYTHONIOENCODING", "utf-8"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("HOME", "/tmp"),
    ("TMPDIR", "/tmp"),
];

/// Runs scripts in a sandbox, or not at all.
#[derive(Debug, Clone)]
pub struct SandboxRunner {
    sandbox: Sandbox,
    interpreters: Interpreters,
}

impl SandboxRunner {
    pub fn new(sandbox: Sandbox, interpreters: Interpreters) -> Self {
        Self {
            sandbox,
            interpreters,
        }
    }

    async fn find(&self, job: &ScriptJob) -> Result<Found, ScriptError> {
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => Err(ScriptError::Cancelled),
            found = self.interpreters.find(&job.program, &job.directory) => found,
        }
    }
}

#[async_trait]
impl ScriptRunner for SandboxRunner {
    async fn run(&self, job: ScriptJob) -> Result<ScriptEnd, ScriptError> {
        let found = self.find(&job).await?;
        let tail = Stderr::new(job.stderr.clone(), job.limits.stderr_bytes);
        let tail = Arc::new(Mutex::new(tail));
        let tap = {
            let tail = Arc::clone(&tail);
            move |bytes: &[u8]| locked(&tail).take(bytes)
        };
        let policy = policy(&job, &found, limits(&job.limits));
        let outcome = self
            .sandbox
            .run(Job {
                program: Program::new(found.path, job.arguments),
                stdin: job.stdin,
                policy,
                stderr: StderrTap::to(tap),
                cancel: job.cancel,
            })
            .await
            .map_err(|error| not_run(&job.program, &job.reach.write, error))?;
        let (stderr, truncated) = locked(&tail).finish();
        told(outcome, &job.limits, stderr, truncated)
    }

    async fn start(&self, job: ScriptJob) -> Result<Running, ScriptError> {
        let found = self.find(&job).await?;
        let policy = policy(&job, &found, staying(&job.limits));
        let program = Program::new(found.path, job.arguments);
        let starting = self.sandbox.start(program, policy);
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => Err(ScriptError::Cancelled),
            started = starting => started.map_err(|error| not_run(&job.program, &job.reach.write, error)),
        }
    }

    async fn revision(&self, program: &str, directory: &Path) -> Option<Revision> {
        let found = self.interpreters.find(program, directory).await.ok()?;
        match found.interpreter {
            Some(interpreter) => interpreter.revision().await,
            // The file itself is one of the plugin's.
            None => Some(Revision::of([found.path.as_os_str().as_encoded_bytes()])),
        }
    }
}

fn locked(tail: &Mutex<Stderr>) -> std::sync::MutexGuard<'_, Stderr> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

fn policy(job: &ScriptJob, found: &Found, limits: Limits) -> SandboxPolicy {
    let interpreter = found.interpreter.iter();
    let mut read: Vec<_> = interpreter.flat_map(|found| found.read.clone()).collect();
    read.extend(job.reach.read.iter().cloned());
    let hosts = job.reach.hosts.iter();
    SandboxPolicy {
        read,
        write: job.reach.write.clone(),
        network: match job.reach.hosts.is_empty() {
            true => Network::None,
            // A name that leads to this machine or its network is not followed, whoever accepted it.
            false => Network::Hosts(hosts.map(HostGrant::new).collect()),
        },
        environment: environment(job, found),
        directory: Some(job.directory.clone()),
        workspace: None,
        limits,
    }
}

fn environment(job: &ScriptJob, found: &Found) -> Environment {
    let own = job.environment.iter();
    let mut environment: Environment = own
        .map(|(name, value)| (name.as_str(), value.expose()))
        .collect();
    // After the job's own: what a program needs to start is not for a setting to change.
    for (name, value) in ALWAYS {
        environment.set(*name, *value);
    }
    environment.set("PATH", search_path(found));
    environment
}

/// The interpreter's own folder first: a script that starts `python3` again means the one it runs in.
fn search_path(found: &Found) -> String {
    let interpreter = found.interpreter.as_ref();
    let own = interpreter
        .filter(|interpreter| !interpreter.read.is_empty())
        .and_then(|interpreter| interpreter.path.parent()?.to_str());
    match own {
        // A folder with a colon in its name cannot be in a PATH.
        Some(own) if !own.contains(':') => format!("{own}:{PATH}"),
        _ => PATH.to_owned(),
    }
}

fn limits(limits: &ScriptLimits) -> Limits {
    Limits {
        wall: Some(limits.timeout),
        cpu: Some(limits.cpu),
        memory: limits.memory_bytes,
        processes: limits.processes,
        open_files: limits.open_files,
        file_size: limits.file_bytes,
        disk: limits.disk_bytes,
        output: limits.output_bytes as u64,
        stderr_kept: limits.stderr_bytes,
    }
}

/// The same for a program that stays: each answer is waited for only so long, and what it uses adds up over many calls.
fn staying(limits: &ScriptLimits) -> Limits {
    Limits {
        wall: None,
        cpu: Some(limits.cpu.max(WORKER_CPU)),
        ..self::limits(limits)
    }
}

fn told(
    outcome: Outcome,
    limits: &ScriptLimits,
    stderr: Vec<u8>,
    stderr_truncated: bool,
) -> Result<ScriptEnd, ScriptError> {
    let exit = match outcome.end {
        End::Exit(code) => ExitKind::Code(code),
        End::Signal(signal) => ExitKind::Signal(signal),
        // It was refused something, and coped. The other limits end a program, or leave its work undone.
        End::Limit {
            limit: Limit::OpenFiles | Limit::FileSize | Limit::Processes,
            exit: Some(0),
        } => ExitKind::Code(0),
        End::Cancelled => return Err(ScriptError::Cancelled),
        End::Limit { limit, .. } => {
            let stderr = whole_lines(stderr, stderr_truncated);
            return Err(match limit {
                Limit::Wall => ScriptError::Timeout {
                    after: limits.timeout,
                    stderr,
                },
                limit => ScriptError::Limit {
                    limit,
                    limits: *limits,
                    stderr,
                },
            });
        }
    };
    Ok(ScriptEnd {
        exit,
        stdout: outcome.stdout,
        stderr,
        stderr_truncated,
        usage: outcome.usage,
    })
}

/// The first line of a cut text may begin in the middle of a secret, which nobody would recognise.
pub(super) fn whole_lines(mut stderr: Vec<u8>, truncated: bool) -> Vec<u8> {
    if truncated {
        let end = stderr.iter().position(|byte| *byte == b'\n');
        stderr.drain(..end.map_or(stderr.len(), |end| end + 1));
    }
    stderr
}

fn not_run(program: &str, writable: &[PathBuf], error: SandboxError) -> ScriptError {
    match error {
        SandboxError::Root { path, why } if writable.iter().any(|root| path.starts_with(root)) => {
            ScriptError::DataFolder { path, why }
        }
        SandboxError::Cancelled => ScriptError::Cancelled,
        SandboxError::Unavailable { layer, why, remedy } => {
            ScriptError::NoSandbox { layer, why, remedy }
        }
        SandboxError::Program { why, .. } => ScriptError::Io {
            program: program.to_owned(),
            why,
        },
        error @ (SandboxError::Root { .. }
        | SandboxError::Policy { .. }
        | SandboxError::Failed { .. }) => ScriptError::Sandbox(error),
    }
}

#[cfg(test)]
pub(crate) fn for_tests() -> SandboxRunner {
    let launcher = innkeeper_testkit::room::launcher();
    let options = innkeeper_sandbox::SandboxOptions::new(launcher);
    SandboxRunner::new(Sandbox::new(options), super::interpreter::for_tests())
}

#[cfg(test)]
#[path = "sandboxed_tests.rs"]
mod tests;
