//! Going through all runs: is each what was written?

use std::collections::{HashMap, HashSet};

use futures_util::TryStreamExt;
use innkeeper_protocol::event::{RunEvent, RunId};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::RunRepair;
use crate::journal::{Changes, RunRecord, events_sum, input_sum, read_lines, record_of, time_of};

/// A run that is not as it should be.
pub(super) struct Found {
    pub(super) number: i64,
    /// As the journal tells it; `None`: nothing of it is left.
    pub(super) record: Option<RunRecord>,
    /// `after_seq` and id of the last good step.
    pub(super) last_step: (i64, i64),
    pub(super) keeps_snapshot: bool,
    run: RunId,
    what: String,
    kept_events: u64,
    lost_events: u64,
    readable_events: u64,
    /// Something of it was cut off, or may be missing at its end.
    pub(super) is_cut: bool,
}

impl Found {
    pub(super) fn repair(&self) -> RunRepair {
        RunRepair {
            run: self.run.clone(),
            what: self.what.clone(),
            kept_events: self.kept_events,
            lost_events: self.lost_events,
            readable_events: self.readable_events,
            is_cut: self.is_cut,
        }
    }

    pub(super) fn into_repair(self) -> RunRepair {
        self.repair()
    }
}

/// What the tables beside the journal say of a run.
struct Known {
    run: RunId,
    /// `None`: it cannot be read.
    record: Option<RunRecord>,
    last_seq: u64,
}

/// A run as the journal tells it, as far as it was gone through.
struct Told {
    number: i64,
    run: Option<RunId>,
    record: Option<RunRecord>,
    last_step: (i64, i64),
    last_seq: u64,
    what: Option<String>,
    lost_events: u64,
    readable_events: u64,
}

pub(super) async fn runs(connection: &mut SqliteConnection) -> Result<Vec<Found>, sqlx::Error> {
    let mut known = known(connection).await?;
    let snapshots = snapshots(connection, &known).await?;
    let doomed: HashSet<i64> = sqlx::query("SELECT run FROM doomed_runs")
        .fetch_all(&mut *connection)
        .await?
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    let mut told: Option<Told> = None;
    let mut settle = |told: Option<Told>, known: &mut HashMap<i64, Known>| {
        let Some(told) = told else { return };
        let snapshot = snapshots.get(&told.number).copied();
        let known = known.remove(&told.number);
        found.extend(told.compare(known, snapshot));
    };
    {
        let mut rows = sqlx::query(
            "SELECT run, id, after_seq, events, events_sum, input_sum, changes, lines, input
             FROM journal ORDER BY run, after_seq, id",
        )
        .fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            let number: i64 = row.try_get(0)?;
            if doomed.contains(&number) {
                continue;
            }
            if told.as_ref().is_none_or(|told| told.number != number) {
                settle(told.take(), &mut known);
                told = Some(Told::begin(number, known.get(&number)));
            }
            if let Some(told) = &mut told {
                told.hear(&row);
            }
        }
    }
    settle(told.take(), &mut known);
    // Of those that are left the journal says nothing at all.
    let mut silent: Vec<_> = known.into_iter().collect();
    silent.sort_unstable_by_key(|(number, _)| *number);
    for (number, known) in silent {
        found.push(Found {
            number,
            record: None,
            last_step: (0, 0),
            keeps_snapshot: false,
            run: known.run,
            what: "its journal is gone".to_owned(),
            kept_events: 0,
            lost_events: known.last_seq,
            readable_events: 0,
            is_cut: false,
        });
    }
    Ok(found)
}

async fn known(connection: &mut SqliteConnection) -> Result<HashMap<i64, Known>, sqlx::Error> {
    let mut known = HashMap::new();
    let mut rows = sqlx::query(
        "SELECT r.record, coalesce(s.last_seq, 0), coalesce(s.status, ''), coalesce(s.updated_ns, 0),
            s.terminal_ns, coalesce(s.commit_count, 0), s.committed, 0, coalesce(s.is_slim, 0), r.no, r.id
         FROM runs r LEFT JOIN run_states s ON s.run = r.no",
    )
    .fetch(connection);
    while let Some(row) = rows.try_next().await? {
        let one = Known {
            run: RunId::new(row.try_get::<&str, _>(10)?),
            record: record_of(&row).ok(),
            last_seq: row.try_get::<i64, _>(1)?.unsigned_abs(),
        };
        known.insert(row.try_get(9)?, one);
    }
    Ok(known)
}

/// The places of those that are what was written.
async fn snapshots(
    connection: &mut SqliteConnection,
    known: &HashMap<i64, Known>,
) -> Result<HashMap<i64, Option<(i64, i64)>>, sqlx::Error> {
    let mut snapshots = HashMap::new();
    let mut rows =
        sqlx::query("SELECT run, after_seq, entry, sum, state FROM snapshots").fetch(connection);
    while let Some(row) = rows.try_next().await? {
        let number: i64 = row.try_get(0)?;
        let sum: i64 = row.try_get(3)?;
        let state: &str = row.try_get(4)?;
        let is_good = known
            .get(&number)
            .is_some_and(|known| input_sum(&known.run, state) == sum);
        let place = (row.try_get(1)?, row.try_get(2)?);
        snapshots.insert(number, is_good.then_some(place));
    }
    Ok(snapshots)
}

impl Told {
    fn begin(number: i64, known: Option<&Known>) -> Self {
        Self {
            number,
            run: known.map(|known| known.run.clone()),
            record: None,
            last_step: (0, 0),
            last_seq: 0,
            what: None,
            lost_events: 0,
            readable_events: 0,
        }
    }

    fn hear(&mut self, row: &SqliteRow) {
        if self.what.is_none() {
            self.what = self.take(row).err();
        }
        if self.what.is_some() {
            let events: i64 = row.try_get(3).unwrap_or_default();
            self.lost_events = self.lost_events.saturating_add(events.unsigned_abs());
            if self.is_readable(row).unwrap_or(false) {
                self.readable_events = self.readable_events.saturating_add(events.unsigned_abs());
            }
        }
    }

    /// Whether the events of a step that is cut off are what was written.
    fn is_readable(&self, row: &SqliteRow) -> Result<bool, sqlx::Error> {
        let Some(run) = &self.run else {
            return Ok(false);
        };
        let sum = events_sum(run, row.try_get(3)?, row.try_get(6)?, row.try_get(7)?);
        Ok(sum == row.try_get::<i64, _>(4)?)
    }

    /// Says what is wrong with the step.
    fn take(&mut self, row: &SqliteRow) -> Result<(), String> {
        let place = format!("the step after event {}", self.last_seq);
        let unreadable = |error: sqlx::Error| format!("{place} cannot be read: {error}");
        let id: i64 = row.try_get(1).map_err(unreadable)?;
        let after_seq: i64 = row.try_get(2).map_err(unreadable)?;
        let events: i64 = row.try_get(3).map_err(unreadable)?;
        let changes: Option<&str> = row.try_get(6).map_err(unreadable)?;
        let lines: &str = row.try_get(7).map_err(unreadable)?;
        let input: &str = row.try_get(8).map_err(unreadable)?;
        if after_seq.unsigned_abs() != self.last_seq {
            return Err(format!("{place} is missing"));
        }
        let changed: Changes = match changes {
            Some(text) => serde_json::from_str(text)
                .map_err(|error| format!("{place} cannot be read: {error}"))?,
            None => Changes::default(),
        };
        let first = changed.record.as_ref().map(|record| &record.run_id);
        let run = self.run.clone().or_else(|| first.cloned());
        let run = run.ok_or_else(|| "its beginning is gone".to_owned())?;
        let sums: (i64, i64) = (
            row.try_get(4).map_err(unreadable)?,
            row.try_get(5).map_err(unreadable)?,
        );
        let found = (
            events_sum(&run, events, changes, lines),
            input_sum(&run, input),
        );
        if sums != found {
            return Err(format!("{place} is not what was written"));
        }
        let all = 0..usize::try_from(events).unwrap_or_default();
        let mut read = Vec::with_capacity(all.len());
        read_lines(&run, self.last_seq, lines, all, &mut read)
            .map_err(|what| format!("{place} cannot be read: {what}"))?;
        let is_over = self
            .record
            .as_ref()
            .is_some_and(|run| run.terminal_at.is_some());
        if is_over && !read.first().is_some_and(RunEvent::is_resumption) {
            return Err(format!(
                "something follows on event {}, its last",
                self.last_seq
            ));
        }
        let mut record = match (self.record.take(), changed.record) {
            (None, Some(record)) => record,
            (Some(record), None) => record,
            (None, None) => return Err("its beginning is gone".to_owned()),
            (Some(record), Some(_)) => {
                self.record = Some(record);
                return Err(format!("{place} begins it anew"));
            }
        };
        self.last_seq = self.last_seq.saturating_add(events.unsigned_abs());
        record.last_seq = self.last_seq;
        // What it was fed was let go of; what happened is all there.
        record.is_slim = input.is_empty();
        record.status = changed.status.unwrap_or(record.status);
        record.commit_count = changed.commit_count.unwrap_or(record.commit_count);
        record.committed_message = changed.committed_message.or(record.committed_message);
        if let Some(event) = read.last() {
            record.updated_at = time_of(event);
            record.terminal_at = Some(record.updated_at).filter(|_| RunEvent::is_terminal(event));
        }
        self.record = Some(record);
        self.run = Some(run);
        self.last_step = (after_seq, id);
        Ok(())
    }

    /// With what the tables beside the journal say. `None`: all is well.
    fn compare(self, known: Option<Known>, snapshot: Option<Option<(i64, i64)>>) -> Option<Found> {
        let keeps_snapshot = match snapshot {
            Some(place) => place.is_some_and(|place| place <= self.last_step),
            None => true,
        };
        let (promised, agrees) = match &known {
            Some(known) => (known.last_seq, known.record == self.record),
            None => (0, false),
        };
        // Where nobody says how far it went, something may be missing too.
        let goes_on = self
            .record
            .as_ref()
            .is_some_and(|record| record.terminal_at.is_none());
        let is_cut = goes_on && (self.what.is_some() || promised > self.last_seq || promised == 0);
        let what = match self.what {
            Some(what) => what,
            None if promised > self.last_seq => {
                format!("the step after event {} is missing", self.last_seq)
            }
            None if !agrees => "its record did not agree with its journal".to_owned(),
            None if !keeps_snapshot => "its snapshot is not what was written".to_owned(),
            None => return None,
        };
        let lost_events = promised.saturating_sub(self.last_seq).max(self.lost_events);
        let nameless = || RunId::new(format!("number {}", self.number));
        Some(Found {
            number: self.number,
            last_step: self.last_step,
            keeps_snapshot,
            run: self.run.unwrap_or_else(nameless),
            what,
            kept_events: self.last_seq,
            lost_events,
            readable_events: self.readable_events,
            is_cut,
            record: self.record,
        })
    }
}
