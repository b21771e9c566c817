//! The place of one worker in the pool: whose turn it is, whether it lives, how often it failed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::sync::Semaphore;

use super::actor::{Death, Ending, Worker};
use super::key::Key;
use super::process::Launch;
use super::room::Room;
use super::talk::NoResult;
use super::{WorkerCall, WorkerError, WorkerSpec};
use crate::limits::{MAX_WORKER_BACK_OFF, MIN_WORKER_BACK_OFF, WORKER_FAILURES_KEPT};

pub(super) struct Slot {
    key: Key,
    /// Given in order, one for each call that the worker may have at once.
    turns: Arc<Semaphore>,
    /// Locked while it is started, so that it is started once.
    life: tokio::sync::Mutex<Life>,
}

#[derive(Default)]
struct Life {
    worker: Option<Arc<Worker>>,
    /// Deaths in a row of workers that never answered.
    failures: u32,
    last: Option<Death>,
}

/// How far a call has come.
#[derive(Default)]
pub(super) struct Stage(Mutex<Option<Arc<Worker>>>);

impl Stage {
    fn asked(&self, worker: &Arc<Worker>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(worker.clone());
    }

    pub(super) fn timed_out(&self, after: Duration) -> WorkerError {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(worker) => WorkerError::Timeout {
                after,
                last_words: worker.last_words(),
            },
            None => WorkerError::Busy { after },
        }
    }
}

impl Slot {
    pub(super) fn new(worker: &WorkerSpec) -> Self {
        Self {
            key: Key::of(worker),
            turns: Arc::new(Semaphore::new(worker.concurrency.max(1))),
            life: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn is_for(&self, worker: &WorkerSpec) -> bool {
        self.key.fits(worker)
    }

    pub(super) fn owner(&self) -> &str {
        self.key.owner()
    }

    pub(super) fn stamp(&self) -> u64 {
        self.key.stamp()
    }

    /// Something lives or waits here, or is remembered as failing.
    pub(super) fn is_worth_keeping(self: &Arc<Self>) -> bool {
        let Ok(life) = self.life.try_lock() else {
            return true;
        };
        let failed = life.last.as_ref().map(|death| death.at.elapsed());
        Arc::strong_count(self) > 1
            || life.worker.as_ref().is_some_and(|worker| worker.is_open())
            || failed.is_some_and(|ago| ago < WORKER_FAILURES_KEPT)
    }

    pub(super) async fn ask(
        &self,
        spec: &WorkerSpec,
        call: &WorkerCall,
        launch: &dyn Launch,
        room: &Room,
        stage: &Stage,
    ) -> Result<Json, WorkerError> {
        loop {
            let Ok(turn) = self.turns.clone().acquire_owned().await else {
                return Err(WorkerError::Cancelled);
            };
            let worker = self.worker(spec, launch, room).await?;
            stage.asked(&worker);
            let progress = call.progress.clone();
            let answer = worker.ask(call.method, &call.params, progress, turn).await;
            return match answer {
                Ok(value) => Ok(value),
                // It was just leaving. The next one is started, so this goes round only as fast as that.
                Err(NoResult::Undelivered) => continue,
                Err(NoResult::TooLarge) => Err(WorkerError::TooLarge),
                Err(NoResult::Told(error)) => Err(WorkerError::Told(error)),
                Err(NoResult::Malformed(why)) => Err(WorkerError::Malformed { why }),
                Err(NoResult::Died { how, last_words }) => {
                    Err(WorkerError::Died { how, last_words })
                }
            };
        }
    }

    /// The one that is there, or a new one.
    async fn worker(
        &self,
        spec: &WorkerSpec,
        launch: &dyn Launch,
        room: &Room,
    ) -> Result<Arc<Worker>, WorkerError> {
        let mut life = self.life.lock().await;
        if let Some(worker) = life.worker.as_ref().filter(|worker| worker.is_open()) {
            return Ok(worker.clone());
        }
        if let Some(worker) = life.worker.clone() {
            let ending = worker.ending().await;
            life.learn(ending);
        }
        life.check()?;
        let seat = room.enter().await;
        let process = launch.launch(spec.job.clone()).await?;
        let worker = Worker::begin(process, seat, spec.idle, spec.concurrency);
        let worker = Arc::new(worker);
        life.worker = Some(worker.clone());
        Ok(worker)
    }
}

impl Life {
    fn learn(&mut self, ending: Ending) {
        self.worker = None;
        match ending {
            Ending::Died(death) if !death.answered && death.own => {
                self.failures += 1;
                self.last = Some(death);
            }
            Ending::Died(_) | Ending::Stopped => {
                self.failures = 0;
                self.last = None;
            }
        }
    }

    /// Once may happen; one that keeps dying has to wait longer each time.
    fn check(&self) -> Result<(), WorkerError> {
        let Some(death) = &self.last else {
            return Ok(());
        };
        let wait = back_off(self.failures).saturating_sub(death.at.elapsed());
        match wait.is_zero() {
            true => Ok(()),
            false => Err(WorkerError::Failing {
                how: death.how.clone(),
                times: self.failures,
                wait,
                last_words: death.last_words.clone(),
            }),
        }
    }
}

fn back_off(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        more => MIN_WORKER_BACK_OFF
            .saturating_mul(1 << (more - 2).min(16))
            .min(MAX_WORKER_BACK_OFF),
    }
}
