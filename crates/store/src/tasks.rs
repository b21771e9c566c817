//! Background tasks: what is known of each, so that it survives the process. What a record says is known above.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::event::{RunId, TaskId};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row, Sqlite};

use crate::StoreError;
use crate::database::Database;
use crate::journal::at_most;
use crate::limits::{MAX_RECORD_ID_CHARS, MAX_TASK_BYTES, MAX_TASKS_READ};
use crate::owner::Owner;
use crate::writer::{Change, Writer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    pub task: TaskId,
    pub run: RunId,
    /// Nothing will change any more.
    pub is_final: bool,
    /// JSON.
    pub record: Arc<str>,
}

#[async_trait]
pub trait TaskStore: Send + Sync {
    /// Adds or replaces; on disk when it returns. A task that is final stays as it is: then this says no.
    async fn put(&self, task: TaskRecord) -> Result<bool, StoreError>;

    async fn get(&self, task: &TaskId) -> Result<Option<TaskRecord>, StoreError>;

    /// Oldest first.
    async fn of_run(&self, run: &RunId) -> Result<Vec<TaskRecord>, StoreError>;

    /// Those that are not final and whose process is gone, oldest first. They stay so until somebody puts them anew.
    async fn abandoned(&self) -> Result<Vec<TaskRecord>, StoreError>;

    /// Says whether there was one.
    async fn forget(&self, task: &TaskId) -> Result<bool, StoreError>;

    /// Forgets final tasks that belong to no run of the journal (those of a run go with it): all whose id sorts before
    /// the given one, and all but the newest `most`. Says how many went.
    async fn prune(&self, before: &TaskId, most: u32) -> Result<u64, StoreError>;
}

#[derive(Clone)]
pub(crate) struct SqliteTasks {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
    pub(crate) owner: Arc<Owner>,
}

impl SqliteTasks {
    async fn select(&self, mut query: QueryBuilder<Sqlite>) -> Result<Vec<SqliteRow>, StoreError> {
        query.push(" ORDER BY no LIMIT ").push_bind(MAX_TASKS_READ);
        query
            .build()
            .fetch_all(&self.database.readers)
            .await
            .map_err(|error| self.database.read_error(&error))
    }

    fn read(&self, row: &SqliteRow) -> Result<TaskRecord, StoreError> {
        let read = || {
            Ok(TaskRecord {
                task: TaskId::new(row.try_get::<&str, _>(0)?),
                run: RunId::new(row.try_get::<&str, _>(1)?),
                is_final: row.try_get(2)?,
                record: row.try_get::<&str, _>(3)?.into(),
            })
        };
        read().map_err(|error: sqlx::Error| self.database.read_error(&error))
    }
}

fn selection() -> QueryBuilder<Sqlite> {
    QueryBuilder::new("SELECT id, run, is_final, record, owner FROM tasks WHERE ")
}

#[async_trait]
impl TaskStore for SqliteTasks {
    async fn put(&self, task: TaskRecord) -> Result<bool, StoreError> {
        at_most("the record of a task", task.record.len(), MAX_TASK_BYTES)?;
        for id in [task.task.as_str(), task.run.as_str()] {
            at_most("the id of a task", id.chars().count(), MAX_RECORD_ID_CHARS)?;
        }
        let owner = self.owner.id().await?.to_owned();
        self.writer.change(Put { task, owner }).await
    }

    async fn get(&self, task: &TaskId) -> Result<Option<TaskRecord>, StoreError> {
        let mut query = selection();
        query.push("id = ").push_bind(task.as_str().to_owned());
        let rows = self.select(query).await?;
        rows.first().map(|row| self.read(row)).transpose()
    }

    async fn of_run(&self, run: &RunId) -> Result<Vec<TaskRecord>, StoreError> {
        let mut query = selection();
        query.push("run = ").push_bind(run.as_str().to_owned());
        let rows = self.select(query).await?;
        rows.iter().map(|row| self.read(row)).collect()
    }

    async fn abandoned(&self) -> Result<Vec<TaskRecord>, StoreError> {
        let mut query = selection();
        query.push("is_final = 0");
        let mut abandoned = Vec::new();
        let mut known: Option<(String, bool)> = None;
        for row in self.select(query).await? {
            let failed = |error: sqlx::Error| self.database.read_error(&error);
            let owner: String = row.try_get(4).map_err(failed)?;
            let is_alive = match &known {
                Some((last, is_alive)) if *last == owner => *is_alive,
                _ => self.owner.is_alive(&owner).await,
            };
            known = Some((owner, is_alive));
            if !is_alive {
                abandoned.push(self.read(&row)?);
            }
        }
        Ok(abandoned)
    }

    async fn forget(&self, task: &TaskId) -> Result<bool, StoreError> {
        self.writer.change(Forget(task.clone())).await
    }

    async fn prune(&self, before: &TaskId, most: u32) -> Result<u64, StoreError> {
        let before = before.clone();
        self.writer.change(Prune { before, most }).await
    }
}

type Outcome<T = bool> = Result<Result<T, StoreError>, sqlx::Error>;

struct Put {
    task: TaskRecord,
    owner: String,
}

#[async_trait]
impl Change for Put {
    type Output = bool;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome {
        let done = sqlx::query(
            "INSERT INTO tasks (id, run, owner, is_final, record) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET
                run = excluded.run, owner = excluded.owner, is_final = excluded.is_final, record = excluded.record
             WHERE is_final = 0",
        )
        .bind(self.task.task.as_str())
        .bind(self.task.run.as_str())
        .bind(&self.owner)
        .bind(self.task.is_final)
        .bind(self.task.record.clone())
        .execute(connection)
        .await?;
        Ok(Ok(done.rows_affected() > 0))
    }
}

struct Forget(TaskId);

#[async_trait]
impl Change for Forget {
    type Output = bool;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome {
        let done = sqlx::query("DELETE FROM tasks WHERE id = ?")
            .bind(self.0.as_str())
            .execute(connection)
            .await?;
        Ok(Ok(done.rows_affected() > 0))
    }
}

struct Prune {
    before: TaskId,
    most: u32,
}

#[async_trait]
impl Change for Prune {
    type Output = u64;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<u64> {
        let done = sqlx::query(
            "WITH loose AS (
                SELECT no, id FROM tasks
                WHERE is_final = 1 AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = tasks.run)
             )
             DELETE FROM tasks WHERE no IN (
                SELECT no FROM loose WHERE id < ?1
                UNION ALL
                SELECT no FROM (SELECT no FROM loose ORDER BY no DESC LIMIT -1 OFFSET ?2)
             )",
        )
        .bind(self.before.as_str())
        .bind(self.most)
        .execute(connection)
        .await?;
        Ok(Ok(done.rows_affected()))
    }
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
