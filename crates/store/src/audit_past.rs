//! Which tools have served somebody lately: a short look at the newest end of the audit log.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::limits::MAX_PAST_RECORDS;
use crate::{AuditLog, AuditOutcome, StoreError};

/// A call that did what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    pub tool: String,
    pub at: Timestamp,
}

/// What counts of a record. Arguments, which may be long, are passed over.
#[derive(Deserialize)]
struct Brief<'e> {
    #[serde(borrow)]
    user: Cow<'e, str>,
    #[serde(borrow)]
    project: Cow<'e, str>,
    #[serde(borrow)]
    tool: Cow<'e, str>,
    outcome: AuditOutcome,
}

impl AuditLog {
    /// Calls of that person in that project that succeeded, newest first, among the last records of the log. However long the
    /// log is, and whoever else is in it, no more is looked at; what is still on its way to the disk is not waited for.
    pub async fn succeeded(&self, user: &str, project: &str) -> Result<Vec<PastCall>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        // The columns that the log is searched by are computed from the entry, each anew: reading it once costs far less.
        let rows = sqlx::query("SELECT at_us, entry FROM audit ORDER BY id DESC LIMIT ?")
            .bind(MAX_PAST_RECORDS)
            .fetch_all(&self.database.readers)
            .await
            .map_err(failed)?;
        let call = |row: &SqliteRow| -> Result<Option<PastCall>, sqlx::Error> {
            let (at, entry): (i64, &str) = (row.try_get(0)?, row.try_get(1)?);
            let entry: Brief<'_> =
                serde_json::from_str(entry).map_err(|error| sqlx::Error::Decode(error.into()))?;
            let counts = entry.outcome == AuditOutcome::Success
                && entry.user == user
                && entry.project == project;
            Ok(counts.then(|| PastCall {
                tool: entry.tool.into_owned(),
                at: Timestamp::from_microsecond(at).unwrap_or_default(),
            }))
        };
        let calls = rows.iter().map(call);
        let calls = calls.filter_map(Result::transpose);
        calls.map(|call| call.map_err(failed)).collect()
    }
}

#[cfg(test)]
#[path = "audit_past_tests.rs"]
mod tests;
