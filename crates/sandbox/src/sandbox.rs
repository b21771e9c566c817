//! The door: queues programs, starts them through the launcher, and sees them to their end.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;

#[cfg(not(target_os = "linux"))]
use crate::elsewhere::{Host, Pipes, Room};
#[cfg(target_os = "linux")]
use crate::host::{Host, Pipes, Room};
use crate::limits::{END_GRACE, PIPE_GRACE};
use crate::{
    End, Ended, Layer, LayerState, Limit, Limits, Outcome, Program, Running, SandboxError,
    SandboxPolicy, Strength, Usage, verdict,
};

/// What the launcher is started with.
pub const LAUNCHER_ARGUMENT: &str = "__room";

#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// A binary whose `main` begins with [`crate::take_over_if_launcher`].
    pub launcher: PathBuf,
    /// What the launcher itself is started with, and never the program: for an allocator that takes its time.
    pub launcher_environment: Vec<(&'static str, &'static str)>,
    /// Folders of which no program ever sees anything but roots that lie below them.
    pub closed: Vec<PathBuf>,
    /// Programs that [`Sandbox::run`] runs at the same time; the others wait their turn.
    pub parallel: usize,
}

impl SandboxOptions {
    /// This very binary is the launcher.
    pub fn own_binary() -> io::Result<Self> {
        Ok(Self::new(std::env::current_exe()?))
    }

    pub fn new(launcher: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            launcher: launcher.into(),
            launcher_environment: Vec::new(),
            closed: Vec::new(),
            parallel: (cores * 2).max(4),
        }
    }
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: SandboxOptions,
    turns: Semaphore,
    host: Host,
    strength: OnceCell<Strength>,
}

/// One program to be run to its end.
#[derive(Debug, Default)]
pub struct Job {
    pub program: Program,
    pub stdin: Vec<u8>,
    pub policy: SandboxPolicy,
    pub stderr: StderrTap,
    pub cancel: CancellationToken,
}

/// Is given all of stderr, piece by piece, while it comes.
#[derive(Default)]
pub struct StderrTap(Option<Box<Take>>);

type Take = dyn FnMut(&[u8]) + Send;

impl StderrTap {
    pub fn to(take: impl FnMut(&[u8]) + Send + 'static) -> Self {
        Self(Some(Box::new(take)))
    }
}

impl fmt::Debug for StderrTap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StderrTap")
    }
}

impl Sandbox {
    pub fn new(options: SandboxOptions) -> Self {
        let parallel = options.parallel.clamp(1, Semaphore::MAX_PERMITS);
        Self(Arc::new(Inner {
            options,
            turns: Semaphore::new(parallel),
            host: Host::default(),
            strength: OnceCell::new(),
        }))
    }

    /// Tries every layer with a program that does nothing. The answer is remembered.
    pub async fn strength(&self) -> Strength {
        self.0.strength.get_or_init(|| self.trial()).await.clone()
    }

    async fn trial(&self) -> Strength {
        let policy = SandboxPolicy::default();
        let opened = self.0.host.open(&self.0.options, None, &policy);
        match opened.await {
            Ok((room, pipes)) => {
                let mut layers = vec![
                    LayerState {
                        layer: Layer::Platform,
                        active: true,
                        detail: format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH),
                    },
                    LayerState {
                        layer: Layer::Launcher,
                        active: true,
                        detail: self.0.options.launcher.display().to_string(),
                    },
                ];
                layers.extend(room.layers().iter().cloned());
                let mut trial = running(room, pipes, &policy.limits);
                let _ = trial.wait().await;
                Strength {
                    usable: true,
                    layers,
                    remedy: None,
                }
            }
            Err(error) => {
                let (layer, remedy) = match &error {
                    SandboxError::Unavailable { layer, remedy, .. } => {
                        (*layer, Some(remedy.clone()))
                    }
                    _ => (Layer::Launcher, None),
                };
                Strength {
                    usable: false,
                    layers: vec![LayerState {
                        layer,
                        active: false,
                        detail: match &error {
                            SandboxError::Unavailable { why, .. } => why.clone(),
                            other => other.to_string(),
                        },
                    }],
                    remedy,
                }
            }
        }
    }

    /// Runs a program to its end, in its turn. Its time counts from its start. Cancelling is an end, too:
    /// what was printed until then is in the outcome.
    pub async fn run(&self, job: Job) -> Result<Outcome, SandboxError> {
        let cancel = job.cancel.clone();
        let started = async {
            // Nobody closes it.
            let turn = self.0.turns.acquire().await.ok();
            let running = self.start(job.program, job.policy.clone()).await?;
            Ok((turn, running))
        };
        let (_turn, running) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(SandboxError::Cancelled),
            started = started => started?,
        };
        finish(running, job.stdin, job.policy.limits, job.stderr, cancel).await
    }

    /// Starts a program and leaves it running; it does not queue.
    pub async fn start(
        &self,
        program: Program,
        policy: SandboxPolicy,
    ) -> Result<Running, SandboxError> {
        let options = &self.0.options;
        let (room, pipes) = self.0.host.open(options, Some(&program), &policy).await?;
        Ok(running(room, pipes, &policy.limits))
    }
}

#[cfg(target_os = "linux")]
fn running(room: Room, pipes: Pipes, limits: &Limits) -> Running {
    Running {
        stdin: Some(pipes.stdin),
        stdout: Some(pipes.stdout),
        stderr: Some(pipes.stderr),
        room,
        wall: limits.wall,
    }
}

#[cfg(not(target_os = "linux"))]
fn running(_: Room, pipes: Pipes, _: &Limits) -> Running {
    match pipes {}
}

/// Writes, reads and waits, all at once: a program may answer before it has read everything.
async fn finish(
    mut running: Running,
    stdin: Vec<u8>,
    limits: Limits,
    mut tap: StderrTap,
    cancel: CancellationToken,
) -> Result<Outcome, SandboxError> {
    let pipes = (
        running.stdin.take(),
        running.stdout.take(),
        running.stderr.take(),
    );
    let too_much = CancellationToken::new();
    let write = async {
        if let Some(mut pipe) = pipes.0 {
            // A program that does not care for its input has closed the pipe; that is its right.
            let _ = pipe.write_all(&stdin).await;
        }
    };
    let mut stdout = Vec::new();
    let mut stdout_truncated = false;
    let read_stdout = pour(pipes.1, |bytes| {
        let room = usize::try_from(limits.output).unwrap_or(usize::MAX) - stdout.len();
        stdout.extend(bytes.iter().take(room));
        if bytes.len() > room {
            stdout_truncated = true;
            too_much.cancel();
        }
    });
    let mut stderr = Tail::new(limits.stderr_kept);
    let mut printed = 0_u64;
    let read_stderr = pour(pipes.2, |bytes| {
        printed += bytes.len() as u64;
        if printed > limits.output {
            too_much.cancel();
        }
        if let Some(take) = &mut tap.0 {
            take(bytes);
        }
        stderr.take(bytes);
    });
    let has_ended = CancellationToken::new();
    let wait = async {
        let ended = tokio::select! {
            ended = running.wait() => Some(ended),
            () = cancel.cancelled() => None,
            () = too_much.cancelled() => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                running.stop();
                match tokio::time::timeout(END_GRACE, running.wait()).await {
                    Ok(ended) => ended,
                    Err(_) => {
                        running.kill();
                        Ok(killed())
                    }
                }
            }
        };
        has_ended.cancel();
        ended
    };
    // With everything that could write the pipes end as well, unless somebody outside was handed one.
    let talk = async {
        tokio::select! {
            // What is in the pipes is read before anybody gives up on them.
            biased;
            _ = async { tokio::join!(write, read_stdout, read_stderr) } => {}
            () = async {
                has_ended.cancelled().await;
                tokio::time::sleep(PIPE_GRACE).await;
            } => {}
        }
    };
    let ((), ended) = tokio::join!(talk, wait);
    let Ended {
        mut end,
        usage,
        files,
        files_left,
    } = ended?;
    let (stderr, stderr_truncated) = stderr.finish();
    if end == End::Cancelled && too_much.is_cancelled() {
        let limit = Limit::Output;
        end = End::Limit { limit, exit: None };
    }
    let exit = match end {
        End::Exit(code) => Some(code),
        _ => None,
    };
    let failed = matches!(end, End::Signal(_)) || exit.is_some_and(|code| code != 0);
    if failed && let Some(limit) = verdict::by_words(&stderr) {
        end = End::Limit { limit, exit };
    }
    Ok(Outcome {
        end,
        stdout,
        stderr,
        stdout_truncated,
        stderr_truncated,
        usage,
        files,
        files_left,
    })
}

/// Nobody could tell how it ended.
fn killed() -> Ended {
    Ended {
        end: End::Cancelled,
        usage: Usage::default(),
        files: Vec::new(),
        files_left: 0,
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

/// The end of a stream.
struct Tail {
    kept: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl Tail {
    fn new(limit: usize) -> Self {
        Self {
            kept: Vec::new(),
            limit,
            truncated: false,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        // Cutting at twice the limit moves each byte only once.
        if self.kept.len() > self.limit.saturating_mul(2).max(64 << 10) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let excess = self.kept.len().saturating_sub(self.limit);
        if excess > 0 {
            self.kept.drain(..excess);
            self.truncated = true;
        }
    }

    fn finish(mut self) -> (Vec<u8>, bool) {
        self.cut();
        (self.kept, self.truncated)
    }
}
