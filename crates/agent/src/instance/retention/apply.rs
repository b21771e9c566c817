//! Taking away what is outside of what is kept, run by run. Killed in the middle, it is gone on with next time.

use innkeeper_protocol::ErrorCode;
use innkeeper_store::journal::Weight;
use serde::Serialize;

use super::orphans::OrphanWalk;
use super::plan::RetentionPlan;
use super::{
    FailedRun, Fate, Retention, RetentionAction, RetentionCandidate, RetentionQuery,
    RetentionSettings, Walk,
};
use crate::instance::{AgentError, RunReader};
use crate::limits::RETENTION_RUNS_OF_TICK;
use crate::workspace::{PersistentStates, StatesInStore};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionOutcome {
    pub retention: RetentionSettings,
    pub detail_limit: u32,
    pub slimmed_run_count: u64,
    pub deleted_run_count: u64,
    pub failed_run_count: u64,
    /// What is really gone: rows, and contents that nobody held any more, also those of earlier deletions.
    pub removed_file_count: u64,
    pub removed_byte_count: u64,
    /// That nobody could come to any more; those that went with their runs are not counted.
    pub removed_state_count: u64,
    pub removed_world_count: u64,
    pub failed_details_truncated: bool,
    pub failed_runs: Vec<FailedRun>,
    pub after_plan: RetentionPlan,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionProgress {
    pub slimmed: u64,
    pub deleted: u64,
    pub failed: u64,
}

impl RetentionProgress {
    pub const fn runs(&self) -> u64 {
        self.slimmed + self.deleted + self.failed
    }
}

/// What one pass has done.
#[derive(Default)]
struct Done {
    progress: RetentionProgress,
    removed: Weight,
    states: u64,
    worlds: u64,
    failed: Vec<FailedRun>,
}

impl Retention {
    /// For whoever holds the home, and nobody else at the same time.
    pub async fn apply(
        &self,
        query: &RetentionQuery,
        told: &(dyn Fn(RetentionProgress) + Send + Sync),
    ) -> Result<RetentionOutcome, AgentError> {
        let (settings, details) = query.settle(self.settings)?;
        let mut done = self.pass(settings, details, u64::MAX, told).await?;
        self.let_go(&mut done).await?;
        self.sweep(&mut done).await?;
        let query = RetentionQuery {
            retention: Some(settings),
            detail_limit: Some(details),
        };
        Ok(RetentionOutcome {
            retention: settings,
            detail_limit: details,
            slimmed_run_count: done.progress.slimmed,
            deleted_run_count: done.progress.deleted,
            failed_run_count: done.progress.failed,
            removed_file_count: done.removed.pieces,
            removed_byte_count: done.removed.bytes,
            removed_state_count: done.states,
            removed_world_count: done.worlds,
            failed_details_truncated: done.progress.failed > done.failed.len() as u64,
            failed_runs: done.failed,
            after_plan: self.plan(&query).await?,
        })
    }

    /// A bounded pass, if it is to be done by itself; what is left is left to the next. Whoever lives long calls it now and
    /// then. `None`: it is switched off.
    pub async fn tick(&self) -> Result<Option<RetentionProgress>, AgentError> {
        if !self.settings.auto_prune_enabled {
            return Ok(None);
        }
        let settings = self.settings.checked()?;
        let pass = self.pass(settings, 0, RETENTION_RUNS_OF_TICK, &|_| {});
        let mut done = pass.await?;
        self.let_go(&mut done).await?;
        if done.progress.slimmed + done.progress.deleted + done.states > 0 {
            self.sweep(&mut done).await?;
        }
        Ok(Some(done.progress))
    }

    /// What runs that are gone have left for nobody.
    async fn let_go(&self, done: &mut Done) -> Result<(), AgentError> {
        let states = StatesInStore::new(self.store.states());
        let mut lost = OrphanWalk::new(&self.store);
        while let Some(orphans) = lost.next().await? {
            let workspace = &orphans.workspace_id;
            let gone = states.prune(workspace, &orphans.state_ids).await?;
            done.states += gone.len() as u64;
            if orphans.world && self.store.worlds().remove(workspace).await? {
                done.worlds += 1;
            }
        }
        Ok(())
    }

    async fn sweep(&self, done: &mut Done) -> Result<(), AgentError> {
        let swept = self.store.contents().sweep().await?;
        done.removed.add(Weight {
            pieces: swept.contents,
            bytes: swept.bytes,
        });
        Ok(())
    }

    async fn pass(
        &self,
        settings: RetentionSettings,
        details: u32,
        most: u64,
        told: &(dyn Fn(RetentionProgress) + Send + Sync),
    ) -> Result<Done, AgentError> {
        let mut done = Done::default();
        let mut walk = Walk::new(&*self.runs, settings);
        loop {
            let page = walk.page().await?;
            if page.is_empty() {
                return Ok(done);
            }
            let weights = self.weights(&page).await?;
            for (ended, fate) in &page {
                let Fate::Goes(action, reason) = fate else {
                    continue;
                };
                // What is in the way is told by the plan.
                let Ok(candidate) = self.candidate(ended, *action, *reason, &weights) else {
                    continue;
                };
                match self.take(&candidate).await {
                    Ok(removed) => {
                        done.removed.add(removed);
                        match action {
                            RetentionAction::SlimHeavyArtifacts => done.progress.slimmed += 1,
                            RetentionAction::DeleteRun => done.progress.deleted += 1,
                        }
                    }
                    Err(error) => {
                        done.progress.failed += 1;
                        if done.failed.len() < details as usize {
                            done.failed.push(FailedRun {
                                candidate,
                                message: error.message,
                            });
                        }
                    }
                }
                told(done.progress);
                if done.progress.runs() >= most {
                    return Ok(done);
                }
            }
        }
    }

    /// Nobody takes the run up meanwhile. All of it is read first: what is damaged is left for a repair.
    async fn take(&self, candidate: &RetentionCandidate) -> Result<Weight, AgentError> {
        let run = &candidate.run.run_id;
        let _taking_up = match &self.shared {
            Some(shared) => Some(shared.taking_up.lock().await),
            None => None,
        };
        if self.is_alive(run) {
            return Err(changed(run.as_str()));
        }
        let seen = self.runs.verify(run).await?;
        let removed = match candidate.action {
            RetentionAction::SlimHeavyArtifacts => self.runs.slim(run, seen).await?,
            RetentionAction::DeleteRun => {
                let reader = RunReader::new(&self.store);
                let states = StatesInStore::new(self.store.states());
                let record = reader.record(run).await?;
                let belongings = reader.belongings(&states, &record).await?;
                self.runs.remove(run, seen, &belongings).await?
            }
        };
        removed.ok_or_else(|| changed(run.as_str()))
    }
}

fn changed(run: &str) -> AgentError {
    let message = format!(
        "the run '{run}' was gone on with meanwhile, or something that it began in the background is not over; it stays as it is"
    );
    AgentError::new(ErrorCode::AgentValidationError, message).because("agent.retention_run_changed")
}
