//! The journal in one SQLite file: the door to what `write.rs` and `read.rs` do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use innkeeper_protocol::event::{RunEvent, RunId, WorkspaceId};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::oneshot;

use super::codec::{Step, nanoseconds, signed, status_text};
use super::follow::{Hub, follow};
use super::retention::{self, RunSeen};
use super::write::{self, Appending};
use super::{
    Belongings, Entry, EventRange, Follower, Replay, RunFilter, RunJournal, RunPage, RunRecord,
    StepPlace, StepRead, Written,
};
use super::{read, steps};
use crate::StoreError;
use crate::content::{Brought, KnownTrees, SqliteContents};
use crate::database::Database;
use crate::limits::{DELETE_PAGE, MAX_KNOWN_RUNS, MAX_RUN_ID_CHARS};
use crate::reserve::Reserve;
use crate::states::{self, Which};
use crate::worlds;
use crate::writer::{Change, Writer, lock};

/// A cheap handle.
#[derive(Clone)]
pub(crate) struct SqliteJournal {
    pub(crate) database: Database,
    pub(super) writer: Writer,
    pub(super) contents: SqliteContents,
    pub(crate) hub: Arc<Hub>,
    reserve: Reserve,
    /// The numbers of runs that are written to.
    numbers: Arc<Mutex<HashMap<RunId, i64>>>,
}

impl SqliteJournal {
    pub(crate) fn new(database: Database, writer: Writer, contents: SqliteContents) -> Self {
        Self {
            reserve: Reserve::of(database.path.as_deref()),
            database,
            writer,
            contents,
            hub: Arc::default(),
            numbers: Arc::default(),
        }
    }

    async fn number(&self, run: &RunId) -> Result<Option<i64>, StoreError> {
        read::number(&self.database, run).await
    }

    /// For whoever writes, again and again.
    async fn known_number(&self, run: &RunId) -> Result<i64, StoreError> {
        if let Some(number) = lock(&self.numbers).get(run) {
            return Ok(*number);
        }
        let number = self.number(run).await?;
        let number = number.ok_or_else(|| StoreError::NoRun(run.as_str().to_owned()))?;
        self.remember(run, number);
        Ok(number)
    }

    fn remember(&self, run: &RunId, number: i64) {
        let mut numbers = lock(&self.numbers);
        if numbers.len() >= MAX_KNOWN_RUNS {
            numbers.clear();
        }
        numbers.insert(run.clone(), number);
    }

    /// Removes what is left of deleted runs, a page at a time, so that others get to write in between. On a full disk it is
    /// done in small pieces, each of which makes room for the next.
    pub(crate) async fn sweep_deleted(&self) -> Result<(), StoreError> {
        let mut page = DELETE_PAGE;
        loop {
            match self.writer.change(RemoveSome(page)).await {
                Ok(true) if page < DELETE_PAGE => self.fold_log().await,
                Ok(true) => {}
                Ok(false) => break,
                Err(StoreError::DiskFull { .. }) if page > 1 => {
                    page = (page / 10).max(1);
                    self.make_room().await;
                }
                Err(error) => return Err(error),
            }
        }
        self.reserve.keep().await;
        Ok(())
    }

    /// Whether there is more than before.
    async fn make_room(&self) -> bool {
        let had_reserve = self.reserve.give_up().await;
        self.fold_log().await;
        had_reserve
    }

    /// What is in the log goes into the file, which has pages to spare, so that the log needs no more room.
    async fn fold_log(&self) {
        if let Ok(mut connection) = self.database.writer.acquire().await {
            let folded = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)");
            // Where somebody reads, it can be done later.
            drop(folded.execute(&mut *connection).await);
        }
    }
}

#[async_trait]
impl RunJournal for SqliteJournal {
    async fn create(&self, record: RunRecord, mut first: Entry) -> Result<(), StoreError> {
        if first.run != record.run_id {
            return Err(StoreError::NoRun(first.run.as_str().to_owned()));
        }
        let size = record.run_id.as_str().chars().count();
        if size > MAX_RUN_ID_CHARS {
            return Err(StoreError::TooLarge {
                what: "the id of the run",
                size,
                limit: MAX_RUN_ID_CHARS,
            });
        }
        let step = Step::of(&first, Some(&record))?;
        let brought = Brought::of_step(&mut first, None)?;
        let _room = self.contents.prepare(&brought).await?;
        let run = first.run.clone();
        let number = self.writer.change(Create::new(&record, step, brought)?);
        self.remember(&run, number.await?);
        Ok(())
    }

    async fn append(&self, entry: Entry) -> Result<(), StoreError> {
        self.submit(entry).await?.wait().await
    }

    async fn submit(&self, mut entry: Entry) -> Result<Written, StoreError> {
        let mut step = Step::of(&entry, None)?;
        let known_number = self.known_number(&entry.run).await?;
        step.no = known_number;
        let known_trees = self.contents.known_trees.clone();
        let last_tree = match entry.trees.is_empty() {
            true => None,
            false => known_trees.last_of(step.no),
        };
        let contents = Brought::of_step(&mut entry, last_tree.as_ref())?;
        let is_last = step.state.terminal_ns.is_some();
        let room = self.contents.prepare(&contents).await?;
        let (answer, answered) = oneshot::channel();
        let appending = Appending {
            step,
            contents,
            known_trees: known_trees.clone(),
            events: entry.events,
            hub: self.hub.clone(),
            outcome: Ok(()),
            answer,
        };
        self.writer.append(appending).await?;
        let (numbers, run) = (self.numbers.clone(), entry.run);
        Ok(Written::new(async move {
            let written = answered.await.unwrap_or(Err(StoreError::Closed));
            // Large contents stay for as long as nothing names them.
            drop(room);
            // Somebody else may have deleted it, and there may be another one under its name.
            if is_last || matches!(written, Err(StoreError::NoRun(_))) {
                lock(&numbers).remove(&run);
                known_trees.forget(known_number);
            }
            written
        }))
    }

    async fn events(&self, run: &RunId, range: EventRange) -> Result<Vec<RunEvent>, StoreError> {
        match self.number(run).await? {
            Some(number) => read::events(&self.database, run, number, range).await,
            None => Ok(Vec::new()),
        }
    }

    async fn replay(&self, run: &RunId) -> Result<Option<Replay>, StoreError> {
        match self.number(run).await? {
            Some(number) => steps::replay(&self.database, run, number).await,
            None => Ok(None),
        }
    }

    async fn inputs(
        &self,
        run: &RunId,
        after: StepPlace,
        limit: usize,
    ) -> Result<Vec<StepRead>, StoreError> {
        match self.number(run).await? {
            Some(number) => steps::inputs(&self.database, run, number, after, limit).await,
            None => Ok(Vec::new()),
        }
    }

    async fn record(&self, run: &RunId) -> Result<Option<RunRecord>, StoreError> {
        read::record(&self.database, run).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        read::runs(&self.database, filter).await
    }

    async fn unfinished(&self) -> Result<Vec<RunRecord>, StoreError> {
        read::unfinished(&self.database).await
    }

    async fn delete_with(&self, run: &RunId, belongings: &Belongings) -> Result<bool, StoreError> {
        self.delete_if(run, None, belongings).await
    }

    fn follow(&self, run: &RunId, after: u64) -> Follower {
        follow(self.clone(), run, after)
    }
}

impl SqliteJournal {
    /// Only if it is still as it was seen.
    pub(super) async fn delete_if(
        &self,
        run: &RunId,
        seen: Option<RunSeen>,
        belongings: &Belongings,
    ) -> Result<bool, StoreError> {
        let doom = || Doom {
            run: run.clone(),
            seen,
            belongings: belongings.clone(),
        };
        let was_there = match self.writer.change(doom()).await {
            Err(StoreError::DiskFull { .. }) if self.make_room().await => {
                self.writer.change(doom()).await?
            }
            done => done?,
        };
        if let Some(number) = lock(&self.numbers).remove(run) {
            self.contents.known_trees.forget(number);
        }
        if was_there {
            self.hub.end(run);
            match self.sweep_deleted().await {
                // It is gone for everybody; its rows go when somebody next claims the home.
                Err(StoreError::DiskFull { .. }) => {}
                swept => swept?,
            }
        }
        Ok(was_there)
    }
}

struct Create {
    record: RunRecord,
    text: String,
    entry: Vec<Appending>,
}

impl Create {
    fn new(record: &RunRecord, step: Step, contents: Brought) -> Result<Self, StoreError> {
        let text = serde_json::to_string(record).map_err(|error| StoreError::Write {
            cause: error.to_string(),
        })?;
        Ok(Self {
            record: record.clone(),
            text,
            entry: vec![Appending {
                step,
                contents,
                known_trees: KnownTrees::default(),
                // Nobody follows a run that is not there yet.
                events: Vec::new(),
                hub: Arc::default(),
                outcome: Ok(()),
                answer: oneshot::channel().0,
            }],
        })
    }
}

type Outcome<T> = Result<Result<T, StoreError>, sqlx::Error>;

#[async_trait]
impl Change for Create {
    /// The run's number.
    type Output = i64;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<i64> {
        let record = &self.record;
        for entry in &mut self.entry {
            if let Err(error) = entry.contents.check(connection).await? {
                return Ok(Err(error));
            }
            if entry.step.after_seq.is_some_and(|seq| seq != 0) {
                return Ok(Err(StoreError::Gap {
                    last: 0,
                    found: entry.step.after_seq.unwrap_or_default().unsigned_abs() + 1,
                }));
            }
        }
        let added = sqlx::query(
            "INSERT INTO runs (id, chat, workspace, created_ns, record) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT (id) DO NOTHING",
        )
        .bind(record.run_id.as_str())
        .bind(&record.stable_chat_id)
        .bind(record.workspace_id.as_str())
        .bind(nanoseconds(record.created_at))
        .bind(&self.text)
        .execute(&mut *connection)
        .await?;
        if added.rows_affected() == 0 {
            let id = record.run_id.as_str().to_owned();
            return Ok(Err(StoreError::RunExists(id)));
        }
        let number = added.last_insert_rowid();
        sqlx::query(
            "INSERT INTO run_states (run, last_seq, status, updated_ns, commit_count)
             VALUES (?, 0, ?, ?, ?)",
        )
        .bind(number)
        .bind(status_text(record.status))
        .bind(nanoseconds(record.updated_at))
        .bind(signed(record.commit_count))
        .execute(&mut *connection)
        .await?;
        for entry in &mut self.entry {
            entry.step.no = number;
        }
        write::append(connection, &mut self.entry).await?;
        Ok(Ok(number))
    }
}

/// From here on nobody finds it. Not if it is not as it was seen.
struct Doom {
    run: RunId,
    seen: Option<RunSeen>,
    belongings: Belongings,
}

#[async_trait]
impl Change for Doom {
    type Output = bool;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<bool> {
        let run = self.run.as_str();
        if let Some(seen) = self.seen
            && !retention::is_as_seen(connection, run, seen).await?
        {
            return Ok(Ok(false));
        }
        let row = sqlx::query("DELETE FROM runs WHERE id = ? RETURNING no, workspace")
            .bind(run)
            .fetch_optional(&mut *connection)
            .await?;
        let Some(row) = row else {
            return Ok(Ok(false));
        };
        let number: i64 = row.try_get(0)?;
        let workspace: String = row.try_get(1)?;
        for sql in [
            "INSERT OR IGNORE INTO doomed_runs (run) VALUES (?)",
            "DELETE FROM run_states WHERE run = ?",
            "DELETE FROM snapshots WHERE run = ?",
            "DELETE FROM cut_runs WHERE run = ?",
        ] {
            sqlx::query(sql)
                .bind(number)
                .execute(&mut *connection)
                .await?;
        }
        for sql in [
            "DELETE FROM tasks WHERE run = ?",
            "DELETE FROM control WHERE run = ?",
        ] {
            sqlx::query(sql).bind(run).execute(&mut *connection).await?;
        }
        self.take_belongings(&workspace, connection).await?;
        Ok(Ok(true))
    }
}

impl Doom {
    async fn take_belongings(
        &self,
        workspace: &str,
        connection: &mut SqliteConnection,
    ) -> Result<(), sqlx::Error> {
        let states = &self.belongings.states;
        states::take_away(connection, workspace, states, Which::Unused).await?;
        if !self.belongings.has_own_workspace {
            return Ok(());
        }
        let others = sqlx::query("SELECT 1 FROM runs WHERE workspace = ? LIMIT 1")
            .bind(workspace)
            .fetch_optional(&mut *connection)
            .await?;
        if others.is_none() {
            states::take_all(connection, workspace).await?;
            worlds::take_away(connection, &WorkspaceId::new(workspace)).await?;
        }
        Ok(())
    }
}

/// At most so many rows of each table.
struct RemoveSome(i64);

#[async_trait]
impl Change for RemoveSome {
    /// Whether there is more.
    type Output = bool;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<bool> {
        let row = sqlx::query("SELECT run FROM doomed_runs LIMIT 1")
            .fetch_optional(&mut *connection)
            .await?;
        let Some(row) = row else {
            return Ok(Ok(false));
        };
        let number: i64 = row.try_get(0)?;
        let mut removed = 0;
        for sql in [
            "DELETE FROM journal WHERE id IN (SELECT id FROM journal WHERE run = ? LIMIT ?)",
            "DELETE FROM held WHERE no IN (SELECT no FROM held WHERE run = ? LIMIT ?)",
            "DELETE FROM checkpoints WHERE no IN (SELECT no FROM checkpoints WHERE run = ? LIMIT ?)",
        ] {
            let done = sqlx::query(sql)
                .bind(number)
                .bind(self.0)
                .execute(&mut *connection)
                .await?;
            removed += done.rows_affected();
        }
        if removed == 0 {
            sqlx::query("DELETE FROM doomed_runs WHERE run = ?")
                .bind(number)
                .execute(connection)
                .await?;
        }
        Ok(Ok(true))
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
