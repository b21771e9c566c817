//! `CodeInterpreter:session`: one cell for the session of the caller's run.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use innkeeper_sandbox::{Collected, End, Limit, Limits};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::files::{Shelf, take_in};
use super::report::{Report, SessionReport, explained, millis};
use super::sessions::{Gone, Seat, Sessions};
use super::worker::{CellEnd, Heard, Order, Worker};
use super::{CodeParts, unfenced};
use crate::builtin::declare::{arguments, cancelled};
use crate::{Executor, Invocation, ToolError};

pub(super) struct Session {
    pub(super) parts: CodeParts,
    pub(super) sessions: Arc<Sessions>,
}

#[derive(Deserialize)]
struct Arguments {
    code: String,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    reset: bool,
}

#[async_trait]
impl Executor for Session {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let cancel = call.context.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(cancelled()),
            told = self.run(call) => told,
        }
    }
}

const LOST: &str = "The state of the session is gone; the next call begins afresh";

/// What a cell ran in, and what came of it.
struct Ran {
    heard: Heard,
    fresh: bool,
    gone: Option<Gone>,
}

impl Session {
    async fn run(&self, call: Invocation) -> Result<Json, ToolError> {
        let given: Arguments = arguments(call.arguments)?;
        let files = take_in(&self.parts.files, &call.context.caller, &given.files).await?;
        let order = Order {
            code: unfenced(&given.code)?.to_owned(),
            files,
            timeout: self.parts.limits.timeout(given.timeout),
        };
        let timeout = order.timeout;
        let slot = self.sessions.of(&call.context.caller);
        let mut seat = slot.seat.lock().await;
        let (worker, gone) = usable(&mut seat, given.reset);
        let fresh = worker.is_none();
        let mut worker = match worker {
            Some(worker) => worker,
            None => self.start().await?,
        };
        seat.begin();
        let heard = worker.run(order).await?;
        match &heard.end {
            CellEnd::Answered(_) => self.sessions.put_back(&slot, &mut seat, worker),
            CellEnd::Lost(_) | CellEnd::Confused => {
                drop(worker);
                seat.told();
            }
        }
        drop(seat);
        let shelf = Shelf::new(&self.parts.files, &call.context);
        let ran = Ran { heard, fresh, gone };
        Ok(self.told(ran, timeout, shelf).await)
    }

    async fn start(&self) -> Result<Worker, ToolError> {
        let interpreter = self.parts.interpreters.locate("python").await?;
        let place = self.sessions.place()?;
        Worker::start(&self.parts.sandbox, &interpreter, self.limits(), place).await
    }

    fn limits(&self) -> Limits {
        Limits {
            wall: None,
            cpu: Some(self.parts.limits.session_cpu),
            ..self.parts.limits.room
        }
    }

    async fn told(&self, ran: Ran, timeout: Duration, mut shelf: Shelf<'_>) -> Json {
        let Ran { heard, fresh, gone } = ran;
        let mut notes: Vec<String> = gone.iter().map(Gone::told).collect();
        let wall = millis(heard.wall);
        let mut session = SessionReport {
            result: None,
            result_truncated: false,
            fresh,
        };
        let (end, usage, files, left): (End, Json, Vec<Collected>, usize) = match heard.end {
            CellEnd::Answered(answer) => {
                let told = answer.told;
                session.result = told.result;
                session.result_truncated = told.result_cut;
                let usage = json!({
                    "wall_ms": wall,
                    "cpu_ms": told.cpu_ms,
                    "memory_bytes": told.memory_bytes,
                });
                (End::Exit(told.exit), usage, answer.files, told.left)
            }
            CellEnd::Lost(ended) => {
                if let Some(limit) = ended.end.limit() {
                    let most = self.parts.limits.max_timeout;
                    notes.push(explained(limit, &self.limits(), timeout, most));
                }
                notes.push(LOST.to_owned());
                let usage = json!({
                    "wall_ms": wall,
                    "cpu_ms": millis(ended.usage.cpu),
                    "memory_bytes": ended.usage.memory,
                    "processes": ended.usage.processes,
                });
                (ended.end, usage, Vec::new(), 0)
            }
            CellEnd::Confused => {
                notes.push("The session answered in a way that cannot be read".to_owned());
                notes.push(LOST.to_owned());
                let usage = json!({"wall_ms": wall, "cpu_ms": 0, "memory_bytes": 0});
                (End::Cancelled, usage, Vec::new(), 0)
            }
        };
        shelf.keep_all(files, left).await;
        let output_limit = end.limit() == Some(Limit::Output);
        let report = Report {
            end,
            stdout: heard.stdout,
            stderr: heard.stderr,
            stdout_truncated: output_limit,
            stderr_truncated: heard.stderr_truncated,
            notes,
            usage,
            session: Some(session),
        };
        report.told(shelf).await
    }
}

/// The worker of the session, if it has one that is alive and wanted; and why it has none, if that was not wanted.
fn usable(seat: &mut Seat, reset: bool) -> (Option<Worker>, Option<Gone>) {
    let (worker, gone) = seat.take();
    match worker {
        _ if reset => (None, None),
        None => (None, gone),
        Some(mut worker) => match worker.ended() {
            None => (Some(worker), None),
            Some(ended) => {
                let why = match ended.end.limit() {
                    Some(limit) => format!("it went over a limit ({limit}) between two calls"),
                    None => "its process ended between two calls".to_owned(),
                };
                (None, Some(Gone::Died(why)))
            }
        },
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
