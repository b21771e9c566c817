//! Tasks for whoever looks after the whole house, and not after one run: people.

use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::event::{RunId, TaskId};
use innkeeper_store::StoreError;

use super::{Entry, TaskRecord, Tasks};
use crate::ToolError;

impl Tasks {
    /// Those at work and those that ended lately, of whatever run, newest first.
    pub fn lately(&self) -> Vec<TaskRecord> {
        let mut all: Vec<TaskRecord> = self.live().iter().map(|entry| entry.record()).collect();
        all.reverse();
        all
    }

    /// All of one run, from before a restart too, newest first.
    pub async fn of_run(&self, run: &RunId) -> Result<Vec<TaskRecord>, ToolError> {
        let mut all: Vec<TaskRecord> = self
            .all(run)
            .await?
            .iter()
            .map(|entry| entry.record())
            .collect();
        all.reverse();
        Ok(all)
    }

    /// What is known of one, from before a restart too; after so long a wait for its end.
    pub async fn look(&self, id: &str, wait: Duration) -> Result<Option<TaskRecord>, StoreError> {
        let Some(entry) = self.any(id).await? else {
            return Ok(None);
        };
        // Whether it has ended, the record says.
        let _ = tokio::time::timeout(wait, entry.ended()).await;
        Ok(Some(entry.record()))
    }

    /// Stops it and waits for its end, but no longer than `wait`. One that has ended stays as it is.
    pub async fn cancel(&self, id: &str, wait: Duration) -> Result<Option<TaskRecord>, ToolError> {
        let unreadable = |error: StoreError| {
            ToolError::unavailable(format!("the task cannot be read: {error}"))
                .because("task.cannot_be_read")
        };
        let Some(entry) = self.any(id).await.map_err(unreadable)? else {
            return Ok(None);
        };
        if entry.is_elsewhere() {
            let message = "another process is at work on it; only that one can stop it";
            return Err(ToolError::invalid(message).because("task.elsewhere"));
        }
        entry.cancel.cancel();
        let _ = tokio::time::timeout(wait, entry.ended()).await;
        Ok(Some(entry.record()))
    }

    async fn any(&self, id: &str) -> Result<Option<Arc<Entry>>, StoreError> {
        let id = TaskId::new(id);
        if let Some(entry) = self.live_one(&id) {
            return Ok(Some(entry));
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let Some(kept) = store.get(&id).await? else {
            return Ok(None);
        };
        let known = self.known(&kept.run, id.as_str()).await?;
        Ok(known.map(|record| Arc::new(Entry::of_before(record, self.clock.clone()))))
    }
}
