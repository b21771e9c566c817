//! The chain through the audit log: every record's hash covers the record before it.
//!
//! Whoever changes, removes or inserts a record would have to compute all later hashes anew, and the last one no
//! longer equals one that was noted elsewhere. Hashes are made inside the transaction that holds the lock on
//! writing, so the chain holds with several processes at one file.

use sha2::{Digest, Sha256};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::open_calls::OpenRow;

/// What the hash of the first record covers in place of a predecessor.
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// An entry in the form in which it is stored and hashed.
#[derive(Debug, Clone)]
pub(crate) struct Sealed {
    pub(crate) at_us: i64,
    /// JSON. Stored as it is, so a later version verifies what it would write differently.
    pub(crate) entry: String,
    /// The call that has ended with it.
    pub(crate) closes: Option<OpenRow>,
}

/// The last record so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) id: i64,
    pub(crate) hash: String,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            id: 0,
            hash: GENESIS.to_owned(),
        }
    }
}

impl Head {
    pub(crate) fn next(&self, at_us: i64, entry: &str) -> Self {
        let id = self.id.saturating_add(1);
        let mut digest = Sha256::new();
        // Fixed widths and one free text at the end: no two records give the same bytes.
        digest.update(self.hash.as_bytes());
        digest.update(id.to_be_bytes());
        digest.update(at_us.to_be_bytes());
        digest.update(entry.as_bytes());
        Self {
            id,
            hash: hex(&digest.finalize()),
        }
    }
}

/// Must be inside a transaction that already holds the lock on writing.
pub(crate) async fn append(
    connection: &mut SqliteConnection,
    entries: &[Sealed],
) -> Result<(), sqlx::Error> {
    let mut head = head(connection).await?;
    for Sealed {
        at_us,
        entry,
        closes,
    } in entries
    {
        head = head.next(*at_us, entry);
        sqlx::query("INSERT INTO audit (id, at_us, entry, hash) VALUES (?, ?, ?, ?)")
            .bind(head.id)
            .bind(at_us)
            .bind(entry)
            .bind(&head.hash)
            .execute(&mut *connection)
            .await?;
        if let Some(row) = closes {
            forget(connection, &row.id).await?;
        }
    }
    Ok(())
}

pub(crate) async fn head(connection: &mut SqliteConnection) -> Result<Head, sqlx::Error> {
    let last = sqlx::query("SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1")
        .fetch_optional(connection)
        .await?;
    Ok(match last {
        Some(row) => Head {
            id: row.try_get(0)?,
            hash: row.try_get(1)?,
        },
        None => Head::default(),
    })
}

/// Removes the row of an open call; one that is not there is fine.
pub(crate) async fn forget(connection: &mut SqliteConnection, id: &str) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM open_calls WHERE id = ?")
        .bind(id)
        .execute(connection)
        .await
        .map(drop)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
