//! Calls of tools since the server began, by what came of them: counted from the audit log, where each of them is.

use std::collections::{BTreeMap, HashMap};

use innkeeper_store::{AuditFilter, AuditLog, AuditOutcome, StoreError};
use jiff::Timestamp;
use tokio::sync::Mutex;

use crate::limits::{CALLS_READ_AT_ONCE, MAX_CALLS_READ};

pub(crate) struct CallCounts {
    since: Timestamp,
    /// By whose house it is.
    counted: Mutex<HashMap<String, Counted>>,
}

#[derive(Clone, Default)]
struct Counted {
    /// Of the log; those up to here are counted.
    last: u64,
    outcomes: BTreeMap<&'static str, u64>,
}

impl CallCounts {
    pub(crate) fn new(since: Timestamp) -> Self {
        Self {
            since,
            counted: Mutex::default(),
        }
    }

    /// As the log stands now. Reads only what came since it was last asked.
    pub(crate) async fn of(
        &self,
        user: &str,
        log: &AuditLog,
    ) -> Result<BTreeMap<&'static str, u64>, StoreError> {
        // One after the other, so that nothing is counted twice.
        let mut all = self.counted.lock().await;
        let known = all.get(user).cloned().unwrap_or_default();
        let mut now = known.clone();
        let mut before = None;
        for _ in 0..MAX_CALLS_READ / CALLS_READ_AT_ONCE {
            let page = log.query(AuditFilter {
                since: Some(self.since),
                before,
                limit: Some(CALLS_READ_AT_ONCE),
                ..AuditFilter::default()
            });
            let page = page.await?;
            let new = page.iter().take_while(|record| record.id > known.last);
            let mut count = 0;
            for record in new {
                now.last = now.last.max(record.id);
                *now.outcomes
                    .entry(record.entry.outcome.as_str())
                    .or_default() += 1;
                count += 1;
                before = Some(record.id);
            }
            if count < CALLS_READ_AT_ONCE {
                break;
            }
        }
        for outcome in AuditOutcome::ALL {
            now.outcomes.entry(outcome.as_str()).or_default();
        }
        all.insert(user.to_owned(), now.clone());
        Ok(now.outcomes)
    }
}
