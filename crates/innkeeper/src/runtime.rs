//! The async runtime for commands that need one, and what happens while a run is at work: progress, Ctrl-C.

use std::future::Future;
use std::io::{self, Write};
use std::pin::pin;
#[cfg(unix)]
use std::task::Poll;
use std::time::Duration;

use innkeeper_tools::{TaskStatus, ToolRun};
use tokio_util::sync::CancellationToken;

use crate::ask::Asking;
use crate::commands::Ended;
use crate::failure::{Failure, shown};
use crate::limits::PROGRESS_EVERY;
use crate::output::Screen;

/// Long enough for what is stopped to clean up after itself.
const GRACE: Duration = Duration::from_secs(2);

/// Runs one command to its end.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::System)?;
    let end = runtime.block_on(async {
        survive_large_files();
        work.await
    });
    runtime.shutdown_timeout(GRACE);
    end
}

/// A file that may not grow further (`ulimit -f`) is an error of whoever writes it, and does not end the process. What we
/// start is told of the signal as ever.
fn survive_large_files() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let grown = rustix::process::Signal::XFSZ.as_raw();
        // It stays heard once it was listened for. Where it cannot be, it ends us as it does every program.
        let _ = signal(SignalKind::from_raw(grown));
    }
}

/// What came of work that a person may stop.
pub(crate) struct Watched<T> {
    /// Nothing if it was asked to stop twice.
    pub(crate) value: Option<T>,
    pub(crate) interrupted: bool,
}

/// Does the work of a run, shows how far its tasks are, and stops it at Ctrl-C; at the second, without waiting
/// for an orderly end.
pub(crate) async fn watch<T>(
    run: &ToolRun,
    screen: &Screen,
    work: impl Future<Output = T>,
) -> Watched<T> {
    let mut work = pin!(work);
    let mut ticks = tokio::time::interval(PROGRESS_EVERY);
    let mut line = ProgressLine::default();
    let stop = Stop::default();
    stop.listen();
    let mut interrupted = false;
    let value = loop {
        tokio::select! {
            biased;
            () = stop.urged.cancelled() => break None,
            () = stop.asked.cancelled(), if !interrupted => {
                interrupted = true;
                run.stop();
            }
            value = &mut work => break Some(value),
            _ = ticks.tick(), if screen.shows_progress() => {
                if !Asking::is_under_way() {
                    line.show(run);
                }
            }
        }
    };
    line.clear();
    Watched {
        interrupted: interrupted || value.is_none(),
        value,
    }
}

/// Ctrl-C, or the system's wish that we end: both leave time to stop what runs.
///
/// They are heard by a task of their own: the command itself may be stuck in writing to somebody who does not read.
#[derive(Default)]
pub(crate) struct Stop {
    /// Whatever runs should come to an orderly end.
    pub(crate) asked: CancellationToken,
    /// Asked twice: nobody wants to wait for it.
    pub(crate) urged: CancellationToken,
}

impl Stop {
    /// From now until the runtime ends. Before, a signal ends the program as it does any other.
    pub(crate) fn listen(&self) {
        let (asked, urged) = (self.asked.clone(), self.urged.clone());
        let mut signals = Signals::listen();
        tokio::spawn(async move {
            signals.next().await;
            asked.cancel();
            signals.next().await;
            urged.cancel();
            tokio::time::sleep(GRACE).await;
            std::process::exit(Ended::Interrupted.exit_code().into());
        });
    }
}

#[cfg(unix)]
struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let hangup = SignalKind::hangup();
        let kinds = [
            Some(SignalKind::interrupt()),
            Some(SignalKind::terminate()),
            // Whoever said `nohup` wants the run to go on when the terminal is closed.
            Some(hangup).filter(|kind| !is_ignored(*kind)),
        ];
        // One that cannot be listened for ends us without asking, as it does every program.
        Self(kinds.into_iter().flatten().flat_map(signal).collect())
    }

    async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let mut heard = self.0.iter_mut().map(|signal| signal.poll_recv(context));
            match heard.any(|heard| heard.is_ready()) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

/// Whether whoever started us has said that a signal shall not count. Asked before it is listened for.
#[cfg(unix)]
fn is_ignored(kind: tokio::signal::unix::SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status");
    status.is_ok_and(|status| ignores(&status, kind.as_raw_value()))
}

/// By the line `SigIgn` with a bit for each signal, the first the lowest.
#[cfg(unix)]
fn ignores(status: &str, number: i32) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = u32::try_from(number - 1)
        .ok()
        .and_then(|bit| 1_u64.checked_shl(bit));
    matches!((mask, bit), (Some(mask), Some(bit)) if mask & bit != 0)
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> Self {
        Self
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

/// One line on standard error that is written over itself.
#[derive(Default)]
struct ProgressLine {
    shown: bool,
}

impl ProgressLine {
    fn show(&mut self, run: &ToolRun) {
        let tasks = run.tasks();
        let mut running = tasks
            .iter()
            .filter(|task| task.status == TaskStatus::Running);
        let Some(first) = running.next() else {
            return self.clear();
        };
        let mut said = shown(&first.tool);
        if let Some(progress) = &first.progress {
            if let Some(fraction) = progress.fraction {
                said.push_str(&format!(" {:.0}%", fraction * 100.0));
            }
            said.push_str(&format!(" {}", shown(&progress.message)));
        }
        let others = running.count();
        if others > 0 {
            said.push_str(&format!(" (+{others})"));
        }
        let fitting: String = said.chars().take(78).collect();
        let _ = write!(io::stderr(), "\r\u{1b}[K{fitting}");
        let _ = io::stderr().flush();
        self.shown = true;
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::ignores;

    #[test]
    fn an_ignored_signal_is_told_by_its_bit() {
        let status = "Name:\tx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        for (number, expected) in [(1, true), (2, false), (13, true), (0, false), (99, false)] {
            assert_eq!(ignores(status, number), expected, "{number}");
        }
        for odd in ["", "SigIgn:", "SigIgn:\tzz"] {
            assert!(!ignores(odd, 1), "{odd:?}");
        }
    }
}
