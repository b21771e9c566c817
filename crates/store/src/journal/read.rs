//! Reading runs back: their events and what is known of them. Every step that is read is compared with its sum and with
//! its neighbours, so that nothing damaged passes for what happened. What runs were fed is read in `steps.rs`.

use std::path::Path;

use futures_util::TryStreamExt;
use innkeeper_protocol::event::{RunEvent, RunId};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};

use super::codec::{
    events_sum, nanoseconds, read_lines, signed, status_of, status_text, timestamp,
};
use super::{EventRange, RunCursor, RunFilter, RunPage, RunRecord};
use crate::StoreError;
use crate::database::Database;
use crate::limits::{DEFAULT_RUNS, MAX_EVENTS_READ, MAX_EVENTS_READ_BYTES, MAX_RUNS_READ};

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
    let mut row_of_steps = RowOfSteps::new(range);
    let (mut taken, mut bytes) = (0, 0);
    let damaged = |what: String| StoreError::damaged(database.shown(), run.as_str(), what);
    while taken < limit && bytes < MAX_EVENTS_READ_BYTES {
        let Some(row) = rows.try_next().await.map_err(failed)? else {
            row_of_steps.end().map_err(damaged)?;
            break;
        };
        let step = StoredEvents::of(&row).map_err(failed)?;
        // Without it the run is not there: it is being deleted.
        let Some(last_seq) = step.last_seq else {
            return Ok(Vec::new());
        };
        row_of_steps.join(&step, last_seq).map_err(damaged)?;
        let piece = step.wanted(database.shown(), run, range, limit - taken)?;
        taken += piece.len();
        bytes += step.lines.len();
        pieces.push(piece);
    }
    drop(rows);
    if pieces.is_empty() && bound >= 0 {
        let row = sqlx::query("SELECT last_seq FROM run_states WHERE run = ? AND last_seq > 0")
            .bind(number)
            .fetch_optional(&database.readers)
            .await
            .map_err(failed)?;
        if row.is_some() {
            return Err(damaged("its journal is gone".to_owned()));
        }
    }
    if !matches!(range, EventRange::After { .. }) {
        pieces.reverse();
    }
    Ok(pieces.into_iter().flatten().collect())
}

/// From the step that holds the event after the given one.
const AFTER: &str = "SELECT after_seq, events, events_sum, changes, lines,
        (SELECT last_seq FROM run_states WHERE run = ?1)
    FROM journal
    WHERE run = ?1 AND after_seq >= coalesce(
        (SELECT max(after_seq) FROM journal WHERE run = ?1 AND after_seq <= ?2), 0)
    ORDER BY after_seq, id";

const BEFORE: &str = "SELECT after_seq, events, events_sum, changes, lines,
        (SELECT last_seq FROM run_states WHERE run = ?1)
    FROM journal
    WHERE run = ?1 AND after_seq <= ?2
    ORDER BY after_seq DESC, id DESC";

/// Whether the steps that are read are all there are, without a gap.
struct RowOfSteps {
    range: EventRange,
    /// Where the next one has to begin, or to end where it is read backwards.
    seam: Option<u64>,
    /// The number of the run's last event.
    last_seq: u64,
}

impl RowOfSteps {
    fn new(range: EventRange) -> Self {
        Self {
            range,
            seam: None,
            last_seq: 0,
        }
    }

    fn join(&mut self, step: &StoredEvents<'_>, last_seq: u64) -> Result<(), String> {
        let (begins, ends) = (step.after_seq, step.end());
        self.last_seq = last_seq;
        let is_next = match (self.range, self.seam) {
            (EventRange::After { .. }, Some(seam)) => begins == seam,
            (EventRange::After { seq, .. }, None) => begins <= seq,
            (_, Some(seam)) => ends == seam,
            (EventRange::Before { seq, .. }, None) => ends >= last_seq.min(seq.saturating_sub(1)),
            (EventRange::Last { .. }, None) => ends == last_seq,
        };
        if !is_next {
            return Err(self.gap(begins, ends));
        }
        self.seam = Some(match self.range {
            EventRange::After { .. } => ends,
            _ => begins,
        });
        Ok(())
    }

    /// What is missing before the step that was found, or after it where it is read backwards.
    fn gap(&self, begins: u64, ends: u64) -> String {
        let (before, after) = match (self.range, self.seam) {
            (EventRange::After { seq, .. }, seam) => (seam.unwrap_or(seq), begins),
            (_, Some(seam)) => (ends, seam),
            (_, None) => (ends, self.last_seq),
        };
        match before < after {
            true => format!("events {} to {after} are missing", before.saturating_add(1)),
            false => format!("the step after event {begins} is not where it was written"),
        }
    }

    /// There are no more.
    fn end(&self) -> Result<(), String> {
        match (self.range, self.seam) {
            (_, None) => Ok(()),
            (EventRange::After { .. }, Some(seam)) => ends_with_its_record(seam, self.last_seq),
            (_, Some(0)) => Ok(()),
            (_, Some(seam)) => Err(format!("the step that ends with event {seam} is missing")),
        }
    }
}

pub(super) fn ends_with_its_record(journal: u64, record: u64) -> Result<(), String> {
    match journal == record {
        true => Ok(()),
        false => Err(format!(
            "its journal ends with event {journal}, but its record says {record}"
        )),
    }
}

struct StoredEvents<'r> {
    after_seq: u64,
    events: i64,
    sum: i64,
    changes: Option<&'r str>,
    lines: &'r str,
    last_seq: Option<u64>,
}

impl<'r> StoredEvents<'r> {
    fn of(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            after_seq: row.try_get::<i64, _>(0)?.unsigned_abs(),
            events: row.try_get(1)?,
            sum: row.try_get(2)?,
            changes: row.try_get(3)?,
            lines: row.try_get(4)?,
            last_seq: row.try_get::<Option<i64>, _>(5)?.map(i64::unsigned_abs),
        })
    }

    /// The number of its last event, or of the last one before it.
    fn end(&self) -> u64 {
        self.after_seq.saturating_add_signed(self.events)
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

/// With the number and the id of the run at the end. A cut counts until something is added to the run: then somebody has decided to go on with it.
macro_rules! record_sql {
    ($rest:literal) => {
        concat!(
            "SELECT r.record, s.last_seq, s.status, s.updated_ns, s.terminal_ns, s.commit_count, s.committed,
                EXISTS (SELECT 1 FROM cut_runs c WHERE c.run = r.no AND c.last_seq = s.last_seq),
                s.is_slim, r.no, r.id
             FROM runs r JOIN run_states s ON s.run = r.no",
            $rest
        )
    };
}

pub(super) const RECORD: &str = record_sql!("");

type Query<'q> = sqlx::query::Query<'q, Sqlite, sqlx::sqlite::SqliteArguments>;

pub(super) fn record_query(run: &RunId) -> Query<'_> {
    sqlx::query(record_sql!(" WHERE r.id = ?")).bind(run.as_str())
}

pub(crate) fn record_of(row: &SqliteRow) -> Result<RunRecord, sqlx::Error> {
    let damaged = |error: serde_json::Error| sqlx::Error::Decode(error.into());
    let mut record: RunRecord = serde_json::from_str(row.try_get(0)?).map_err(damaged)?;
    record.last_seq = row.try_get::<i64, _>(1)?.unsigned_abs();
    record.status = status_of(row.try_get(2)?).map_err(damaged)?;
    record.updated_at = timestamp(row.try_get(3)?);
    record.terminal_at = row.try_get::<Option<i64>, _>(4)?.map(timestamp);
    record.commit_count = row.try_get::<i64, _>(5)?.unsigned_abs();
    // The last one that there was may have been withdrawn.
    let committed = row.try_get::<Option<&str>, _>(6)?;
    if let Some(message) = committed.filter(|_| record.commit_count > 0) {
        record.committed_message = Some(serde_json::from_str(message).map_err(damaged)?);
    }
    record.is_cut = row.try_get(7)?;
    record.is_slim = row.try_get(8)?;
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
    // One that is slim was over, whatever a repair has left of it: there is nothing to go on with.
    query.push(" WHERE s.terminal_ns IS NULL AND s.is_slim = 0 ORDER BY r.created_ns, r.id");
    query
        .build()
        .fetch_all(&database.readers)
        .await
        .map_err(failed)?
        .iter()
        .map(|row| record_of(row).map_err(failed))
        .collect()
}
