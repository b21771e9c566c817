//! What runs have left that nobody can come to any more: states and worlds. What a host may name in its messages, and what a
//! chat by name begins with, is none of it.

use std::collections::VecDeque;
use std::sync::Arc;

use innkeeper_protocol::event::WorkspaceId;
use innkeeper_store::{StateStore, Store, WorldStore};
use innkeeper_tools::SystemClock;
use serde::Serialize;

use crate::instance::standing::is_own;
use crate::instance::{AgentError, RunReader};
use crate::limits::MAX_STATE_HISTORY_READ;
use crate::state::{Author, Worlds};
use crate::workspace::StatesInStore;

/// Of one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Orphans {
    pub workspace_id: WorkspaceId,
    pub state_ids: Vec<String>,
    /// Its world, too.
    pub world: bool,
}

/// Goes through the workspaces that have lost runs, so that it does not matter how many there are.
pub(super) struct OrphanWalk {
    states: Arc<dyn StateStore>,
    worlds: Arc<dyn WorldStore>,
    kept: StatesInStore,
    history: Worlds,
    reader: RunReader,
    stage: Stage,
    waiting: VecDeque<WorkspaceId>,
    last: Option<WorkspaceId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    States,
    Worlds,
    Over,
}

impl OrphanWalk {
    pub(super) fn new(store: &Store) -> Self {
        Self {
            states: store.states(),
            worlds: store.worlds(),
            kept: StatesInStore::new(store.states()),
            history: Worlds::new(store.worlds(), Arc::new(SystemClock)),
            reader: RunReader::new(store),
            stage: Stage::States,
            waiting: VecDeque::new(),
            last: None,
        }
    }

    /// Nothing after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Orphans>, AgentError> {
        while let Some(workspace) = self.workspace().await? {
            let orphans = match self.stage {
                Stage::States => Orphans {
                    state_ids: self.reader.unreachable(&self.kept, &workspace).await?,
                    workspace_id: workspace,
                    world: false,
                },
                Stage::Worlds | Stage::Over => Orphans {
                    state_ids: Vec::new(),
                    world: self.is_lost(&workspace).await?,
                    workspace_id: workspace,
                },
            };
            if orphans.world || !orphans.state_ids.is_empty() {
                return Ok(Some(orphans));
            }
        }
        Ok(None)
    }

    /// The next one to be looked at.
    async fn workspace(&mut self) -> Result<Option<WorkspaceId>, AgentError> {
        loop {
            if let Some(next) = self.waiting.pop_front() {
                self.last = Some(next.clone());
                return Ok(Some(next));
            }
            let after = self.last.as_ref().map(WorkspaceId::as_str);
            let page = match self.stage {
                Stage::States => self.states.orphaned(after).await?,
                Stage::Worlds => self.worlds.orphaned(after).await?,
                Stage::Over => return Ok(None),
            };
            if page.is_empty() {
                self.last = None;
                self.stage = match self.stage {
                    Stage::States => Stage::Worlds,
                    Stage::Worlds | Stage::Over => Stage::Over,
                };
            }
            self.waiting.extend(page);
        }
    }

    /// A world without runs whose chat was that of a run alone, as far as its history tells.
    async fn is_lost(&self, workspace: &WorkspaceId) -> Result<bool, AgentError> {
        let history = self
            .history
            .history(workspace, MAX_STATE_HISTORY_READ)
            .await?;
        let runs = history.iter().filter_map(|version| match &version.by {
            Author::Agent { run_id, .. } => Some(run_id.as_str()),
            Author::Person => None,
        });
        Ok(is_own(workspace, runs))
    }
}
