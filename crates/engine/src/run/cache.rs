//! Results of nodes that always give the same for the same inputs, kept for later runs: an edited workflow runs only
//! what has changed. Bounded in number and bytes; what was not used for longest goes first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::limits::MAX_CACHE_ENTRIES;
use crate::node::{Input, Output};

pub(crate) type Key = [u8; 32];

pub(crate) struct ResultCache {
    max_bytes: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// By when they were last used.
    by_use: BTreeMap<u64, Key>,
    clock: u64,
    bytes: usize,
}

struct Entry {
    outputs: Vec<Output>,
    bytes: usize,
    used: u64,
}

/// What the cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSize {
    pub entries: usize,
    pub bytes: usize,
}

impl ResultCache {
    /// With no bytes it keeps nothing.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            state: Mutex::default(),
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Vec<Output>> {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        state.clock += 1;
        let entry = state.entries.get_mut(key)?;
        state.by_use.remove(&entry.used);
        entry.used = state.clock;
        state.by_use.insert(state.clock, *key);
        Some(entry.outputs.clone())
    }

    pub(crate) fn put(&self, key: Key, outputs: &[Output]) {
        let bytes = 256
            + outputs
                .iter()
                .map(|output| match output {
                    Output::Value(value) => value.weight(),
                    Output::Absent | Output::Skipped => 8,
                })
                .sum::<usize>();
        // One result must not push out everything else.
        if bytes > self.max_bytes / 4 {
            return;
        }
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        state.clock += 1;
        let entry = Entry {
            outputs: outputs.to_vec(),
            bytes,
            used: state.clock,
        };
        state.bytes += bytes;
        state.by_use.insert(state.clock, key);
        if let Some(old) = state.entries.insert(key, entry) {
            state.bytes -= old.bytes;
            state.by_use.remove(&old.used);
        }
        while state.bytes > self.max_bytes || state.entries.len() > MAX_CACHE_ENTRIES {
            let Some((_, oldest)) = state.by_use.pop_first() else {
                break;
            };
            if let Some(old) = state.entries.remove(&oldest) {
                state.bytes -= old.bytes;
            }
        }
    }

    pub(crate) fn clear(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    pub(crate) fn size(&self) -> CacheSize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        CacheSize {
            entries: state.entries.len(),
            bytes: state.bytes,
        }
    }
}

/// What a node is, and what it takes, in a few bytes.
pub(super) fn digest(scope: &str, node: &[u8], inputs: &[Input]) -> Key {
    let mut digest = Sha256::new();
    digest.update((scope.len() as u64).to_le_bytes());
    digest.update(scope);
    digest.update(node);
    for input in inputs {
        match input {
            Input::Absent | Input::Stream(_) => digest.update([0]),
            Input::Value(value) => {
                digest.update([1]);
                add(&mut digest, value.as_json());
            }
            Input::Many(values) => {
                digest.update([2]);
                digest.update((values.len() as u64).to_le_bytes());
                for value in values {
                    add(&mut digest, value.as_json());
                }
            }
        }
    }
    digest.finalize().into()
}

/// Every part with its kind and length, so that no two values look alike.
fn add(digest: &mut Sha256, json: &Json) {
    match json {
        Json::Null => digest.update(b"n"),
        Json::Bool(yes) => digest.update(if *yes { b"t" } else { b"f" }),
        Json::Number(number) => {
            let text = number.to_string();
            digest.update(b"d");
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        }
        Json::String(text) => {
            digest.update(b"s");
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        }
        Json::Array(list) => {
            digest.update(b"a");
            digest.update((list.len() as u64).to_le_bytes());
            list.iter().for_each(|one| add(digest, one));
        }
        Json::Object(map) => {
            digest.update(b"o");
            digest.update((map.len() as u64).to_le_bytes());
            for (key, value) in map {
                digest.update((key.len() as u64).to_le_bytes());
                digest.update(key);
                add(digest, value);
            }
        }
    }
}
