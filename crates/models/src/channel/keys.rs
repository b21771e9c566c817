//! The keys of a channel, used in turn.
//!
//! One key is used until the provider complains about it; then it is put aside and the next one takes over.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innkeeper_protocol::Secret;
use tokio::time::Instant;

use crate::limits::{MAX_KEY_ASIDE, REFUSED_KEY_ASIDE};

pub(super) struct KeyRing {
    /// One entry without a key where none is wanted.
    keys: Vec<Option<Secret>>,
    turn: Mutex<Turn>,
}

struct Turn {
    next: usize,
    aside: Vec<Option<Aside>>,
}

#[derive(Clone, Copy)]
struct Aside {
    until: Instant,
    refused: bool,
}

pub(super) enum Pick {
    Key(usize, Option<Secret>),
    /// All that are left have to rest until then.
    WaitUntil(Instant),
    /// None is left.
    Nothing,
}

impl KeyRing {
    pub(super) fn new(keys: Vec<Option<Secret>>) -> Self {
        let turn = Turn {
            next: 0,
            aside: vec![None; keys.len()],
        };
        Self {
            keys,
            turn: Mutex::new(turn),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The key whose turn it is. `refused` are those that this request need not try again.
    pub(super) fn pick(&self, now: Instant, refused: &[usize]) -> Pick {
        let mut turn = self.turn();
        let count = self.keys.len();
        let left: Vec<(usize, Option<Aside>)> = (0..count)
            .map(|step| (turn.next + step) % count.max(1))
            .filter(|index| !refused.contains(index))
            .map(|index| {
                let aside = turn.aside.get(index).copied().flatten();
                (index, aside.filter(|aside| aside.until > now))
            })
            .collect();
        let free = left.iter().find(|(_, aside)| aside.is_none());
        if let Some((index, _)) = free {
            turn.next = *index;
            return Pick::Key(*index, self.keys.get(*index).cloned().flatten());
        }
        let asides = || {
            left.iter()
                .filter_map(|(index, aside)| aside.map(|aside| (*index, aside)))
        };
        let rested = asides().filter(|(_, aside)| !aside.refused);
        if let Some(until) = rested.map(|(_, aside)| aside.until).min() {
            return Pick::WaitUntil(until);
        }
        // All were refused before. The account may have been put in order since: the oldest refusal is tried anew.
        match asides().min_by_key(|(_, aside)| aside.until) {
            Some((index, _)) => Pick::Key(index, self.keys.get(index).cloned().flatten()),
            None => Pick::Nothing,
        }
    }

    /// The provider does not take it.
    pub(super) fn refused(&self, index: usize, now: Instant) {
        self.put_aside(index, now, REFUSED_KEY_ASIDE, true);
    }

    /// The provider asks for a pause.
    pub(super) fn limited(&self, index: usize, now: Instant, wait: Duration) {
        self.put_aside(index, now, wait.min(MAX_KEY_ASIDE), false);
    }

    /// It has worked.
    pub(super) fn worked(&self, index: usize) {
        if let Some(aside) = self.turn().aside.get_mut(index) {
            *aside = None;
        }
    }

    /// The first key, for questions beside the talk.
    pub(super) fn any(&self) -> Option<Secret> {
        match self.pick(Instant::now(), &[]) {
            Pick::Key(_, key) => key,
            Pick::WaitUntil(_) | Pick::Nothing => self.keys.first().cloned().flatten(),
        }
    }

    fn put_aside(&self, index: usize, now: Instant, wait: Duration, refused: bool) {
        let mut turn = self.turn();
        if let Some(aside) = turn.aside.get_mut(index) {
            *aside = Some(Aside {
                until: now + wait,
                refused,
            });
        }
        if turn.next == index {
            turn.next = (index + 1) % self.keys.len().max(1);
        }
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} keys]", self.keys.iter().flatten().count())
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
