//! Steps of many runs put into one transaction with few statements, however many they are.
//!
//! What a statement costs on its way to SQLite is more than what it does there, so the steps of a batch travel together.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use innkeeper_protocol::event::RunEvent;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::oneshot;

use super::codec::{StateChange, Step};
use super::follow::Hub;
use crate::StoreError;
use crate::content::{Brought, KnownTrees};
use crate::rows::{SIZES, Statements, parts, sized, values};

/// A step on its way.
pub(crate) struct Appending {
    pub(crate) step: Step,
    pub(crate) contents: Brought,
    pub(crate) known_trees: KnownTrees,
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
            self.contents.settled(self.step.no, &self.known_trees);
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
    for entry in &mut waiting {
        // It may be here for the second time, after all was undone.
        entry.outcome = Ok(());
    }
    // One statement can change a run only once, so what does not simply go on from the steps before it waits for the next
    // round.
    while !waiting.is_empty() {
        let mut runs: Vec<Following<'_>> = Vec::with_capacity(waiting.len());
        let mut places = HashMap::with_capacity(waiting.len());
        let mut later = Vec::new();
        for entry in waiting {
            let place = *places.entry(entry.step.no).or_insert(runs.len());
            if let Some(run) = runs.get_mut(place) {
                match run.is_followed_by(entry) {
                    true => run.steps.push(entry),
                    false => {
                        run.is_closed = true;
                        later.push(entry);
                    }
                }
                continue;
            }
            if entry.contents.has_trees() {
                entry.outcome = entry.contents.check(connection).await?;
            }
            runs.push(Following {
                is_closed: entry.outcome.is_err(),
                steps: vec![entry],
            });
        }
        waiting = later;
        runs.retain(|run| run.steps.iter().all(|entry| entry.outcome.is_ok()));
        for runs in parts(&mut runs) {
            together(connection, runs).await?;
        }
    }
    Ok(())
}

/// Steps of one run that can be written at once: each begins where the one before it ends.
struct Following<'b> {
    steps: Vec<&'b mut Appending>,
    /// Something else has to come first.
    is_closed: bool,
}

impl Following<'_> {
    fn is_followed_by(&self, next: &Appending) -> bool {
        let Some(last) = self.steps.last().map(|entry| &entry.step) else {
            return false;
        };
        let goes_on = match (self.after_seq(), next.step.after_seq) {
            (_, None) => true,
            (Some(after), Some(next)) => after + self.events() == next,
            // Where the run stands is only known to the database.
            (None, Some(_)) => false,
        };
        // A snapshot belongs to the step that is last when it is written; a tree may name what the steps before brought.
        let is_plain = last.snapshot.is_none() && !next.contents.has_trees();
        goes_on && is_plain && last.state.terminal_ns.is_none() && !self.is_closed
    }

    /// `None`: no events so far, and so it fits anywhere.
    fn after_seq(&self) -> Option<i64> {
        self.steps.iter().find_map(|entry| entry.step.after_seq)
    }

    fn events(&self) -> i64 {
        self.steps.iter().map(|entry| entry.step.events).sum()
    }

    fn no(&self) -> i64 {
        self.steps.first().map_or(0, |entry| entry.step.no)
    }

    /// Only the first can take an end back: nothing follows on one.
    fn resumes(&self) -> bool {
        self.steps.first().is_some_and(|entry| entry.step.resumes)
    }

    /// Of what they say about the run, the last word.
    fn last<T: Clone>(&self, said: impl Fn(&StateChange) -> &Option<T>) -> Option<T> {
        let mut steps = self.steps.iter().rev();
        steps.find_map(|entry| said(&entry.step.state).clone())
    }
}

/// Steps of different runs, of as many as there is a statement for.
async fn together(
    connection: &mut SqliteConnection,
    runs: &mut [Following<'_>],
) -> Result<(), sqlx::Error> {
    let advanced = advance(connection, runs).await?;
    let mut accepted = Vec::with_capacity(runs.len());
    for run in runs {
        let Some(last_seq) = advanced.get(&run.no()) else {
            for entry in &mut run.steps {
                entry.outcome = Err(refusal(connection, &entry.step).await?);
            }
            continue;
        };
        let mut after_seq = last_seq - run.events();
        for entry in &mut run.steps {
            let events = entry.step.events;
            accepted.push((&mut **entry, after_seq));
            after_seq += events;
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
        let run = Some((&step.run, step.no));
        entry.contents.write(connection, run).await?;
    }
    Ok(())
}

/// Which runs the steps fit, with the number of their last event then.
async fn advance(
    connection: &mut SqliteConnection,
    runs: &[Following<'_>],
) -> Result<HashMap<i64, i64>, sqlx::Error> {
    let mut query = sqlx::query(sized(&ADVANCE, runs.len()));
    for run in runs {
        query = query
            .bind(run.no())
            .bind(run.after_seq())
            .bind(run.events())
            .bind(run.last(|state| &state.status))
            .bind(run.last(|state| &state.updated_ns))
            .bind(run.last(|state| &state.commit_count))
            .bind(run.last(|state| &state.committed))
            .bind(run.resumes());
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
    let row = sqlx::query("SELECT last_seq, terminal_ns, is_slim FROM run_states WHERE run = ?")
        .bind(step.no)
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(StoreError::NoRun(step.run.as_str().to_owned()));
    };
    if row.try_get(2)? {
        return Ok(StoreError::RunSlimmed(step.run.as_str().to_owned()));
    }
    if row.try_get::<Option<i64>, _>(1)?.is_some() && !step.resumes {
        return Ok(StoreError::RunOver);
    }
    let after_seq = step.after_seq.unwrap_or_default();
    Ok(StoreError::Gap {
        last: row.try_get::<i64, _>(0)?.unsigned_abs(),
        found: after_seq.unsigned_abs().saturating_add(1),
    })
}

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
             WHERE run_states.run = v.column1 AND (terminal_ns IS NULL OR v.column8) AND is_slim = 0
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
