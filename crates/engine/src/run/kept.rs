//! What a node is lent of the results that are kept, where whether it may do its work is decided each time.
//!
//! The engine cannot look such a result up by itself: it would pass by whoever decides. So the node hands this on, and
//! whoever does the work looks behind the decision. Nothing is kept before the node says that its work is good.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use super::RunShared;
use super::cache::{Key, ResultCache};
use crate::Value;
use crate::node::Output;

/// One node's share of what is kept. Clones are the same share.
#[derive(Clone)]
pub struct Kept(Arc<Share>);

struct Share {
    cache: Arc<ResultCache>,
    /// For whom, and for what kind of node.
    owner: Key,
    is_fresh: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_taken: bool,
    /// Not kept yet.
    made: Option<(Key, Value)>,
}

impl Kept {
    pub(super) fn lend(run: &RunShared, full_type: &str) -> Self {
        let mut owner = Sha256::new();
        // Apart from all that the engine keeps by itself.
        owner.update(b"lent");
        for part in [&*run.cache_scope, full_type] {
            owner.update((part.len() as u64).to_le_bytes());
            owner.update(part);
        }
        Self(Arc::new(Share {
            cache: run.cache.clone(),
            owner: owner.finalize().into(),
            is_fresh: run.is_fresh,
            state: Mutex::default(),
        }))
    }

    /// What was made of the same before. `of` is a digest of all that decides it.
    pub fn take(&self, of: &[u8; 32]) -> Option<Json> {
        if self.0.is_fresh {
            return None;
        }
        let mut outputs = self.0.cache.get(&self.key(of))?;
        let Some(Output::Value(value)) = outputs.pop() else {
            return None;
        };
        self.state().is_taken = true;
        Some(value.into_json())
    }

    /// This was made. It is kept when the node says so; of several, the last.
    pub fn made(&self, of: &[u8; 32], result: &Json) {
        let value = Value::from(result.clone());
        self.state().made = Some((self.key(of), value));
    }

    /// What was made is good.
    pub fn keep(&self) {
        let made = self.state().made.take();
        if let Some((key, value)) = made {
            self.0.cache.put(key, &[Output::Value(value)]);
        }
    }

    /// A try begins: what the one before took or made counts no more.
    pub(super) fn start_over(&self) {
        *self.state() = State::default();
    }

    pub(super) fn is_taken(&self) -> bool {
        self.state().is_taken
    }

    fn key(&self, of: &[u8; 32]) -> Key {
        let mut digest = Sha256::new();
        digest.update(self.0.owner);
        digest.update(of);
        digest.finalize().into()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
