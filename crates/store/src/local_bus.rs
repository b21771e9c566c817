//! The bus within one process: one bounded ring of events, and for each subscriber no more than a number.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_protocol::Pattern;
use tokio::sync::watch;

use crate::bus::{BusError, BusEvent, Delivery, EventBus, EventSource, Received, Subscription};
use crate::limits::{MAX_KEPT_BYTES, MAX_KEPT_EVENTS};
use crate::writer::lock;

/// Subscribers keep no queue of their own, so they cost nothing while they are slow.
pub struct LocalBus {
    ring: Arc<Mutex<Ring>>,
    /// The number of the last event. Dropped with the bus, which ends the subscriptions.
    last: watch::Sender<u64>,
}

#[derive(Default)]
struct Ring {
    /// Without gaps; the last one has the number `last`.
    events: VecDeque<(Arc<BusEvent>, usize)>,
    bytes: usize,
    last: u64,
}

impl Ring {
    fn push(&mut self, event: BusEvent, bytes: usize) -> u64 {
        self.last += 1;
        self.bytes += bytes;
        self.events.push_back((Arc::new(event), bytes));
        while self.events.len() > MAX_KEPT_EVENTS || self.bytes > MAX_KEPT_BYTES {
            let Some((_, bytes)) = self.events.pop_front() else {
                break;
            };
            self.bytes -= bytes;
        }
        self.last
    }

    /// The number of the oldest event that is kept, or that will come if there is none.
    fn first(&self) -> u64 {
        self.last + 1 - self.events.len() as u64
    }
}

impl LocalBus {
    pub fn new() -> Self {
        Self {
            ring: Arc::default(),
            last: watch::Sender::new(0),
        }
    }

    /// The number of the last event; 0 if there was none.
    pub fn last_seq(&self) -> u64 {
        lock(&self.ring).last
    }

    fn follow(&self, topics: Pattern, next: u64) -> Subscription {
        Subscription::new(Follower {
            ring: self.ring.clone(),
            last: self.last.subscribe(),
            topics,
            next,
        })
    }
}

impl Default for LocalBus {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl EventBus for LocalBus {
    async fn publish(&self, event: BusEvent) -> Result<u64, BusError> {
        let bytes = event.check()?;
        let seq = lock(&self.ring).push(event, bytes);
        self.last.send_modify(|last| *last = seq.max(*last));
        Ok(seq)
    }

    fn subscribe(&self, topics: Pattern) -> Subscription {
        let next = lock(&self.ring).last + 1;
        self.follow(topics, next)
    }

    fn subscribe_after(&self, topics: Pattern, seq: u64) -> Subscription {
        // A number that was never given comes from before a restart: nothing to replay, but what comes counts.
        let seq = seq.min(lock(&self.ring).last);
        self.follow(topics, seq + 1)
    }
}

struct Follower {
    ring: Arc<Mutex<Ring>>,
    last: watch::Receiver<u64>,
    topics: Pattern,
    /// The number of the event to look at next.
    next: u64,
}

impl Follower {
    /// `None`: nothing that concerns us yet.
    fn look(&mut self) -> Option<Received> {
        let ring = lock(&self.ring);
        let first = ring.first();
        if self.next < first {
            let missed = first - self.next;
            self.next = first;
            return Some(Received::Lagged { missed });
        }
        let behind = usize::try_from(self.next - first).unwrap_or(usize::MAX);
        for (event, _) in ring.events.iter().skip(behind) {
            let seq = self.next;
            self.next += 1;
            if self.topics.matches(&event.topic) {
                let event = event.clone();
                return Some(Received::Event(Delivery { seq, event }));
            }
        }
        None
    }
}

#[async_trait]
impl EventSource for Follower {
    async fn next(&mut self) -> Received {
        loop {
            if let Some(received) = self.look() {
                return received;
            }
            if self.last.changed().await.is_err() {
                // The bus is gone; what it said last still counts.
                return self.look().unwrap_or(Received::Closed);
            }
        }
    }
}

#[cfg(test)]
#[path = "bus_tests.rs"]
mod tests;
