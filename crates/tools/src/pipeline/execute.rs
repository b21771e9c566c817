//! Runs an executor: within its time, stopped when nobody wants it any more, tried again where that may help.
//!
//! Whoever panics is a failed tool, not a dead platform.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::{ErrorCode, ExecutionMode, Outcome, ToolDefinition};
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use crate::limits::{
    ASYNC_TIMEOUT, MAX_BACK_OFF, MAX_TIMEOUT, MIN_BACK_OFF, MIN_TIMEOUT, SYNC_TIMEOUT,
    TIMEKEEPER_GRACE,
};
use crate::registry::Tool;
use crate::unwind::{Panicked, caught};
use crate::{
    CallContext, Caller, Invocation, Progress, ResultLength, SpillPlace, ToolError, ToolRun,
};

/// A call that may run: everything was checked.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) tool: Arc<Tool>,
    pub(crate) arguments: Map<String, Json>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) call_id: String,
    /// What whoever runs the block calls it.
    pub(crate) asked_as: Option<Arc<str>>,
    /// How often it is tried again.
    pub(crate) retry: u8,
    pub(crate) cancel: CancellationToken,
    /// Stops the whole run.
    pub(crate) run: CancellationToken,
    pub(crate) results: ResultLength,
    pub(crate) spill: Option<Arc<dyn SpillPlace>>,
    /// For tools that call others.
    pub(crate) within: Option<ToolRun>,
}

impl Job {
    /// Why it was stopped.
    pub(crate) fn cancelled(&self) -> Outcome {
        let reason = match self.run.is_cancelled() {
            true => "the run was stopped",
            false => "somebody stopped it",
        };
        Outcome::Cancelled {
            reason: reason.to_owned(),
        }
    }
}

/// How a job ended.
pub(crate) struct Ended {
    pub(crate) result: Result<Json, Stopped>,
    pub(crate) attempts: u32,
}

#[derive(Debug)]
pub(crate) enum Stopped {
    Failed(ToolError),
    Cancelled,
}

pub(crate) async fn run(job: &Job, progress: &Progress) -> Ended {
    let mut attempts = 0;
    loop {
        attempts += 1;
        if attempts > 1 {
            progress.start_over();
        }
        let result = attempt(job, attempts, progress).await;
        let may_pass = matches!(&result, Err(Stopped::Failed(error)) if error.may_pass());
        if !may_pass || attempts > u32::from(job.retry) {
            return Ended { result, attempts };
        }
        tokio::select! {
            () = tokio::time::sleep(back_off(attempts)) => {}
            () = job.cancel.cancelled() => {
                return Ended { result: Err(Stopped::Cancelled), attempts };
            }
        }
    }
}

async fn attempt(job: &Job, attempt: u32, progress: &Progress) -> Result<Json, Stopped> {
    // A token of its own: a call that ran out of time is told to stop, the others are not.
    let cancel = job.cancel.child_token();
    let _stop = cancel.clone().drop_guard();
    let invocation = Invocation {
        tool: job.tool.definition().clone(),
        arguments: job.arguments.clone(),
        context: CallContext {
            caller: job.caller.clone(),
            call_id: job.call_id.clone(),
            asked_as: job.asked_as.clone(),
            attempt,
            cancel,
            progress: progress.clone(),
            run: job.within.clone(),
        },
    };
    let limit = timeout_of(job.tool.definition());
    let executor = job.tool.executor();
    let wait = match executor.keeps_time() {
        true => limit + TIMEKEEPER_GRACE,
        false => limit,
    };
    let work = tokio::time::timeout(wait, guarded(executor.execute(invocation)));
    tokio::select! {
        biased;
        () = job.cancel.cancelled() => Err(Stopped::Cancelled),
        ended = work => match ended {
            Ok(result) => result.map_err(Stopped::Failed),
            Err(_) => Err(Stopped::Failed(ToolError::new(
                ErrorCode::ToolTimeout,
                format!("no result within {}; it was stopped", spoken(wait)),
            ))),
        },
    }
}

/// What it declares, within what the platform allows.
pub(crate) fn timeout_of(tool: &ToolDefinition) -> Duration {
    let default = match tool.execution.mode {
        ExecutionMode::Sync => SYNC_TIMEOUT,
        ExecutionMode::Async => ASYNC_TIMEOUT,
    };
    tool.execution
        .timeout_ms
        .map_or(default, Duration::from_millis)
        .clamp(MIN_TIMEOUT, MAX_TIMEOUT)
}

fn spoken(time: Duration) -> String {
    match time.as_millis() {
        millis if millis < 1_000 || millis % 1_000 != 0 => format!("{millis} ms"),
        millis => format!("{} s", millis / 1_000),
    }
}

/// Twice as long each time, and between half and all of that, so that many do not come back at once.
fn back_off(attempts: u32) -> Duration {
    let doubled = MIN_BACK_OFF.saturating_mul(1 << attempts.saturating_sub(1).min(16));
    let most = doubled.min(MAX_BACK_OFF);
    let mut bytes = [0; 2];
    // Without randomness it waits the full time.
    let fraction = match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX),
        Err(_) => 1.0,
    };
    most.mul_f64(0.5 + fraction / 2.0)
}

async fn guarded(work: impl Future<Output = Result<Json, ToolError>>) -> Result<Json, ToolError> {
    caught(work).await.unwrap_or_else(|Panicked| {
        Err(ToolError::failed(
            "the tool broke down inside the platform; this is a bug, please report it",
        )
        .because("tool.panicked")
        .permanent())
    })
}

#[cfg(test)]
#[path = "execute_tests.rs"]
mod tests;
