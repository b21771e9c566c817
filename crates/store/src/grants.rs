//! Grants: questions that a person answered with "always".

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::StoreError;
use crate::database::Database;
use crate::limits::{MAX_GRANT_CHARS, MAX_GRANTS};
use crate::writer::{Change, Writer};

/// What exactly was allowed: this tool, from this source, for this actor of this user, where this rule asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantKey {
    pub user: String,
    /// `person`, `agent:storyteller`.
    pub actor: String,
    pub tool: String,
    pub source: String,
    /// The rule whose question was answered. Another rule's question is another question.
    pub rule: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    pub id: i64,
    #[serde(flatten)]
    pub key: GrantKey,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone)]
pub struct Grants {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
}

impl Grants {
    /// On the disk when it returns. A grant that is there already is given back as it is.
    pub async fn add(&self, key: GrantKey, note: Option<String>) -> Result<Grant, StoreError> {
        let texts = [&key.user, &key.actor, &key.tool, &key.source, &key.rule];
        for text in texts.into_iter().chain(&note) {
            if text.len() > MAX_GRANT_CHARS {
                return Err(StoreError::TooLarge {
                    what: "a text of the grant",
                    size: text.len(),
                    limit: MAX_GRANT_CHARS,
                });
            }
        }
        // As it will be read back.
        let now = Timestamp::now();
        let at = Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now);
        self.writer.change(Add { key, note, at }).await
    }

    /// Oldest first.
    pub async fn list(&self) -> Result<Vec<Grant>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        sqlx::query(
            "SELECT id, user, actor, tool, source, rule, at_us, note FROM grants ORDER BY id",
        )
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?
        .iter()
        .map(|row| grant(row).map_err(failed))
        .collect()
    }

    pub async fn find(&self, key: &GrantKey) -> Result<Option<Grant>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let row = by_key(key)
            .fetch_optional(&self.database.readers)
            .await
            .map_err(failed)?;
        row.map(|row| grant(&row)).transpose().map_err(failed)
    }

    /// Says whether there was one.
    pub async fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        self.writer.change(Revoke(id)).await
    }
}

fn by_key(key: &GrantKey) -> sqlx::query::Query<'_, sqlx::Sqlite, sqlx::sqlite::SqliteArguments> {
    sqlx::query(
        "SELECT id, user, actor, tool, source, rule, at_us, note FROM grants
         WHERE user = ? AND actor = ? AND tool = ? AND source = ? AND rule = ?",
    )
    .bind(&key.user)
    .bind(&key.actor)
    .bind(&key.tool)
    .bind(&key.source)
    .bind(&key.rule)
}

fn grant(row: &SqliteRow) -> Result<Grant, sqlx::Error> {
    let at_us: i64 = row.try_get("at_us")?;
    Ok(Grant {
        id: row.try_get("id")?,
        key: GrantKey {
            user: row.try_get("user")?,
            actor: row.try_get("actor")?,
            tool: row.try_get("tool")?,
            source: row.try_get("source")?,
            rule: row.try_get("rule")?,
        },
        at: Timestamp::from_microsecond(at_us)
            .map_err(|error| sqlx::Error::Decode(error.into()))?,
        note: row.try_get("note")?,
    })
}

struct Add {
    key: GrantKey,
    note: Option<String>,
    at: Timestamp,
}

#[async_trait]
impl Change for Add {
    type Output = Grant;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<Grant, StoreError>, sqlx::Error> {
        if let Some(row) = by_key(&self.key).fetch_optional(&mut *connection).await? {
            return grant(&row).map(Ok);
        }
        let count: i64 = sqlx::query("SELECT count(*) FROM grants")
            .fetch_one(&mut *connection)
            .await?
            .try_get(0)?;
        if count.unsigned_abs() >= MAX_GRANTS {
            return Ok(Err(StoreError::Full {
                what: "grants",
                limit: MAX_GRANTS,
            }));
        }
        let key = &self.key;
        let added = sqlx::query(
            "INSERT INTO grants (user, actor, tool, source, rule, at_us, note) VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&key.user)
        .bind(&key.actor)
        .bind(&key.tool)
        .bind(&key.source)
        .bind(&key.rule)
        .bind(self.at.as_microsecond())
        .bind(&self.note)
        .execute(connection)
        .await?;
        Ok(Ok(Grant {
            id: added.last_insert_rowid(),
            key: key.clone(),
            at: self.at,
            note: self.note.clone(),
        }))
    }
}

struct Revoke(i64);

#[async_trait]
impl Change for Revoke {
    type Output = bool;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<bool, StoreError>, sqlx::Error> {
        let done = sqlx::query("DELETE FROM grants WHERE id = ?")
            .bind(self.0)
            .execute(connection)
            .await?;
        Ok(Ok(done.rows_affected() > 0))
    }
}

#[cfg(test)]
#[path = "grants_tests.rs"]
mod tests;
