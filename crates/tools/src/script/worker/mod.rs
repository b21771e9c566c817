//! Workers: scripts that stay up between calls and are talked with over their pipes.
//!
//! [`WorkerPool`] keeps one worker for each program, environment and reach; it starts it when it is first needed,
//! again after it died, and stops it when it is idle, when others need its seat (`room.rs`), when its plugin has
//! changed and when the pool is dropped. `actor.rs` is one process, `wire.rs` what is said; the contract for authors
//! is in `docs/plugins.md`.

mod actor;
mod error;
mod key;
mod lines;
mod process;
mod room;
mod slot;
mod tail;
mod talk;
mod wire;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::{ScriptJob, ScriptRunner};
use crate::limits::{MAX_WORKER_SLOTS, MAX_WORKERS};
use crate::{Progress, Revision};
pub use error::WorkerError;
use process::{Launch, Runner};
use room::Room;
use slot::{Slot, Stage};
pub use tail::LastWords;
pub use wire::RpcError;

/// The method of an ordinary call.
pub const CALL: &str = "call";

/// Which worker is to be asked. Two that are equal in everything but the times are the same worker.
#[derive(Debug, Clone)]
pub struct WorkerSpec {
    /// Whose it is: the name of a plugin.
    pub owner: String,
    /// Changes when what it is made of changes.
    pub stamp: u64,
    /// The same for what is looked at before each call.
    pub sources: Revision,
    /// How it is started; its `timeout`, `stdin`, `stderr` and `cancel` do not count.
    pub job: ScriptJob,
    /// How long it is kept without being asked.
    pub idle: Duration,
    /// Calls that it is given at once; others wait their turn.
    pub concurrency: usize,
}

/// What it is asked.
#[derive(Debug, Clone)]
pub struct WorkerCall {
    pub method: &'static str,
    pub params: Json,
    /// For everything: waiting for its turn, for the start of the worker and for the answer.
    pub timeout: Duration,
    pub cancel: CancellationToken,
    pub progress: Progress,
}

/// Cheap to clone. When the last clone is dropped, so are the workers.
#[derive(Clone)]
pub struct WorkerPool(Arc<Inner>);

struct Inner {
    launch: Arc<dyn Launch>,
    room: Room,
    slots: Mutex<Vec<Arc<Slot>>>,
}

impl WorkerPool {
    pub fn new(runner: Arc<dyn ScriptRunner>) -> Self {
        Self::of(Arc::new(Runner(runner)), MAX_WORKERS)
    }

    fn of(launch: Arc<dyn Launch>, most: usize) -> Self {
        Self(Arc::new(Inner {
            launch,
            room: Room::new(most),
            slots: Mutex::default(),
        }))
    }

    /// The result as the worker gave it. Dropping the future cancels the call: the worker is told, and if it does
    /// not stop with it within a short time, the worker is ended, with all that it was doing.
    pub async fn call(&self, worker: &WorkerSpec, call: WorkerCall) -> Result<Json, WorkerError> {
        let slot = self.slot(worker);
        let stage = Stage::default();
        tokio::select! {
            biased;
            () = call.cancel.cancelled() => Err(WorkerError::Cancelled),
            end = slot.ask(worker, &call, &*self.0.launch, &self.0.room, &stage) => end,
            () = tokio::time::sleep(call.timeout) => Err(stage.timed_out(call.timeout)),
        }
    }

    /// Stops the workers of which `keep` says no, told their owner and stamp. Those that are at work finish first.
    pub fn retain(&self, keep: impl Fn(&str, u64) -> bool) {
        self.lock().retain(|slot| keep(slot.owner(), slot.stamp()));
    }

    fn slot(&self, worker: &WorkerSpec) -> Arc<Slot> {
        let mut slots = self.lock();
        if let Some(slot) = slots.iter().find(|slot| slot.is_for(worker)) {
            return slot.clone();
        }
        slots.retain(|slot| slot.is_worth_keeping());
        if slots.len() >= MAX_WORKER_SLOTS {
            // The oldest: all it loses is the count of its failures, or it is stopped a little early.
            slots.remove(0);
        }
        let slot = Arc::new(Slot::new(worker));
        slots.push(slot.clone());
        slot
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod testing;
