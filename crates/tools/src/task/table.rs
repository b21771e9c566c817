//! The table: tasks that run, and for a while those that have ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::event::{RunId, TaskId};
use innkeeper_protocol::{Observation, Outcome};
use jiff::Timestamp;
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{TaskPartial, TaskProgress, TaskRecord, TaskStatus};
use crate::limits::{MAX_KEPT_TASKS, MAX_PROGRESS_CHARS, MAX_RUNNING_TASKS};
use crate::{Clock, ProgressSink, ToolError};

/// All tasks of the platform. Ids sort by the time they were made.
pub struct Tasks {
    table: Mutex<BTreeMap<TaskId, Arc<Entry>>>,
    clock: Arc<dyn Clock>,
}

/// One task: its record as it changes, and the way to stop it.
pub(crate) struct Entry {
    state: watch::Sender<TaskRecord>,
    pub(crate) cancel: CancellationToken,
    /// The whole result, for references; what the record shows may be cut.
    full: Mutex<Full>,
    /// Its end was given to the run as an observation.
    told: AtomicBool,
    clock: Arc<dyn Clock>,
}

enum Full {
    /// A later step may refer to it.
    Wanted(Option<Json>),
    /// The block is over: nobody can any more.
    Unwanted,
}

impl Tasks {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            table: Mutex::default(),
            clock,
        }
    }

    pub(crate) fn start(
        &self,
        tool: &str,
        run: &RunId,
        call_id: &str,
        promises: Vec<String>,
        cancel: CancellationToken,
    ) -> Result<(TaskId, Arc<Entry>), ToolError> {
        let mut table = self.lock();
        let running = table
            .values()
            .filter(|entry| entry.is_running() && entry.state.borrow().run == *run)
            .count();
        if running >= MAX_RUNNING_TASKS {
            return Err(ToolError::unavailable(format!(
                "{running} tasks of this run are still at work; wait for one with task.await"
            ))
            .because("task.too_many"));
        }
        let id = TaskId::new(format!("task_{}", uuid::Uuid::now_v7().simple()));
        let record = TaskRecord {
            task_id: id.clone(),
            tool: tool.to_owned(),
            run: run.clone(),
            call_id: call_id.to_owned(),
            status: TaskStatus::Running,
            progress: None,
            partial: TaskPartial::default(),
            started_at: self.clock.now(),
            ended_at: None,
            observation: None,
            promises,
        };
        let entry = Arc::new(Entry {
            state: watch::Sender::new(record),
            cancel,
            full: Mutex::new(Full::Wanted(None)),
            told: AtomicBool::new(false),
            clock: self.clock.clone(),
        });
        make_room(&mut table);
        table.insert(id.clone(), entry.clone());
        Ok((id, entry))
    }

    pub(crate) fn entry(&self, run: &RunId, id: &str) -> Option<Arc<Entry>> {
        self.lock()
            .get(&TaskId::new(id.trim()))
            .filter(|entry| entry.state.borrow().run == *run)
            .cloned()
    }

    /// The tasks of a run, oldest first.
    pub(crate) fn entries(&self, run: &RunId) -> Vec<Arc<Entry>> {
        self.lock()
            .values()
            .filter(|entry| entry.state.borrow().run == *run)
            .cloned()
            .collect()
    }

    /// The tasks of a run as they stand, oldest first.
    pub fn list(&self, run: &RunId) -> Vec<TaskRecord> {
        self.entries(run)
            .iter()
            .map(|entry| entry.record())
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<TaskId, Arc<Entry>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets the oldest that have ended.
fn make_room(table: &mut BTreeMap<TaskId, Arc<Entry>>) {
    while table.len() >= MAX_KEPT_TASKS {
        let oldest = table
            .iter()
            .find(|(_, entry)| !entry.is_running())
            .map(|(id, _)| id.clone());
        match oldest {
            Some(id) => table.remove(&id),
            None => break,
        };
    }
}

impl Entry {
    pub(crate) fn record(&self) -> TaskRecord {
        self.state.borrow().clone()
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.state.borrow().status.is_final()
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) -> TaskRecord {
        let mut state = self.state.subscribe();
        match state.wait_for(|record| record.status.is_final()).await {
            Ok(record) => record.clone(),
            // The sender is ours, so it is there as long as we are.
            Err(_) => self.record(),
        }
    }

    pub(crate) fn full(&self) -> Option<Json> {
        match &*self.lock_full() {
            Full::Wanted(full) => full.clone(),
            Full::Unwanted => None,
        }
    }

    /// Nobody will refer to its result, so it need not be kept.
    pub(crate) fn release(&self) {
        *self.lock_full() = Full::Unwanted;
    }

    fn lock_full(&self) -> MutexGuard<'_, Full> {
        self.full.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The observation of its end, the first time it is asked for after the end.
    pub(crate) fn tell(&self) -> Option<Observation> {
        let observation = self.state.borrow().observation.clone()?;
        (!self.told.swap(true, Ordering::SeqCst)).then_some(observation)
    }

    /// Somebody waited for it and was told.
    pub(crate) fn mark_told(&self) {
        self.told.store(true, Ordering::SeqCst);
    }

    fn end(&self, observation: Observation, full: Option<Json>, at: Timestamp) {
        if let Full::Wanted(place) = &mut *self.lock_full() {
            *place = full;
        }
        let status = match &observation.outcome {
            Outcome::Success { .. } => TaskStatus::Succeeded,
            Outcome::Cancelled { .. } => TaskStatus::Cancelled,
            _ => TaskStatus::Failed,
        };
        self.state.send_modify(|record| {
            record.status = status;
            if status == TaskStatus::Succeeded {
                record.partial = TaskPartial::default();
            }
            record.ended_at = Some(at);
            record.observation = Some(observation);
        });
    }
}

impl ProgressSink for Entry {
    fn report(&self, fraction: Option<f64>, message: &str) {
        let message = message.chars().take(MAX_PROGRESS_CHARS).collect();
        self.state
            .send_modify(|record| record.progress = Some(TaskProgress { fraction, message }));
    }

    fn partial(&self, piece: &Json) {
        self.state.send_modify(|record| record.partial.add(piece));
    }

    fn start_over(&self) {
        self.state
            .send_modify(|record| record.partial = TaskPartial::default());
    }
}

/// The duty to end a task: if it is dropped without, the task has ended with an unknown outcome, so that
/// nobody waits for ever.
pub(crate) struct Completion(Option<Arc<Entry>>);

impl Completion {
    pub(crate) fn of(entry: Arc<Entry>) -> Self {
        Self(Some(entry))
    }

    pub(crate) fn complete(mut self, observation: Observation, full: Option<Json>) {
        if let Some(entry) = self.0.take() {
            let at = entry.clock.now();
            entry.end(observation, full, at);
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        let Some(entry) = self.0.take() else {
            return;
        };
        let record = entry.record();
        let observation = Observation {
            call_id: Some(record.call_id),
            ..Observation::new(
                record.tool,
                Outcome::OutcomeUnknown {
                    message: "the task was interrupted".to_owned(),
                },
            )
        };
        let at = entry.clock.now();
        entry.end(observation, None, at);
    }
}
