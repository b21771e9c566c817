//! The other ends: failed, failed after something was published, cancelled. Every open call gets an answer first, so that
//! what was said stays a conversation that can go on.

use std::sync::Arc;

use innkeeper_protocol::event::{
    InvocationChanged, InvocationId, PreservedCommit, RunCancelled, RunEventKind, RunFailed,
    RunPartialSuccess, RunResumed, RunStatus,
};
use innkeeper_protocol::{ErrorCode, Failure, Observation, Outcome};
use serde_json::{Map, json};

use super::apply::Out;
use super::commit::CommitAnswer;
use super::model::{fields, short};
use super::state::{Phase, RunFailure};
use super::turn::CallState;
use super::{AgentRun, PlannedCall};

impl AgentRun {
    pub(super) fn fail(
        &mut self,
        code: ErrorCode,
        message: String,
        reason: Option<String>,
        out: &mut Out,
    ) {
        let failure = RunFailure {
            code,
            message,
            reason,
        };
        self.cancel_children("the run has failed", out);
        if self.tasks.is_empty() && !self.has_living_children() {
            return self.failed(failure, out);
        }
        // What they come to is told before the end.
        self.failure = Some(failure);
        self.paused = false;
        self.phase = Phase::Failing {
            from: self.phase.stage(),
        };
    }

    fn failed(&mut self, failure: RunFailure, out: &mut Out) {
        let from = self.phase.stage();
        self.close_turn("the run has failed", out);
        self.discard_guidance("run_failed", out);
        let failed = InvocationChanged {
            invocation_id: InvocationId::root(),
            status: Some("failed".to_owned()),
            message: Some(short(&failure.message)),
            extra: Map::new(),
        };
        out.push(RunEventKind::AgentInvocationFailed(failed).into());
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
        self.cancel_children("the run was cancelled", out);
        self.turn_to(RunStatus::Cancelling, out);
        self.paused = false;
        self.phase = Phase::Cancelling {
            from: self.phase.stage(),
        };
    }

    /// Nothing goes on in the background any more.
    pub(super) fn stopped(&mut self, out: &mut Out) {
        self.bury_children(out);
        if self.phase == Phase::Persisting {
            return self.cancel_tasks("the run has finished", out);
        }
        if matches!(self.phase, Phase::Failing { .. })
            && let Some(failure) = self.failure.take()
        {
            return self.failed(failure, out);
        }
        let from = self.phase.stage();
        self.close_turn("the run was cancelled", out);
        self.turn_to(RunStatus::Cancelled, out);
        out.push(RunEventKind::RunCancelled(cancelled()).into());
        self.phase = Phase::Over { from };
    }

    /// For what has to be told of a run that is over: it stays so, and gets its end again behind it.
    pub(super) fn take_end_back(&mut self, why: &str, out: &mut Out) {
        let resumed = RunResumed {
            invocation_id: InvocationId::root(),
            additional_rounds: 0,
            round: self.spent.rounds,
            max_rounds: self.max_rounds(),
            extra: fields(json!({"reason": why})),
        };
        out.push(RunEventKind::RunResumed(resumed).into());
    }

    /// The same end, or the one that it has with what has come to light.
    pub(super) fn end_again(&mut self, out: &mut Out) {
        match (&self.failure, self.status) {
            (_, RunStatus::Cancelled) => out.push(RunEventKind::RunCancelled(cancelled()).into()),
            (Some(failure), _) => {
                let preserved: Vec<_> = self.commits().map(preserved).collect();
                let status = match preserved.is_empty() {
                    true => RunStatus::Failed,
                    false => RunStatus::PartialSuccess,
                };
                let end = terminal(failure, preserved);
                self.turn_to(status, out);
                out.push(end.into());
            }
            (None, _) => out.push(RunEventKind::RunCompleted.into()),
        }
    }

    /// Nothing is open behind it.
    pub(super) fn close_turn(&mut self, why: &str, out: &mut Out) {
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
                ..Observation::new(call.tool.as_str(), self.closing(&call, why))
            };
            self.end_call(&call, Arc::new(observation), None, 0, out);
        }
        for block in self.turn.iter_mut().flat_map(|turn| &mut turn.blocks) {
            block.ended = true;
        }
        self.finish = None;
        self.handoff = None;
        self.cancel_tasks(why, out);
    }

    /// What a call is told to have come to: a commit has come to what the host said of it. Of one that was let go of in
    /// the middle, nobody knows.
    pub(super) fn closing(&self, call: &PlannedCall, why: &str) -> Outcome {
        let answer = self.commit_of(&call.call).map(|commit| &commit.answer);
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
            None if call.state == (CallState::Started { idempotent: false }) => {
                Outcome::OutcomeUnknown {
                    message: format!("{why} while it ran; it may have taken effect"),
                }
            }
            _ => Outcome::Cancelled {
                reason: why.to_owned(),
            },
        }
    }
}

fn cancelled() -> RunCancelled {
    RunCancelled {
        message: "The run was cancelled".to_owned(),
        extra: Map::new(),
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
const USER_RETRYABLE: [ErrorCode; 2] = [
    ErrorCode::ModelToolCallRequired,
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
