//! Workflows that were begun over the network: those at work, and for a while those that have ended.
//!
//! `log.rs` keeps what happens in one, `execution.rs` is one of them, here are all of a house. They live in memory: what a
//! workflow does is in the audit log, what it gives is for whoever asked.

mod execution;
mod log;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::ErrorCode;

pub(crate) use execution::{Execution, New, drive};
pub(crate) use log::{Followed, Follower};

use crate::limits::{MAX_EXECUTIONS, MAX_EXECUTIONS_BYTES};
use crate::problem::Problem;

/// Cheap to clone; clones are the same table. Ids sort by the time they were made.
#[derive(Clone, Default)]
pub struct Executions(Arc<Mutex<BTreeMap<String, Arc<Execution>>>>);

impl Executions {
    /// Makes room by forgetting the oldest that have ended.
    pub(crate) fn add(&self, new: New) -> Result<Arc<Execution>, Problem> {
        let mut all = self.lock();
        while all.len() >= MAX_EXECUTIONS {
            if !forget_oldest(&mut all) {
                return Err(Problem::new(
                    ErrorCode::HttpRateLimited,
                    format!(
                        "{MAX_EXECUTIONS} workflows are at work already; wait for one, or cancel one"
                    ),
                ));
            }
        }
        let execution = Arc::new(Execution::new(new));
        all.insert(execution.id.clone(), execution.clone());
        Ok(execution)
    }

    /// It did not begin after all.
    pub(crate) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Execution>> {
        self.lock().get(id).cloned()
    }

    /// Newest first.
    pub(crate) fn list(&self) -> Vec<Arc<Execution>> {
        self.lock().values().rev().cloned().collect()
    }

    /// One has ended: all that is kept stays within bounds, the newest in any case.
    pub(crate) fn tidy(&self) {
        let mut all = self.lock();
        let held = |all: &BTreeMap<String, Arc<Execution>>| {
            all.values().map(|one| one.bytes()).sum::<usize>()
        };
        while all.len() > 1 && held(&all) > MAX_EXECUTIONS_BYTES && forget_oldest(&mut all) {}
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Execution>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn forget_oldest(all: &mut BTreeMap<String, Arc<Execution>>) -> bool {
    let ended = all.iter().find(|(_, one)| one.end().is_some());
    let oldest = ended.map(|(id, _)| id.clone());
    oldest.is_some_and(|id| all.remove(&id).is_some())
}

#[cfg(test)]
#[path = "executions_tests.rs"]
mod tests;
