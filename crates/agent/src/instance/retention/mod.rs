//! Which runs stay whole, which stay as what happened in them, and which go. Decided by how long ago they ended.
//!
//! `settings.rs` is what a person lays down, `plan.rs` what would go and why not all of it, `apply.rs` does it; `orphans.rs` is
//! what runs that are gone have left for nobody. All of them go through the runs page by page, so that it does not matter how
//! many there are.

mod apply;
mod orphans;
mod plan;
mod settings;

use std::sync::Arc;

use innkeeper_protocol::event::{RunId, RunStatus, WorkspaceId};
use innkeeper_store::journal::{EndedPlace, EndedRun, RunRetention};
use innkeeper_store::{Store, StoreError};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value as Json;

use super::runtime::{AgentRuntime, Shared};
use crate::limits::RETENTION_PAGE;

pub use apply::{RetentionOutcome, RetentionProgress};
pub use orphans::Orphans;
pub use plan::RetentionPlan;
pub use settings::{RetentionQuery, RetentionSettings};

/// Cheap to clone.
#[derive(Clone)]
pub struct Retention {
    store: Store,
    runs: Arc<dyn RunRetention>,
    shared: Option<Arc<Shared>>,
    settings: RetentionSettings,
    driven: Driven,
}

/// Who drives the runs of this home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driven {
    /// This process, or nobody: a run without an end that is not at work here is at work nowhere.
    HereOrNowhere,
    /// Another process: what has no end may be at work there.
    Elsewhere,
}

impl AgentRuntime {
    /// What is to be kept of runs that are over. Whoever changes anything with it holds the home.
    pub fn retention(&self) -> Retention {
        let store = self.0.parts.tools.store().clone();
        Retention {
            shared: Some(self.0.clone()),
            ..Retention::reading(&store)
        }
    }
}

impl Retention {
    /// For whoever only wants to know what would go.
    pub fn reading(store: &Store) -> Self {
        Self {
            runs: store.retention(),
            store: store.clone(),
            shared: None,
            settings: RetentionSettings::default(),
            driven: Driven::HereOrNowhere,
        }
    }

    /// What holds where a query says nothing else.
    pub fn with_settings(self, settings: RetentionSettings) -> Self {
        Self { settings, ..self }
    }

    pub fn driven(self, driven: Driven) -> Self {
        Self { driven, ..self }
    }

    pub fn settings(&self) -> RetentionSettings {
        self.settings
    }

    fn is_alive(&self, run: &RunId) -> bool {
        let shared = self.shared.as_ref();
        shared.is_some_and(|shared| shared.alive(run).is_some())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RetentionAction {
    SlimHeavyArtifacts,
    DeleteRun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RetentionReason {
    OutsideFullRetentionWindow,
    OutsideHistoryRetentionWindow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockReason {
    /// It is at work, here or in another process.
    ActiveRun,
    /// It has no end, and nobody goes on with it.
    MissingTerminalEvent,
    /// Its steps are not all there, or not what was written.
    InvalidJournal,
    /// What is known of it cannot be read.
    InvalidStorage,
}

/// Which run it is. Of one that cannot be read only the id is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionRun {
    pub run_id: RunId,
    pub workspace_id: Option<WorkspaceId>,
    pub stable_chat_id: Option<String>,
    pub chat_ref: Json,
    pub status: Option<RunStatus>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
}

impl RetentionRun {
    fn of(ended: &EndedRun) -> Self {
        let record = ended.record.as_ref().ok();
        Self {
            run_id: ended.run.clone(),
            workspace_id: record.map(|record| record.workspace_id.clone()),
            stable_chat_id: record.map(|record| record.stable_chat_id.clone()),
            chat_ref: record
                .map(|record| record.chat_ref.clone())
                .unwrap_or_default(),
            status: record.map(|record| record.status),
            created_at: record.map(|record| record.created_at),
            updated_at: record.map(|record| record.updated_at),
        }
    }
}

/// A run of which something would go.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetentionCandidate {
    #[serde(flatten)]
    pub run: RetentionRun,
    pub action: RetentionAction,
    pub reason: RetentionReason,
    /// What it was fed, its snapshot, its checkpoints, contents that nobody else holds; its events, if all of it goes.
    pub file_count: u64,
    /// Of these. A content that several runs share is freed with the last of them, and counted with none.
    pub byte_count: u64,
    /// States that go with it: those of a run without a chat.
    pub state_count: u64,
    /// Its world, if that goes with it.
    pub world_count: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockedRun {
    #[serde(flatten)]
    pub run: RetentionRun,
    pub block_reason: BlockReason,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedRun {
    #[serde(flatten)]
    pub candidate: RetentionCandidate,
    pub message: String,
}

/// What is to become of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It stays whole.
    Full,
    /// It stays as what happened, and is that already.
    Core,
    Goes(RetentionAction, RetentionReason),
}

impl RetentionSettings {
    /// By its rank among those that are over: 0 is the one that ended last.
    fn fate(&self, rank: u64, is_slim: bool) -> Fate {
        if rank >= u64::from(self.keep_recent_terminal_runs) {
            return Fate::Goes(
                RetentionAction::DeleteRun,
                RetentionReason::OutsideHistoryRetentionWindow,
            );
        }
        match (rank < u64::from(self.keep_full_recent_runs), is_slim) {
            (true, _) => Fate::Full,
            (false, true) => Fate::Core,
            (false, false) => Fate::Goes(
                RetentionAction::SlimHeavyArtifacts,
                RetentionReason::OutsideFullRetentionWindow,
            ),
        }
    }
}

/// Goes through the runs that are over, the one that ended last first. Those that end meanwhile are not met, and only make
/// that more is kept.
struct Walk<'r> {
    runs: &'r dyn RunRetention,
    settings: RetentionSettings,
    after: Option<EndedPlace>,
    rank: u64,
}

impl<'r> Walk<'r> {
    fn new(runs: &'r dyn RunRetention, settings: RetentionSettings) -> Self {
        Self {
            runs,
            settings,
            after: None,
            rank: 0,
        }
    }

    /// Empty after the last.
    async fn page(&mut self) -> Result<Vec<(EndedRun, Fate)>, StoreError> {
        let page = self.runs.ended(self.after, RETENTION_PAGE).await?;
        if let Some(last) = page.last() {
            self.after = Some(last.place);
        }
        let page = page.into_iter().map(|ended| {
            let is_slim = ended.record.as_ref().is_ok_and(|record| record.is_slim);
            let fate = self.settings.fate(self.rank, is_slim);
            self.rank += 1;
            (ended, fate)
        });
        Ok(page.collect())
    }
}
