//! One run: a caller, one snapshot of the registry, one budget, one way to stop it all.

use std::sync::Arc;

use innkeeper_protocol::event::RunId;
use innkeeper_protocol::{
    Block, BoundCall, ErrorCode, Observation, Outcome, Reply, ToolCallRequest,
};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::limits::MAX_WAIT;
use crate::manager::Shared;
use crate::pipeline::trail::Trail;
use crate::pipeline::{call, stop};
use crate::registry::Snapshot;
use crate::task::{Entry, TaskRecord};
use crate::{BudgetLimits, Caller, block};

/// What a run is given beyond its caller.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    pub budget: BudgetLimits,
    pub cancel: CancellationToken,
    /// Within what a `request_id` means one thing; the run's own id if nothing else is said.
    pub request_scope: Option<String>,
}

/// A run at work. Clones are the same run.
#[derive(Clone)]
pub struct ToolRun {
    pub(crate) shared: Arc<Shared>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) cancel: CancellationToken,
    pub(crate) request_scope: Arc<str>,
    _end: Arc<End>,
}

/// With the last clone of a run go the answers that people gave for it.
struct End {
    shared: Arc<Shared>,
    run: RunId,
}

impl Drop for End {
    fn drop(&mut self) {
        self.shared.approvals.end_run(&self.run);
    }
}

impl ToolRun {
    pub(crate) fn begin(shared: Arc<Shared>, caller: Caller, options: RunOptions) -> Self {
        let scope = options
            .request_scope
            .unwrap_or_else(|| format!("run:{}", caller.run));
        Self {
            _end: Arc::new(End {
                shared: shared.clone(),
                run: caller.run.clone(),
            }),
            snapshot: shared.registry.snapshot(),
            shared,
            budget: Arc::new(Budget::new(options.budget)),
            cancel: options.cancel,
            request_scope: scope.into(),
            caller: Arc::new(caller),
        }
    }

    /// The tools of this run, as they were when it began.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Everything that a model asked for, block after block, and everything it must be told about its text.
    pub async fn run_reply(&self, reply: &Reply<'_>) -> Vec<Observation> {
        let mut said: Vec<Observation> = Vec::new();
        let text = Reply {
            blocks: Vec::new(),
            ..reply.clone()
        };
        said.extend(Observation::of_reply(&text));
        for block in &reply.blocks {
            said.extend(self.run_block(block).await);
        }
        said
    }

    /// The steps of a block, in order.
    pub async fn run_block(&self, block: &Block<'_>) -> Vec<Observation> {
        block::run(self, block).await
    }

    /// A single call that stands in no block.
    pub async fn run_call(&self, request: &ToolCallRequest<'_>) -> Observation {
        call::pass(self, request, None).await.observation
    }

    /// What became of tasks that ended since this was last asked: for the agent's next turn.
    pub fn finished_tasks(&self) -> Vec<Observation> {
        self.entries()
            .iter()
            .filter_map(|entry| entry.tell())
            .collect()
    }

    /// Waits until no task of this run is at work.
    pub async fn settle(&self) {
        for entry in self.entries() {
            entry.ended().await;
        }
    }

    pub fn tasks(&self) -> Vec<TaskRecord> {
        self.shared.tasks.list(&self.caller.run)
    }

    /// Stops everything that this run has under way.
    pub fn stop(&self) {
        self.cancel.cancel();
    }

    fn entries(&self) -> Vec<Arc<Entry>> {
        self.shared.tasks.entries(&self.caller.run)
    }

    /// Nothing runs that could not be written down.
    pub(crate) fn check_open(&self) -> Result<(), Outcome> {
        match self.shared.audit_fault() {
            None => Ok(()),
            Some(why) => Err(Outcome::from(
                crate::ToolError::unavailable(format!(
                    "the audit log cannot be written, so no tool may run ({why})"
                ))
                .because("audit.unavailable")
                .permanent(),
            )),
        }
    }

    pub(crate) async fn note(&self, trail: Trail, outcome: &Outcome) {
        if let Err(why) = trail.close(outcome).await {
            self.shared.audit_failed(why);
        }
    }

    /// A call that mentions a file which a task is still making waits for that task, whatever comes of it:
    /// whether the file is needed is for the tool to say.
    pub(crate) async fn wait_for_promised(&self, bound: &BoundCall) -> Result<(), Outcome> {
        for entry in self.entries() {
            if !entry.is_running() {
                continue;
            }
            let promises = entry.record().promises;
            let by_uri = bound
                .uris
                .values()
                .any(|argument| promises.contains(&argument.uri));
            let mentioned = by_uri
                || bound
                    .arguments
                    .values()
                    .any(|value| mentions(value, &promises));
            if mentioned {
                self.wait_for(&entry).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn wait_for(&self, entry: &Entry) -> Result<TaskRecord, Outcome> {
        tokio::select! {
            ended = tokio::time::timeout(MAX_WAIT, entry.ended()) => ended.map_err(|_| {
                stop(
                    ErrorCode::ToolTimeout,
                    format!(
                        "task {} did not end within {} minutes; ask for it with task.status",
                        entry.record().task_id,
                        MAX_WAIT.as_secs() / 60
                    ),
                )
            }),
            () = self.cancel.cancelled() => Err(Outcome::Cancelled {
                reason: "the run was stopped".to_owned(),
            }),
        }
    }
}

fn mentions(value: &Json, promises: &[String]) -> bool {
    match value {
        Json::String(text) => promises.iter().any(|promise| text.contains(promise)),
        Json::Array(items) => items.iter().any(|item| mentions(item, promises)),
        Json::Object(fields) => fields.values().any(|field| mentions(field, promises)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}
