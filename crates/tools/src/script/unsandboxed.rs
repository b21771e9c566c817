//! The runner without a sandbox, for people who trust their plugins: a child process with the person's own rights.
//!
//! It keeps a script from being left running, from seeing the person's environment and from printing without end.
//! It does not keep it from reading files or reaching the network, and it does not bound memory.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::group::Group;
use super::stderr::Stderr;
use super::{ExitKind, Interpreters, ScriptEnd, ScriptError, ScriptJob, ScriptRunner};
use crate::limits::SCRIPT_PIPE_GRACE;

/// Runs scripts with the rights of whoever runs Innkeeper.
#[derive(Debug, Clone)]
pub struct Unsandboxed {
    interpreters: Interpreters,
    scratch: PathBuf,
    pipe_grace: Duration,
}

impl Unsandboxed {
    /// Each script gets a folder of its own in `scratch` while it runs, as its home and for its temporary files.
    pub fn new(interpreters: Interpreters, scratch: impl Into<PathBuf>) -> Self {
        Self {
            interpreters,
            scratch: scratch.into(),
            pipe_grace: SCRIPT_PIPE_GRACE,
        }
    }

    fn command(&self, job: &ScriptJob, program: PathBuf, scratch: &Scratch) -> Command {
        let mut command = Command::new(program);
        command
            .args(&job.arguments)
            .current_dir(&job.directory)
            .env_clear();
        for (name, value) in &job.environment {
            command.env(name, value.expose());
        }
        // After the job's own: what a program needs to start is not for a setting to change.
        if let Some(path) = self.interpreters.search_path() {
            command.env("PATH", path);
        }
        command
            .envs([
                ("LANG", "C.UTF-8"),
                ("LC_ALL", "C.UTF-8"),
                ("PYTHONIOENCODING", "utf-8"),
                ("PYTHONDONTWRITEBYTECODE", "1"),
            ])
            .env("HOME", &scratch.0)
            .env("TMPDIR", &scratch.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command
    }
}

#[async_trait]
impl ScriptRunner for Unsandboxed {
    async fn run(&self, job: ScriptJob) -> Result<ScriptEnd, ScriptError> {
        let program = tokio::select! {
            biased;
            () = job.cancel.cancelled() => return Err(ScriptError::Cancelled),
            found = self.interpreters.find(&job.program, &job.directory) => found?,
        };
        let failed = |error: io::Error| ScriptError::Io {
            program: job.program.clone(),
            why: error.to_string(),
        };
        let scratch = Scratch::create(self.scratch.join(Uuid::now_v7().to_string()))
            .await
            .map_err(failed)?;
        let child = self
            .command(&job, program, &scratch)
            .spawn()
            .map_err(failed)?;
        let mut running = Running {
            group: Group::of(&child),
            child,
            grace: self.pipe_grace,
        };
        let timeout = job.limits.timeout;
        let stopped = tokio::select! {
            biased;
            () = job.cancel.cancelled() => ScriptError::Cancelled,
            () = tokio::time::sleep(timeout) => ScriptError::Timeout { after: timeout },
            end = running.finish(&job) => return end.map_err(failed),
        };
        running.stop().await;
        Err(stopped)
    }

    async fn start(&self, _: ScriptJob) -> Result<innkeeper_sandbox::Running, ScriptError> {
        Err(ScriptError::NoSandbox)
    }
}

/// The order of the fields matters: the group is ended while the number of its leader is still its own.
struct Running {
    group: Group,
    child: Child,
    grace: Duration,
}

impl Running {
    /// Writes, reads and waits, all at once: a program may answer before it has read everything.
    async fn finish(&mut self, job: &ScriptJob) -> io::Result<ScriptEnd> {
        let (stdin, stdout, stderr) = (
            self.child.stdin.take(),
            self.child.stdout.take(),
            self.child.stderr.take(),
        );
        let (group, grace) = (&self.group, self.grace);
        let exited = CancellationToken::new();
        let silent = || async {
            exited.cancelled().await;
            tokio::time::sleep(grace).await;
        };

        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that does not care for its input has closed the pipe; that is its right.
                tokio::select! {
                    _ = stdin.write_all(&job.stdin) => {}
                    () = silent() => {}
                }
            }
        };
        let mut kept = Vec::new();
        let mut too_much = false;
        let read = async {
            let limit = job.limits.stdout_bytes;
            let take = |bytes: &[u8]| {
                let room = limit - kept.len();
                kept.extend(bytes.iter().take(room));
                if bytes.len() > room && !too_much {
                    too_much = true;
                    group.end();
                }
            };
            tokio::select! {
                () = pour(stdout, take) => {}
                () = silent() => {}
            }
        };
        let mut tail = Stderr::new(job.stderr.clone(), job.limits.stderr_bytes);
        let read_stderr = async {
            tokio::select! {
                () = pour(stderr, |bytes| tail.take(bytes)) => {}
                () = silent() => {}
            }
        };
        let wait = async {
            let status = self.child.wait().await;
            // Whatever it started ends with it, and lets go of the pipes.
            group.end();
            exited.cancel();
            status
        };

        let ((), (), (), status) = tokio::join!(write, read, read_stderr, wait);
        let (stderr, stderr_truncated) = tail.finish();
        Ok(ScriptEnd {
            exit: exit_kind(status?),
            stdout: kept,
            stdout_truncated: too_much,
            stderr,
            stderr_truncated,
        })
    }

    async fn stop(&mut self) {
        self.group.end();
        let _ = self.child.start_kill();
        // Killed is soon gone; should the kernel hold it, tokio reaps it later.
        let _ = tokio::time::timeout(self.grace, self.child.wait()).await;
    }
}

/// Everything from the pipe until it ends; a pipe that breaks has ended.
async fn pour(pipe: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
        take(buffer.get(..read).unwrap_or_default());
    }
}

#[cfg(unix)]
fn exit_kind(status: ExitStatus) -> ExitKind {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitKind::Code(code),
        (None, signal) => ExitKind::Signal(signal.unwrap_or_default()),
    }
}

#[cfg(not(unix))]
fn exit_kind(status: ExitStatus) -> ExitKind {
    ExitKind::Code(status.code().unwrap_or(-1))
}

/// A folder that is removed with everything in it.
struct Scratch(PathBuf);

impl Scratch {
    async fn create(path: PathBuf) -> io::Result<Self> {
        let scratch = Self(path);
        let mut builder = tokio::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        builder.mode(0o700);
        builder.create(&scratch.0).await?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.0);
        let remove = move || {
            // What cannot be removed is rubbish in a folder for rubbish; there is nobody to tell.
            let _ = std::fs::remove_dir_all(path);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(remove)),
            Err(_) => remove(),
        }
    }
}

#[cfg(test)]
#[path = "unsandboxed_tests.rs"]
mod tests;
