//! How a step of a run is written down, and whether what is read is what was written.
//!
//! Made by whoever brings the step, so that the one who writes only writes. SQLite does not notice a page whose bytes
//! have changed, so every step carries sums of itself.

use std::ops::Range;
use std::sync::Arc;

use innkeeper_protocol::event::{RunEvent, RunId, RunStatus};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{CommittedMessage, Entry, RunRecord};
use crate::StoreError;
use crate::limits::{
    MAX_ENTRY_BLOBS, MAX_ENTRY_BYTES, MAX_ENTRY_EVENTS, MAX_JSON_DEPTH, MAX_SNAPSHOT_BYTES,
};

/// A step in the form in which it is stored.
pub(crate) struct Step {
    pub(crate) run: RunId,
    /// The run's own number in the database.
    pub(crate) no: i64,
    /// The number of the event before the first one. `None`: it brings none, and so fits anywhere.
    pub(crate) after_seq: Option<i64>,
    /// Takes the end of the run back, if it has one.
    pub(crate) resumes: bool,
    pub(crate) events: i64,
    pub(crate) events_sum: i64,
    pub(crate) input_sum: i64,
    pub(crate) changes: Option<Arc<str>>,
    pub(crate) lines: Arc<str>,
    pub(crate) input: Arc<str>,
    pub(crate) snapshot: Option<(i64, Arc<str>)>,
    pub(crate) state: StateChange,
}

/// What becomes of the run's state; `None` stays as it was.
pub(crate) struct StateChange {
    pub(crate) status: Option<String>,
    pub(crate) updated_ns: Option<i64>,
    pub(crate) terminal_ns: Option<i64>,
    pub(crate) commit_count: Option<i64>,
    pub(crate) committed: Option<String>,
}

/// The same, as it is kept in the journal.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Changes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<RunRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<RunStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commit_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) committed_message: Option<CommittedMessage>,
}

impl Changes {
    fn of(entry: &Entry, record: Option<&RunRecord>) -> Option<Self> {
        let update = &entry.update;
        let is_empty = record.is_none()
            && update.status.is_none()
            && update.commit_count.is_none()
            && update.committed_message.is_none();
        (!is_empty).then(|| Self {
            record: record.cloned(),
            status: update.status,
            commit_count: update.commit_count,
            committed_message: update.committed_message.clone(),
        })
    }
}

impl Step {
    /// `record` for the first step of a run.
    pub(crate) fn of(entry: &Entry, record: Option<&RunRecord>) -> Result<Self, StoreError> {
        let after_seq = check(entry)?;
        let mut lines = Vec::with_capacity(entry.events.len() * 256);
        for event in &entry.events {
            if !lines.is_empty() {
                lines.push(b'\n');
            }
            serde_json::to_writer(&mut lines, event).map_err(unwritable)?;
        }
        if is_too_deep(&lines) {
            return Err(StoreError::TooDeep {
                what: "an event of the run",
            });
        }
        if is_too_deep(entry.input.as_bytes()) {
            return Err(StoreError::TooDeep {
                what: "a step of the run",
            });
        }
        if entry
            .snapshot
            .as_ref()
            .is_some_and(|state| is_too_deep(state.as_bytes()))
        {
            return Err(StoreError::TooDeep {
                what: "the snapshot of the run",
            });
        }
        let lines = String::from_utf8(lines).map_err(unwritable)?;
        at_most("a step of the run", lines.len(), MAX_ENTRY_BYTES)?;
        let changes = Changes::of(entry, record)
            .map(|changes| serde_json::to_string(&changes).map_err(unwritable))
            .transpose()?;
        let events = entry.events.len() as i64;
        let last = entry.events.last();
        let last_ns = last.map(|event| nanoseconds(time_of(event)));
        let update = &entry.update;
        Ok(Self {
            no: 0,
            after_seq,
            resumes: entry.events.first().is_some_and(RunEvent::is_resumption),
            events,
            events_sum: events_sum(&entry.run, events, changes.as_deref(), &lines),
            input_sum: input_sum(&entry.run, &entry.input),
            changes: changes.map(Arc::from),
            lines: lines.into(),
            input: entry.input.clone(),
            snapshot: entry
                .snapshot
                .clone()
                .map(|state| (input_sum(&entry.run, &state), state)),
            state: StateChange {
                status: update.status.map(status_text),
                updated_ns: last_ns,
                terminal_ns: last_ns.filter(|_| last.is_some_and(RunEvent::is_terminal)),
                commit_count: update.commit_count.map(signed),
                committed: update
                    .committed_message
                    .as_ref()
                    .map(|message| serde_json::to_string(message).map_err(unwritable))
                    .transpose()?,
            },
            run: entry.run.clone(),
        })
    }
}

/// Gives the number of the event before the first one.
fn check(entry: &Entry) -> Result<Option<i64>, StoreError> {
    at_most("a step of the run", entry.input.len(), MAX_ENTRY_BYTES)?;
    let snapshot = entry.snapshot.as_ref().map_or(0, |state| state.len());
    at_most("the snapshot of the run", snapshot, MAX_SNAPSHOT_BYTES)?;
    at_most(
        "the number of events of a step",
        entry.events.len(),
        MAX_ENTRY_EVENTS,
    )?;
    let contents = entry.blobs.len() + entry.trees.len();
    at_most(
        "the number of contents of a step",
        contents,
        MAX_ENTRY_BLOBS,
    )?;
    let Some(first) = entry.events.first() else {
        return Ok(None);
    };
    let before = first.seq.saturating_sub(1);
    for (expected, event) in (first.seq..).zip(&entry.events) {
        if event.seq != expected || event.seq == 0 {
            return Err(StoreError::Gap {
                last: expected.saturating_sub(1),
                found: event.seq,
            });
        }
        if event.run_id != entry.run {
            return Err(StoreError::NoRun(event.run_id.as_str().to_owned()));
        }
    }
    let ends = entry.events.iter().position(RunEvent::is_terminal);
    match ends {
        Some(place) if place + 1 < entry.events.len() => Err(StoreError::RunOver),
        _ => Ok(Some(signed(before))),
    }
}

/// The events of a step, of which only those at these places are wanted.
pub(crate) fn read_lines(
    run: &RunId,
    after_seq: u64,
    lines: &str,
    wanted: Range<usize>,
    events: &mut Vec<RunEvent>,
) -> Result<(), String> {
    let skipped = wanted.start as u64;
    let chosen = lines.lines().skip(wanted.start).take(wanted.len());
    let mut seq = after_seq.saturating_add(skipped);
    for line in chosen {
        seq = seq.saturating_add(1);
        let event: RunEvent =
            serde_json::from_str(line).map_err(|error| format!("event {seq}: {error}"))?;
        if event.seq != seq || event.run_id != *run {
            return Err(format!("event {seq} is another one"));
        }
        events.push(event);
    }
    match seq == after_seq.saturating_add(wanted.end as u64) {
        true => Ok(()),
        false => Err(format!("event {} is missing", seq.saturating_add(1))),
    }
}

pub(crate) fn events_sum(run: &RunId, events: i64, changes: Option<&str>, lines: &str) -> i64 {
    sum([
        run.as_str(),
        &events.to_string(),
        changes.unwrap_or_default(),
        lines,
    ])
}

/// Also of a snapshot.
pub(crate) fn input_sum(run: &RunId, input: &str) -> i64 {
    sum([run.as_str(), input])
}

pub(crate) fn sum<const N: usize>(parts: [&str; N]) -> i64 {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    let digest = digest.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(digest.get(..8).unwrap_or(&[0; 8]));
    i64::from_be_bytes(first)
}

/// A text that is no time must not keep the event from being written; it counts as the beginning of all time, so that
/// whoever reads it later gets the same.
pub(crate) fn time_of(event: &RunEvent) -> Timestamp {
    event.timestamp.as_str().parse().unwrap_or_default()
}

pub(crate) fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}

pub(crate) fn timestamp(ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(ns.into()).unwrap_or_default()
}

pub(crate) fn status_text(status: RunStatus) -> String {
    match serde_json::to_value(status) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

pub(crate) fn status_of(text: &str) -> Result<RunStatus, serde_json::Error> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
}

pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn at_most(what: &'static str, size: usize, limit: usize) -> Result<(), StoreError> {
    match size > limit {
        true => Err(StoreError::TooLarge { what, size, limit }),
        false => Ok(()),
    }
}

fn unwritable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Write {
        cause: error.to_string(),
    }
}

/// Whether JSON, of one value in a line, is nested deeper than can be read again.
fn is_too_deep(json: &[u8]) -> bool {
    // Nearly always there are not so many brackets at all.
    let is_possible = |json: &&[u8]| {
        let brackets = json.iter().filter(|byte| matches!(byte, b'[' | b'{'));
        brackets.count() > MAX_JSON_DEPTH
    };
    is_possible(&json)
        && json
            .split(|byte| *byte == b'\n')
            .filter(is_possible)
            .any(|line| depth(line) > MAX_JSON_DEPTH)
}

fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
