//! A program at work: its pipes, and its end.

use std::time::Duration;

#[cfg(unix)]
use tokio::net::unix::pipe::{Receiver, Sender};

#[cfg(not(target_os = "linux"))]
use crate::elsewhere::Room;
#[cfg(not(unix))]
use crate::elsewhere::{Receiver, Sender};
#[cfg(target_os = "linux")]
use crate::host::Room;
use crate::limits::END_GRACE;
use crate::{Collected, End, SandboxError, Usage};

/// The near end of a pipe that the program writes to.
pub type PipeReader = Receiver;
/// The near end of a pipe that the program reads from.
pub type PipeWriter = Sender;

/// Dropping it kills the program and everything it has started.
#[derive(Debug)]
pub struct Running {
    /// Drop it to say that nothing more comes.
    pub stdin: Option<Sender>,
    pub stdout: Option<Receiver>,
    pub stderr: Option<Receiver>,
    pub(crate) room: Room,
    pub(crate) wall: Option<Duration>,
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
    pub fn stop(&self) {
        self.room.stop();
    }

    /// Ends it without asking.
    pub fn kill(&mut self) {
        self.room.kill();
    }

    /// Waits for the end. May be dropped and called again. The pipes are read by whoever has taken them; a program that is not read from may wait
    /// for ever.
    pub async fn wait(&mut self) -> Result<Ended, SandboxError> {
        // The launcher keeps the time; this is for the case that it cannot.
        let told = match self.wall {
            Some(wall) => {
                let most = wall.saturating_add(2 * END_GRACE);
                tokio::time::timeout(most, self.room.end()).await
            }
            None => Ok(self.room.end().await),
        };
        let Ok(told) = told else {
            self.room.kill();
            return Err(SandboxError::Failed {
                why: "the launcher did not keep the time and was killed".to_owned(),
            });
        };
        let (report, files, files_left) = told?;
        let end = match report {
            _ if report.limit.is_none() && report.cancelled => End::Cancelled,
            _ => match (report.limit, report.exit, report.signal) {
                (Some(limit), exit, _) => End::Limit { limit, exit },
                (None, Some(code), _) => End::Exit(code),
                (None, None, signal) => End::Signal(signal.unwrap_or_default()),
            },
        };
        Ok(Ended {
            end,
            usage: report.usage,
            files,
            files_left,
        })
    }
}
