//! Tasks on disk, so that they outlive the process. The table in memory is the live view; what is here is what a later
//! process finds: how a task ended, or that nobody knows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use innkeeper_protocol::event::{RunId, TaskId};
use innkeeper_protocol::{Observation, Outcome};
use innkeeper_store::{StoreError, TaskStore};

use super::{Entry, TaskRecord, TaskStatus, Tasks};
use crate::limits::{LOOSE_TASK_LIFE, MAX_LOOSE_TASKS, TASKS_BETWEEN_PRUNINGS};
use crate::{Clock, ToolError};

impl Tasks {
    /// What begins and ends is written there, too.
    pub fn kept(clock: Arc<dyn Clock>, store: Arc<dyn TaskStore>) -> Self {
        let mut tasks = Self::new(clock);
        tasks.store = Some(store);
        tasks
    }

    /// On disk when it returns. A task that cannot be written down must not begin.
    pub(crate) async fn keep(&self, record: &TaskRecord) -> Result<(), ToolError> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let failed = |why: String| {
            ToolError::unavailable(format!("the task cannot be written down: {why}"))
                .because("task.cannot_be_kept")
        };
        let kept = stored(record).map_err(|error| failed(error.to_string()))?;
        let put = store.put(kept).await;
        put.map_err(|error| failed(error.to_string()))?;
        if !record.status.is_final() {
            self.make_room(store.as_ref()).await;
        }
        Ok(())
    }

    /// Tasks of a run go with it; those of a plain call have no run that anybody keeps, and would stay for ever.
    async fn make_room(&self, store: &dyn TaskStore) {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        if !begun.is_multiple_of(TASKS_BETWEEN_PRUNINGS) {
            return;
        }
        let pruned = async {
            // What the dead left open is final afterwards, so that it is not passed over.
            self.recover().await?;
            let before = id_of(self.clock.now() - LOOSE_TASK_LIFE);
            store.prune(&before, MAX_LOOSE_TASKS).await
        };
        // Whatever stays goes another time; the task itself is written down.
        drop(pruned.await);
    }

    /// It was written down but did not begin.
    pub(crate) async fn forget(&self, id: &TaskId) {
        if let Some(store) = &self.store {
            // If it stays, the next process takes it for one that was cut off; nothing is lost by that.
            drop(store.forget(id).await);
        }
    }

    /// Ends the tasks of processes that are gone: what became of them nobody knows. Gives how many there were.
    pub async fn recover(&self) -> Result<usize, StoreError> {
        let Some(store) = &self.store else {
            return Ok(0);
        };
        let mut ended = 0;
        for lost in store.abandoned().await? {
            // A record of another version stays as it is.
            let Ok(record) = serde_json::from_str::<TaskRecord>(&lost.record) else {
                continue;
            };
            let Ok(record) = stored(&self.lost(record)) else {
                continue;
            };
            ended += usize::from(store.put(record).await?);
        }
        Ok(ended)
    }

    fn lost(&self, record: TaskRecord) -> TaskRecord {
        let outcome = Outcome::OutcomeUnknown {
            message:
                "the process that ran it in the background has ended; it may have taken effect"
                    .to_owned(),
        };
        TaskRecord {
            status: TaskStatus::Failed,
            ended_at: Some(self.clock.now()),
            observation: Some(Observation {
                task: Some(record.task_id.to_string()),
                ..Observation::new(record.tool.as_str(), outcome)
            }),
            ..record
        }
    }

    /// What is known of a task of the run, from before a restart too.
    pub async fn known(&self, run: &RunId, id: &str) -> Result<Option<TaskRecord>, StoreError> {
        if let Some(entry) = self.entry(run, id) {
            return Ok(Some(entry.record()));
        }
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let id = TaskId::new(id.trim());
        let look = async || -> Result<Option<TaskRecord>, StoreError> {
            let found = store.get(&id).await?.filter(|task| task.run == *run);
            Ok(found.and_then(|task| serde_json::from_str(&task.record).ok()))
        };
        match look().await? {
            Some(record) if !record.status.is_final() => {
                self.recover().await?;
                look().await
            }
            found => Ok(found),
        }
    }

    /// A task of the run, from before a restart too.
    pub(crate) async fn find(
        &self,
        run: &RunId,
        id: &str,
    ) -> Result<Option<Arc<Entry>>, ToolError> {
        if let Some(entry) = self.entry(run, id) {
            return Ok(Some(entry));
        }
        let known = self.known(run, id).await.map_err(unreadable)?;
        Ok(known.map(|record| Arc::new(Entry::of_before(record, self.clock.clone()))))
    }

    /// All tasks of the run, from before a restart too, oldest first.
    pub(crate) async fn all(&self, run: &RunId) -> Result<Vec<Arc<Entry>>, ToolError> {
        let mut all = BTreeMap::new();
        if let Some(store) = &self.store {
            let mut there = store.of_run(run).await.map_err(unreadable)?;
            let live = self.entries(run);
            let is_live = |id: &TaskId| live.iter().any(|entry| entry.record().task_id == *id);
            if there
                .iter()
                .any(|task| !task.is_final && !is_live(&task.task))
            {
                self.recover().await.map_err(unreadable)?;
                there = store.of_run(run).await.map_err(unreadable)?;
            }
            for task in there {
                if let Ok(record) = serde_json::from_str::<TaskRecord>(&task.record) {
                    let entry = Arc::new(Entry::of_before(record, self.clock.clone()));
                    all.insert(task.task, entry);
                }
            }
        }
        // What is live is newer than what is on disk.
        for entry in self.entries(run) {
            all.insert(entry.record().task_id, entry);
        }
        Ok(all.into_values().collect())
    }
}

/// Sorts before the ids of all tasks that began later.
fn id_of(at: jiff::Timestamp) -> TaskId {
    TaskId::new(format!("task_{:012x}", at.as_millisecond().max(0)))
}

fn stored(record: &TaskRecord) -> Result<innkeeper_store::TaskRecord, serde_json::Error> {
    Ok(innkeeper_store::TaskRecord {
        task: record.task_id.clone(),
        run: record.run.clone(),
        is_final: record.status.is_final(),
        record: serde_json::to_string(record)?.into(),
    })
}

fn unreadable(error: StoreError) -> ToolError {
    ToolError::unavailable(format!("the tasks of the run cannot be read: {error}"))
        .because("task.cannot_be_read")
}
