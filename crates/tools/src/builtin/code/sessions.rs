//! Which run has a session, and when one ends: with its run, when nobody uses it, when another needs its place.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use innkeeper_protocol::event::RunId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::worker::Worker;
use crate::limits::MAX_CODE_ENDED_SESSIONS;
use crate::run_end::RunEnd;
use crate::{Caller, ToolError, UserId};

pub(super) struct Sessions {
    table: Mutex<HashMap<Key, Arc<Slot>>>,
    /// For workers.
    places: Arc<Semaphore>,
    idle: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    user: UserId,
    run: RunId,
}

/// The session of one run. Whoever holds the seat has the only cell at work; others queue.
pub(super) struct Slot {
    pub(super) seat: tokio::sync::Mutex<Seat>,
    used: Mutex<Instant>,
}

#[derive(Default)]
pub(super) struct Seat {
    worker: Option<Worker>,
    /// Why there is none, if nobody was told yet.
    gone: Option<Gone>,
    cells: u64,
    idle: Option<Idle>,
}

/// Why a session has lost its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gone {
    Idle,
    Displaced,
    Stopped,
    /// It ended by itself between two cells.
    Died(String),
}

impl Gone {
    pub(super) fn told(&self) -> String {
        let why = match self {
            Self::Idle => "the session was not used for a while",
            Self::Displaced => "another session needed its place",
            Self::Stopped => "the call before was stopped",
            Self::Died(why) => why,
        };
        format!("The state of earlier calls is gone, because {why}; this call began afresh")
    }
}

/// Waits for the session to be idle; dropping it stops that.
struct Idle(AbortHandle);

impl Drop for Idle {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Sessions {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        Self {
            table: Mutex::default(),
            places: Arc::new(Semaphore::new(most)),
            idle,
        }
    }

    pub(super) fn of(&self, caller: &Caller) -> Arc<Slot> {
        let key = Key {
            user: caller.user.clone(),
            run: caller.desk(),
        };
        let mut table = self.table();
        if let Some(session) = table.get(&key) {
            return session.clone();
        }
        if table.len() >= MAX_CODE_ENDED_SESSIONS {
            // Those with a worker are far fewer; of the others only is lost why they have none.
            table.retain(|_, session| !session.is_empty());
        }
        let session = Arc::new(Slot {
            seat: tokio::sync::Mutex::default(),
            used: Mutex::new(Instant::now()),
        });
        table.insert(key, session.clone());
        session
    }

    /// A place for one more worker: a free one, or that of the session which was not used for the longest.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, ToolError> {
        let free = || self.places.clone().try_acquire_owned().ok();
        if let Some(place) = free() {
            return Ok(place);
        }
        let mut sessions: Vec<_> = self.table().values().cloned().collect();
        sessions.sort_by_key(|session| *lock(&session.used));
        for session in sessions {
            if session.displace()
                && let Some(place) = free()
            {
                return Ok(place);
            }
        }
        Err(ToolError::unavailable(
            "all Python sessions are at work just now; try again later, or use CodeInterpreter:execute",
        )
        .because("code.too_many_sessions"))
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        lock(&self.table)
    }

    /// Puts a worker back after a cell. From now on it is idle.
    pub(super) fn put_back(&self, session: &Arc<Slot>, seat: &mut Seat, worker: Worker) {
        *lock(&session.used) = Instant::now();
        seat.worker = Some(worker);
        seat.gone = None;
        let cells = seat.cells;
        let weak = Arc::downgrade(session);
        let waits = tokio::spawn(expire(weak, cells, self.idle));
        seat.idle = Some(Idle(waits.abort_handle()));
    }
}

async fn expire(session: Weak<Slot>, cells: u64, idle: Duration) {
    tokio::time::sleep(idle).await;
    let Some(session) = session.upgrade() else {
        return;
    };
    let mut seat = session.seat.lock().await;
    if seat.cells == cells && seat.worker.take().is_some() {
        seat.gone = Some(Gone::Idle);
    }
}

impl RunEnd for Sessions {
    fn run_ended(&self, run: &RunId) {
        let mut ended = Vec::new();
        self.table().retain(|key, session| {
            let stays = key.run != *run;
            if !stays {
                ended.push(session.clone());
            }
            stays
        });
        // Workers are ended without the table being held.
        drop(ended);
    }
}

impl Slot {
    pub(super) fn is_empty(&self) -> bool {
        self.seat.try_lock().is_ok_and(|seat| seat.worker.is_none())
    }

    /// Ends its worker, unless a cell is at work.
    fn displace(&self) -> bool {
        let Ok(mut seat) = self.seat.try_lock() else {
            return false;
        };
        let displaced = seat.worker.take().is_some();
        if displaced {
            seat.gone = Some(Gone::Displaced);
        }
        displaced
    }
}

impl Seat {
    /// Takes the worker for a cell. If it is not put back, it was stopped.
    pub(super) fn take(&mut self) -> (Option<Worker>, Option<Gone>) {
        self.idle = None;
        self.cells += 1;
        (self.worker.take(), self.gone.take())
    }

    /// A cell begins; should it be dropped, that is why the state is gone.
    pub(super) fn begin(&mut self) {
        self.gone = Some(Gone::Stopped);
    }

    /// The model was told why the state is gone.
    pub(super) fn told(&mut self) {
        self.gone = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
