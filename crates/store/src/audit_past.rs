//! Which tools have served somebody lately: a short look at the newest end of the audit log.

use jiff::Timestamp;
use sqlx::Row;

use crate::limits::MAX_PAST_RECORDS;
use crate::{AuditLog, AuditOutcome, StoreError};

/// A call that did what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    pub tool: String,
    pub at: Timestamp,
}

impl AuditLog {
    /// Calls of that person in that project that succeeded, newest first, among the last records of the log. However long the
    /// log is, and whoever else is in it, no more is looked at; what is still on its way to the disk is not waited for.
    pub async fn succeeded(&self, user: &str, project: &str) -> Result<Vec<PastCall>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let rows = sqlx::query(
            "SELECT tool, at_us FROM (SELECT id, at_us, user, project, tool, outcome FROM audit ORDER BY id DESC LIMIT ?) \
             WHERE outcome = ? AND user = ? AND project = ? ORDER BY id DESC",
        )
        .bind(MAX_PAST_RECORDS)
        .bind(AuditOutcome::Success.as_str())
        .bind(user)
        .bind(project)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?;
        let call = |row: &sqlx::sqlite::SqliteRow| {
            let at: i64 = row.try_get(1)?;
            Ok(PastCall {
                tool: row.try_get(0)?,
                at: Timestamp::from_microsecond(at).unwrap_or_default(),
            })
        };
        rows.iter().map(|row| call(row).map_err(failed)).collect()
    }
}

#[cfg(test)]
#[path = "audit_past_tests.rs"]
mod tests;
