//! Who of a run is at work, and who waits for a stream.
//!
//! Streams are bounded, so a run can come to wait for itself: a node writes into a full stream whose reader waits
//! for the end of that very stream by another way. It is seen here, when nobody is at work and somebody waits to
//! write; then the stream that holds least gets more room.

use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::stream::{Need, Relief};

/// One for a run. Whoever is at work holds a [`Part`]; that of a task that ended goes to whoever takes its result.
pub(crate) struct Ledger {
    active: AtomicIsize,
    writers: Mutex<Vec<Box<dyn Relief>>>,
}

impl Ledger {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            active: AtomicIsize::new(0),
            writers: Mutex::default(),
        })
    }

    /// For somebody who goes to work.
    pub(crate) fn join(self: &Arc<Self>) -> Part {
        self.go_on();
        Part(self.clone())
    }

    /// Somebody is at work again.
    pub(crate) fn go_on(&self) {
        self.active.fetch_add(1, Ordering::AcqRel);
    }

    /// Somebody waits.
    pub(crate) fn rest(&self) {
        if self.active.fetch_sub(1, Ordering::AcqRel) <= 1 {
            self.relieve();
        }
    }

    /// Somebody who may come to wait for room.
    pub(crate) fn list(&self, writer: Box<dyn Relief>) {
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        if writers.len() == writers.capacity() {
            writers.retain(|writer| !matches!(writer.need(), Need::Gone));
        }
        writers.push(writer);
    }

    fn relieve(&self) {
        let mut writers = self.writers.lock().unwrap_or_else(PoisonError::into_inner);
        writers.retain(|writer| !matches!(writer.need(), Need::Gone));
        let waiting = writers.iter().filter_map(|writer| match writer.need() {
            Need::Waits(bytes) => Some((bytes, writer)),
            Need::Gone | Need::None => None,
        });
        if let Some((_, writer)) = waiting.min_by_key(|(bytes, _)| *bytes) {
            writer.relieve();
        }
    }
}

/// Somebody's part in the work of a run, until it is dropped.
pub(crate) struct Part(Arc<Ledger>);

impl Part {
    pub(crate) fn ledger(&self) -> Arc<Ledger> {
        self.0.clone()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.0.rest();
    }
}
