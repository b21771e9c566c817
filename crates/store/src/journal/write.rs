//! Steps of many runs put into one transaction with few statements, however many they are.
//!
//! What a statement costs on its way to SQLite is more than what it does there, so the steps of a batch travel together.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use innkeeper_protocol::event::RunEvent;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::oneshot;

use super::codec::Step;
use super::follow::Hub;
use crate::StoreError;
use crate::content::Brought;

/// A step on its way.
pub(crate) struct Appending {
    pub(crate) step: Step,
    pub(crate) contents: Brought,
    /// For those who follow.
    pub(crate) events: Vec<RunEvent>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) outcome: Result<(), StoreError>,
    pub(crate) answer: oneshot::Sender<Result<(), StoreError>>,
}

impl Appending {
    /// After the commit, in the order in which it was made.
    pub(crate) fn settle(self, committed: Result<(), StoreError>) {
        let outcome = committed.and(self.outcome);
        if outcome.is_ok() {
            let bytes = self.step.lines.len();
            self.hub.tell(&self.step.run, self.events, bytes);
        }
        // Whoever asked may have gone away.
        drop(self.answer.send(outcome));
    }
}

/// Steps that are refused get their outcome; an error undoes the whole transaction.
pub(crate) async fn append(
    connection: &mut SqliteConnection,
    batch: &mut [Appending],
) -> Result<(), sqlx::Error> {
    let mut waiting: Vec<&mut Appending> = batch.iter_mut().collect();
    // One statement can change a run only once, so a second step of the same run has to wait for the next round.
    while !waiting.is_empty() {
        let mut runs = HashSet::with_capacity(waiting.len());
        let (now, later) = waiting
            .into_iter()
            .partition(|entry| runs.insert(entry.step.no));
        let mut now: Vec<&mut Appending> = now;
        waiting = later;
        for entry in &mut now {
            entry.outcome = match entry.contents.trees.is_empty() {
                true => Ok(()),
                false => entry.contents.check(connection).await?,
            };
        }
        now.retain(|entry| entry.outcome.is_ok());
        for entries in parts(&mut now) {
            together(connection, entries).await?;
        }
    }
    Ok(())
}

/// Steps of different runs, as many as there is a statement for.
async fn together(
    connection: &mut SqliteConnection,
    entries: &mut [&mut Appending],
) -> Result<(), sqlx::Error> {
    let advanced = advance(connection, entries).await?;
    let mut accepted = Vec::with_capacity(entries.len());
    for entry in entries {
        match advanced.get(&entry.step.no) {
            Some(last_seq) => {
                let after_seq = last_seq - entry.step.events;
                accepted.push((&mut **entry, after_seq));
            }
            None => entry.outcome = Err(refusal(connection, &entry.step).await?),
        }
    }
    for rows in parts(&mut accepted) {
        insert(connection, rows).await?;
    }
    for (entry, _) in accepted {
        let step = &entry.step;
        if step.resumes || step.state.terminal_ns.is_some() {
            sqlx::query("UPDATE run_states SET terminal_ns = ? WHERE run = ?")
                .bind(step.state.terminal_ns)
                .bind(step.no)
                .execute(&mut *connection)
                .await?;
        }
        if let Some((sum, state)) = &step.snapshot {
            sqlx::query(
                "INSERT OR REPLACE INTO snapshots (run, after_seq, entry, sum, state)
                 SELECT run, after_seq, id, ?, ? FROM journal WHERE run = ?
                 ORDER BY after_seq DESC, id DESC LIMIT 1",
            )
            .bind(sum)
            .bind(state.clone())
            .bind(step.no)
            .execute(&mut *connection)
            .await?;
        }
        entry.contents.write(connection, Some(step.no)).await?;
    }
    Ok(())
}

/// Which runs the steps fit, with the number of their last event then.
async fn advance(
    connection: &mut SqliteConnection,
    entries: &[&mut Appending],
) -> Result<HashMap<i64, i64>, sqlx::Error> {
    let mut query = sqlx::query(sized(&ADVANCE, entries.len()));
    for entry in entries {
        let (step, state) = (&entry.step, &entry.step.state);
        query = query
            .bind(step.no)
            .bind(step.after_seq)
            .bind(step.events)
            .bind(state.status.clone())
            .bind(state.updated_ns)
            .bind(state.commit_count)
            .bind(state.committed.clone())
            .bind(step.resumes);
    }
    let rows = query.fetch_all(connection).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

async fn insert(
    connection: &mut SqliteConnection,
    rows: &[(&mut Appending, i64)],
) -> Result<(), sqlx::Error> {
    let mut query = sqlx::query(sized(&INSERT, rows.len()));
    for (entry, after_seq) in rows {
        let step = &entry.step;
        query = query
            .bind(step.no)
            .bind(*after_seq)
            .bind(step.events)
            .bind(step.events_sum)
            .bind(step.input_sum)
            .bind(step.changes.clone())
            .bind(step.lines.clone())
            .bind(step.input.clone());
    }
    query.execute(connection).await.map(drop)
}

/// Why a step does not fit.
async fn refusal(
    connection: &mut SqliteConnection,
    step: &Step,
) -> Result<StoreError, sqlx::Error> {
    let row = sqlx::query("SELECT last_seq, terminal_ns FROM run_states WHERE run = ?")
        .bind(step.no)
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(StoreError::NoRun(step.run.as_str().to_owned()));
    };
    if row.try_get::<Option<i64>, _>(1)?.is_some() && !step.resumes {
        return Ok(StoreError::RunOver);
    }
    let after_seq = step.after_seq.unwrap_or_default();
    Ok(StoreError::Gap {
        last: row.try_get::<i64, _>(0)?.unsigned_abs(),
        found: after_seq.unsigned_abs().saturating_add(1),
    })
}

/// Statements exist for these many rows, so that a batch of any size needs few of them and they stay prepared.
const SIZES: [usize; 7] = [64, 32, 16, 8, 4, 2, 1];

type Statements = LazyLock<[String; SIZES.len()]>;

static ADVANCE: Statements = LazyLock::new(|| {
    SIZES.map(|size| {
        format!(
            "UPDATE run_states SET
                last_seq = run_states.last_seq + v.column3,
                status = coalesce(v.column4, status),
                updated_ns = coalesce(v.column5, updated_ns),
                commit_count = coalesce(v.column6, commit_count),
                committed = coalesce(v.column7, committed)
             FROM ({}) AS v
             WHERE run_states.run = v.column1 AND (terminal_ns IS NULL OR v.column8)
                AND (v.column2 IS NULL OR run_states.last_seq = v.column2)
             RETURNING run, last_seq",
            values(size, 8)
        )
    })
});

static INSERT: Statements = LazyLock::new(|| {
    SIZES.map(|size| {
        format!(
            "INSERT INTO journal
                (run, after_seq, events, events_sum, input_sum, changes, lines, input) {}",
            values(size, 8)
        )
    })
});

fn values(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    let mut text = "VALUES ".to_owned();
    for number in 0..rows {
        let comma = if number == 0 { "" } else { ", " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{comma}{row}");
    }
    text
}

fn sized(statements: &'static Statements, size: usize) -> &'static str {
    let place = SIZES.iter().position(|known| *known == size);
    place
        .and_then(|place| statements.get(place))
        .map_or("", String::as_str)
}

/// Cuts into pieces for which there are statements, largest first.
fn parts<T>(items: &mut [T]) -> impl Iterator<Item = &mut [T]> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let size = SIZES.into_iter().find(|size| *size <= rest.len())?;
        let (part, others) = std::mem::take(&mut rest).split_at_mut(size);
        rest = others;
        Some(part)
    })
}
