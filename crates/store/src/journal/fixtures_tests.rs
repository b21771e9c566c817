//! Runs and steps for tests.

use innkeeper_protocol::event::{
    EventId, InvocationId, Level, Presentation, RunEvent, RunEventKind, RunId, RunResumed,
    RunStatus,
};
use jiff::Timestamp;
use serde_json::json;

use super::{Entry, RunRecord, RunUpdate};
use crate::Store;

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

pub(crate) fn event(run: &str, seq: u64, kind: RunEventKind) -> RunEvent {
    RunEvent {
        seq,
        id: EventId::new(format!("evt_{seq}")),
        run_id: RunId::new(run),
        timestamp: at(seq as i64).to_string().as_str().into(),
        level: Level::Info,
        scope: None,
        kind,
    }
}

pub(crate) fn note(run: &str, seq: u64) -> RunEvent {
    let payload = json!({"text": format!("event {seq} of {run}"), "n": seq});
    let kind = "note".to_owned();
    event(run, seq, RunEventKind::Other { kind, payload })
}

pub(crate) fn record(run: &str) -> RunRecord {
    RunRecord {
        run_id: RunId::new(run),
        workspace_id: "ws_1".into(),
        stable_chat_id: "chat_1".to_owned(),
        chat_ref: json!({"kind": "character", "id": 7}),
        generation_type: "normal".to_owned(),
        profile_id: None,
        presentation: Presentation::Foreground,
        persist_base_state_id: None,
        input_message_count: Some(3),
        skill_scope_refs: None,
        status: RunStatus::Created,
        created_at: at(0),
        updated_at: at(0),
        terminal_at: None,
        commit_count: 0,
        committed_message: None,
        last_seq: 0,
        title: "How it began".to_owned(),
        is_cut: false,
        is_slim: false,
    }
}

/// A step with the events of these numbers.
pub(crate) fn step(run: &str, seqs: std::ops::RangeInclusive<u64>) -> Entry {
    let events: Vec<_> = seqs.map(|seq| note(run, seq)).collect();
    let first = events.first().map(|event| event.seq);
    Entry {
        run: RunId::new(run),
        input: format!(r#"{{"fed":"{first:?}"}}"#).into(),
        events,
        update: RunUpdate::default(),
        blobs: Vec::new(),
        trees: Vec::new(),
        snapshot: None,
    }
}

/// A step that brings no event.
#[allow(clippy::reversed_empty_ranges)]
pub(crate) fn quiet(run: &str, input: &str) -> Entry {
    Entry {
        input: input.into(),
        ..step(run, 1..=0)
    }
}

pub(crate) fn last(run: &str, seq: u64) -> Entry {
    let mut entry = step(run, seq..=seq);
    entry.events = vec![event(run, seq, RunEventKind::RunCompleted)];
    entry.update.status = Some(RunStatus::Completed);
    entry
}

/// The run goes on.
pub(crate) fn resumed(run: &str, seqs: std::ops::RangeInclusive<u64>) -> Entry {
    let mut entry = step(run, seqs);
    if let Some(first) = entry.events.first_mut() {
        first.kind = RunEventKind::RunResumed(RunResumed {
            invocation_id: InvocationId::root(),
            additional_rounds: 1,
            round: 1,
            max_rounds: 2,
            extra: serde_json::Map::new(),
        });
    }
    entry.update.status = Some(RunStatus::CallingModel);
    entry
}

pub(crate) async fn begin(store: &Store, run: &str, events: u64) {
    let journal = store.journal();
    journal
        .create(record(run), step(run, 1..=events))
        .await
        .unwrap();
}
