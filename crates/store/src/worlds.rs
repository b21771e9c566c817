//! What the agents of a workspace share: a value with a version, which changes only from the version that whoever changes it
//! has seen. What a value and a record say is known above.
//!
//! A change, its record and what was answered to its request are one transaction, so a request that comes again after a
//! crash finds its answer, and two who change the same version do not both succeed.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::event::WorkspaceId;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::StoreError;
use crate::database::Database;
use crate::journal::at_most;
use crate::limits::{
    MAX_RECORD_ID_CHARS, MAX_STATES_READ, MAX_WORLD_ANSWER_BYTES, MAX_WORLD_BYTES,
    MAX_WORLD_RECORD_BYTES, MAX_WORLD_REQUESTS, MAX_WORLD_SCHEMA_BYTES, MAX_WORLD_VERSIONS,
};
use crate::writer::{Change, Writer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World {
    /// 1 for the first change.
    pub version: u64,
    /// JSON.
    pub value: Arc<str>,
    /// JSON.
    pub schema: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldUpdate {
    pub workspace: WorkspaceId,
    /// The version that it is made from; 0 for the first.
    pub base: u64,
    /// All of it, as JSON.
    pub value: Arc<str>,
    /// What is kept of the change, as JSON.
    pub record: Arc<str>,
    /// Under which id it takes effect once, and what is answered under it from then on.
    pub request: Option<(String, Arc<str>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorldUpdated {
    Made,
    /// The request was made before, with this answer.
    Again(Arc<str>),
    /// Nothing was changed: the world is at this version.
    Moved(u64),
}

#[async_trait]
pub trait WorldStore: Send + Sync {
    /// None: nobody has changed it.
    async fn get(&self, workspace: &WorkspaceId) -> Result<Option<World>, StoreError>;

    /// On disk when it returns.
    async fn update(&self, update: WorldUpdate) -> Result<WorldUpdated, StoreError>;

    /// For a request that changes nothing: only what is answered under it from then on. `value` and `record` are not looked
    /// at.
    async fn remember(&self, update: WorldUpdate) -> Result<WorldUpdated, StoreError>;

    /// What was answered to a request.
    async fn answer(
        &self,
        workspace: &WorkspaceId,
        request: &str,
    ) -> Result<Option<Arc<str>>, StoreError>;

    /// Records of the newest versions, the newest first, from before a version on.
    async fn history(
        &self,
        workspace: &WorkspaceId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Arc<str>>, StoreError>;

    /// What the world must fit from now on, if it is still at that version; says whether it was.
    async fn set_schema(
        &self,
        workspace: &WorkspaceId,
        base: u64,
        schema: Option<Arc<str>>,
    ) -> Result<bool, StoreError>;

    /// With its history and its schema; says whether there was one.
    async fn remove(&self, workspace: &WorkspaceId) -> Result<bool, StoreError>;

    /// Worlds of workspaces that have no runs any more, in order: a page of those after the given one.
    async fn orphaned(&self, after: Option<&str>) -> Result<Vec<WorkspaceId>, StoreError>;
}

#[derive(Clone)]
pub(crate) struct SqliteWorlds {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
}

fn check_id(workspace: &WorkspaceId) -> Result<(), StoreError> {
    let chars = workspace.as_str().chars().count();
    at_most("the id of a world", chars, MAX_RECORD_ID_CHARS)
}

fn check_request(update: &WorldUpdate) -> Result<(), StoreError> {
    if let Some((request, answer)) = &update.request {
        let chars = request.chars().count();
        at_most("the id of a request", chars, MAX_RECORD_ID_CHARS)?;
        at_most("an answer", answer.len(), MAX_WORLD_ANSWER_BYTES)?;
    }
    Ok(())
}

#[async_trait]
impl WorldStore for SqliteWorlds {
    async fn get(&self, workspace: &WorkspaceId) -> Result<Option<World>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let row = sqlx::query("SELECT version, value, schema FROM worlds WHERE workspace = ?")
            .bind(workspace.as_str())
            .fetch_optional(&self.database.readers)
            .await
            .map_err(failed)?;
        row.map(|row| world(&row)).transpose().map_err(failed)
    }

    async fn update(&self, update: WorldUpdate) -> Result<WorldUpdated, StoreError> {
        check_id(&update.workspace)?;
        at_most("the value of a world", update.value.len(), MAX_WORLD_BYTES)?;
        at_most(
            "the record of a world's version",
            update.record.len(),
            MAX_WORLD_RECORD_BYTES,
        )?;
        check_request(&update)?;
        self.writer.change(Update(update)).await
    }

    async fn remember(&self, update: WorldUpdate) -> Result<WorldUpdated, StoreError> {
        check_id(&update.workspace)?;
        check_request(&update)?;
        self.writer.change(Remember(update)).await
    }

    async fn answer(
        &self,
        workspace: &WorkspaceId,
        request: &str,
    ) -> Result<Option<Arc<str>>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let row = sqlx::query(
            "SELECT answer FROM world_requests
             WHERE world = (SELECT no FROM worlds WHERE workspace = ?) AND request = ?",
        )
        .bind(workspace.as_str())
        .bind(request)
        .fetch_optional(&self.database.readers)
        .await
        .map_err(failed)?;
        row.map(|row| text(&row)).transpose().map_err(failed)
    }

    async fn history(
        &self,
        workspace: &WorkspaceId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Arc<str>>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        sqlx::query(
            "SELECT record FROM world_versions
             WHERE world = (SELECT no FROM worlds WHERE workspace = ?) AND version < ?
             ORDER BY version DESC LIMIT ?",
        )
        .bind(workspace.as_str())
        .bind(before.map_or(i64::MAX, stored))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?
        .iter()
        .map(|row| text(row).map_err(failed))
        .collect()
    }

    async fn set_schema(
        &self,
        workspace: &WorkspaceId,
        base: u64,
        schema: Option<Arc<str>>,
    ) -> Result<bool, StoreError> {
        check_id(workspace)?;
        let bytes = schema.as_deref().map_or(0, str::len);
        at_most("the schema of a world", bytes, MAX_WORLD_SCHEMA_BYTES)?;
        let set = SetSchema {
            workspace: workspace.clone(),
            base,
            schema,
        };
        self.writer.change(set).await
    }

    async fn remove(&self, workspace: &WorkspaceId) -> Result<bool, StoreError> {
        self.writer.change(Remove(workspace.clone())).await
    }

    async fn orphaned(&self, after: Option<&str>) -> Result<Vec<WorkspaceId>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        sqlx::query(
            "SELECT workspace FROM worlds w WHERE workspace > ?
                AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.workspace = w.workspace)
             ORDER BY workspace LIMIT ?",
        )
        .bind(after.unwrap_or_default())
        .bind(MAX_STATES_READ)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?
        .iter()
        .map(|row| Ok(WorkspaceId::new(row.try_get::<&str, _>(0).map_err(failed)?)))
        .collect()
    }
}

fn stored(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

fn text(row: &SqliteRow) -> Result<Arc<str>, sqlx::Error> {
    Ok(row.try_get::<&str, _>(0)?.into())
}

fn world(row: &SqliteRow) -> Result<World, sqlx::Error> {
    let schema: Option<&str> = row.try_get(2)?;
    Ok(World {
        version: row.try_get::<i64, _>(0)?.unsigned_abs(),
        value: row.try_get::<&str, _>(1)?.into(),
        schema: schema.map(Arc::from),
    })
}

type Outcome<T> = Result<Result<T, StoreError>, sqlx::Error>;

/// Its number and its version, if there is one.
async fn found(
    workspace: &WorkspaceId,
    connection: &mut SqliteConnection,
) -> Result<Option<(i64, u64)>, sqlx::Error> {
    let row = sqlx::query("SELECT no, version FROM worlds WHERE workspace = ?")
        .bind(workspace.as_str())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let version: i64 = row.try_get(1)?;
    Ok(Some((row.try_get(0)?, version.unsigned_abs())))
}

struct Update(WorldUpdate);

#[async_trait]
impl Change for Update {
    type Output = WorldUpdated;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<WorldUpdated> {
        let update = &self.0;
        if let Some(why) = not_now(update, &mut *connection).await? {
            return Ok(Ok(why));
        }
        let version = stored(update.base.saturating_add(1));
        let world: i64 = sqlx::query(
            "INSERT INTO worlds (workspace, version, value) VALUES (?, ?, ?)
             ON CONFLICT (workspace) DO UPDATE SET version = excluded.version, value = excluded.value
             RETURNING no",
        )
        .bind(update.workspace.as_str())
        .bind(version)
        .bind(update.value.clone())
        .fetch_one(&mut *connection)
        .await?
        .try_get(0)?;
        sqlx::query("INSERT INTO world_versions (world, version, record) VALUES (?, ?, ?)")
            .bind(world)
            .bind(version)
            .bind(update.record.clone())
            .execute(&mut *connection)
            .await?;
        sqlx::query("DELETE FROM world_versions WHERE world = ? AND version <= ?")
            .bind(world)
            .bind(version.saturating_sub(MAX_WORLD_VERSIONS))
            .execute(&mut *connection)
            .await?;
        answered(world, update, connection).await?;
        Ok(Ok(WorldUpdated::Made))
    }
}

/// It was made before, or the world is not where it is made from.
async fn not_now(
    update: &WorldUpdate,
    connection: &mut SqliteConnection,
) -> Result<Option<WorldUpdated>, sqlx::Error> {
    let there = found(&update.workspace, &mut *connection).await?;
    if let (Some((world, _)), Some((request, _))) = (there, &update.request) {
        let known =
            sqlx::query("SELECT answer FROM world_requests WHERE world = ? AND request = ?")
                .bind(world)
                .bind(request)
                .fetch_optional(&mut *connection)
                .await?;
        if let Some(row) = known {
            return Ok(Some(WorldUpdated::Again(text(&row)?)));
        }
    }
    let now = there.map_or(0, |(_, version)| version);
    Ok((now != update.base).then_some(WorldUpdated::Moved(now)))
}

/// Only so many of the newest answers are kept.
async fn answered(
    world: i64,
    update: &WorldUpdate,
    connection: &mut SqliteConnection,
) -> Result<(), sqlx::Error> {
    let Some((request, answer)) = &update.request else {
        return Ok(());
    };
    sqlx::query("INSERT INTO world_requests (world, request, answer) VALUES (?, ?, ?)")
        .bind(world)
        .bind(request)
        .bind(answer.clone())
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "DELETE FROM world_requests WHERE world = ?1 AND no <= (SELECT no FROM world_requests
         WHERE world = ?1 ORDER BY no DESC LIMIT 1 OFFSET ?2)",
    )
    .bind(world)
    .bind(MAX_WORLD_REQUESTS)
    .execute(connection)
    .await
    .map(drop)
}

struct Remember(WorldUpdate);

#[async_trait]
impl Change for Remember {
    type Output = WorldUpdated;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<WorldUpdated> {
        let update = &self.0;
        if let Some(why) = not_now(update, &mut *connection).await? {
            return Ok(Ok(why));
        }
        sqlx::query(
            "INSERT INTO worlds (workspace, version, value) VALUES (?, 0, '{}')
             ON CONFLICT (workspace) DO NOTHING",
        )
        .bind(update.workspace.as_str())
        .execute(&mut *connection)
        .await?;
        if let Some((world, _)) = found(&update.workspace, &mut *connection).await? {
            answered(world, update, connection).await?;
        }
        Ok(Ok(WorldUpdated::Made))
    }
}

struct SetSchema {
    workspace: WorkspaceId,
    base: u64,
    schema: Option<Arc<str>>,
}

#[async_trait]
impl Change for SetSchema {
    type Output = bool;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<bool> {
        let there = found(&self.workspace, &mut *connection).await?;
        if there.map_or(0, |(_, version)| version) != self.base {
            return Ok(Ok(false));
        }
        sqlx::query(
            "INSERT INTO worlds (workspace, version, value, schema) VALUES (?, 0, '{}', ?)
             ON CONFLICT (workspace) DO UPDATE SET schema = excluded.schema",
        )
        .bind(self.workspace.as_str())
        .bind(self.schema.clone())
        .execute(connection)
        .await?;
        Ok(Ok(true))
    }
}

struct Remove(WorkspaceId);

#[async_trait]
impl Change for Remove {
    type Output = bool;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<bool> {
        Ok(Ok(take_away(connection, &self.0).await?))
    }
}

/// Says whether there was one.
pub(crate) async fn take_away(
    connection: &mut SqliteConnection,
    workspace: &WorkspaceId,
) -> Result<bool, sqlx::Error> {
    let Some((world, _)) = found(workspace, &mut *connection).await? else {
        return Ok(false);
    };
    for sql in [
        "DELETE FROM worlds WHERE no = ?",
        "DELETE FROM world_versions WHERE world = ?",
        "DELETE FROM world_requests WHERE world = ?",
    ] {
        sqlx::query(sql)
            .bind(world)
            .execute(&mut *connection)
            .await?;
    }
    Ok(true)
}

#[cfg(test)]
#[path = "worlds_tests.rs"]
mod tests;
