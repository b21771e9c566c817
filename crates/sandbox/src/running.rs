//! A program at work: its pipes, and its end.

use tokio::net::unix::pipe::{Receiver, Sender};

use crate::{Collected, End, SandboxError, Usage};

/// Dropping it kills the program and everything it has started.
#[derive(Debug)]
pub struct Running {
    /// Drop it to say that nothing more comes.
    pub stdin: Option<Sender>,
    pub stdout: Option<Receiver>,
    pub stderr: Option<Receiver>,
}

/// How a started program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub end: End,
    pub usage: Usage,
    pub files: Vec<Collected>,
    pub files_left: usize,
}

impl Running {
    /// Asks for the end; [`Running::wait`] tells when it has come. Can be said twice.
    pub fn stop(&self) {}

    /// Waits for the end. The pipes are read by whoever has taken them; a program that is not read from may wait
    /// for ever.
    pub async fn wait(&mut self) -> Result<Ended, SandboxError> {
        Err(SandboxError::Cancelled)
    }
}
