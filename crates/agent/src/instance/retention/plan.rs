//! What would go, and why not more: nothing is changed.

use std::collections::HashMap;

use innkeeper_store::StoreError;
use innkeeper_store::journal::{EndedPlace, EndedRun, RunWeight, Weight};
use serde::Serialize;

use super::orphans::{OrphanWalk, Orphans};
use super::{
    BlockReason, BlockedRun, Driven, Fate, Retention, RetentionAction, RetentionCandidate,
    RetentionQuery, RetentionReason, RetentionRun, RetentionSettings, Walk,
};
use crate::instance::AgentError;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionPlan {
    pub retention: RetentionSettings,
    pub detail_limit: u32,
    pub terminal_run_count: u64,
    pub non_terminal_run_count: u64,
    pub blocked_run_count: u64,
    pub full_retained_run_count: u64,
    /// Those that are kept as what happened, already or soon.
    pub core_retained_run_count: u64,
    pub slim_candidate_count: u64,
    pub delete_candidate_count: u64,
    pub total_slim_file_count: u64,
    pub total_slim_byte_count: u64,
    pub total_delete_file_count: u64,
    pub total_delete_byte_count: u64,
    pub total_candidate_file_count: u64,
    pub total_candidate_byte_count: u64,
    /// States and worlds that go with runs; those that nobody can come to already.
    pub total_delete_state_count: u64,
    pub total_delete_world_count: u64,
    pub orphaned_state_count: u64,
    pub orphaned_world_count: u64,
    pub orphan_details_truncated: bool,
    pub orphans: Vec<Orphans>,
    pub candidate_details_truncated: bool,
    pub candidates: Vec<RetentionCandidate>,
    pub blocked_details_truncated: bool,
    pub blocked_runs: Vec<BlockedRun>,
}

impl RetentionPlan {
    fn new(retention: RetentionSettings, detail_limit: u32) -> Self {
        Self {
            retention,
            detail_limit,
            terminal_run_count: 0,
            non_terminal_run_count: 0,
            blocked_run_count: 0,
            full_retained_run_count: 0,
            core_retained_run_count: 0,
            slim_candidate_count: 0,
            delete_candidate_count: 0,
            total_slim_file_count: 0,
            total_slim_byte_count: 0,
            total_delete_file_count: 0,
            total_delete_byte_count: 0,
            total_candidate_file_count: 0,
            total_candidate_byte_count: 0,
            total_delete_state_count: 0,
            total_delete_world_count: 0,
            orphaned_state_count: 0,
            orphaned_world_count: 0,
            orphan_details_truncated: false,
            orphans: Vec::new(),
            candidate_details_truncated: false,
            candidates: Vec::new(),
            blocked_details_truncated: false,
            blocked_runs: Vec::new(),
        }
    }

    fn block(&mut self, blocked: BlockedRun) {
        self.blocked_run_count += 1;
        match self.blocked_runs.len() < self.detail_limit as usize {
            true => self.blocked_runs.push(blocked),
            false => self.blocked_details_truncated = true,
        }
    }

    fn take(&mut self, candidate: RetentionCandidate) {
        let (files, bytes) = (candidate.file_count, candidate.byte_count);
        match candidate.action {
            RetentionAction::SlimHeavyArtifacts => {
                self.slim_candidate_count += 1;
                self.total_slim_file_count += files;
                self.total_slim_byte_count += bytes;
            }
            RetentionAction::DeleteRun => {
                self.delete_candidate_count += 1;
                self.total_delete_file_count += files;
                self.total_delete_byte_count += bytes;
            }
        }
        self.total_delete_state_count += candidate.state_count;
        self.total_delete_world_count += candidate.world_count;
        self.total_candidate_file_count += files;
        self.total_candidate_byte_count += bytes;
        match self.candidates.len() < self.detail_limit as usize {
            true => self.candidates.push(candidate),
            false => self.candidate_details_truncated = true,
        }
    }

    /// At most so many states are named of each workspace.
    fn lose(&mut self, mut orphans: Orphans) {
        let most = self.detail_limit as usize;
        self.orphaned_state_count += orphans.state_ids.len() as u64;
        self.orphaned_world_count += u64::from(orphans.world);
        self.orphan_details_truncated |= orphans.state_ids.len() > most;
        orphans.state_ids.truncate(most);
        match self.orphans.len() < most {
            true => self.orphans.push(orphans),
            false => self.orphan_details_truncated = true,
        }
    }
}

impl Retention {
    pub async fn plan(&self, query: &RetentionQuery) -> Result<RetentionPlan, AgentError> {
        let (settings, details) = query.settle(self.settings)?;
        let mut plan = RetentionPlan::new(settings, details);
        self.look_at_unfinished(&mut plan).await?;
        let mut lost = OrphanWalk::new(&self.store);
        while let Some(orphans) = lost.next().await? {
            plan.lose(orphans);
        }
        let mut walk = Walk::new(&*self.runs, settings);
        loop {
            let page = walk.page().await?;
            if page.is_empty() {
                return Ok(plan);
            }
            let weights = self.weights(&page).await?;
            for (ended, fate) in &page {
                plan.terminal_run_count += 1;
                match fate {
                    Fate::Full => plan.full_retained_run_count += 1,
                    Fate::Core => plan.core_retained_run_count += 1,
                    Fate::Goes(action, reason) => {
                        if *action == RetentionAction::SlimHeavyArtifacts {
                            plan.core_retained_run_count += 1;
                        }
                        match self.candidate(ended, *action, *reason, &weights) {
                            Ok(candidate) => plan.take(candidate),
                            Err(blocked) => plan.block(*blocked),
                        }
                    }
                }
            }
        }
    }

    async fn look_at_unfinished(&self, plan: &mut RetentionPlan) -> Result<(), AgentError> {
        let counts = self.runs.counts().await?;
        plan.non_terminal_run_count = counts.unfinished;
        let named = self.runs.unfinished(plan.detail_limit as usize).await?;
        for ended in &named {
            let is_active = self.is_alive(&ended.run) || self.driven == Driven::Elsewhere;
            let block_reason = match (&ended.record, is_active) {
                (_, true) => BlockReason::ActiveRun,
                (Err(_), false) => BlockReason::InvalidStorage,
                (Ok(_), false) => BlockReason::MissingTerminalEvent,
            };
            plan.block(BlockedRun {
                run: RetentionRun::of(ended),
                block_reason,
                message: ended.record.as_ref().err().cloned(),
            });
        }
        let unnamed = counts.unfinished.saturating_sub(named.len() as u64);
        plan.blocked_run_count += unnamed;
        plan.blocked_details_truncated = unnamed > 0;
        Ok(())
    }

    /// Of those of the page of which something goes.
    pub(super) async fn weights(
        &self,
        page: &[(EndedRun, Fate)],
    ) -> Result<HashMap<EndedPlace, RunWeight>, StoreError> {
        let goes = page
            .iter()
            .filter(|(_, fate)| matches!(fate, Fate::Goes(..)));
        let places: Vec<EndedPlace> = goes.map(|(ended, _)| ended.place).collect();
        match places.is_empty() {
            true => Ok(HashMap::new()),
            false => self.runs.weigh(&places).await,
        }
    }

    /// Or why it cannot be one.
    pub(super) fn candidate(
        &self,
        ended: &EndedRun,
        action: RetentionAction,
        reason: RetentionReason,
        weights: &HashMap<EndedPlace, RunWeight>,
    ) -> Result<RetentionCandidate, Box<BlockedRun>> {
        let run = RetentionRun::of(ended);
        let weight = weights.get(&ended.place);
        let problem = weight.and_then(|weight| weight.problem.clone());
        let blocked = match (&ended.record, problem) {
            _ if self.is_alive(&ended.run) => Some((BlockReason::ActiveRun, None)),
            (Err(why), _) => Some((BlockReason::InvalidStorage, Some(why.clone()))),
            (Ok(_), Some(why)) => Some((BlockReason::InvalidJournal, Some(why))),
            (Ok(_), None) => None,
        };
        if let Some((block_reason, message)) = blocked {
            return Err(Box::new(BlockedRun {
                run,
                block_reason,
                message,
            }));
        }
        let mut freed = Weight::default();
        let (mut states, mut worlds) = (0, 0);
        if let Some(weight) = weight {
            freed.add(weight.heavy);
            freed.add(weight.contents);
            if action == RetentionAction::DeleteRun {
                freed.add(weight.events);
                (states, worlds) = (weight.states.pieces, weight.worlds.pieces);
            }
        }
        Ok(RetentionCandidate {
            run,
            action,
            reason,
            file_count: freed.pieces,
            byte_count: freed.bytes,
            state_count: states,
            world_count: worlds,
        })
    }
}
