//! Which input fits when: all of it in one place, and before anything is changed.

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CallId, CommitId};

use super::apply::answer;
use super::approval::no_answers;
use super::state::{Phase, Stage};
use super::turn::CallState;
use super::{AgentRun, Commit, Input, Misfit, PlannedCall, Step, Turn, Why};
use crate::limits::MAX_ADDITIONAL_ROUNDS;

pub(super) const TOOL_AFTER_FINISH: &str = "agent.tool_after_finish";
pub(super) const FINISH_LAST: &str = "This must be the last call of a reply, and other calls stand behind it; call it again when they have ended";

pub(super) type Fit = Result<(), Misfit>;

impl AgentRun {
    pub(super) fn check(&self, input: &Input) -> Fit {
        match &self.phase {
            Phase::Over { from } => self.check_over(*from, input),
            Phase::Cancelling { .. } | Phase::Failing { .. } => self.check_ending(input),
            _ if self.paused => self.check_paused(input),
            _ => self.check_running(input),
        }
    }

    /// Whether it goes on if somebody resumes it.
    pub fn can_resume(&self) -> bool {
        !matches!(self.phase, Phase::Over { from: Stage::End })
    }

    fn check_over(&self, from: Stage, input: &Input) -> Fit {
        match input {
            Input::Resumed { additional_rounds } if from != Stage::End => {
                self.check_rounds(*additional_rounds)
            }
            Input::Resumed { .. } => Err(Misfit::refused(
                ErrorCode::AgentValidationError,
                "agent.resume_unavailable",
                "The run is complete, so there is nothing to resume; start another",
            )),
            Input::CommitResolved { commit, .. } if self.commit(commit).is_some() => {
                self.check_published(commit)
            }
            Input::CommitFailed { commit, .. } if self.commit(commit).is_some() => {
                self.check_answer(commit)
            }
            Input::RolledBack(back) => self.check_rollback(back),
            Input::GuidanceSubmitted { .. } => Err(deaf("is over")),
            Input::CheckpointRequested { .. } => Err(settled("is over")),
            Input::ApprovalAnswered { .. } => Err(no_answers("is over")),
            _ => Err(Misfit {
                why: Why::Over,
                message: "The run is over".to_owned(),
            }),
        }
    }

    /// What is under way may come to its end; nothing begins.
    fn check_ending(&self, input: &Input) -> Fit {
        match input {
            Input::Stopped | Input::Recovered | Input::AskingStopped { .. } => Ok(()),
            Input::CallEnded { call, .. } => self.open_call(call).map(drop),
            Input::TaskEnded { observation, .. } => self.check_task(observation.task.as_deref()),
            Input::CommitResolved { commit, .. } => self.check_published(commit),
            Input::CommitFailed { commit, .. } => self.check_answer(commit),
            Input::Child { invocation, input } => self.check_child(invocation, input),
            Input::CancelRequested => Err(Misfit::already("The run is being ended")),
            Input::RolledBack(_) => {
                Err(self.not_now("is being ended; roll it back when it is over"))
            }
            Input::GuidanceSubmitted { .. } => Err(deaf("is being ended")),
            Input::CheckpointRequested { .. } => Err(settled("is being ended")),
            Input::ApprovalAnswered { .. } => Err(no_answers("is being ended")),
            _ => Err(Misfit {
                why: Why::Cancelling,
                message: "The run is being ended, so nothing new begins in it".to_owned(),
            }),
        }
    }

    /// Others may answer a run that is paused; it does nothing by itself.
    fn check_paused(&self, input: &Input) -> Fit {
        match input {
            Input::Resumed { additional_rounds } => self.check_rounds(*additional_rounds),
            Input::RolledBack(back) => self.check_rollback(back),
            Input::CancelRequested
            | Input::Recovered
            | Input::Failed { .. }
            | Input::GuidanceSubmitted { .. }
            | Input::CheckpointRequested { .. }
            | Input::TaskEnded { .. }
            | Input::Child { .. }
            | Input::ApprovalAnswered { .. }
            | Input::CommitResolved { .. }
            | Input::CommitFailed { .. }
            | Input::MetadataUpdated { .. }
            | Input::MetadataUpdateFailed { .. } => self.check_running(input),
            _ => Err(Misfit::unfit("The run is paused; resume it first")),
        }
    }

    fn check_running(&self, input: &Input) -> Fit {
        match input {
            Input::Created(_) => Err(Misfit::unfit("The run has been created")),
            Input::WorkspaceReady { .. } => self.check_phase(self.phase == Phase::Preparing),
            Input::ContextReady { .. } => self.check_phase(self.phase == Phase::Assembling),
            Input::GuidanceSubmitted {
                client_guidance_id,
                text,
                ..
            } => self.check_guidance(client_guidance_id.as_deref(), text),
            Input::CheckpointRequested { .. } if self.phase == Phase::Preparing => {
                Err(settled("has only begun"))
            }
            Input::CheckpointRequested { request_id, .. } => {
                match self.requested.contains(request_id) {
                    true => Err(Misfit::already("This checkpoint was made")),
                    false => Ok(()),
                }
            }
            Input::ModelAsked {
                keep,
                add,
                guidance,
                arrived,
                ..
            } => {
                self.check_phase(self.phase == Phase::Ready)?;
                let fits = *keep <= self.sent.len()
                    && *keep + add.len() > 0
                    && *guidance <= self.guidance.len()
                    && (*guidance == 0 || !add.is_empty())
                    && *arrived <= self.arrived.len();
                fits.then_some(()).ok_or_else(|| {
                    Misfit::unfit("The request is empty, or speaks of more than there is")
                })
            }
            Input::Compacted(compaction) => self.check_compaction(compaction),
            Input::CompactionSkipped => {
                self.check_phase(matches!(self.phase, Phase::Compacting(_)))
            }
            Input::ModelReplied(_) | Input::ModelFailed { .. } => {
                self.check_phase(matches!(self.phase, Phase::Asked { .. }))
            }
            Input::AskingStopped { .. } => {
                self.check_phase(self.is_asked() || self.compacting().is_some())
            }
            Input::Rested => self.check_phase(matches!(self.phase, Phase::Resting { .. })),
            Input::CallStarted { call, .. } => self.check_allowed(call),
            Input::ApprovalAsked {
                call, approval_id, ..
            } => {
                let call = self.check_waiting(call)?;
                self.check_question(call, approval_id)
            }
            Input::ApprovalAnswered {
                call, approval_id, ..
            } => self.check_approval(call, approval_id.as_deref(), &answer(input)),
            Input::CallEnded { call, .. } => self.check_call_end(call),
            Input::BlockEnded { block, .. } => self.check_block_end(*block),
            Input::TaskEnded { observation, .. } => self.check_task(observation.task.as_deref()),
            Input::CommitRequested { commit, call, .. } => self.check_commit(commit, call),
            Input::CommitResolved { commit, .. } => self.check_published(commit),
            Input::CommitFailed { commit, .. } => self.check_answer(commit),
            Input::FinishCalled { call, .. } => self.check_finish(call),
            Input::Delegated(assignment) => self.check_delegated(assignment),
            Input::Child { invocation, input } => self.check_child(invocation, input),
            Input::TaskReturned { call, .. } => self.check_returned(call),
            Input::AwaitStarted { call, tasks, .. } => self.check_await(call, tasks),
            Input::AwaitEnded { call, .. } => self.check_await_end(call),
            Input::HandoffCalled { call, to } => self.check_handoff(call, to),
            Input::PersistCommitted { .. } | Input::PersistFailed { .. } => {
                self.check_phase(self.phase == Phase::Persisting)
            }
            Input::MetadataUpdateRequested { .. } => self.check_phase(matches!(
                self.phase,
                Phase::Updating {
                    update_id: None,
                    ..
                }
            )),
            Input::MetadataUpdated { update_id }
            | Input::MetadataUpdateFailed { update_id, .. } => {
                let asked = match &self.phase {
                    Phase::Updating { update_id, .. } => update_id.as_deref(),
                    _ => None,
                };
                if asked == Some(update_id.as_str()) {
                    return Ok(());
                }
                Err(Misfit::refused(
                    ErrorCode::AgentNotFound,
                    "agent.persistent_state_metadata_update_not_pending",
                    format!("The host was not asked for the update {update_id}"),
                ))
            }
            Input::Stopped if self.next() == Step::Stop => Ok(()),
            Input::Stopped => Err(Misfit::unfit("Nobody has asked the run to stop")),
            Input::Resumed { .. } => Err(Misfit::already("The run is at work")),
            Input::RolledBack(_) => {
                Err(self.not_now("is at work; cancel it, roll it back, then resume it"))
            }
            Input::CancelRequested | Input::Recovered | Input::Failed { .. } => Ok(()),
        }
    }

    pub(super) fn check_phase(&self, fits: bool) -> Fit {
        match fits {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn unexpected(&self) -> Misfit {
        let wanted = match self.next() {
            Step::PrepareWorkspace => "the workspace",
            Step::PrepareContext => "the context",
            Step::Ask { .. } => "a request to the model",
            Step::Compact { .. } => "a shorter request",
            Step::Deliberate { .. } => "the model's reply",
            Step::Rest { .. } => "the end of a pause",
            Step::RunBlock { .. } => "calls of its block",
            Step::AwaitTasks { .. } => "the end of a task",
            Step::AwaitHostCommit { .. } => "the host's answer",
            Step::CommitPersist => "what of `persist` was kept",
            Step::UpdateMetadata { .. } => "the host's metadata",
            Step::Stop | Step::Paused | Step::Over { .. } => "nothing",
        };
        Misfit::unfit(format!("The run waits for {wanted}, not for this"))
    }

    fn open_call(&self, id: &CallId) -> Result<&PlannedCall, Misfit> {
        let call = self.call(id);
        let call = call.ok_or_else(|| Misfit::unfit(format!("No call {id} is in this turn")))?;
        match call.is_open() {
            true => Ok(call),
            false => Err(Misfit::already(format!("Call {id} has ended"))),
        }
    }

    /// An open call of the block that runs.
    pub(super) fn current_call(&self, id: &CallId) -> Result<&PlannedCall, Misfit> {
        self.check_phase(self.phase == Phase::Acting)?;
        let call = self.open_call(id)?;
        let turn = self.turn.as_ref();
        let block = turn.and_then(|turn| turn.blocks.get(turn.current()?));
        let is_current = block.is_some_and(|block| block.calls.iter().any(|own| own.call == *id));
        match is_current {
            true => Ok(call),
            false => Err(Misfit::unfit(format!(
                "Call {id} stands in a block that is not reached yet"
            ))),
        }
    }

    /// One that has not begun, and that nobody is asked about.
    pub(super) fn check_waiting(&self, id: &CallId) -> Result<&PlannedCall, Misfit> {
        let call = self.current_call(id)?;
        match &call.state {
            CallState::Waiting => Ok(call),
            _ => Err(Misfit::unfit(format!("Call {} has begun", call.call))),
        }
    }

    fn check_call_end(&self, id: &CallId) -> Fit {
        self.current_call(id)?;
        let pending = self.pending_commit();
        match pending.is_some_and(|commit| commit.call == *id) {
            true => Err(Misfit::unfit(
                "The host has not answered what this call asked it for",
            )),
            false => Ok(()),
        }
    }

    fn check_block_end(&self, block: usize) -> Fit {
        self.check_phase(self.phase == Phase::Acting)?;
        let turn = self.turn.as_ref();
        if turn.and_then(Turn::current) != Some(block) {
            return Err(Misfit::unfit(format!(
                "Block {block} is not the one at work"
            )));
        }
        let calls = turn.and_then(|turn| turn.blocks.get(block));
        match calls.is_some_and(|block| block.calls.iter().any(PlannedCall::is_open)) {
            true => Err(Misfit::unfit("A call of the block has no end yet")),
            false => Ok(()),
        }
    }

    fn check_task(&self, task: Option<&str>) -> Fit {
        match task {
            Some(task) if self.tasks.contains_key(task) => Ok(()),
            Some(_) => Err(Misfit::already("Nothing is waited for under that task")),
            None => Err(Misfit::unfit("The observation names no task")),
        }
    }

    fn check_commit(&self, commit: &CommitId, call: &CallId) -> Fit {
        if self.commit(commit).is_some() || self.commit_of(call).is_some() {
            return Err(Misfit::already("The host has been asked for this"));
        }
        let call = self.current_call(call)?;
        if !matches!(call.state, CallState::Started { .. }) {
            return Err(Misfit::unfit("A call publishes only while it runs"));
        }
        match self.pending_commit() {
            Some(_) => Err(Misfit::refused(
                ErrorCode::ToolUnavailable,
                "agent.chat_commit_pending",
                "The host has not answered the commit before; one at a time",
            )),
            None => Ok(()),
        }
    }

    /// Also of what the run has given up: it is not undone by that.
    fn check_published(&self, commit: &CommitId) -> Fit {
        match self.commit(commit).is_some_and(Commit::is_unsettled) {
            true => Ok(()),
            false => self.check_answer(commit),
        }
    }

    fn check_answer(&self, commit: &CommitId) -> Fit {
        match self.commit(commit) {
            Some(known) if known.is_pending() => Ok(()),
            Some(_) => Err(Misfit::already(format!(
                "Commit {commit} has been answered"
            ))),
            None => Err(Misfit::refused(
                ErrorCode::AgentNotFound,
                "agent.chat_commit_not_pending",
                format!("The run has asked for no commit {commit}"),
            )),
        }
    }

    /// A finish counts only as the last call of its turn. What else the model called in the same reply is run as it stands;
    /// then the model is told to finish again. So nothing runs after a finish, and nothing the model wrote is lost. One
    /// that stands before others is refused when the reply is planned (`plan.rs`); here, one that overtook them.
    fn check_finish(&self, id: &CallId) -> Fit {
        if self
            .finish
            .as_ref()
            .is_some_and(|finish| finish.call == *id)
        {
            return Err(Misfit::already("The run finishes after this turn"));
        }
        let call = self.current_call(id)?;
        if !matches!(call.state, CallState::Started { .. }) {
            return Err(Misfit::unfit("A call finishes a run only while it runs"));
        }
        self.check_last(id)?;
        if !self.may_finish() {
            return Err(Misfit::refused(
                ErrorCode::AgentForegroundCommitRequired,
                "agent.foreground_commit_required",
                "Nothing has been published yet; call workspace.commit, then finish",
            ));
        }
        Ok(())
    }

    /// Nothing of its turn is to be run any more.
    pub(super) fn check_last(&self, id: &CallId) -> Fit {
        let mut others = self.turn.iter().flat_map(Turn::calls);
        match others.any(|call| call.call != *id && call.is_open()) {
            true => Err(Misfit::refused(
                ErrorCode::AgentToolAfterFinish,
                TOOL_AFTER_FINISH,
                FINISH_LAST,
            )),
            false => Ok(()),
        }
    }

    fn check_rounds(&self, additional: Option<u32>) -> Fit {
        let invalid = |message: String| {
            Err(Misfit::refused(
                ErrorCode::AgentValidationError,
                "agent.resume_rounds_invalid",
                message,
            ))
        };
        match additional {
            Some(rounds) if !(1..=MAX_ADDITIONAL_ROUNDS).contains(&rounds) => invalid(format!(
                "additionalRounds must be between 1 and {MAX_ADDITIONAL_ROUNDS}"
            )),
            None if self.left().rounds == 0 && self.asks_next() => invalid(
                "The run has used all its rounds; say with additionalRounds how many more it gets"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }
}

impl AgentRun {
    /// Once it is resumed.
    fn asks_next(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Over { from: Stage::Ask })
    }
}

/// Nobody listens any more.
fn settled(why: &str) -> Misfit {
    Misfit::refused(
        ErrorCode::AgentValidationError,
        "agent.checkpoint_unavailable",
        format!(
            "The run {why}, so its files do not change and need no checkpoint; 'start' and 'now' name them"
        ),
    )
}

fn deaf(why: &str) -> Misfit {
    Misfit::refused(
        ErrorCode::AgentGuidanceInvalid,
        "agent.guidance_run_not_accepting",
        format!("The run {why} and asks its model nothing more; start another, or resume it"),
    )
}
