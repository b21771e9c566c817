//! How what a run has taken is put into one entry of its journal: the events with their numbers, the contents, and what
//! lists of runs show.

use innkeeper_protocol::event::{
    EventId, RunEvent, RunEventKind, RunId, RunStatus, Timestamp as EventTime,
};
use innkeeper_store::journal::{CommittedMessage, Entry, RunUpdate, Written};
use innkeeper_store::{Blob, StoreError, Tree};

use crate::limits::STEPS_BETWEEN_SNAPSHOTS;
use crate::run::{AgentRun, CommitAnswer, Draft, Stamped};
use crate::workspace::state::{FileChange, How, WorkspaceChange};

/// Waits for an entry, and passes on what became of it.
pub(crate) type Reader = Box<dyn FnOnce(Written) -> Written + Send>;

/// Inputs that the run has taken, on their way into one entry.
pub(super) struct Held {
    /// Where the run stood.
    pub(super) before: (u64, RunStatus),
    pub(super) applied: Vec<Stamped>,
    pub(super) events: Vec<RunEvent>,
    pub(super) blobs: Vec<Blob>,
    pub(super) trees: Vec<Tree>,
    pub(super) readers: Vec<Reader>,
}

impl Held {
    pub(super) fn since(before: (u64, RunStatus)) -> Self {
        Self {
            before,
            applied: Vec::new(),
            events: Vec::new(),
            blobs: Vec::new(),
            trees: Vec::new(),
            readers: Vec::new(),
        }
    }
}

/// All that is held, as one entry. Now and then the whole run goes along.
pub(super) fn entry(
    run: &AgentRun,
    since_snapshot: &mut u32,
    held: Held,
) -> Result<Entry, StoreError> {
    let failed = |error: serde_json::Error| StoreError::Write {
        cause: error.to_string(),
    };
    *since_snapshot += 1;
    let snapshot = match *since_snapshot >= STEPS_BETWEEN_SNAPSHOTS {
        false => None,
        true => {
            *since_snapshot = 0;
            Some(serde_json::to_string(run).map_err(failed)?.into())
        }
    };
    let before = held.before;
    let (commits, status) = standing(run);
    Ok(Entry {
        run: run.run_id().clone(),
        input: serde_json::to_string(&held.applied).map_err(failed)?.into(),
        events: held.events,
        update: RunUpdate {
            status: (status != before.1).then_some(status),
            commit_count: (commits != before.0).then_some(commits),
            committed_message: match commits != before.0 {
                true => committed(run),
                false => None,
            },
        },
        blobs: held.blobs,
        trees: held.trees,
        snapshot,
    })
}

/// What follows from the events of an entry.
pub(super) struct Kept {
    /// The workspace at a checkpoint.
    pub(super) tree: Option<Tree>,
    /// An answer that became a file.
    pub(super) captured: Option<(WorkspaceChange, Blob)>,
    /// What an agent that worked for another has left.
    pub(super) delivered: Option<WorkspaceChange>,
}

pub(super) fn kept(run: &AgentRun, drafts: &[Draft]) -> Kept {
    let has = |wanted: fn(&RunEventKind) -> bool| drafts.iter().any(|draft| wanted(&draft.kind));
    let is_checkpoint = has(|kind| matches!(kind, RunEventKind::CheckpointCreated(_)));
    let captured = drafts.iter().find_map(|draft| match &draft.kind {
        RunEventKind::DirectOutputCaptured(captured) => {
            let scope = draft.scope.as_ref();
            let part = scope.map_or(run, |scope| run.of_invocation(&scope.invocation_id));
            Some((part, captured.path.as_str()))
        }
        _ => None,
    });
    Kept {
        tree: is_checkpoint.then(|| run.workspace().tree()),
        captured: captured.and_then(|(part, path)| captured_as(part, path)),
        delivered: run.delivered(drafts),
    }
}

/// What the workspace of the run holds there, and the words themselves.
fn captured_as(run: &AgentRun, path: &str) -> Option<(WorkspaceChange, Blob)> {
    let state = run.workspace();
    let file = FileChange {
        path: path.to_owned(),
        how: How::Captured,
        old: None,
        new: Some(state.files.get(path)?.clone()),
    };
    let read = state.reads.get(path).cloned();
    let change = WorkspaceChange {
        files: vec![file],
        reads: read
            .map(|read| (path.to_owned(), read))
            .into_iter()
            .collect(),
    };
    Some((change, Blob::new(run.turn()?.reply.text.as_bytes())))
}

/// Events get their numbers where they are written down.
pub(crate) fn numbered(
    run: &RunId,
    last: u64,
    at: jiff::Timestamp,
    drafts: Vec<Draft>,
) -> Vec<RunEvent> {
    let time = at.to_string();
    let short = run.as_str().strip_prefix("run_").unwrap_or(run.as_str());
    let drafts = drafts.into_iter().zip(last + 1..);
    drafts
        .map(|(draft, seq)| RunEvent {
            seq,
            id: EventId::new(format!("evt_{short}_{seq}")),
            run_id: run.clone(),
            timestamp: EventTime::new(time.clone()),
            level: draft.level.unwrap_or(draft.kind.default_level()),
            scope: draft.scope,
            kind: draft.kind,
        })
        .collect()
}

/// What lists of runs show.
pub(super) fn standing(run: &AgentRun) -> (u64, RunStatus) {
    (run.commit_count(), run.status())
}

fn committed(run: &AgentRun) -> Option<CommittedMessage> {
    run.commits().rev().find_map(|commit| match &commit.answer {
        CommitAnswer::Confirmed {
            message_id,
            message_index,
            at,
        } => Some(CommittedMessage {
            commit_id: commit.commit.to_string(),
            message_id: message_id.clone(),
            message_index: *message_index,
            committed_at: *at,
        }),
        CommitAnswer::Pending | CommitAnswer::Failed { .. } => None,
    })
}
