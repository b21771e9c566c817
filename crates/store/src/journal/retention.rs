//! What may go of runs that are over: what they were fed and made, so that only what happened is left of them, or all.
//!
//! Which run, and how much of it, is decided above. A run is whole, slim or gone, whenever the process is killed; and what was
//! seen of it before is compared in the transaction that takes something away.

use std::collections::HashMap;

use async_trait::async_trait;
use innkeeper_protocol::event::RunId;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row, Sqlite};

use super::codec::{input_sum, signed};
use super::read::{RECORD, number, record_of};
use super::sqlite::SqliteJournal;
use super::{Belongings, RunRecord, steps};
use crate::StoreError;
use crate::journal::at_most;
use crate::limits::{MAX_RUNS_READ, MAX_RUNS_WEIGHED};
use crate::writer::Change;

#[async_trait]
pub trait RunRetention: Send + Sync {
    async fn counts(&self) -> Result<RunCounts, StoreError>;

    /// A page of the runs that are over, the one that ended last first. An empty one is the end.
    async fn ended(
        &self,
        after: Option<EndedPlace>,
        limit: usize,
    ) -> Result<Vec<EndedRun>, StoreError>;

    /// So many of those without an end, the oldest first.
    async fn unfinished(&self, limit: usize) -> Result<Vec<EndedRun>, StoreError>;

    /// How much is kept of these runs, without reading it.
    async fn weigh(
        &self,
        runs: &[EndedPlace],
    ) -> Result<HashMap<EndedPlace, RunWeight>, StoreError>;

    /// Reads all of a run and compares it with its sums. What was seen is the condition for taking something away.
    async fn verify(&self, run: &RunId) -> Result<RunSeen, StoreError>;

    /// Leaves the record and the events of a run. `None`: it is not as it was seen, or something of it is under way.
    /// Contents that nothing else holds go with the next sweep.
    async fn slim(&self, run: &RunId, seen: RunSeen) -> Result<Option<Weight>, StoreError>;

    /// Leaves nothing of it, and nothing of what belongs to it. The same holds.
    async fn remove(
        &self,
        run: &RunId,
        seen: RunSeen,
        belongings: &Belongings,
    ) -> Result<Option<Weight>, StoreError>;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunCounts {
    pub ended: u64,
    pub unfinished: u64,
}

/// Where a run stands among those that are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndedPlace {
    ended_ns: i64,
    number: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EndedRun {
    pub place: EndedPlace,
    pub run: RunId,
    /// Or why it cannot be read.
    pub record: Result<RunRecord, String>,
}

/// Rows, or contents, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    pub pieces: u64,
    pub bytes: u64,
}

impl Weight {
    pub fn add(&mut self, other: Self) {
        self.pieces = self.pieces.saturating_add(other.pieces);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunWeight {
    /// What it was fed, its snapshot and its checkpoints.
    pub heavy: Weight,
    /// Its events.
    pub events: Weight,
    /// Contents that no other run and no state holds.
    pub contents: Weight,
    /// States that are the run's alone, since it has no chat and no other run has its workspace.
    pub states: Weight,
    /// The same of its world.
    pub worlds: Weight,
    /// What is wrong with its steps, as far as that is seen without reading them.
    pub problem: Option<String>,
}

/// A run as it was when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSeen {
    last_seq: u64,
    steps: u64,
}

#[derive(Clone)]
pub(crate) struct SqliteRetention(pub(crate) SqliteJournal);

impl SqliteRetention {
    fn failed(&self, error: &sqlx::Error) -> StoreError {
        self.0.database.read_error(error)
    }

    async fn page(&self, mut query: QueryBuilder<Sqlite>) -> Result<Vec<EndedRun>, StoreError> {
        let failed = |error: sqlx::Error| self.failed(&error);
        let rows = query.build().fetch_all(&self.0.database.readers).await;
        let rows = rows.map_err(failed)?;
        rows.iter().map(|row| ended(row).map_err(failed)).collect()
    }
}

fn ended(row: &SqliteRow) -> Result<EndedRun, sqlx::Error> {
    Ok(EndedRun {
        place: EndedPlace {
            ended_ns: row.try_get::<Option<i64>, _>(4)?.unwrap_or_default(),
            number: row.try_get(9)?,
        },
        run: RunId::new(row.try_get::<&str, _>(10)?),
        record: record_of(row).map_err(|error| error.to_string()),
    })
}

#[async_trait]
impl RunRetention for SqliteRetention {
    async fn counts(&self) -> Result<RunCounts, StoreError> {
        let failed = |error: sqlx::Error| self.failed(&error);
        let row = sqlx::query("SELECT count(*), count(terminal_ns) FROM run_states")
            .fetch_one(&self.0.database.readers)
            .await
            .map_err(failed)?;
        let (all, ended): (i64, i64) = (
            row.try_get(0).map_err(failed)?,
            row.try_get(1).map_err(failed)?,
        );
        Ok(RunCounts {
            ended: ended.unsigned_abs(),
            unfinished: all.saturating_sub(ended).unsigned_abs(),
        })
    }

    async fn ended(
        &self,
        after: Option<EndedPlace>,
        limit: usize,
    ) -> Result<Vec<EndedRun>, StoreError> {
        let mut query = QueryBuilder::new(RECORD);
        query.push(" WHERE s.terminal_ns IS NOT NULL");
        if let Some(place) = after {
            query
                .push(" AND (s.terminal_ns, s.run) < (")
                .push_bind(place.ended_ns)
                .push(", ")
                .push_bind(place.number)
                .push(")");
        }
        query
            .push(" ORDER BY s.terminal_ns DESC, s.run DESC LIMIT ")
            .push_bind(signed(limit.min(MAX_RUNS_READ) as u64));
        self.page(query).await
    }

    async fn unfinished(&self, limit: usize) -> Result<Vec<EndedRun>, StoreError> {
        let mut query = QueryBuilder::new(RECORD);
        query
            .push(" WHERE s.terminal_ns IS NULL ORDER BY s.run LIMIT ")
            .push_bind(signed(limit.min(MAX_RUNS_READ) as u64));
        self.page(query).await
    }

    async fn weigh(
        &self,
        runs: &[EndedPlace],
    ) -> Result<HashMap<EndedPlace, RunWeight>, StoreError> {
        at_most("the number of runs to weigh", runs.len(), MAX_RUNS_WEIGHED)?;
        let failed = |error: sqlx::Error| self.failed(&error);
        let numbers: Vec<i64> = runs.iter().map(|place| place.number).collect();
        let numbers = serde_json::json!(numbers).to_string();
        let mut weights: HashMap<i64, RunWeight> = HashMap::with_capacity(runs.len());
        for (sql, part) in WEIGHTS {
            let rows = sqlx::query(sql)
                .bind(&numbers)
                .fetch_all(&self.0.database.readers)
                .await
                .map_err(failed)?;
            for row in &rows {
                let (number, weight) = weight(row).map_err(failed)?;
                part(weights.entry(number).or_default()).add(weight);
            }
        }
        for row in sqlx::query(JOINTS)
            .bind(&numbers)
            .fetch_all(&self.0.database.readers)
            .await
            .map_err(failed)?
        {
            let number: i64 = row.try_get(0).map_err(failed)?;
            let problem = problem(&row).map_err(failed)?;
            weights.entry(number).or_default().problem = problem;
        }
        let gone = || RunWeight {
            problem: Some("its journal is gone".to_owned()),
            ..RunWeight::default()
        };
        let known = runs.iter().map(|place| {
            let weight = weights.remove(&place.number);
            (*place, weight.unwrap_or_else(gone))
        });
        Ok(known.collect())
    }

    async fn verify(&self, run: &RunId) -> Result<RunSeen, StoreError> {
        let database = &self.0.database;
        let number = number(database, run).await?;
        let number = number.ok_or_else(|| StoreError::NoRun(run.as_str().to_owned()))?;
        let (last_seq, steps) = steps::verify(database, run, number).await?;
        Ok(RunSeen { last_seq, steps })
    }

    async fn slim(&self, run: &RunId, seen: RunSeen) -> Result<Option<Weight>, StoreError> {
        let slim = Slim {
            run: run.clone(),
            seen,
        };
        let slimmed = self.0.writer.change(slim).await?;
        Ok(slimmed.map(|(number, weight)| {
            self.0.contents.known_trees.forget(number);
            weight
        }))
    }

    async fn remove(
        &self,
        run: &RunId,
        seen: RunSeen,
        belongings: &Belongings,
    ) -> Result<Option<Weight>, StoreError> {
        let Some(number) = number(&self.0.database, run).await? else {
            return Ok(None);
        };
        let place = EndedPlace {
            ended_ns: 0,
            number,
        };
        let mut weight = Weight::default();
        for (_, of_run) in self.weigh(&[place]).await? {
            weight.add(of_run.heavy);
            weight.add(of_run.events);
        }
        let is_gone = self.0.delete_if(run, Some(seen), belongings).await?;
        Ok(is_gone.then_some(weight))
    }
}

type Part = fn(&mut RunWeight) -> &mut Weight;

/// The lengths stand before what they are the lengths of, so that nothing large is read.
const WEIGHTS: [(&str, Part); 7] = [
    (
        "SELECT run, sum(input <> ''), sum(octet_length(input)) FROM journal
         WHERE run IN (SELECT value FROM json_each(?)) GROUP BY run",
        |weight| &mut weight.heavy,
    ),
    (
        "SELECT run, count(*), sum(octet_length(lines) + coalesce(octet_length(changes), 0)) FROM journal
         WHERE run IN (SELECT value FROM json_each(?)) GROUP BY run",
        |weight| &mut weight.events,
    ),
    (
        "SELECT run, count(*), sum(octet_length(state)) FROM snapshots
         WHERE run IN (SELECT value FROM json_each(?)) GROUP BY run",
        |weight| &mut weight.heavy,
    ),
    (
        "SELECT run, count(*), sum(octet_length(tree)) FROM checkpoints
         WHERE run IN (SELECT value FROM json_each(?)) GROUP BY run",
        |weight| &mut weight.heavy,
    ),
    (
        "SELECT h.run, count(*), sum(b.bytes) FROM held h JOIN blobs b ON b.id = h.blob
         WHERE h.run IN (SELECT value FROM json_each(?)) AND b.is_kept = 0
            AND NOT EXISTS (SELECT 1 FROM held o WHERE o.blob = h.blob AND o.run <> h.run)
            AND NOT EXISTS (SELECT 1 FROM state_contents s WHERE s.blob = h.blob)
         GROUP BY h.run",
        |weight| &mut weight.contents,
    ),
    (
        "SELECT r.no, count(*), sum(octet_length(s.record)) FROM runs r JOIN states s ON s.workspace = r.workspace
         WHERE r.no IN (SELECT value FROM json_each(?)) AND r.chat = r.id
            AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.workspace = r.workspace AND o.no <> r.no)
         GROUP BY r.no",
        |weight| &mut weight.states,
    ),
    (
        "SELECT r.no, count(*), sum(octet_length(w.value)) FROM runs r JOIN worlds w ON w.workspace = r.workspace
         WHERE r.no IN (SELECT value FROM json_each(?)) AND r.chat = r.id
            AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.workspace = r.workspace AND o.no <> r.no)
         GROUP BY r.no",
        |weight| &mut weight.worlds,
    ),
];

/// Whether the steps of a run can be all there are.
const JOINTS: &str =
    "SELECT j.run, min(j.after_seq), sum(j.events), max(j.after_seq + j.events), s.last_seq
     FROM journal j LEFT JOIN run_states s ON s.run = j.run
     WHERE j.run IN (SELECT value FROM json_each(?)) GROUP BY j.run";

fn weight(row: &SqliteRow) -> Result<(i64, Weight), sqlx::Error> {
    let weight = Weight {
        pieces: row.try_get::<i64, _>(1)?.unsigned_abs(),
        bytes: row
            .try_get::<Option<i64>, _>(2)?
            .unwrap_or_default()
            .unsigned_abs(),
    };
    Ok((row.try_get(0)?, weight))
}

fn problem(row: &SqliteRow) -> Result<Option<String>, sqlx::Error> {
    let (first, events, end): (i64, i64, i64) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    let last_seq = row.try_get::<Option<i64>, _>(4)?.unwrap_or_default();
    Ok(match first == 0 && events == last_seq && end == last_seq {
        true => None,
        false => Some(format!(
            "its journal has {events} events up to event {end}, but its record says {last_seq}"
        )),
    })
}

/// Whether a run that is over has nothing under way, and no other steps than were seen.
pub(super) async fn is_as_seen(
    connection: &mut SqliteConnection,
    run: &str,
    seen: RunSeen,
) -> Result<bool, sqlx::Error> {
    let row = sqlx::query(
        "SELECT s.last_seq, (SELECT count(*) FROM journal j WHERE j.run = r.no)
         FROM runs r JOIN run_states s ON s.run = r.no
         WHERE r.id = ? AND s.terminal_ns IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.run = r.id AND t.is_final = 0)",
    )
    .bind(run)
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else {
        return Ok(false);
    };
    let found = (row.try_get::<i64, _>(0)?, row.try_get::<i64, _>(1)?);
    Ok(found == (signed(seen.last_seq), signed(seen.steps)))
}

struct Slim {
    run: RunId,
    seen: RunSeen,
}

type Outcome<T> = Result<Result<T, StoreError>, sqlx::Error>;

#[async_trait]
impl Change for Slim {
    /// The number of the run, and what is gone.
    type Output = Option<(i64, Weight)>;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<Self::Output> {
        let run = self.run.as_str();
        if !is_as_seen(connection, run, self.seen).await? {
            return Ok(Ok(None));
        }
        let row = sqlx::query("SELECT no FROM runs WHERE id = ?")
            .bind(run)
            .fetch_one(&mut *connection)
            .await?;
        let number: i64 = row.try_get(0)?;
        let only = serde_json::json!([number]).to_string();
        let mut gone = RunWeight::default();
        for (sql, part) in WEIGHTS {
            let rows = sqlx::query(sql).bind(&only).fetch_all(&mut *connection);
            for row in &rows.await? {
                part(&mut gone).add(weight(row)?.1);
            }
        }
        sqlx::query("UPDATE journal SET input = '', input_sum = ? WHERE run = ? AND input <> ''")
            .bind(input_sum(&self.run, ""))
            .bind(number)
            .execute(&mut *connection)
            .await?;
        for sql in [
            "DELETE FROM snapshots WHERE run = ?",
            "DELETE FROM checkpoints WHERE run = ?",
            "DELETE FROM held WHERE run = ?",
            "UPDATE run_states SET is_slim = 1 WHERE run = ?",
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
        Ok(Ok(Some((number, gone.heavy))))
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
