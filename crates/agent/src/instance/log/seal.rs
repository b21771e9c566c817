//! Leaving a run that only waits for people. Between the look and the leaving nothing of it begins: whatever wants to after
//! the look is not taken, and is begun by the next process.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use innkeeper_protocol::event::CallId;
use innkeeper_store::StoreError;

use super::RunLog;
use crate::run::CallState;

impl RunLog {
    /// From now on somebody sees to these calls.
    pub(crate) fn take_up(&self, calls: &[CallId]) {
        self.in_hand().extend(calls.iter().cloned());
    }

    /// It is over.
    pub(crate) fn put_down(&self, call: &CallId) {
        self.in_hand().remove(call);
    }

    /// Takes nothing more for the run, if nothing of it is under way but questions to people. Says whether that is so.
    pub(crate) async fn seal_if_only_asking(&self) -> Result<bool, StoreError> {
        let mut state = self.0.state.lock().await;
        let (awake, _) = self.awake(&mut state).await?;
        let run = &awake.run;
        // Taken up, and neither asked about nor started: it is about to be.
        let is_next = |call: &CallId| {
            let planned = run.planned_call(call);
            planned.is_some_and(|planned| planned.state == CallState::Waiting)
        };
        let only_asks = run.only_asks() && !self.in_hand().iter().any(is_next);
        if only_asks {
            self.0.sealed.store(true, Ordering::Release);
        }
        Ok(only_asks)
    }

    pub(crate) fn is_sealed(&self) -> bool {
        self.0.sealed.load(Ordering::Acquire)
    }

    fn in_hand(&self) -> MutexGuard<'_, BTreeSet<CallId>> {
        self.0
            .in_hand
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
