//! The chain through the audit log: every record's hash covers the record before it.
//!
//! Whoever changes, removes or inserts a record would have to compute all later hashes anew, and the last one no
//! longer equals one that was noted elsewhere. Hashes are made inside the transaction that holds the lock on
//! writing, so the chain holds with several processes at one file.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::open_calls::OpenRow;
use crate::rows::{SIZES, Statements, parts, sized, values};

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
    let records = entries.iter().map(|entry| {
        head = head.next(entry.at_us, &entry.entry);
        (head.clone(), entry)
    });
    let mut records: Vec<_> = records.collect();
    for rows in parts(&mut records) {
        let mut query = sqlx::query(sized(&INSERT, rows.len()));
        for (head, entry) in rows {
            query = query
                .bind(head.id)
                .bind(entry.at_us)
                .bind(&entry.entry)
                .bind(&head.hash);
        }
        query.execute(&mut *connection).await?;
    }
    let closed = entries.iter().filter_map(|entry| entry.closes.as_ref());
    let mut closed: Vec<&str> = closed.map(|row| row.id.as_str()).collect();
    forget(connection, &mut closed).await
}

static INSERT: Statements = LazyLock::new(|| {
    SIZES.map(|size| {
        let rows = values(size, 4);
        format!("INSERT INTO audit (id, at_us, entry, hash) {rows}")
    })
});

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

/// Removes the rows of open calls; one that is not there is fine.
pub(crate) async fn forget(
    connection: &mut SqliteConnection,
    ids: &mut [&str],
) -> Result<(), sqlx::Error> {
    for ids in parts(ids) {
        let mut query = sqlx::query(sized(&FORGET, ids.len()));
        for id in ids {
            query = query.bind(&**id);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

static FORGET: Statements = LazyLock::new(|| {
    SIZES.map(|size| {
        let rows = values(size, 1);
        format!("DELETE FROM open_calls WHERE id IN ({rows})")
    })
});

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
