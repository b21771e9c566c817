//! The kept form of [`PersistentStates`]: in the store, which holds the contents that a state names.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::event::WorkspaceId;
use innkeeper_store::{BlobId, StateRecord, StateStore, StoreError};

use super::persist::{PersistentState, PersistentStates, in_order};
use crate::limits::STATES_REMOVED_AT_ONCE;

pub struct StatesInStore(Arc<dyn StateStore>);

impl StatesInStore {
    pub fn new(states: Arc<dyn StateStore>) -> Self {
        Self(states)
    }
}

#[async_trait]
impl PersistentStates for StatesInStore {
    async fn load(
        &self,
        workspace: &WorkspaceId,
        state_id: &str,
    ) -> Result<Option<PersistentState>, StoreError> {
        let Some(found) = self.0.get(workspace, state_id).await? else {
            return Ok(None);
        };
        let state = serde_json::from_str(&found.record);
        state.map(Some).map_err(|error| StoreError::ContentDamaged {
            id: format!("{workspace}/{state_id}"),
            cause: format!("it is no state of a workspace: {error}"),
        })
    }

    async fn save(&self, state: PersistentState) -> Result<(), StoreError> {
        let record = serde_json::to_string(&state).map_err(|error| StoreError::Write {
            cause: error.to_string(),
        })?;
        let contents: BTreeSet<BlobId> = state
            .files
            .values()
            .map(|file| file.sha256.clone())
            .collect();
        let kept = StateRecord {
            workspace: state.workspace_id,
            state: state.state_id,
            record: record.into(),
            contents,
        };
        self.0.put(kept).await
    }

    async fn remove(
        &self,
        workspace: &WorkspaceId,
        state_ids: &[String],
    ) -> Result<Vec<String>, StoreError> {
        let mut gone = Vec::new();
        for some in state_ids.chunks(STATES_REMOVED_AT_ONCE) {
            gone.extend(self.0.remove(workspace, some).await?);
        }
        Ok(gone)
    }

    async fn prune(
        &self,
        workspace: &WorkspaceId,
        state_ids: &[String],
    ) -> Result<Vec<String>, StoreError> {
        let mut gone = Vec::new();
        for some in state_ids.chunks(STATES_REMOVED_AT_ONCE) {
            gone.extend(self.0.prune(workspace, some).await?);
        }
        Ok(gone)
    }

    async fn list(&self, workspace: &WorkspaceId) -> Result<Vec<String>, StoreError> {
        let mut all: Vec<String> = Vec::new();
        loop {
            let page = self
                .0
                .list(workspace, all.last().map(String::as_str))
                .await?;
            if page.is_empty() {
                in_order(&mut all);
                return Ok(all);
            }
            all.extend(page);
        }
    }

    async fn of_run(&self, workspace: &WorkspaceId, run: &str) -> Result<Vec<String>, StoreError> {
        self.0.of_run(workspace, run).await
    }
}

#[cfg(test)]
#[path = "states_tests.rs"]
mod tests;
