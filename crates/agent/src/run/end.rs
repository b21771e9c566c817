//! The other ends: failed, failed after something was published, cancelled. Every open call gets an answer first, so that
//! what was said stays a conversation that can go on.

use std::sync::Arc;

use innkeeper_protocol::event::{
    InvocationChanged, InvocationId, PreservedCommit, RunCancelled, RunEventKind, RunFailed,
    RunPartialSuccess, RunStatus,
};
use innkeeper_protocol::{ErrorCode, Failure, Observation, Outcome};
use serde_json::{Map, json};

use super::AgentRun;
use super::apply::Out;
use super::commit::CommitAnswer;
use super::model::{fields, short};
use super::state::{Phase, RunFailure};

impl AgentRun {
    pub(super) fn fail(
        &mut self,
        code: ErrorCode,
        message: String,
        reason: Option<String>,
        out: &mut Out,
    ) {
        let from = self.phase.stage();
        self.close_turn("the run has failed", out);
        self.discard_guidance("run_failed", out);
        let failed = InvocationChanged {
            invocation_id: InvocationId::root(),
            status: Some("failed".to_owned()),
            message: Some(short(&message)),
            extra: Map::new(),
        };
        out.push(RunEventKind::AgentInvocationFailed(failed).into());
        let failure = RunFailure {
            code,
            message,
            reason,
        };
        let preserved: Vec<_> = self.commits().map(preserved).collect();
        let status = match preserved.is_empty() {
            true => RunStatus::Failed,
            false => RunStatus::PartialSuccess,
        };
        self.turn_to(status, out);
        out.push(terminal(&failure, preserved).into());
        self.failure = Some(failure);
        self.paused = false;
        self.phase = Phase::Over { from };
    }

    pub(super) fn cancel_requested(&mut self, out: &mut Out) {
        out.push(RunEventKind::RunCancelRequested.into());
        self.discard_guidance("run_cancelled", out);
        self.turn_to(RunStatus::Cancelling, out);
        self.paused = false;
        self.phase = Phase::Cancelling {
            from: self.phase.stage(),
        };
    }

    pub(super) fn stopped(&mut self, out: &mut Out) {
        let from = self.phase.stage();
        self.close_turn("the run was cancelled", out);
        self.turn_to(RunStatus::Cancelled, out);
        let cancelled = RunCancelled {
            message: "The run was cancelled".to_owned(),
            extra: Map::new(),
        };
        out.push(RunEventKind::RunCancelled(cancelled).into());
        self.phase = Phase::Over { from };
    }

    /// Nothing is open behind it.
    fn close_turn(&mut self, why: &str, out: &mut Out) {
        if let Some(commit) = self.pending_commit() {
            let id = commit.commit.clone();
            self.give_up_commit(&id, why, out);
        }
        let calls = self.turn.iter().flat_map(|turn| turn.calls());
        let open: Vec<_> = calls.filter(|call| call.is_open()).cloned().collect();
        for call in open {
            let observation = Observation {
                call_id: call.provider_id.clone(),
                index: call.index,
                ..Observation::new(call.tool.as_str(), self.closing(&call.call, why))
            };
            self.end_call(&call, Arc::new(observation), None, 0, out);
        }
        for block in self.turn.iter_mut().flat_map(|turn| &mut turn.blocks) {
            block.ended = true;
        }
        self.finish = None;
        self.cancel_tasks(why, out);
    }

    /// What a call is told to have come to: a commit has come to what the host said of it.
    fn closing(&self, call: &innkeeper_protocol::event::CallId, why: &str) -> Outcome {
        let answer = self.commit_of(call).map(|commit| &commit.answer);
        match answer {
            Some(CommitAnswer::Confirmed { message_id, .. }) => Outcome::Success {
                result: json!({"messageId": message_id}),
                spilled: None,
            },
            Some(CommitAnswer::Failed { message }) if message != why => {
                let message = format!("The host could not publish: {message}");
                Outcome::Error(Failure {
                    reason: Some("agent.chat_commit_failed".to_owned()),
                    ..Failure::new(ErrorCode::CommitSaveFailed, message)
                })
            }
            _ => Outcome::Cancelled {
                reason: why.to_owned(),
            },
        }
    }
}

fn preserved(commit: &super::Commit) -> PreservedCommit {
    PreservedCommit {
        path: commit.path.clone(),
        mode: commit.mode.clone(),
        message_id: commit.message_id().unwrap_or_default().to_owned(),
        round: commit.round,
        extra: Map::new(),
    }
}

/// Failures that another try of the same person may well get past, though nothing outside has changed.
const USER_RETRYABLE: [ErrorCode; 3] = [
    ErrorCode::ModelToolCallRequired,
    ErrorCode::AgentToolAfterFinish,
    ErrorCode::AgentMaxToolRoundsExceeded,
];

fn terminal(failure: &RunFailure, preserved: Vec<PreservedCommit>) -> RunEventKind {
    let code = failure.code.as_str().to_owned();
    let message = failure.message.clone();
    let technical_message = Some(message.clone());
    let details = json!(fields(json!({"reason": failure.reason})));
    if preserved.is_empty() {
        let retryable = failure.code.retryable();
        return RunEventKind::RunFailed(RunFailed {
            code,
            message,
            technical_message,
            retryable,
            user_retryable: retryable || USER_RETRYABLE.contains(&failure.code),
            details,
            extra: Map::new(),
        });
    }
    // Trying again would publish twice.
    RunEventKind::RunPartialSuccess(RunPartialSuccess {
        code,
        message,
        technical_message,
        retryable: false,
        user_retryable: false,
        details,
        preserved_commit_count: preserved.len() as u64,
        preserved_commits: preserved,
        extra: Map::new(),
    })
}
