//! Reading back what runs were fed. A step counts only as a whole: its events are compared with their sum too, and each
//! step has to begin where the one before it ended, for a run that goes on over a gap does things twice.

use std::path::Path;
use std::sync::Arc;

use futures_util::TryStreamExt;
use innkeeper_protocol::event::RunId;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, Sqlite};

use super::codec::{events_sum, input_sum, signed};
use super::read::{ends_with_its_record, record_of, record_query};
use super::{Replay, StepPlace, StepRead};
use crate::StoreError;
use crate::database::Database;
use crate::limits::MAX_INPUTS_READ;

pub(crate) async fn replay(
    database: &Database,
    run: &RunId,
    number: i64,
) -> Result<Option<Replay>, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let damaged = |what: String| StoreError::damaged(database.shown(), run.as_str(), what);
    // One look at all of it: a step that comes meanwhile is in none of the parts.
    let mut reading = database.readers.begin().await.map_err(failed)?;
    let Some(row) = record_query(run)
        .fetch_optional(&mut *reading)
        .await
        .map_err(failed)?
    else {
        return Ok(None);
    };
    let record = record_of(&row).map_err(failed)?;
    let row = sqlx::query("SELECT after_seq, entry, sum, state FROM snapshots WHERE run = ?")
        .bind(number)
        .fetch_optional(&mut *reading)
        .await
        .map_err(failed)?;
    let mut place = (0_i64, 0_i64);
    let mut snapshot = None;
    if let Some(row) = row {
        place = (
            row.try_get(0).map_err(failed)?,
            row.try_get(1).map_err(failed)?,
        );
        let state: &str = row.try_get(3).map_err(failed)?;
        if input_sum(run, state) != row.try_get::<i64, _>(2).map_err(failed)? {
            return Err(damaged("its snapshot is not what was written".to_owned()));
        }
        snapshot = Some(Arc::from(state));
    }
    let mut chain = Chain::after(database.shown(), run, place);
    let mut rows = steps_from(number, place, i64::MAX).fetch(&mut *reading);
    let mut inputs = Vec::new();
    while let Some(row) = rows.try_next().await.map_err(failed)? {
        inputs.extend(chain.fed(&row)?.map(|step| step.input));
    }
    drop(rows);
    if snapshot.is_some() && !chain.has_begun {
        return Err(damaged("the step of its snapshot is missing".to_owned()));
    }
    ends_with_its_record(chain.end, record.last_seq).map_err(damaged)?;
    reading.rollback().await.map_err(failed)?;
    Ok(Some(Replay {
        record,
        snapshot,
        inputs,
    }))
}

pub(crate) async fn inputs(
    database: &Database,
    run: &RunId,
    number: i64,
    after: StepPlace,
    limit: usize,
) -> Result<Vec<StepRead>, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let place = (signed(after.seq), signed(after.entry));
    let limit = limit.min(MAX_INPUTS_READ);
    let mut chain = Chain::after(database.shown(), run, place);
    // One more, for the step at the place itself.
    let asked = signed(limit as u64).saturating_add(1);
    let mut rows = steps_from(number, place, asked).fetch(&database.readers);
    let mut steps = Vec::new();
    while steps.len() < limit {
        let Some(row) = rows.try_next().await.map_err(failed)? else {
            break;
        };
        // Without it the run is not there: it is being deleted.
        if row.try_get::<Option<i64>, _>(8).map_err(failed)?.is_none() {
            return Ok(Vec::new());
        }
        steps.extend(chain.fed(&row)?);
    }
    Ok(steps)
}

/// Goes through all steps of a run as they are, slim or not. Gives the number of its last event and how many steps there are.
pub(crate) async fn verify(
    database: &Database,
    run: &RunId,
    number: i64,
) -> Result<(u64, u64), StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let mut chain = Chain::after(database.shown(), run, (0, 0));
    let mut rows = steps_from(number, (0, 0), i64::MAX).fetch(&database.readers);
    let (mut steps, mut last_seq) = (0, 0);
    while let Some(row) = rows.try_next().await.map_err(failed)? {
        let promised = row.try_get::<Option<i64>, _>(8).map_err(failed)?;
        last_seq = promised.unwrap_or_default().unsigned_abs();
        chain.join(&row)?;
        steps += 1;
    }
    drop(rows);
    if steps == 0 {
        let what = "its journal is gone";
        return Err(StoreError::damaged(database.shown(), run.as_str(), what));
    }
    ends_with_its_record(chain.end, last_seq)
        .map_err(|what| StoreError::damaged(database.shown(), run.as_str(), what))?;
    Ok((last_seq, steps))
}

type Query<'q> = sqlx::query::Query<'q, Sqlite, sqlx::sqlite::SqliteArguments>;

fn steps_from<'q>(number: i64, place: (i64, i64), limit: i64) -> Query<'q> {
    sqlx::query(
        "SELECT after_seq, id, events, events_sum, input_sum, changes, lines, input,
            (SELECT last_seq FROM run_states WHERE run = ?1)
         FROM journal WHERE run = ?1 AND (after_seq, id) >= (?2, ?3)
         ORDER BY after_seq, id LIMIT ?4",
    )
    .bind(number)
    .bind(place.0)
    .bind(place.1)
    .bind(limit)
}

/// Steps in the order in which they were written, each compared with its sums and with the one before it.
struct Chain<'r> {
    path: &'r Path,
    run: &'r RunId,
    /// After which one is read.
    place: (i64, i64),
    /// The number of the last event so far.
    end: u64,
    /// Where it begins is known: at the beginning of the run, or after a step that was read.
    has_begun: bool,
}

impl<'r> Chain<'r> {
    fn after(path: &'r Path, run: &'r RunId, place: (i64, i64)) -> Self {
        Self {
            path,
            run,
            place,
            end: 0,
            has_begun: place == (0, 0),
        }
    }

    /// The same, where what the run was fed is wanted: a slim run has nothing of it.
    fn fed(&mut self, row: &SqliteRow) -> Result<Option<StepRead>, StoreError> {
        let step = self.join(row)?;
        match step.as_ref().is_some_and(|step| step.input.is_empty()) {
            true => Err(StoreError::RunSlimmed(self.run.as_str().to_owned())),
            false => Ok(step),
        }
    }

    /// `None` for the step at the place itself, which only tells where the next one begins.
    fn join(&mut self, row: &SqliteRow) -> Result<Option<StepRead>, StoreError> {
        let failed = |error: sqlx::Error| StoreError::read(self.path, &error);
        let (after_seq, id): (i64, i64) = (
            row.try_get(0).map_err(failed)?,
            row.try_get(1).map_err(failed)?,
        );
        let events: i64 = row.try_get(2).map_err(failed)?;
        let sums: (i64, i64) = (
            row.try_get(3).map_err(failed)?,
            row.try_get(4).map_err(failed)?,
        );
        let changes: Option<&str> = row.try_get(5).map_err(failed)?;
        let lines: &str = row.try_get(6).map_err(failed)?;
        let input: &str = row.try_get(7).map_err(failed)?;
        let damaged = |what: String| StoreError::damaged(self.path, self.run.as_str(), what);
        let found = (
            events_sum(self.run, events, changes, lines),
            input_sum(self.run, input),
        );
        if found != sums {
            let what = format!("the step after event {after_seq} is not what was written");
            return Err(damaged(what));
        }
        let seq = after_seq.unsigned_abs();
        if self.has_begun && seq != self.end {
            let what = format!("the step after event {} is missing", self.end);
            return Err(damaged(what));
        }
        self.has_begun = true;
        self.end = seq.saturating_add_signed(events);
        Ok(((after_seq, id) != self.place).then(|| StepRead {
            place: StepPlace {
                seq,
                entry: id.unsigned_abs(),
            },
            input: input.into(),
        }))
    }
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
