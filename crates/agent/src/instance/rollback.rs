//! Taking back what a run did: to one of its checkpoints, or to its start.
//!
//! The run decides what becomes of it (`run/rollback.rs`); here the past is looked up, and what is open is ended first.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    CheckpointId, RollbackScope, RunEventKind, RunId, RunRolledBack, RunStatus,
};
use innkeeper_store::journal::{EventRange, RunFilter};
use innkeeper_store::{GrantKey, run_of_state};
use serde::Serialize;

use super::AgentError;
use super::compare::{DiffEnd, DiffQuery, RunDiff};
use super::reading::RunReader;
use super::runtime::AgentRuntime;
use crate::limits::{MAX_EVENTS_PAGE, MAX_REASON_CHARS, MAX_SET_BACK_BYTES};
use crate::run::{AgentRun, Input, Published, RolledBack};

/// What a person wants taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollback {
    pub run: RunId,
    /// [`DiffEnd::Now`] is where it is already, and refused.
    pub to: DiffEnd,
    pub scope: RollbackScope,
    /// Kept with it; may be empty.
    pub reason: Option<String>,
    /// The last event that whoever wants it knows of ([`RollbackPlan::last_seq`]): a run that has gone on since then is left
    /// as it is. None: however far it is.
    pub planned_at: Option<u64>,
}

/// What would be taken back, before anything is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackPlan {
    pub run_id: RunId,
    pub checkpoint_id: DiffEnd,
    pub scope: RollbackScope,
    /// The last event that this plan knows of.
    pub last_seq: u64,
    /// Replies of the model that it would not know of any more.
    pub rounds: u32,
    /// From how the files are to how they would be.
    pub diff: RunDiff,
    /// Published since then: it stays, or is withdrawn, as the scope says.
    pub published: Vec<Published>,
    /// Allowed for the run since then: it will be asked again.
    pub granted: Vec<GrantKey>,
    /// Runs of its chat that began with what it has left, or with what such a run left, the oldest first: they keep it.
    pub later_runs: Vec<RunId>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackReceipt {
    pub run_id: RunId,
    pub status: RunStatus,
    #[serde(flatten)]
    pub rolled_back: RunRolledBack,
    /// Of the files as they are now.
    pub after_checkpoint_id: CheckpointId,
    /// Not where it is complete again: then there is nothing to go on with, but a fork is.
    pub can_resume: bool,
    /// See [`RollbackPlan::later_runs`].
    pub later_runs: Vec<RunId>,
}

impl AgentRuntime {
    /// Files and conversation are as they were then when it returns. A run that is over can be resumed from there, also
    /// one that was complete. One that waits for people or was interrupted is cancelled first, and what it asked for is
    /// withdrawn; one at work is refused.
    pub async fn rollback(&self, asked: Rollback) -> Result<RollbackReceipt, AgentError> {
        let Rollback {
            run,
            to,
            scope,
            reason,
            planned_at,
        } = asked;
        let reason = reason.map(|reason| self.said(&reason));
        let reason = reason.filter(|reason| !reason.is_empty());
        if reason
            .as_ref()
            .is_some_and(|reason| reason.chars().count() > MAX_REASON_CHARS)
        {
            let message = format!(
                "the reason of the rollback has more than {MAX_REASON_CHARS} characters; say it shorter"
            );
            return Err(AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.rollback_reason_too_long"));
        }
        let reader = self.reader();
        // Before anything is ended for it: it has to lead somewhere.
        let past = reader.past(&run, &to).await?;
        let last_seq = self.record(&run).await?.last_seq;
        if let Some(planned_at) = planned_at.filter(|planned_at| *planned_at != last_seq) {
            return Err(has_moved(&run, planned_at, last_seq));
        }
        self.halt(&run).await?;
        // Those that nobody has written down: given for calls that tools of the run made in their turn.
        self.0.parts.tools.approvals().end_run(&run);
        let now = reader.state(&run).await?;
        let before = self.record(&run).await?.last_seq;
        let rollback_id = format!("rollback_{}", uuid::Uuid::now_v7().simple());
        let back = RolledBack {
            rollback_id: rollback_id.clone(),
            checkpoint: CheckpointId::new(to.as_str()),
            event_seq: past.seq,
            scope,
            reason,
            restored: now.way_back(&past.run),
        };
        check_size(&run, &back)?;
        let later_runs = reader.went_on_from(&now, &past.run).await?;
        self.feed(&run, vec![Input::RolledBack(Arc::new(back))], |_| false)
            .await?;
        self.wait(&run).await?;
        let receipt = self.receipt(&run, before, &rollback_id).await?;
        Ok(RollbackReceipt {
            later_runs,
            ..receipt
        })
    }

    /// Nothing of it goes on afterwards.
    async fn halt(&self, run: &RunId) -> Result<(), AgentError> {
        let here = match self.0.alive(run) {
            Some(instance) => {
                let look = |run: &crate::run::AgentRun| {
                    let is_left = run.is_over() || run.is_paused() || run.is_cancelling();
                    (is_left, run.is_parked())
                };
                Some(instance.log.read(look).await?)
            }
            None => None,
        };
        match here {
            // It is about to be left.
            Some((true, _)) => {}
            Some((false, false)) => {
                let message = format!(
                    "the run '{run}' is at work; `innkeeper runs cancel {run}`, roll it back, then resume it"
                );
                return Err(AgentError::new(ErrorCode::AgentValidationError, message)
                    .because("agent.rollback_unavailable"));
            }
            Some((false, true)) => drop(self.cancel(run).await?),
            None => {
                let state = self.reader().state(run).await?;
                if !state.is_over() && !state.is_paused() {
                    self.cancel(run).await?;
                }
            }
        }
        self.wait(run).await?;
        Ok(())
    }

    async fn receipt(
        &self,
        run: &RunId,
        before: u64,
        rollback_id: &str,
    ) -> Result<RollbackReceipt, AgentError> {
        let mut found: Option<RunRolledBack> = None;
        let mut seq = before;
        loop {
            let limit = MAX_EVENTS_PAGE;
            let page = self.events(run, EventRange::After { seq, limit }).await?;
            let Some(last) = page.last() else { break };
            seq = last.seq;
            for event in page {
                match (event.kind, &found) {
                    (RunEventKind::RunRolledBack(back), None)
                        if back.rollback_id == rollback_id =>
                    {
                        found = Some(back);
                    }
                    (RunEventKind::CheckpointCreated(made), Some(back)) => {
                        return Ok(RollbackReceipt {
                            run_id: run.clone(),
                            status: self.record(run).await?.status,
                            rolled_back: back.clone(),
                            after_checkpoint_id: made.checkpoint_id,
                            can_resume: self.reader().state(run).await?.can_resume(),
                            later_runs: Vec::new(),
                        });
                    }
                    _ => {}
                }
            }
        }
        let message =
            "the run was rolled back, but its event is not there; this is a bug, please report it";
        Err(AgentError::new(ErrorCode::AgentInternalError, message))
    }
}

impl RunReader {
    /// What a rollback would do to the run as the journal has it now.
    pub async fn rollback_plan(
        &self,
        run: &RunId,
        to: &DiffEnd,
        scope: RollbackScope,
    ) -> Result<RollbackPlan, AgentError> {
        // First: what comes to it while the plan is made is not in the plan.
        let last_seq = self.record(run).await?.last_seq;
        let past = self.past(run, to).await?;
        let now = self.state(run).await?;
        let query = DiffQuery {
            from: DiffEnd::Now,
            to: to.clone(),
            paths: Vec::new(),
        };
        let published = now.published_since(&past.run).into_iter();
        Ok(RollbackPlan {
            run_id: run.clone(),
            checkpoint_id: to.clone(),
            scope,
            last_seq,
            rounds: now.way_back(&past.run).rounds(),
            diff: self.diff(run, &query).await?,
            published: published
                .map(|commit| Published {
                    path: commit.path.clone(),
                    message_id: commit.message_id().unwrap_or_default().to_owned(),
                })
                .collect(),
            granted: now.granted_since(&past.run),
            later_runs: self.went_on_from(&now, &past.run).await?,
        })
    }

    /// Those that have taken over what this run has left, and what would be taken back.
    async fn went_on_from(
        &self,
        now: &AgentRun,
        past: &AgentRun,
    ) -> Result<Vec<RunId>, AgentError> {
        let Some(state) = now
            .kept_state()
            .filter(|state| Some(*state) != past.kept_state())
        else {
            return Ok(Vec::new());
        };
        let mut filter = RunFilter {
            workspace_id: Some(now.created().workspace_id.clone()),
            ..RunFilter::default()
        };
        let mut since = Vec::new();
        'pages: loop {
            let page = self.list(&filter).await?;
            for run in page.runs {
                if run.run_id == *now.run_id() {
                    break 'pages;
                }
                since.push(run);
            }
            match page.next {
                Some(next) => filter.before = Some(next),
                None => break,
            }
        }
        let mut later: Vec<RunId> = Vec::new();
        for run in since.into_iter().rev() {
            let Some(base) = &run.persist_base_state_id else {
                continue;
            };
            let of = run_of_state(base).0;
            if base == state || later.iter().any(|run| run.as_str() == of) {
                later.push(run.run_id);
            }
        }
        Ok(later)
    }

    /// Where undoing the last rollback leads: to how the run was before it. Undone once more, the rollback stands again.
    pub async fn before_last_rollback(&self, run: &RunId) -> Result<CheckpointId, AgentError> {
        let mut seq = self.record(run).await?.last_seq.saturating_add(1);
        loop {
            let limit = MAX_EVENTS_PAGE;
            let page = self.events(run, EventRange::Before { seq, limit }).await?;
            let Some(first) = page.first() else { break };
            seq = first.seq;
            let last = page.iter().rev().find_map(|event| match &event.kind {
                RunEventKind::RunRolledBack(back) => Some(&back.before_checkpoint_id),
                _ => None,
            });
            if let Some(id) = last {
                return Ok(id.clone());
            }
        }
        let message = format!(
            "the run '{run}' was never rolled back, so there is nothing to undo; name a checkpoint instead"
        );
        Err(AgentError::new(ErrorCode::AgentValidationError, message)
            .because("agent.rollback_not_found"))
    }

    async fn past(&self, run: &RunId, to: &DiffEnd) -> Result<super::past::PastRun, AgentError> {
        if *to == DiffEnd::Now {
            let message = "'now' is where the run is; name a checkpoint like cp_000001, or 'start'";
            return Err(AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.checkpoint_invalid"));
        }
        self.run_at(run, to).await
    }
}

fn has_moved(run: &RunId, planned_at: u64, last_seq: u64) -> AgentError {
    let message = format!(
        "the run '{run}' has gone on since you looked at it, from event {planned_at} to {last_seq}; nothing was taken back: look at what would be now, then roll it back"
    );
    AgentError::new(ErrorCode::AgentValidationError, message).because("agent.rollback_moved")
}

/// A journal takes no entry of any size.
fn check_size(run: &RunId, back: &RolledBack) -> Result<(), AgentError> {
    let bytes = super::fork::size(back)?;
    if bytes <= MAX_SET_BACK_BYTES {
        return Ok(());
    }
    let message = format!(
        "what the run '{run}' was then has {bytes} bytes, and at most {MAX_SET_BACK_BYTES} can be brought back; choose a checkpoint that is nearer to how it is now"
    );
    Err(AgentError::new(ErrorCode::AgentValidationError, message)
        .because("agent.rollback_too_large"))
}
