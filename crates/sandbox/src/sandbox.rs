//! The door: queues programs, starts them through the launcher, and sees them to their end.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::{Outcome, Program, Running, SandboxError, SandboxPolicy, Strength};

/// What the launcher is started with.
pub const LAUNCHER_ARGUMENT: &str = "__room";

#[derive(Debug, Clone)]
pub struct SandboxOptions {
    /// A binary whose `main` begins with [`crate::take_over_if_launcher`].
    pub launcher: PathBuf,
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
            parallel: (cores * 2).max(4),
        }
    }
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    #[expect(dead_code)]
    options: SandboxOptions,
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
pub struct StderrTap(Option<Box<dyn FnMut(&[u8]) + Send>>);

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
        Self(Arc::new(Inner { options }))
    }

    /// Tries every layer with a program that does nothing. The answer is remembered.
    pub async fn strength(&self) -> Strength {
        Strength {
            usable: false,
            layers: Vec::new(),
            remedy: None,
        }
    }

    /// Runs a program to its end, in its turn. Its time counts from its start. Cancelling is an end, too:
    /// what was printed until then is in the outcome.
    pub async fn run(&self, _job: Job) -> Result<Outcome, SandboxError> {
        Err(SandboxError::Cancelled)
    }

    /// Starts a program and leaves it running; it does not queue.
    pub async fn start(
        &self,
        _program: Program,
        _policy: SandboxPolicy,
    ) -> Result<Running, SandboxError> {
        Err(SandboxError::Cancelled)
    }
}
