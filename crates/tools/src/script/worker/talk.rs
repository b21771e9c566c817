//! Who waits for what from one worker: calls under way, and lines that still have to be written. No IO.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value as Json;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use super::tail::{LastWords, Tail};
use super::wire::{self, Incoming, RpcError};
use crate::limits::{MAX_WORKER_REFUSALS, WORKER_CANCEL_GRACE};
use crate::{Progress, Room};

/// Why a call got no result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NoResult {
    Told(RpcError),
    /// It answered in a way that cannot be read; this is why.
    Malformed(String),
    Died {
        how: String,
        last_words: LastWords,
    },
    /// The worker never heard of it; another one can be asked.
    Undelivered,
    TooLarge,
}

pub(super) type Reply = oneshot::Sender<Result<Json, NoResult>>;

/// A call on its way to the worker.
pub(super) struct Call {
    pub(super) id: u64,
    pub(super) line: Vec<u8>,
    pub(super) reply: Reply,
    pub(super) progress: Progress,
    /// One of the calls that the worker may have at once; given back when it is done with this one.
    pub(super) turn: OwnedSemaphorePermit,
}

struct Flight {
    reply: Reply,
    progress: Progress,
    /// Nobody waits any more. By then it has to be over.
    overdue: Option<Instant>,
    _turn: OwnedSemaphorePermit,
}

pub(super) struct Talk {
    flights: BTreeMap<u64, Flight>,
    outbox: VecDeque<Letter>,
    /// How much of the first letter is written.
    written: usize,
    tail: Tail,
    answered: bool,
}

struct Letter {
    /// The call that it is, if it is one.
    call: Option<u64>,
    line: Vec<u8>,
}

impl Talk {
    pub(super) fn new(tail: Tail) -> Self {
        Self {
            flights: BTreeMap::new(),
            outbox: VecDeque::new(),
            written: 0,
            tail,
            answered: false,
        }
    }

    pub(super) fn begin(&mut self, call: Call) {
        self.outbox.push_back(Letter {
            call: Some(call.id),
            line: call.line,
        });
        let flight = Flight {
            reply: call.reply,
            progress: call.progress,
            overdue: None,
            _turn: call.turn,
        };
        self.flights.insert(call.id, flight);
    }

    /// Nobody waits for this call any more.
    pub(super) fn abandon(&mut self, id: u64, now: Instant) {
        let Some(flight) = self.flights.get_mut(&id) else {
            return;
        };
        let unsent = self
            .outbox
            .iter()
            .position(|letter| letter.call == Some(id));
        match unsent {
            // What has not been begun need not be said at all.
            Some(at) if at > 0 || self.written == 0 => {
                self.outbox.remove(at);
                self.flights.remove(&id);
            }
            _ => {
                flight.overdue = Some(now + WORKER_CANCEL_GRACE);
                self.write(wire::cancel(id));
            }
        }
    }

    fn write(&mut self, line: Vec<u8>) {
        self.outbox.push_back(Letter { call: None, line });
    }

    /// What has to be written next.
    pub(super) fn pending(&self) -> &[u8] {
        let first = self.outbox.front();
        first
            .and_then(|letter| letter.line.get(self.written..))
            .unwrap_or_default()
    }

    pub(super) fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        if self.pending().is_empty() {
            self.outbox.pop_front();
            self.written = 0;
        }
    }

    /// One line from the worker. `Err` says what it did that ends it.
    pub(super) fn hear(&mut self, line: &[u8]) -> Result<(), &'static str> {
        match wire::read(line) {
            Incoming::Answer { id, outcome } => match self.flights.remove(&id) {
                Some(flight) => {
                    self.answered = true;
                    // Whoever asked may be gone.
                    let _ = flight.reply.send(outcome.map_err(NoResult::Told));
                }
                None => self
                    .tail
                    .line(&format!("(an answer to {id}, which nobody asked)")),
            },
            Incoming::Malformed { id, why } => {
                self.tail.line(&String::from_utf8_lossy(line));
                if let Some(flight) = self.flights.remove(&id) {
                    self.answered = true;
                    let _ = flight.reply.send(Err(NoResult::Malformed(why)));
                }
            }
            Incoming::Progress {
                id,
                fraction,
                message,
            } => {
                if let Some(flight) = self.awaited(id) {
                    flight.progress.report(fraction, &message);
                }
            }
            Incoming::Partial { id, data } => {
                if let Some(flight) = self.awaited(id) {
                    flight.progress.partial(&data);
                }
            }
            Incoming::Log { id, message } => {
                self.tail.line(&message);
                if let Some(flight) = id.and_then(|id| self.awaited(id)) {
                    flight.progress.report(None, &message);
                }
            }
            Incoming::Request { id, method } => {
                // One that asks and asks and never listens is not answered for ever.
                if self.outbox.len() < MAX_WORKER_REFUSALS {
                    self.write(wire::refusal(&id, &method));
                }
                self.tail.line(&format!(
                    "(asked the host for '{method}', which it has not)"
                ));
            }
            Incoming::Batch => return Err("sent a batch, and only single messages are read"),
            Incoming::Stray(text) => self.tail.line(&text),
        }
        Ok(())
    }

    /// Whoever has no room for another piece, until there is.
    pub(super) fn room(&self) -> Option<Room> {
        let awaited = self
            .flights
            .values()
            .filter(|flight| flight.overdue.is_none());
        let mut rooms = awaited.filter_map(|flight| flight.progress.room());
        rooms.next()
    }

    fn awaited(&self, id: u64) -> Option<&Flight> {
        let flight = self.flights.get(&id)?;
        flight.overdue.is_none().then_some(flight)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.flights.is_empty()
    }

    /// When the first call that was cancelled must be over.
    pub(super) fn overdue(&self) -> Option<Instant> {
        self.flights
            .values()
            .filter_map(|flight| flight.overdue)
            .min()
    }

    /// Some call got an answer, so the worker is not one that never works.
    pub(super) fn has_answered(&self) -> bool {
        self.answered
    }

    /// The worker is no more.
    pub(super) fn fail(&mut self, how: &str, last_words: &LastWords) {
        for (_, flight) in std::mem::take(&mut self.flights) {
            let _ = flight.reply.send(Err(NoResult::Died {
                how: how.to_owned(),
                last_words: last_words.clone(),
            }));
        }
        self.outbox.clear();
    }
}
