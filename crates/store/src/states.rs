//! What runs leave behind for later runs: records by workspace and id, which hold the contents they name. What a record
//! says is known above.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::event::WorkspaceId;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::database::Database;
use crate::journal::at_most;
use crate::limits::{
    MAX_RECORD_ID_CHARS, MAX_STATE_BYTES, MAX_STATE_CONTENTS, MAX_STATES_READ, MAX_STATES_REMOVED,
};
use crate::writer::{Change, Writer};
use crate::{BlobId, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateRecord {
    pub workspace: WorkspaceId,
    pub state: String,
    /// JSON.
    pub record: Arc<str>,
    /// They are there already, and stay as long as the state.
    pub contents: BTreeSet<BlobId>,
}

#[async_trait]
pub trait StateStore: Send + Sync {
    /// Adds or replaces; on disk when it returns. `StoreError::ContentMissing` if a content is not there: then nothing
    /// was written.
    async fn put(&self, state: StateRecord) -> Result<(), StoreError>;

    async fn get(
        &self,
        workspace: &WorkspaceId,
        state: &str,
    ) -> Result<Option<StateRecord>, StoreError>;

    /// The ids of the states of a workspace, in order: a page of those after the given one. An empty one is the end.
    async fn list(
        &self,
        workspace: &WorkspaceId,
        after: Option<&str>,
    ) -> Result<Vec<String>, StoreError>;

    /// Those that one run has left, however often it was rolled back.
    async fn of_run(&self, workspace: &WorkspaceId, run: &str) -> Result<Vec<String>, StoreError>;

    /// Gives those that were there. Contents that nothing else holds go with the next sweep.
    async fn remove(
        &self,
        workspace: &WorkspaceId,
        states: &[String],
    ) -> Result<Vec<String>, StoreError>;

    /// The same, but leaves those that a run without an end began with, or will end with. What other runs began with stays
    /// theirs: their files can still be read.
    async fn prune(
        &self,
        workspace: &WorkspaceId,
        states: &[String],
    ) -> Result<Vec<String>, StoreError>;

    /// The workspaces that have states, in order: a page of those after the given one, with how many each has.
    async fn workspaces(&self, after: Option<&str>) -> Result<Vec<(WorkspaceId, u64)>, StoreError>;

    /// Those of them that have states of runs which are not there any more.
    async fn orphaned(&self, after: Option<&str>) -> Result<Vec<WorkspaceId>, StoreError>;
}

/// The run that left a state, and how often it had been rolled back by then: ids are `run_…`, `run_….1`, and so on.
pub fn run_of_state(state: &str) -> (&str, u64) {
    let numbered = state.rsplit_once('.').and_then(|(run, number)| {
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_number.then(|| number.parse().ok())??;
        Some((run, number))
    });
    numbered.unwrap_or((state, 0))
}

#[derive(Clone)]
pub(crate) struct SqliteStates {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
}

#[async_trait]
impl StateStore for SqliteStates {
    async fn put(&self, state: StateRecord) -> Result<(), StoreError> {
        at_most("the record of a state", state.record.len(), MAX_STATE_BYTES)?;
        let contents = state.contents.len();
        at_most(
            "the number of contents of a state",
            contents,
            MAX_STATE_CONTENTS,
        )?;
        for id in [state.workspace.as_str(), &state.state] {
            at_most("the id of a state", id.chars().count(), MAX_RECORD_ID_CHARS)?;
        }
        let contents: Vec<&str> = state.contents.iter().map(BlobId::as_str).collect();
        let contents = serde_json::json!(contents).to_string();
        self.writer.change(Put { state, contents }).await
    }

    async fn get(
        &self,
        workspace: &WorkspaceId,
        state: &str,
    ) -> Result<Option<StateRecord>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        // One look at both tables: a state that is replaced meanwhile is the old one or the new one.
        let rows = sqlx::query(
            "SELECT s.record, c.blob FROM states s LEFT JOIN state_contents c ON c.state = s.no
             WHERE s.workspace = ? AND s.id = ?",
        )
        .bind(workspace.as_str())
        .bind(state)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?;
        let Some(first) = rows.first() else {
            return Ok(None);
        };
        let mut contents = BTreeSet::new();
        for row in &rows {
            let blob: Option<&[u8]> = row.try_get(1).map_err(failed)?;
            contents.extend(blob.map(BlobId::from_digest));
        }
        Ok(Some(StateRecord {
            workspace: workspace.clone(),
            state: state.to_owned(),
            record: first.try_get::<&str, _>(0).map_err(failed)?.into(),
            contents,
        }))
    }

    async fn list(
        &self,
        workspace: &WorkspaceId,
        after: Option<&str>,
    ) -> Result<Vec<String>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        sqlx::query("SELECT id FROM states WHERE workspace = ? AND id > ? ORDER BY id LIMIT ?")
            .bind(workspace.as_str())
            .bind(after.unwrap_or_default())
            .bind(MAX_STATES_READ)
            .fetch_all(&self.database.readers)
            .await
            .map_err(failed)?
            .iter()
            .map(|row| row.try_get(0).map_err(failed))
            .collect()
    }

    async fn of_run(&self, workspace: &WorkspaceId, run: &str) -> Result<Vec<String>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        // '/' is what comes after '.'.
        let rows = sqlx::query(
            "SELECT id FROM states
             WHERE workspace = ?1 AND (id = ?2 OR (id > ?2 || '.' AND id < ?2 || '/'))",
        )
        .bind(workspace.as_str())
        .bind(run)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?;
        let ids: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get(0)).collect();
        let mut ids = ids.map_err(failed)?;
        ids.retain(|id| run_of_state(id).0 == run);
        Ok(ids)
    }

    async fn remove(
        &self,
        workspace: &WorkspaceId,
        states: &[String],
    ) -> Result<Vec<String>, StoreError> {
        self.remove_those(workspace, states, Which::All).await
    }

    async fn prune(
        &self,
        workspace: &WorkspaceId,
        states: &[String],
    ) -> Result<Vec<String>, StoreError> {
        self.remove_those(workspace, states, Which::Unused).await
    }

    async fn workspaces(&self, after: Option<&str>) -> Result<Vec<(WorkspaceId, u64)>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        sqlx::query(
            "SELECT workspace, count(*) FROM states WHERE workspace > ?
             GROUP BY workspace ORDER BY workspace LIMIT ?",
        )
        .bind(after.unwrap_or_default())
        .bind(MAX_STATES_READ)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?
        .iter()
        .map(|row| {
            let workspace = WorkspaceId::new(row.try_get::<&str, _>(0).map_err(failed)?);
            let count = row.try_get::<i64, _>(1).map_err(failed)?.unsigned_abs();
            Ok((workspace, count))
        })
        .collect()
    }

    async fn orphaned(&self, after: Option<&str>) -> Result<Vec<WorkspaceId>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        sqlx::query(
            "SELECT DISTINCT s.workspace FROM states s WHERE s.workspace > ? AND NOT EXISTS (
                SELECT 1 FROM runs r WHERE r.workspace = s.workspace AND r.id =
                    CASE instr(s.id, '.') WHEN 0 THEN s.id ELSE substr(s.id, 1, instr(s.id, '.') - 1) END)
             ORDER BY s.workspace LIMIT ?",
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

impl SqliteStates {
    async fn remove_those(
        &self,
        workspace: &WorkspaceId,
        states: &[String],
        which: Which,
    ) -> Result<Vec<String>, StoreError> {
        at_most(
            "the number of states to remove",
            states.len(),
            MAX_STATES_REMOVED,
        )?;
        let remove = Remove {
            workspace: workspace.clone(),
            states: states.to_vec(),
            which,
        };
        self.writer.change(remove).await
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    /// Not those that a run without an end needs.
    Unused,
}

type Outcome<T> = Result<Result<T, StoreError>, sqlx::Error>;

struct Put {
    state: StateRecord,
    /// As JSON.
    contents: String,
}

#[async_trait]
impl Change for Put {
    type Output = ();

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<()> {
        let missing = sqlx::query(
            "SELECT value FROM json_each(?)
             WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE id = unhex(value)) LIMIT 1",
        )
        .bind(&self.contents)
        .fetch_optional(&mut *connection)
        .await?;
        if let Some(row) = missing {
            let id = row.try_get(0)?;
            return Ok(Err(StoreError::ContentMissing { id }));
        }
        let row = sqlx::query(
            "INSERT INTO states (workspace, id, record) VALUES (?, ?, ?)
             ON CONFLICT (workspace, id) DO UPDATE SET record = excluded.record RETURNING no",
        )
        .bind(self.state.workspace.as_str())
        .bind(&self.state.state)
        .bind(self.state.record.clone())
        .fetch_one(&mut *connection)
        .await?;
        let number: i64 = row.try_get(0)?;
        sqlx::query("DELETE FROM state_contents WHERE state = ?")
            .bind(number)
            .execute(&mut *connection)
            .await?;
        sqlx::query(
            "INSERT INTO state_contents (state, blob) SELECT ?, unhex(value) FROM json_each(?)",
        )
        .bind(number)
        .bind(&self.contents)
        .execute(connection)
        .await?;
        Ok(Ok(()))
    }
}

struct Remove {
    workspace: WorkspaceId,
    states: Vec<String>,
    which: Which,
}

#[async_trait]
impl Change for Remove {
    type Output = Vec<String>;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<Vec<String>> {
        let workspace = self.workspace.as_str();
        let gone = take_away(connection, workspace, &self.states, self.which).await?;
        Ok(Ok(gone))
    }
}

/// Gives those that were there.
pub(crate) async fn take_away(
    connection: &mut SqliteConnection,
    workspace: &str,
    states: &[String],
    which: Which,
) -> Result<Vec<String>, sqlx::Error> {
    let mut gone = Vec::new();
    for state in states {
        if which == Which::Unused {
            if is_in_use(connection, workspace, state).await? {
                continue;
            }
            hand_over(connection, workspace, state).await?;
        }
        let row = sqlx::query("DELETE FROM states WHERE workspace = ? AND id = ? RETURNING no")
            .bind(workspace)
            .bind(state)
            .fetch_optional(&mut *connection)
            .await?;
        let Some(row) = row else {
            continue;
        };
        sqlx::query("DELETE FROM state_contents WHERE state = ?")
            .bind(row.try_get::<i64, _>(0)?)
            .execute(&mut *connection)
            .await?;
        gone.push(state.clone());
    }
    Ok(gone)
}

/// All that there is in a workspace.
pub(crate) async fn take_all(
    connection: &mut SqliteConnection,
    workspace: &str,
) -> Result<(), sqlx::Error> {
    for sql in [
        "DELETE FROM state_contents WHERE state IN (SELECT no FROM states WHERE workspace = ?)",
        "DELETE FROM states WHERE workspace = ?",
    ] {
        sqlx::query(sql)
            .bind(workspace)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// A run without an end began with it, or will end with it.
async fn is_in_use(
    connection: &mut SqliteConnection,
    workspace: &str,
    state: &str,
) -> Result<bool, sqlx::Error> {
    let row = sqlx::query(
        "SELECT EXISTS (SELECT 1 FROM runs r JOIN run_states s ON s.run = r.no
         WHERE r.workspace = ?1 AND s.terminal_ns IS NULL AND s.is_slim = 0
            AND (r.id = ?3 OR json_extract(r.record, '$.persistBaseStateId') = ?2))",
    )
    .bind(workspace)
    .bind(state)
    .bind(run_of_state(state).0)
    .fetch_one(connection)
    .await?;
    row.try_get(0)
}

/// Runs that began with it may have named its contents nowhere else.
async fn hand_over(
    connection: &mut SqliteConnection,
    workspace: &str,
    state: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT OR IGNORE INTO held (run, blob)
         SELECT r.no, c.blob FROM states s JOIN state_contents c ON c.state = s.no
            JOIN runs r ON r.workspace = s.workspace JOIN run_states t ON t.run = r.no
         WHERE s.workspace = ?1 AND s.id = ?2 AND t.is_slim = 0
            AND json_extract(r.record, '$.persistBaseStateId') = ?2",
    )
    .bind(workspace)
    .bind(state)
    .execute(connection)
    .await
    .map(drop)
}

#[cfg(test)]
#[path = "states_tests.rs"]
mod tests;
