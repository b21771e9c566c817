//! What happens in one execution, numbered, the last of it; and somebody who follows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_engine::ExecutionEvent;
use tokio::sync::watch;

use super::Execution;
use crate::limits::{MAX_EVENTS_TOLD, MAX_EXECUTION_EVENT_BYTES, MAX_EXECUTION_EVENTS};

pub(super) struct Log {
    state: Mutex<State>,
    /// Whenever there is more, and once when there will be no more.
    news: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    /// Ascending; some may be missing.
    events: VecDeque<Arc<ExecutionEvent>>,
    bytes: usize,
    last: u64,
    is_over: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            news: watch::Sender::new(()),
        }
    }
}

impl Log {
    pub(super) fn add(&self, event: Arc<ExecutionEvent>) {
        let mut state = self.lock();
        state.last = event.seq;
        state.bytes += event.weight();
        state.events.push_back(event);
        while state.events.len() > MAX_EXECUTION_EVENTS
            || (state.bytes > MAX_EXECUTION_EVENT_BYTES && state.events.len() > 1)
        {
            let Some(oldest) = state.events.pop_front() else {
                break;
            };
            state.bytes -= oldest.weight();
        }
        drop(state);
        self.news.send_replace(());
    }

    pub(super) fn close(&self) {
        self.lock().is_over = true;
        self.news.send_replace(());
    }

    pub(super) fn last(&self) -> u64 {
        self.lock().last
    }

    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// The first ones after that number, and how many between it and them are kept no more.
    pub(super) fn after(&self, seq: u64, most: usize) -> (u64, Vec<Arc<ExecutionEvent>>) {
        let state = self.lock();
        let later = state.events.partition_point(|event| event.seq <= seq);
        let mut events: Vec<Arc<ExecutionEvent>> = Vec::new();
        let mut missed = 0;
        for event in state.events.iter().skip(later).take(most) {
            let before = events.last().map_or(seq, |last| last.seq);
            match (event.seq - before - 1, events.is_empty()) {
                (0, _) => {}
                (gap, true) => missed = gap,
                // Told before the next page.
                (_, false) => break,
            }
            events.push(event.clone());
        }
        (missed, events)
    }

    fn is_over(&self) -> bool {
        self.lock().is_over
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps no queue but reads on where it was.
pub(crate) struct Follower {
    execution: Arc<Execution>,
    after: u64,
    news: watch::Receiver<()>,
    /// To be told next.
    waiting: Vec<Arc<ExecutionEvent>>,
}

pub(crate) enum Followed {
    Events(Vec<Arc<ExecutionEvent>>),
    /// So many before the next one are gone.
    Lagged {
        missed: u64,
    },
    End,
}

impl Follower {
    pub(super) fn new(execution: Arc<Execution>, after: u64) -> Self {
        Self {
            news: execution.log.news.subscribe(),
            execution,
            after,
            waiting: Vec::new(),
        }
    }

    pub(crate) fn last(&self) -> u64 {
        self.after
    }

    pub(crate) async fn next(&mut self) -> Followed {
        if !self.waiting.is_empty() {
            return Followed::Events(std::mem::take(&mut self.waiting));
        }
        loop {
            self.news.mark_unchanged();
            // Before the events are read, so that the last of them are.
            let is_over = self.execution.log.is_over();
            let (missed, events) = self.execution.log.after(self.after, MAX_EVENTS_TOLD);
            if let Some(last) = events.last() {
                self.after = last.seq;
                if missed == 0 {
                    return Followed::Events(events);
                }
                self.waiting = events;
                return Followed::Lagged { missed };
            }
            if is_over || self.news.changed().await.is_err() {
                return Followed::End;
            }
        }
    }
}
