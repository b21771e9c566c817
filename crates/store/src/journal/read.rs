//! Reading runs back. Every step that is read is compared with its sum, so that nothing damaged passes for what happened.

use std::path::Path;
use std::sync::Arc;

use futures_util::TryStreamExt;
use innkeeper_protocol::event::{RunEvent, RunId};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};

use super::codec::{
    events_sum, input_sum, nanoseconds, read_lines, signed, status_of, status_text, timestamp,
};
use super::{EventRange, Replay, RunCursor, RunFilter, RunPage, RunRecord, StepPlace, StepRead};
use crate::StoreError;
use crate::database::Database;
use crate::limits::{
    DEFAULT_RUNS, MAX_EVENTS_READ, MAX_EVENTS_READ_BYTES, MAX_INPUTS_READ, MAX_RUNS_READ,
};

pub(crate) async fn number(database: &Database, run: &RunId) -> Result<Option<i64>, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let row = sqlx::query("SELECT no FROM runs WHERE id = ?")
        .bind(run.as_str())
        .fetch_optional(&database.readers)
        .await
        .map_err(failed)?;
    row.map(|row| row.try_get(0)).transpose().map_err(failed)
}

pub(crate) async fn events(
    database: &Database,
    run: &RunId,
    number: i64,
    range: EventRange,
) -> Result<Vec<RunEvent>, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let (sql, bound, limit) = match range {
        EventRange::After { seq, limit } => (AFTER, signed(seq), limit),
        // Its first event is the one after `after_seq`.
        EventRange::Before { seq, limit } => (BEFORE, signed(seq).saturating_sub(2), limit),
        EventRange::Last { limit } => (BEFORE, i64::MAX, limit),
    };
    let limit = limit.min(MAX_EVENTS_READ);
    if limit == 0 {
        return Ok(Vec::new());
    }
    let mut rows = sqlx::query(sql)
        .bind(number)
        .bind(bound)
        .fetch(&database.readers);
    // Newest step first where it is read backwards.
    let mut pieces: Vec<Vec<RunEvent>> = Vec::new();
    let (mut taken, mut bytes) = (0, 0);
    while taken < limit && bytes < MAX_EVENTS_READ_BYTES {
        let Some(row) = rows.try_next().await.map_err(failed)? else {
            break;
        };
        let step = StoredEvents::of(&row).map_err(failed)?;
        let piece = step.wanted(database.shown(), run, range, limit - taken)?;
        taken += piece.len();
        bytes += step.lines.len();
        pieces.push(piece);
    }
    if !matches!(range, EventRange::After { .. }) {
        pieces.reverse();
    }
    Ok(pieces.into_iter().flatten().collect())
}

/// From the step that holds the event after the given one.
const AFTER: &str = "SELECT after_seq, events, events_sum, changes, lines FROM journal
    WHERE run = ?1 AND events > 0 AND after_seq >= coalesce(
        (SELECT max(after_seq) FROM journal WHERE run = ?1 AND after_seq <= ?2), 0)
    ORDER BY after_seq, id";

const BEFORE: &str = "SELECT after_seq, events, events_sum, changes, lines FROM journal
    WHERE run = ?1 AND events > 0 AND after_seq <= ?2
    ORDER BY after_seq DESC, id DESC";

struct StoredEvents<'r> {
    after_seq: u64,
    events: i64,
    sum: i64,
    changes: Option<&'r str>,
    lines: &'r str,
}

impl<'r> StoredEvents<'r> {
    fn of(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            after_seq: row.try_get::<i64, _>(0)?.unsigned_abs(),
            events: row.try_get(1)?,
            sum: row.try_get(2)?,
            changes: row.try_get(3)?,
            lines: row.try_get(4)?,
        })
    }

    /// Those of its events that are in the range, at most so many: the first ones, or the last where it is read
    /// backwards.
    fn wanted(
        &self,
        path: &Path,
        run: &RunId,
        range: EventRange,
        limit: usize,
    ) -> Result<Vec<RunEvent>, StoreError> {
        let damaged = |what: String| {
            let place = format!("the step after event {}: {what}", self.after_seq);
            StoreError::damaged(path, run.as_str(), place)
        };
        if events_sum(run, self.events, self.changes, self.lines) != self.sum {
            return Err(damaged("it is not what was written".to_owned()));
        }
        let all = usize::try_from(self.events).unwrap_or_default();
        let before = |seq: u64| {
            let count = seq.saturating_sub(1).saturating_sub(self.after_seq);
            usize::try_from(count).map_or(all, |count| count.min(all))
        };
        let wanted = match range {
            EventRange::After { seq, .. } => {
                let start = before(seq.saturating_add(1));
                start..all.min(start.saturating_add(limit))
            }
            EventRange::Before { seq, .. } => {
                let end = before(seq);
                end.saturating_sub(limit)..end
            }
            EventRange::Last { .. } => all.saturating_sub(limit)..all,
        };
        let mut events = Vec::with_capacity(wanted.len());
        read_lines(run, self.after_seq, self.lines, wanted, &mut events).map_err(damaged)?;
        Ok(events)
    }
}

pub(crate) async fn replay(
    database: &Database,
    run: &RunId,
    number: i64,
) -> Result<Option<Replay>, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
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
            let what = "its snapshot is not what was written";
            return Err(StoreError::damaged(database.shown(), run.as_str(), what));
        }
        snapshot = Some(Arc::from(state));
    }
    let mut rows = inputs_query(number, place, i64::MAX).fetch(&mut *reading);
    let mut inputs = Vec::new();
    while let Some(row) = rows.try_next().await.map_err(failed)? {
        inputs.push(input_of(database.shown(), run, &row)?.input);
    }
    drop(rows);
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
    let place = (signed(after.seq), signed(after.entry));
    let limit = signed(limit.min(MAX_INPUTS_READ) as u64);
    inputs_query(number, place, limit)
        .fetch_all(&database.readers)
        .await
        .map_err(|error| database.read_error(&error))?
        .iter()
        .map(|row| input_of(database.shown(), run, row))
        .collect()
}

type Query<'q> = sqlx::query::Query<'q, Sqlite, sqlx::sqlite::SqliteArguments>;

fn inputs_query<'q>(number: i64, after: (i64, i64), limit: i64) -> Query<'q> {
    sqlx::query(
        "SELECT after_seq, id, input_sum, input FROM journal
         WHERE run = ? AND (after_seq, id) > (?, ?) ORDER BY after_seq, id LIMIT ?",
    )
    .bind(number)
    .bind(after.0)
    .bind(after.1)
    .bind(limit)
}

fn input_of(path: &Path, run: &RunId, row: &SqliteRow) -> Result<StepRead, StoreError> {
    let failed = |error: sqlx::Error| StoreError::read(path, &error);
    let seq = row.try_get::<i64, _>(0).map_err(failed)?.unsigned_abs();
    let entry = row.try_get::<i64, _>(1).map_err(failed)?.unsigned_abs();
    let input: &str = row.try_get(3).map_err(failed)?;
    if input_sum(run, input) != row.try_get::<i64, _>(2).map_err(failed)? {
        let what = format!("what it was fed after event {seq} is not what was written");
        return Err(StoreError::damaged(path, run.as_str(), what));
    }
    Ok(StepRead {
        place: StepPlace { seq, entry },
        input: input.into(),
    })
}

const RECORD: &str = "SELECT r.record, s.last_seq, s.status, s.updated_ns, s.terminal_ns, s.commit_count, s.committed
    FROM runs r JOIN run_states s ON s.run = r.no";

fn record_query(run: &RunId) -> Query<'_> {
    sqlx::query(
        "SELECT r.record, s.last_seq, s.status, s.updated_ns, s.terminal_ns, s.commit_count, s.committed
         FROM runs r JOIN run_states s ON s.run = r.no WHERE r.id = ?",
    )
    .bind(run.as_str())
}

pub(crate) fn record_of(row: &SqliteRow) -> Result<RunRecord, sqlx::Error> {
    let damaged = |error: serde_json::Error| sqlx::Error::Decode(error.into());
    let mut record: RunRecord = serde_json::from_str(row.try_get(0)?).map_err(damaged)?;
    record.last_seq = row.try_get::<i64, _>(1)?.unsigned_abs();
    record.status = status_of(row.try_get(2)?).map_err(damaged)?;
    record.updated_at = timestamp(row.try_get(3)?);
    record.terminal_at = row.try_get::<Option<i64>, _>(4)?.map(timestamp);
    record.commit_count = row.try_get::<i64, _>(5)?.unsigned_abs();
    if let Some(message) = row.try_get::<Option<&str>, _>(6)? {
        record.committed_message = Some(serde_json::from_str(message).map_err(damaged)?);
    }
    Ok(record)
}

pub(crate) async fn record(
    database: &Database,
    run: &RunId,
) -> Result<Option<RunRecord>, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let row = record_query(run)
        .fetch_optional(&database.readers)
        .await
        .map_err(failed)?;
    row.map(|row| record_of(&row)).transpose().map_err(failed)
}

pub(crate) async fn runs(database: &Database, filter: &RunFilter) -> Result<RunPage, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let limit = match filter.limit {
        0 => DEFAULT_RUNS,
        limit => limit.min(MAX_RUNS_READ),
    };
    let mut query = QueryBuilder::new(RECORD);
    query.push(" WHERE 1");
    if let Some(chat) = &filter.stable_chat_id {
        query.push(" AND r.chat = ").push_bind(chat.clone());
    }
    if let Some(workspace) = &filter.workspace_id {
        let workspace = workspace.as_str().to_owned();
        query.push(" AND r.workspace = ").push_bind(workspace);
    }
    if !filter.statuses.is_empty() {
        query.push(" AND s.status IN (");
        let mut list = query.separated(", ");
        for status in &filter.statuses {
            list.push_bind(status_text(*status));
        }
        query.push(")");
    }
    if let Some(cursor) = &filter.before {
        query
            .push(" AND (r.created_ns, r.id) < (")
            .push_bind(nanoseconds(cursor.created_at))
            .push(", ")
            .push_bind(cursor.run_id.as_str().to_owned())
            .push(")");
    }
    query
        .push(" ORDER BY r.created_ns DESC, r.id DESC LIMIT ")
        // One more tells whether there is a next page.
        .push_bind(signed(limit as u64 + 1));
    let rows = query.build().fetch_all(&database.readers).await;
    let mut runs = rows
        .map_err(failed)?
        .iter()
        .map(|row| record_of(row).map_err(failed))
        .collect::<Result<Vec<_>, _>>()?;
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let next = runs.last().filter(|_| has_more).map(|record| RunCursor {
        created_at: record.created_at,
        run_id: record.run_id.clone(),
    });
    Ok(RunPage { runs, next })
}

pub(crate) async fn unfinished(database: &Database) -> Result<Vec<RunRecord>, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let mut query = QueryBuilder::<Sqlite>::new(RECORD);
    query.push(" WHERE s.terminal_ns IS NULL ORDER BY r.created_ns, r.id");
    query
        .build()
        .fetch_all(&database.readers)
        .await
        .map_err(failed)?
        .iter()
        .map(|row| record_of(row).map_err(failed))
        .collect()
}
