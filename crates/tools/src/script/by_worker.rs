//! A plugin's script as a worker: the call goes to a process that stays, the answer means what a script's output means.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::answer::{self, Answer};
use super::executor::{JobParts, timeout};
use super::sources;
use super::{
    CALL, EnvironmentValue, ScriptExecutor, StderrLines, WorkerCall, WorkerError, WorkerSpec,
};
use crate::limits::{DEFAULT_WORKER_IDLE, MAX_WORKER_CONCURRENCY, MAX_WORKER_IDLE};
use crate::{Invocation, Progress, ProgressSink, Redactor, Room, ToolError};

impl ScriptExecutor {
    /// `environment` holds what is the same for every call of a person, so that they share a worker; the rest is told
    /// with the call.
    pub(super) async fn ask_worker(
        &self,
        call: &Invocation,
        arguments: Map<String, Json>,
        environment: Vec<(String, EnvironmentValue)>,
        redactor: &Redactor,
    ) -> Result<Answer, ToolError> {
        let context = &call.context;
        let timeout = timeout(&self.command, &call.tool);
        let parts = JobParts {
            environment,
            stdin: Vec::new(),
            timeout,
            stderr: StderrLines::default(),
            // It outlives the call.
            cancel: CancellationToken::new(),
        };
        let worker = WorkerSpec {
            owner: self.plugin.name.clone(),
            stamp: self.plugin.stamp,
            // Else it would go on with what it once read, and its answers be taken for those of what is there now.
            sources: sources::look(&self.plugin, &self.command).await?,
            job: self.host.job(&self.plugin, &self.command, parts).await?,
            idle: self
                .command
                .idle_timeout
                .unwrap_or(DEFAULT_WORKER_IDLE)
                .min(MAX_WORKER_IDLE),
            concurrency: self
                .command
                .concurrency
                .unwrap_or(1)
                .clamp(1, MAX_WORKER_CONCURRENCY),
        };
        let params = json!({
            "tool": call.tool.id,
            "arguments": arguments,
            "context": {
                "callId": context.call_id,
                "user": context.caller.user.as_str(),
                "project": context.caller.project.as_str(),
                "attempt": context.attempt,
            },
        });
        let call = WorkerCall {
            method: CALL,
            params,
            timeout,
            cancel: context.cancel.clone(),
            progress: Progress::to(Arc::new(Hidden {
                progress: context.progress.clone(),
                redactor: redactor.clone(),
            })),
        };
        let result = self.host.workers.call(&worker, call).await;
        result
            .map(|value| read(value, redactor))
            .map_err(|error: WorkerError| error.told(redactor))
    }
}

fn read(mut value: Json, redactor: &Redactor) -> Answer {
    // Messages are cut, and half a secret would not be found any more.
    if value.get("success") == Some(&Json::Bool(false)) {
        redactor.redact_json(&mut value);
    }
    answer::of_value(value)
}

/// Progress and pieces without the secrets that this very script was given.
struct Hidden {
    progress: Progress,
    redactor: Redactor,
}

impl ProgressSink for Hidden {
    fn report(&self, fraction: Option<f64>, message: &str) {
        let message = answer::cut(&self.redactor.redact_text(message));
        self.progress.report(fraction, &message);
    }

    fn partial(&self, piece: &Json) {
        let mut piece = piece.clone();
        self.redactor.redact_json(&mut piece);
        self.progress.partial(&piece);
    }

    fn room(&self) -> Option<Room> {
        self.progress.room()
    }
}

#[cfg(test)]
#[path = "by_worker_tests.rs"]
mod tests;
