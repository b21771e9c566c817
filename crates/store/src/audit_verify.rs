//! Going through the audit log from the first record to the last: does every hash follow from the one before?

use serde::Serialize;
use sqlx::Row;

use crate::audit_chain::Head;
use crate::limits::VERIFY_PAGE;
use crate::{AuditLog, StoreError};

/// What going through the log found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Records in order, from the first.
    pub records: u64,
    /// The hash of the last of them. Whoever notes it elsewhere will see even a log that was written anew.
    pub head: String,
    pub broken: Option<BrokenLink>,
}

/// The first place where the log is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokenLink {
    pub id: u64,
    pub what: Tampering,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Tampering {
    /// The record of this id is not there, but later ones are, or were.
    Missing,
    /// The record, or the one before it, was changed.
    Changed,
}

impl Verification {
    pub fn is_intact(&self) -> bool {
        self.broken.is_none()
    }
}

impl AuditLog {
    /// Reads the whole log. Records that are added meanwhile are included or not.
    pub async fn verify(&self) -> Result<Verification, StoreError> {
        drop(self.writer.flush().await);
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let mut head = Head::default();
        // Read first, so that what is added meanwhile does not look like a gap.
        let promised = sqlx::query("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")
            .fetch_optional(&self.database.readers)
            .await
            .map_err(failed)?;
        let promised: i64 = match promised {
            Some(row) => row.try_get(0).map_err(failed)?,
            None => 0,
        };
        loop {
            let page = sqlx::query(
                "SELECT id, at_us, entry, hash FROM audit WHERE id > ? ORDER BY id LIMIT ?",
            )
            .bind(head.id)
            .bind(VERIFY_PAGE)
            .fetch_all(&self.database.readers)
            .await
            .map_err(failed)?;
            if page.is_empty() {
                break;
            }
            for row in page {
                let id: i64 = row.try_get(0).map_err(failed)?;
                let at_us: i64 = row.try_get(1).map_err(failed)?;
                let entry: &str = row.try_get(2).map_err(failed)?;
                let hash: &str = row.try_get(3).map_err(failed)?;
                let next = head.next(at_us, entry);
                if id != next.id {
                    return Ok(found(head, Some(Tampering::Missing)));
                }
                if hash != next.hash {
                    return Ok(found(head, Some(Tampering::Changed)));
                }
                head = next;
            }
        }
        let missing = (head.id < promised).then_some(Tampering::Missing);
        Ok(found(head, missing))
    }
}

fn found(head: Head, what: Option<Tampering>) -> Verification {
    Verification {
        records: head.id.unsigned_abs(),
        broken: what.map(|what| BrokenLink {
            id: head.id.unsigned_abs().saturating_add(1),
            what,
        }),
        head: head.hash,
    }
}
