//! The table: tasks that run, and for a while those that have ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::event::{RunId, TaskId};
use innkeeper_protocol::{Observation, Outcome};
use innkeeper_store::TaskStore;
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{TaskPartial, TaskProgress, TaskRecord, TaskStatus};
use crate::limits::{MAX_KEPT_TASKS, MAX_PROGRESS_CHARS, MAX_RUNNING_TASKS};
use crate::{Clock, ProgressSink, ToolError};

/// All tasks of the platform. Ids sort by the time they were made.
pub struct Tasks {
    table: Mutex<BTreeMap<TaskId, Arc<Entry>>>,
    pub(super) clock: Arc<dyn Clock>,
    /// `None`: they end with the process.
    pub(super) store: Option<Arc<dyn TaskStore>>,
    /// So many were written down as they began.
    pub(super) begun: AtomicU64,
}

/// One task: its record as it changes, and the way to stop it.
pub(crate) struct Entry {
    state: watch::Sender<TaskRecord>,
    pub(crate) cancel: CancellationToken,
    /// The whole result, for references; what the record shows may be cut.
    full: Mutex<Full>,
    /// Its end was given to the run as an observation.
    told: AtomicBool,
    /// Another process is at it, or was: it can be looked at, but not stopped.
    is_elsewhere: bool,
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
            store: None,
            begun: AtomicU64::new(0),
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
            is_elsewhere: false,
            clock: self.clock.clone(),
        });
        make_room(&mut table);
        table.insert(id.clone(), entry.clone());
        Ok((id, entry))
    }

    /// For a task that is about to begin.
    pub(crate) fn register(
        self: &Arc<Self>,
        tool: &str,
        run: &RunId,
        call_id: &str,
        promises: Vec<String>,
        cancel: CancellationToken,
    ) -> Result<Registered, ToolError> {
        let (_, entry) = self.start(tool, run, call_id, promises, cancel)?;
        Ok(Registered {
            tasks: self.clone(),
            entry: Some(entry),
        })
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

    /// Of whatever run, oldest first.
    pub(super) fn live(&self) -> Vec<Arc<Entry>> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn live_one(&self, id: &TaskId) -> Option<Arc<Entry>> {
        self.lock().get(id).cloned()
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

/// A task that has its place in the table and has not begun. Dropped, it was never there.
pub(crate) struct Registered {
    tasks: Arc<Tasks>,
    entry: Option<Arc<Entry>>,
}

impl Registered {
    /// On disk, so that not even a crash makes it forgotten.
    pub(crate) async fn keep(&self) -> Result<(), ToolError> {
        match &self.entry {
            Some(entry) => self.tasks.keep(&entry.record()).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn withdraw(mut self) {
        if let Some(id) = self.leave() {
            self.tasks.forget(&id).await;
        }
    }

    pub(crate) fn begin(mut self) -> Option<Completion> {
        self.entry.take().map(Completion::of)
    }

    fn leave(&mut self) -> Option<TaskId> {
        let id = self.entry.take()?.record().task_id;
        self.tasks.lock().remove(&id);
        Some(id)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Entry {
    /// As it was found on disk. Whoever looks at it has asked, so it is not told by itself.
    pub(super) fn of_before(record: TaskRecord, clock: Arc<dyn Clock>) -> Self {
        Self {
            is_elsewhere: !record.status.is_final(),
            state: watch::Sender::new(record),
            cancel: CancellationToken::new(),
            full: Mutex::new(Full::Unwanted),
            told: AtomicBool::new(true),
            clock,
        }
    }

    pub(crate) fn is_elsewhere(&self) -> bool {
        self.is_elsewhere
    }

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

    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::SeqCst)
    }

    /// Somebody waited for it and was told.
    pub(crate) fn mark_told(&self) {
        self.told.store(true, Ordering::SeqCst);
    }

    /// The record that it will have once it has come to this.
    pub(crate) fn ended_as(&self, observation: Observation) -> TaskRecord {
        let status = match &observation.outcome {
            Outcome::Success { .. } => TaskStatus::Succeeded,
            Outcome::Cancelled { .. } => TaskStatus::Cancelled,
            _ => TaskStatus::Failed,
        };
        let mut record = self.record();
        record.status = status;
        if status == TaskStatus::Succeeded {
            record.partial = TaskPartial::default();
        }
        record.ended_at = Some(self.clock.now());
        record.observation = Some(observation);
        record
    }

    fn end(&self, record: TaskRecord, full: Option<Json>) {
        if let Full::Wanted(place) = &mut *self.lock_full() {
            *place = full;
        }
        self.state.send_replace(record);
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
pub(crate) struct Completion {
    entry: Arc<Entry>,
    is_done: bool,
}

impl Completion {
    pub(crate) fn of(entry: Arc<Entry>) -> Self {
        Self {
            entry,
            is_done: false,
        }
    }

    pub(crate) fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    pub(crate) fn complete(mut self, record: TaskRecord, full: Option<Json>) {
        self.is_done = true;
        self.entry.end(record, full);
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let record = self.entry.record();
        let outcome = Outcome::OutcomeUnknown {
            message: "the task was interrupted".to_owned(),
        };
        let observation = Observation {
            task: Some(record.task_id.to_string()),
            ..Observation::new(record.tool, outcome)
        };
        self.entry.end(self.entry.ended_as(observation), None);
    }
}
