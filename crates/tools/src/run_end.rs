//! Tells whoever keeps something for a run that the run is over.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use innkeeper_protocol::event::RunId;

/// Keeps something for a run. Called once, when the last that belonged to the run is gone; not to block.
pub trait RunEnd: Send + Sync {
    fn run_ended(&self, run: &RunId);
}

/// All who want to know. Clones are the same list.
#[derive(Clone, Default)]
pub struct RunEnds(Arc<Mutex<Vec<Weak<dyn RunEnd>>>>);

impl RunEnds {
    /// Until it is dropped.
    pub fn listen(&self, listener: Weak<dyn RunEnd>) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.strong_count() > 0);
        listeners.push(listener);
    }

    pub(crate) fn tell(&self, run: &RunId) {
        let listeners = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            listener.run_ended(run);
        }
    }
}

impl std::fmt::Debug for RunEnds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunEnds")
    }
}
