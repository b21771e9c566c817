//! What is done to the table of requests, one small change each.

use async_trait::async_trait;
use serde_json::Value as Json;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::StoreError;
use crate::limits::MAX_REQUESTS;
use crate::writer::Change;

type Outcome<T> = Result<Result<T, StoreError>, sqlx::Error>;

#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) scope: String,
    pub(crate) request_id: String,
}

pub(crate) enum Claimed {
    New,
    Done(Json),
    Conflict,
    Held(Holder),
}

/// Whoever runs, or ran, a request.
pub(crate) struct Holder {
    pub(crate) owner: String,
    pub(crate) token: String,
}

pub(crate) struct TryClaim {
    pub(crate) key: Key,
    pub(crate) content_hash: String,
    pub(crate) token: String,
    pub(crate) owner: String,
    pub(crate) now_us: i64,
}

#[async_trait]
impl Change for TryClaim {
    type Output = Claimed;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<Claimed> {
        let row = sqlx::query(
            "SELECT content_hash, token, owner, observations FROM requests
             WHERE scope = ? AND request_id = ?",
        )
        .bind(&self.key.scope)
        .bind(&self.key.request_id)
        .fetch_optional(&mut *connection)
        .await?;
        let Some(row) = row else {
            sqlx::query(
                "INSERT INTO requests (scope, request_id, content_hash, token, owner, claimed_us)
                 VALUES (?, ?, ?, ?, ?, ?)",
            )
            .bind(&self.key.scope)
            .bind(&self.key.request_id)
            .bind(&self.content_hash)
            .bind(&self.token)
            .bind(&self.owner)
            .bind(self.now_us)
            .execute(connection)
            .await?;
            return Ok(Ok(Claimed::New));
        };
        if row.try_get::<&str, _>("content_hash")? != self.content_hash {
            return Ok(Ok(Claimed::Conflict));
        }
        if let Some(text) = row.try_get::<Option<&str>, _>("observations")? {
            let observations =
                serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(error.into()))?;
            return Ok(Ok(Claimed::Done(observations)));
        }
        Ok(Ok(Claimed::Held(Holder {
            owner: row.try_get("owner")?,
            token: row.try_get("token")?,
        })))
    }
}

pub(crate) struct TakeOver {
    pub(crate) from: String,
    pub(crate) token: String,
    pub(crate) owner: String,
}

#[async_trait]
impl Change for TakeOver {
    /// Whether it was still there to be taken.
    type Output = bool;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<bool> {
        let taken = sqlx::query(
            "UPDATE requests SET token = ?, owner = ? WHERE token = ? AND observations IS NULL",
        )
        .bind(&self.token)
        .bind(&self.owner)
        .bind(&self.from)
        .execute(connection)
        .await?;
        Ok(Ok(taken.rows_affected() > 0))
    }
}

pub(crate) struct Finish {
    pub(crate) token: String,
    pub(crate) observations: String,
}

#[async_trait]
impl Change for Finish {
    type Output = ();

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<()> {
        let done = sqlx::query(
            "UPDATE requests SET observations = ? WHERE token = ? AND observations IS NULL",
        )
        .bind(&self.observations)
        .bind(&self.token)
        .execute(connection)
        .await?;
        Ok(claimed(done.rows_affected()))
    }
}

pub(crate) struct Release {
    pub(crate) token: String,
}

#[async_trait]
impl Change for Release {
    type Output = ();

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<()> {
        let done = sqlx::query("DELETE FROM requests WHERE token = ? AND observations IS NULL")
            .bind(&self.token)
            .execute(connection)
            .await?;
        Ok(claimed(done.rows_affected()))
    }
}

fn claimed(rows: u64) -> Result<(), StoreError> {
    match rows {
        0 => Err(StoreError::ClaimLost),
        _ => Ok(()),
    }
}

pub(crate) struct Abandon {
    pub(crate) token: String,
}

#[async_trait]
impl Change for Abandon {
    type Output = ();

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<()> {
        sqlx::query("UPDATE requests SET owner = '' WHERE token = ? AND observations IS NULL")
            .bind(&self.token)
            .execute(connection)
            .await?;
        Ok(Ok(()))
    }
}

pub(crate) struct Purge {
    pub(crate) before_us: i64,
    /// Owners who are not there any more.
    pub(crate) gone: Vec<String>,
}

#[async_trait]
impl Change for Purge {
    type Output = ();

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<()> {
        sqlx::query("DELETE FROM requests WHERE claimed_us < ? AND observations IS NOT NULL")
            .bind(self.before_us)
            .execute(&mut *connection)
            .await?;
        for owner in &self.gone {
            sqlx::query(
                "DELETE FROM requests WHERE claimed_us < ? AND observations IS NULL AND owner = ?",
            )
            .bind(self.before_us)
            .bind(owner)
            .execute(&mut *connection)
            .await?;
        }
        sqlx::query(
            "DELETE FROM requests WHERE token IN (SELECT token FROM requests
             WHERE observations IS NOT NULL ORDER BY claimed_us DESC LIMIT -1 OFFSET ?)",
        )
        .bind(i64::try_from(MAX_REQUESTS).unwrap_or(i64::MAX))
        .execute(connection)
        .await?;
        Ok(Ok(()))
    }
}
