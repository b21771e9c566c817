//! Why a run cannot be written down, for whoever asks, also when the run has been let go of.

use std::sync::{Arc, PoisonError};

use innkeeper_store::StoreError;

/// Why a run cannot be written down. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Fault(Arc<std::sync::Mutex<Option<StoreError>>>);

impl Fault {
    pub(crate) fn get(&self) -> Option<StoreError> {
        self.lock().clone()
    }

    /// The first one says most, unless it only says that one before it is missing: whoever waits for that one may hear of
    /// it later.
    pub(super) fn set(&self, error: StoreError) {
        let mut known = self.lock();
        if matches!(*known, None | Some(StoreError::Gap { .. })) {
            *known = Some(error);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<StoreError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
