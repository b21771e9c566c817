//! Calls that are written down before they run: whatever ends the process, the log knows of them.
//!
//! Owns the table of open calls and what becomes of those that nobody ended. Which calls are worth it is up to the
//! caller. In the ordinary case a call leaves one record, as with `append`: its row here goes when that is written.

use std::fmt;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::audit::{seal, written};
use crate::audit_chain::{self, Sealed};
use crate::limits::RECOVERY_PAGE;
use crate::owner::Owner;
use crate::rows::{SIZES, Statements, parts, sized, values};
use crate::writer::{Change, Writer};
use crate::{AuditEntry, AuditLog, AuditOutcome, StoreError};

const UNKNOWN: &str = "tool.outcome_unknown";
const PROCESS_ENDED: &str = "the process ended before the call did";
const DROPPED: &str = "the call was dropped before it ended";

/// The duty to say what became of a call: [`AuditLog::close`]. Dropped without a word, its outcome is unknown.
pub struct OpenCall {
    /// `None`: it is closed.
    row: Option<OpenRow>,
    entry: String,
    /// Before that nothing has run.
    is_written: bool,
    writer: Writer,
}

impl fmt::Debug for OpenCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenCall").field(&self.row).finish()
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let Some(row) = self.row.take() else {
            return;
        };
        // Should either fail, the row stays, and is settled when we are gone.
        if !self.is_written {
            drop(self.writer.try_change(Withdraw { id: row.id }));
        } else if let Ok(sealed) = unknown(&self.entry, DROPPED, row) {
            drop(self.writer.try_audit(sealed));
        }
    }
}

/// The row that goes when a record is written.
#[derive(Clone)]
pub(crate) struct OpenRow {
    pub(crate) id: String,
    /// Keeps our mark for as long as the row may be there, so that nobody else settles it meanwhile. `None`: it is
    /// the row of somebody who is gone.
    _owner: Option<Arc<Owner>>,
}

impl fmt::Debug for OpenRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

impl AuditLog {
    /// Writes down a call that is about to run; it is on the disk when this returns. An error means that it must
    /// not run. The outcome in the entry does not matter yet.
    pub async fn begin(&self, entry: AuditEntry) -> Result<OpenCall, StoreError> {
        self.writer.healthy()?;
        let owner = self.owner.id().await?.to_owned();
        let id = Uuid::now_v7().to_string();
        let entry = seal(entry)?.entry;
        // Made first: whoever stops waiting for us takes the row away again.
        let mut call = OpenCall {
            row: Some(OpenRow {
                id: id.clone(),
                _owner: Some(self.owner.clone()),
            }),
            entry: entry.clone(),
            is_written: false,
            writer: self.writer.clone(),
        };
        let (answer, answered) = oneshot::channel();
        let opening = Opening {
            id,
            owner,
            entry,
            answer,
        };
        self.writer.open(opening).await?;
        answered.await.unwrap_or(Err(StoreError::Closed))?;
        call.is_written = true;
        Ok(call)
    }

    /// Says what became of a call, like [`AuditLog::append`]. Since the call did happen, its record is taken even
    /// while the log cannot be written, and tried again; the error then says so. Where it cannot be taken at all,
    /// the call will stand in the log with an unknown outcome.
    pub async fn close(&self, open: OpenCall, entry: AuditEntry) -> Result<(), StoreError> {
        self.writer.audit_end(|| closing(open, entry)).await
    }

    /// The same without waiting, for guards that run while something is dropped.
    pub fn try_close(&self, open: OpenCall, entry: AuditEntry) -> Result<(), StoreError> {
        self.writer.try_audit(closing(open, entry)?)
    }

    /// Gives a record to every call whose process is gone.
    pub(crate) async fn recover(&self) -> Result<(), StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        // Over the connection that is there already; nearly always there is nothing to be done.
        let rows = sqlx::query("SELECT DISTINCT owner FROM open_calls")
            .fetch_all(&self.database.writer)
            .await
            .map_err(failed)?;
        let mut gone = Vec::new();
        for row in rows {
            let owner: String = row.try_get(0).map_err(failed)?;
            if !self.owner.is_alive(&owner).await {
                gone.push(owner);
            }
        }
        match gone.is_empty() {
            true => Ok(()),
            false => self.writer.change(Settle { gone }).await,
        }
    }
}

fn closing(mut open: OpenCall, entry: AuditEntry) -> Result<Sealed, StoreError> {
    let mut sealed = seal(entry)?;
    sealed.closes = open.row.take();
    Ok(sealed)
}

/// The record of a call of which only the beginning is known.
fn unknown(entry: &str, message: &str, row: OpenRow) -> Result<Sealed, sqlx::Error> {
    let damaged = |error: serde_json::Error| sqlx::Error::Decode(error.into());
    let mut entry: AuditEntry = serde_json::from_str(entry).map_err(damaged)?;
    entry.outcome = AuditOutcome::OutcomeUnknown;
    entry.error_code = Some(UNKNOWN.to_owned());
    entry.message = Some(message.to_owned());
    Ok(Sealed {
        at_us: entry.at.as_microsecond(),
        // It was bounded when it was written down.
        entry: written(&entry).map_err(|error| sqlx::Error::Decode(error.into()))?,
        closes: Some(row),
    })
}

type Outcome = Result<Result<(), StoreError>, sqlx::Error>;

/// A call on its way to the table.
pub(crate) struct Opening {
    id: String,
    owner: String,
    entry: String,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

impl Opening {
    pub(crate) fn answer(self, outcome: Result<(), StoreError>) {
        // Whoever asked may have gone away.
        drop(self.answer.send(outcome));
    }
}

pub(crate) async fn write(
    connection: &mut SqliteConnection,
    calls: &mut [Opening],
) -> Result<(), sqlx::Error> {
    // A log whose end cannot be read cannot be added to either: better to learn it before the call.
    audit_chain::head(connection).await?;
    for calls in parts(calls) {
        let mut query = sqlx::query(sized(&INSERT, calls.len()));
        for call in calls {
            query = query.bind(&call.id).bind(&call.owner).bind(&call.entry);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

static INSERT: Statements = LazyLock::new(|| {
    SIZES.map(|size| {
        let rows = values(size, 3);
        format!("INSERT INTO open_calls (id, owner, entry) {rows}")
    })
});

/// For a call that was never made.
struct Withdraw {
    id: String,
}

#[async_trait]
impl Change for Withdraw {
    type Output = ();

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome {
        audit_chain::forget(connection, &mut [&self.id]).await?;
        Ok(Ok(()))
    }
}

struct Settle {
    /// Owners who are not there any more. None of them comes back.
    gone: Vec<String>,
}

#[async_trait]
impl Change for Settle {
    type Output = ();

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome {
        for owner in &self.gone {
            let mut last = String::new();
            loop {
                // Somebody else who opens the database may have been quicker: then there is nothing left.
                let rows = sqlx::query(
                    "SELECT id, entry FROM open_calls WHERE owner = ? AND id > ? ORDER BY id LIMIT ?",
                )
                .bind(owner)
                .bind(&last)
                .bind(RECOVERY_PAGE)
                .fetch_all(&mut *connection)
                .await?;
                match rows.last() {
                    Some(row) => last = row.try_get(0)?,
                    None => break,
                }
                let mut records = Vec::with_capacity(rows.len());
                for row in &rows {
                    let open = OpenRow {
                        id: row.try_get(0)?,
                        _owner: None,
                    };
                    records.push(unknown(row.try_get(1)?, PROCESS_ENDED, open)?);
                }
                audit_chain::append(connection, &records).await?;
            }
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
#[path = "open_calls_tests.rs"]
mod tests;
