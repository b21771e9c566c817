//! Feeding a run: an input that fits changes it and gives events; one that does not changes nothing.
//!
//! What fits is decided in `fit.rs` before anything is touched, so nothing below can fail half-way.

use std::sync::Arc;

use innkeeper_protocol::event::{InvocationId, RunEventKind, RunStatus, StatusChanged};
use jiff::Timestamp;
use serde_json::Map;

use super::approval::Answer;
use super::state::Phase;
use super::told::ADDED;
use super::turn::CallState;
use super::{AgentRun, AnsweredBy, Draft, Input, Misfit, Remember, Stamped};

/// What is told, in order.
pub(super) type Out = Vec<Draft>;

impl AgentRun {
    /// The events of an input that has been taken.
    pub fn apply(&mut self, stamped: &Stamped) -> Result<Vec<Draft>, Misfit> {
        self.check(&stamped.input)?;
        self.check_in_time(stamped)?;
        self.pass_time(stamped);
        self.shed_children();
        let mut out = Out::new();
        let who = self.invocation.clone();
        self.take(&stamped.input, &mut out);
        if !self.children.is_empty() && matches!(stamped.input, Input::ApprovalAnswered { .. }) {
            self.share_grants();
        }
        self.keep_asking(&mut out);
        tell_as(&who, &mut out);
        Ok(out)
    }

    fn take(&mut self, input: &Input, out: &mut Out) {
        match input {
            // Only ever the first; `fit.rs` lets no second one in.
            Input::Created(_) => {}
            Input::WorkspaceReady { files, is_missing } => {
                self.workspace_ready(files, *is_missing, out);
            }
            Input::ContextReady {
                binding,
                request,
                tools,
            } => self.context_ready(binding, request, tools, out),
            Input::GuidanceSubmitted {
                guidance_id,
                client_guidance_id,
                text,
            } => self.guidance_submitted(guidance_id, client_guidance_id.as_deref(), text, out),
            Input::CheckpointRequested { request_id, note } => {
                self.checkpoint_requested(request_id, note.as_deref(), out);
            }
            Input::ModelAsked {
                keep,
                add,
                request,
                guidance,
                arrived,
                oversize,
            } => {
                self.sent.truncate(*keep);
                self.sent.extend(add.iter().cloned());
                self.arrived.drain(..*arrived);
                if let (Some(told), Some(added)) = (&mut self.told, request.get(ADDED)) {
                    Arc::make_mut(told).add(added);
                }
                self.model_asked(*guidance, request, oversize.as_ref(), out);
            }
            Input::Compacted(compaction) => self.compacted(compaction, out),
            Input::CompactionSkipped => self.compaction_skipped(out),
            Input::ModelReplied(turn) => self.model_replied(turn, out),
            Input::ModelFailed {
                code,
                message,
                reason,
                retryable,
                arrived,
                used,
            } => {
                if let Some(used) = used {
                    let profile = self.created.profile_id.as_str().to_owned();
                    self.spent.count_model(&profile, used);
                }
                let arrived = arrived.as_deref().unwrap_or_default();
                self.model_failed(*code, message, reason.as_deref(), *retryable, arrived, out);
            }
            Input::AskingStopped { used, wanted } => {
                let profile = self.created.profile_id.as_str().to_owned();
                self.spent.count_given_up(&profile, used, *wanted);
            }
            Input::Rested => self.rested(out),
            Input::CallStarted { call, idempotent } => self.call_started(call, *idempotent, out),
            Input::ApprovalAsked {
                call,
                approval_id,
                reason,
                expires_at,
                question,
            } => {
                let (reason, question) = (reason.as_deref(), question.as_ref());
                self.approval_asked(call, approval_id, reason, *expires_at, question, out);
            }
            Input::ApprovalAnswered { call, .. } => {
                self.approval_answered(call, &answer(input), out);
            }
            Input::CallEnded {
                call,
                observation,
                elapsed_ms,
                change,
                skill_chars,
                worlds,
                used,
                full,
            } => {
                self.spent.count_skill_chars(*skill_chars);
                self.count_call_end(call, observation, *elapsed_ms, used.as_ref());
                self.call_ended(call, observation, *elapsed_ms, change, full.as_ref(), out);
                self.world_changed(call, worlds, out);
            }
            Input::BlockEnded { block, notes } => self.block_ended(*block, notes, out),
            Input::TaskEnded { observation, used } => {
                self.count_task_end(observation, used.as_ref());
                self.task_ended(observation, out);
            }
            Input::CommitRequested {
                commit,
                call,
                path,
                mode,
                reason,
                file,
            } => self.commit_requested(commit, call, (path, mode, reason.as_deref()), file, out),
            Input::CommitResolved {
                commit,
                message_id,
                message_index,
            } => self.commit_resolved(commit, message_id, *message_index, out),
            Input::CommitFailed {
                commit,
                message,
                timed_out,
            } => self.commit_failed(commit, message, *timed_out, out),
            Input::FinishCalled { call, reason } => self.finish_called(call, reason.as_deref()),
            Input::PersistCommitted { state_id } => self.persist_committed(state_id, out),
            Input::PersistFailed { message } => self.persist_failed(message, out),
            Input::MetadataUpdateRequested { update_id } => self.update_requested(update_id, out),
            Input::MetadataUpdated { .. } => self.metadata_updated(out),
            Input::MetadataUpdateFailed { message, .. } => {
                self.metadata_update_failed(message, out);
            }
            Input::Delegated(assignment) => self.delegated(assignment, out),
            Input::Child { invocation, input } => self.child_fed(invocation, input, out),
            Input::TaskReturned { call, result } => self.task_returned(call, result),
            Input::AwaitStarted {
                call,
                tasks,
                mode,
                timeout_ms,
            } => self.await_started(call, tasks, *mode, *timeout_ms, out),
            Input::AwaitEnded { call, timed_out } => self.await_ended(call, *timed_out, out),
            Input::HandoffCalled { call, to } => self.handoff_called(call, to, out),
            Input::CancelRequested => self.cancel_requested(out),
            Input::Stopped => self.stopped(out),
            Input::Recovered => self.recovered(out),
            Input::Resumed { additional_rounds } => self.resumed(*additional_rounds, out),
            Input::RolledBack(back) => self.rolled_back(back, out),
            Input::Failed {
                code,
                message,
                reason,
            } => self.fail(*code, message.clone(), reason.clone(), out),
        }
    }

    /// A clock that was set back costs nothing, and gains nothing.
    fn pass_time(&mut self, stamped: &Stamped) {
        let is_idle = matches!(stamped.input, Input::Recovered | Input::Resumed { .. });
        if !is_idle && !self.is_parked() {
            self.spent.worked_ms += millis_between(self.at, stamped.at);
        }
        self.at = self.at.max(stamped.at);
        self.takeovers = match stamped.input {
            // Nothing that it does by itself can have ended the process.
            Input::Recovered if self.is_parked() => self.takeovers,
            Input::Recovered => self.takeovers.saturating_add(1),
            _ => 0,
        };
    }

    /// It waits for people, which is no work.
    pub fn is_parked(&self) -> bool {
        let asks_host = matches!(
            self.phase,
            Phase::Updating {
                update_id: Some(_),
                ..
            }
        );
        let asks_person = || {
            let calls = self.turn.iter().flat_map(|turn| turn.calls());
            let mut calls = calls.map(|call| &call.state);
            calls.any(|state| matches!(state, CallState::AwaitingApproval { .. }))
        };
        let waits = self.paused
            || self.is_over()
            || asks_host
            || self.pending_commit().is_some()
            || asks_person()
            || self.waits_for_children();
        // Nobody of it is at work.
        waits && self.children.values().all(|child| child.run.is_parked())
    }

    pub(super) fn turn_to(&mut self, status: RunStatus, out: &mut Out) {
        self.status = status;
        out.push(
            RunEventKind::StatusChanged(StatusChanged {
                status,
                extra: Map::new(),
            })
            .into(),
        );
    }
}

/// What was told as the first agent's is another's. The run itself stays the run.
fn tell_as(who: &InvocationId, out: &mut Out) {
    let root = InvocationId::root();
    if *who == root {
        return;
    }
    for draft in out {
        let is_of_run = matches!(draft.kind, RunEventKind::StatusChanged(_))
            || draft.kind.name().starts_with("run_");
        let scope = draft.scope.as_mut();
        if let Some(scope) = scope.filter(|scope| !is_of_run && scope.invocation_id == root) {
            scope.invocation_id.clone_from(who);
            draft.kind.in_invocation(who);
        }
    }
}

pub(super) fn millis_between(from: Timestamp, to: Timestamp) -> u64 {
    let millis = to.as_millisecond().saturating_sub(from.as_millisecond());
    u64::try_from(millis).unwrap_or_default()
}

/// What an input says that is an answer; anything else says no.
pub(super) fn answer(input: &Input) -> Answer {
    match input {
        Input::ApprovalAnswered {
            approved,
            reason,
            remember,
            edit,
            by,
            ..
        } => Answer {
            approved: *approved,
            reason: reason.clone(),
            remember: *remember,
            edit: edit.clone(),
            by: *by,
        },
        _ => Answer {
            approved: false,
            reason: None,
            remember: Remember::Once,
            edit: None,
            by: AnsweredBy::Changed,
        },
    }
}
