//! How many workers there may be at once, and who has to leave when another wants in: the one that has been idle
//! longest. Where all are busy, newcomers wait in order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Clones are the same room.
#[derive(Clone)]
pub(super) struct Room {
    seats: Arc<Semaphore>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    waiting: usize,
    /// Counts what happens, to tell earlier from later.
    now: u64,
    taken: BTreeMap<u64, Taken>,
}

struct Taken {
    /// `None`: at work.
    idle_since: Option<u64>,
    leave: CancellationToken,
}

/// The right to be there. It is given back by dropping it, when nothing of the worker is left.
pub(super) struct Seat {
    room: Room,
    number: u64,
    leave: CancellationToken,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Room {
    pub(super) fn new(seats: usize) -> Self {
        Self {
            seats: Arc::new(Semaphore::new(seats)),
            state: Arc::default(),
        }
    }

    /// Waits for a seat. Whoever has just been given one counts as being at work.
    pub(super) async fn enter(&self) -> Seat {
        let permit = {
            let _waiting = Waiting::begin(self);
            // The semaphore is never closed; were it, there would be no limit rather than no worker.
            self.seats.clone().acquire_owned().await.ok()
        };
        let leave = CancellationToken::new();
        let mut state = self.lock();
        let number = state.tick();
        let taken = Taken {
            idle_since: None,
            leave: leave.clone(),
        };
        state.taken.insert(number, taken);
        Seat {
            room: self.clone(),
            number,
            leave,
            _permit: permit,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Asks as many to leave as there are waiting, and no more.
    fn make_room(&mut self, free: usize) {
        let leaving = self.taken.values().filter(|seat| seat.leave.is_cancelled());
        let coming = free + leaving.count();
        for _ in coming..self.waiting {
            let longest = self
                .taken
                .values()
                .filter(|seat| !seat.leave.is_cancelled())
                .filter_map(|seat| Some((seat.idle_since?, &seat.leave)))
                .min_by_key(|(since, _)| *since);
            match longest {
                Some((_, leave)) => leave.cancel(),
                None => return,
            }
        }
    }
}

struct Waiting<'r>(&'r Room);

impl<'r> Waiting<'r> {
    fn begin(room: &'r Room) -> Self {
        let mut state = room.lock();
        state.waiting += 1;
        state.make_room(room.seats.available_permits());
        Self(room)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

impl Seat {
    pub(super) fn busy(&self) {
        if let Some(seat) = self.room.lock().taken.get_mut(&self.number) {
            seat.idle_since = None;
        }
    }

    pub(super) fn idle(&self) {
        let mut state = self.room.lock();
        let now = state.tick();
        if let Some(seat) = state.taken.get_mut(&self.number) {
            seat.idle_since = Some(now);
        }
        state.make_room(self.room.seats.available_permits());
    }

    /// Fires when somebody else needs the seat.
    pub(super) fn leave(&self) -> CancellationToken {
        self.leave.clone()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.room.lock().taken.remove(&self.number);
    }
}

#[cfg(test)]
#[path = "room_tests.rs"]
mod tests;
