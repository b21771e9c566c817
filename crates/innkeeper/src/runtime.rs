//! The async runtime for commands that need one, and what happens while a run is at work: progress, Ctrl-C.

use std::future::Future;
use std::io::{self, Write};
use std::pin::pin;
use std::time::Duration;

use innkeeper_tools::{TaskStatus, ToolRun};

use crate::ask::Asking;
use crate::failure::{Failure, shown};
use crate::limits::PROGRESS_EVERY;
use crate::output::Screen;

/// Long enough for what is stopped to clean up after itself.
const GRACE: Duration = Duration::from_secs(2);

/// Runs one command to its end. A thread that waits for somebody to type is not waited for.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::System)?;
    let end = runtime.block_on(work);
    runtime.shutdown_timeout(GRACE);
    end
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
    let mut stop = pin!(asked_to_stop());
    let mut interrupted = false;
    let value = loop {
        tokio::select! {
            // The signal is listened for before any work is done.
            biased;
            () = &mut stop => {
                if interrupted {
                    break None;
                }
                interrupted = true;
                run.stop();
                stop.set(asked_to_stop());
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
    Watched { value, interrupted }
}

/// Ctrl-C, or the system's wish that we end: both leave time to stop what runs.
#[cfg(unix)]
pub(crate) async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};

    async fn heard(kind: SignalKind) {
        match signal(kind) {
            Ok(mut signals) => _ = signals.recv().await,
            // Then it ends us without asking, as it does every program.
            Err(_) => std::future::pending().await,
        }
    }
    tokio::select! {
        () = heard(SignalKind::interrupt()) => {}
        () = heard(SignalKind::terminate()) => {}
        () = heard(SignalKind::hangup()) => {}
    }
}

#[cfg(not(unix))]
pub(crate) async fn asked_to_stop() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
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
