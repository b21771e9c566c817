//! What must hold of a story that was told to its end, whatever happened on the way.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use innkeeper_agent::run::{AgentRun, Stamped};
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunId, RunStatus, WorkspaceId};
use innkeeper_store::journal::{EventRange, RunFilter};
use innkeeper_store::{BlobId, Store};
use serde_json::Value as Json;

use super::harness::{DATABASE, check_journal, names};
use super::story::{COMMITS, ORDERS, Outside};

const PRIVATE_STATE: &str = "persist/.state/story.json";

/// Events by their number, as they were told.
pub(crate) type Acknowledged = BTreeMap<u64, Json>;

/// Path and SHA-256.
pub(crate) type Files = BTreeMap<String, String>;

pub(crate) async fn events(store: &Store, run: &RunId) -> Vec<RunEvent> {
    let mut all: Vec<RunEvent> = Vec::new();
    loop {
        let seq = all.last().map_or(0, |event| event.seq);
        let range = EventRange::After { seq, limit: 200 };
        let page = store.journal().events(run, range).await.unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// The only run there is.
pub(crate) async fn only_run(store: &Store) -> Option<RunId> {
    let page = store.journal().runs(&RunFilter::default()).await.unwrap();
    assert!(page.runs.len() <= 1, "{:?}", page.runs);
    page.runs.first().map(|record| record.run_id.clone())
}

/// Those that the journal has are as they were told.
pub(crate) fn check_told(told: &Acknowledged, events: &[RunEvent]) {
    for event in events {
        if let Some(told) = told.get(&event.seq) {
            assert_eq!(*told, serde_json::to_value(event).unwrap());
        }
    }
}

/// Files at the end; each is read and found to be what it is called.
pub(crate) async fn files(store: &Store, run: &RunId) -> Files {
    let replay = store.journal().replay(run).await.unwrap().unwrap();
    let mut read: Option<AgentRun> = replay
        .snapshot
        .map(|snapshot| serde_json::from_str(&snapshot).unwrap());
    for entry in &replay.inputs {
        let inputs: Vec<Stamped> = serde_json::from_str(entry).unwrap();
        for input in &inputs {
            match &mut read {
                None => read = Some(AgentRun::begin(input).unwrap().0),
                Some(run) => drop(run.apply(input).unwrap()),
            }
        }
    }
    let mut files = Files::new();
    for (path, info) in &read.unwrap().workspace().files {
        let content = store.contents().blob(&info.sha256).await.unwrap();
        let content = content.unwrap_or_else(|| panic!("the content of '{path}' is gone"));
        assert_eq!(BlobId::of(&content), info.sha256);
        if path == PRIVATE_STATE {
            // It names its run and its time, which are others each time.
            let state: Json = serde_json::from_slice(&content).unwrap();
            assert_eq!(
                (&state["version"], &state["value"]["nights"]),
                (&1.into(), &1.into())
            );
            continue;
        }
        files.insert(path.clone(), info.sha256.as_str().to_owned());
    }
    files
}

/// All that must hold of a run that is over; gives its files.
pub(crate) async fn check_end(home: &Path, outside: &Outside, told: &Acknowledged) -> Files {
    let store = Store::open(&home.join(DATABASE)).await.unwrap();
    let run = only_run(&store).await.expect("there is no run");
    let events = events(&store, &run).await;
    check_journal(&events);
    let record = store.journal().record(&run).await.unwrap().unwrap();
    assert_eq!(record.status, RunStatus::Completed, "{:?}", events.last());
    let last = told.keys().last().copied().unwrap_or_default();
    assert!(last <= events.len() as u64, "what was told is lost");
    check_told(told, &events);
    check_effects(&events, outside);
    check_commits(&events, outside);
    assert_eq!(record.commit_count, COMMITS as u64);
    check_states(&store, &record.workspace_id, &events).await;
    let files = files(&store, &run).await;
    let checked = store.check().await.unwrap();
    assert!(checked.is_sound(), "{checked}");
    store.close().await.unwrap();
    files
}

/// Each was incremented once, and told once.
async fn check_states(store: &Store, workspace: &WorkspaceId, events: &[RunEvent]) {
    let world = store.worlds().get(workspace).await.unwrap().unwrap();
    assert_eq!((world.version, &*world.value), (1, r#"{"guests":1}"#));
    let told = events.iter().filter_map(|event| match &event.kind {
        RunEventKind::StateUpdated(state) => Some((state.scope.as_str(), state.version)),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told, [("private", 1), ("world", 1)]);
}

fn asked_about(events: &[RunEvent], call: &str) -> usize {
    let asks = events.iter().filter(|event| {
        matches!(&event.kind, RunEventKind::ToolCallAwaitingApproval(asked) if asked.call_id.as_str() == call)
    });
    asks.count()
}

/// A call that has an end that is known was made once; one that was cut off, at most once.
fn check_effects(events: &[RunEvent], outside: &Outside) {
    let mut ends: BTreeMap<&str, Vec<Option<&str>>> = BTreeMap::new();
    for event in events {
        if let RunEventKind::ToolCallCompleted(end) | RunEventKind::ToolCallFailed(end) =
            &event.kind
        {
            let ends = ends.entry(end.call_id.as_str()).or_default();
            ends.push(end.error_code.as_deref());
        }
    }
    let mut seen = HashSet::new();
    for event in events {
        let RunEventKind::ToolCallRequested(asked) = &event.kind else {
            continue;
        };
        let call = asked.call_id.as_str();
        assert!(seen.insert(call), "call {call} was asked for twice");
        let [end] = ends[call][..] else {
            panic!("call {call} of {} ended {:?}", asked.name, ends[call]);
        };
        let done = outside.lines(&asked.name);
        let of_call = |line: &&String| line.split(' ').next() == Some(call);
        let done = done.iter().filter(of_call).count();
        match (asked.name.as_str(), end) {
            ("pay", None) => assert_eq!(done, 1, "{call}"),
            ("pay" | "ring", Some("tool.outcome_unknown")) => assert!(done <= 1, "{call}: {done}"),
            // It may have been cut off in the background.
            ("ring", None) => assert!(done <= 1, "{call}: {done}"),
            ("look", None) => assert!(done >= 1, "{call}"),
            // No approval, no effect; and nothing is asked twice.
            ("sign", end) => {
                assert_eq!(asked_about(events, call), 1, "{call}");
                let said = |name: &str| outside.lines(name).iter().any(|line| line == call);
                match end {
                    None => assert!(done == 1 && said("allowed"), "{call}: {done}"),
                    Some("tool.outcome_unknown") => assert!(done <= 1 && said("allowed"), "{call}"),
                    Some("tool.approval_denied") => assert!(done == 0 && said("refused"), "{call}"),
                    Some(code) => panic!("call {call} of sign failed: {code}"),
                }
            }
            (_, None) => {}
            (name, Some(code)) => panic!("call {call} of {name} failed: {code}"),
        }
    }
    let paid = outside.lines("pay");
    for order in ORDERS {
        let times = paid.iter().filter(|line| line.ends_with(order)).count();
        assert!(times <= 1, "order {order} was paid {times} times");
    }
    assert!(outside.lines("ring").len() <= 1);
    let rung = names(events)
        .iter()
        .filter(|name| **name == "tool_task_ended")
        .count();
    let started = ends.values().flatten().count();
    assert!(rung <= 1 && started == seen.len(), "{rung} {started}");
}

/// Every call to publish was published under one id, once.
fn check_commits(events: &[RunEvent], outside: &Outside) {
    let lines = outside.lines("commits");
    let part = |at: usize| -> HashSet<&str> {
        let parts = lines.iter().filter_map(|line| line.split(' ').nth(at));
        parts.collect()
    };
    assert_eq!(lines.len(), COMMITS, "{lines:?}");
    assert_eq!((part(0).len(), part(1).len()), (COMMITS, COMMITS));
    let completed: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.kind {
            RunEventKind::ChatCommitCompleted(commit) => Some(commit.commit_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(completed.len(), COMMITS);
    assert_eq!(completed.into_iter().collect::<HashSet<_>>(), part(0));
}
