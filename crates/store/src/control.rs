//! A letterbox for runs: whoever wants something of a run that another process drives leaves a message, and the one who
//! drives it finds it. What a message says is known above.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::event::RunId;
use jiff::Timestamp;
use serde_json::Value as Json;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use tokio::sync::Notify;

use crate::StoreError;
use crate::database::Database;
use crate::depth::is_too_deep;
use crate::journal::{at_most, nanoseconds, signed, timestamp};
use crate::limits::{
    CONTROL_POLL, MAX_CONTROL_BYTES, MAX_CONTROL_MESSAGES, MAX_CONTROL_READ, MAX_RUN_ID_CHARS,
};
use crate::writer::{Change, Writer};

#[derive(Debug, Clone, PartialEq)]
pub struct ControlMessage {
    /// In the order in which they were sent.
    pub number: u64,
    pub run: RunId,
    pub message: Json,
    pub sent_at: Timestamp,
}

#[async_trait]
pub trait Control: Send + Sync {
    /// On disk when it returns, whether anybody drives the run or not. Gives the message's number.
    async fn send(&self, run: &RunId, message: Json) -> Result<u64, StoreError>;

    /// Waits for messages after this number, of whatever run; oldest first, at least one. Begin with 0: what nobody
    /// settled before a restart comes again, so whoever acts on a message must be able to do so twice.
    async fn receive(&self, after: u64) -> Result<Vec<ControlMessage>, StoreError>;

    /// What there is already, without waiting.
    async fn waiting(&self, after: u64) -> Result<Vec<ControlMessage>, StoreError>;

    /// These were acted upon.
    async fn settle(&self, numbers: &[u64]) -> Result<(), StoreError>;
}

#[derive(Clone)]
pub(crate) struct SqliteControl {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
    /// For those in the same process, who need not wait for the next look.
    pub(crate) sent: Arc<Notify>,
}

#[async_trait]
impl Control for SqliteControl {
    async fn send(&self, run: &RunId, message: Json) -> Result<u64, StoreError> {
        let size = run.as_str().chars().count();
        at_most("the id of the run", size, MAX_RUN_ID_CHARS)?;
        if is_too_deep(&message) {
            let what = "the message to the run";
            return Err(StoreError::TooDeep { what });
        }
        let message = message.to_string();
        at_most("the message to the run", message.len(), MAX_CONTROL_BYTES)?;
        let send = Leave {
            run: run.clone(),
            message,
            sent_ns: nanoseconds(Timestamp::now()),
        };
        let number = self.writer.change(send).await?;
        self.sent.notify_waiters();
        Ok(number)
    }

    async fn receive(&self, after: u64) -> Result<Vec<ControlMessage>, StoreError> {
        loop {
            let sent = self.sent.notified();
            tokio::pin!(sent);
            // From here on, so that nothing is sent between the look and the wait.
            sent.as_mut().enable();
            let waiting = self.waiting(after).await?;
            if !waiting.is_empty() {
                return Ok(waiting);
            }
            tokio::select! {
                () = sent => {}
                () = tokio::time::sleep(CONTROL_POLL) => {}
            }
        }
    }

    async fn waiting(&self, after: u64) -> Result<Vec<ControlMessage>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        sqlx::query(
            "SELECT id, run, message, sent_ns FROM control WHERE id > ? ORDER BY id LIMIT ?",
        )
        .bind(signed(after))
        .bind(MAX_CONTROL_READ)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?
        .iter()
        .map(|row| read(row).map_err(failed))
        .collect()
    }

    async fn settle(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let numbers = serde_json::json!(numbers).to_string();
        self.writer.change(Settle(numbers)).await
    }
}

fn read(row: &SqliteRow) -> Result<ControlMessage, sqlx::Error> {
    let message = serde_json::from_str(row.try_get(2)?);
    Ok(ControlMessage {
        number: row.try_get::<i64, _>(0)?.unsigned_abs(),
        run: RunId::new(row.try_get::<&str, _>(1)?),
        message: message.map_err(|error| sqlx::Error::Decode(error.into()))?,
        sent_at: timestamp(row.try_get(3)?),
    })
}

type Outcome<T> = Result<Result<T, StoreError>, sqlx::Error>;

struct Leave {
    run: RunId,
    message: String,
    sent_ns: i64,
}

#[async_trait]
impl Change for Leave {
    type Output = u64;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<u64> {
        let waiting: i64 = sqlx::query("SELECT count(*) FROM control")
            .fetch_one(&mut *connection)
            .await?
            .try_get(0)?;
        if waiting.unsigned_abs() >= MAX_CONTROL_MESSAGES {
            return Ok(Err(StoreError::Full {
                what: "messages to runs",
                limit: MAX_CONTROL_MESSAGES,
            }));
        }
        let added = sqlx::query("INSERT INTO control (run, message, sent_ns) VALUES (?, ?, ?)")
            .bind(self.run.as_str())
            .bind(&self.message)
            .bind(self.sent_ns)
            .execute(connection)
            .await?;
        Ok(Ok(added.last_insert_rowid().unsigned_abs()))
    }
}

/// The numbers as JSON.
struct Settle(String);

#[async_trait]
impl Change for Settle {
    type Output = ();

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<()> {
        sqlx::query("DELETE FROM control WHERE id IN (SELECT value FROM json_each(?))")
            .bind(&self.0)
            .execute(connection)
            .await?;
        Ok(Ok(()))
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
