//! The checkpoints of a run: which there are, what each holds, and one more on request.

use std::collections::{BTreeMap, BTreeSet};

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    CheckpointId, InvocationId, RunEvent, RunEventKind, RunId, Timestamp,
};
use innkeeper_store::BlobId;
use innkeeper_store::journal::EventRange;
use serde::Serialize;

use super::AgentError;
use super::compare::{DiffEnd, no_checkpoint, number};
use super::reading::RunReader;
use super::runtime::AgentRuntime;
use crate::limits::{
    MAX_CHANGED_PATHS, MAX_CHECKPOINTS_PAGE, MAX_CHECKPOINTS_WITH_FILES, MAX_EVENTS_PAGE,
    MAX_REASON_CHARS,
};
use crate::run::{Input, Stamped};
use crate::state::STATE_FOLDER;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointView {
    pub id: CheckpointId,
    /// Its number in the run, from 1.
    pub seq: u64,
    /// The number of the event that tells of it.
    pub event_seq: u64,
    pub run_id: RunId,
    pub created_at: Timestamp,
    pub reason: String,
    /// Why, in the words of whoever asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What was written, patched or deleted since the one before; only the first of many.
    pub changed: Vec<String>,
    /// How many of these there were.
    pub changed_count: usize,
    /// All files there were, not only those that changed; where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<CheckpointFile>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointFile {
    pub path: String,
    pub sha256: BlobId,
    pub bytes: u64,
}

/// Which of them, oldest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckpointQuery {
    /// Only those after the one of this number.
    pub after: u64,
    /// As many as are given at once, if nothing is said.
    pub limit: Option<usize>,
    pub with_files: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointPage {
    pub run_id: RunId,
    pub checkpoints: Vec<CheckpointView>,
    /// The number after which the next ones are; none where there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

impl AgentRuntime {
    /// See [`RunReader::checkpoints`].
    pub async fn checkpoints(
        &self,
        run: &RunId,
        query: CheckpointQuery,
    ) -> Result<CheckpointPage, AgentError> {
        self.reader().checkpoints(run, query).await
    }

    /// See [`RunReader::checkpoint`].
    pub async fn read_checkpoint(
        &self,
        run: &RunId,
        id: &CheckpointId,
    ) -> Result<CheckpointView, AgentError> {
        self.reader().checkpoint(run, id).await
    }

    /// Makes one more, of the files as they are now. `reason` is kept with it as its note; it may be empty. A run that is
    /// over does not change any more, and takes none.
    pub async fn checkpoint(
        &self,
        run: &RunId,
        reason: &str,
    ) -> Result<CheckpointView, AgentError> {
        let before = self.record(run).await?.last_seq;
        let request_id = new_request();
        let input = self.wanted(&request_id, reason)?;
        self.feed(run, vec![input], |_| false).await?;
        self.made(run, before, &request_id).await
    }

    /// The same, without taking up a run that nobody drives. A request that comes twice makes one. For whoever holds the
    /// home.
    pub async fn note_checkpoint(
        &self,
        run: &RunId,
        request_id: &str,
        reason: &str,
    ) -> Result<(), AgentError> {
        self.record(run).await?;
        let input = self.wanted(request_id, reason)?;
        self.note(run, input).await
    }

    /// Why the run would take no checkpoint now, for whoever hands the request on. Nothing is changed.
    pub async fn check_checkpoint(&self, run: &RunId, reason: &str) -> Result<(), AgentError> {
        self.record(run).await?;
        let input = self.wanted("", reason)?;
        let at = self.0.parts.clock.now();
        let mut state = self.reader().state(run).await?;
        state.apply(&Stamped { at, input })?;
        Ok(())
    }

    fn wanted(&self, request_id: &str, reason: &str) -> Result<Input, AgentError> {
        let note = self.said(reason);
        if note.chars().count() > MAX_REASON_CHARS {
            let message = format!(
                "the reason of the checkpoint has more than {MAX_REASON_CHARS} characters; say it shorter"
            );
            return Err(AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.checkpoint_reason_too_long"));
        }
        Ok(Input::CheckpointRequested {
            request_id: request_id.to_owned(),
            note: (!note.is_empty()).then_some(note),
        })
    }

    async fn made(
        &self,
        run: &RunId,
        before: u64,
        request_id: &str,
    ) -> Result<CheckpointView, AgentError> {
        let made = self.reader().requested(run, before, request_id).await?;
        made.ok_or_else(|| {
            let message = "the checkpoint was made, but its event is not there; this is a bug, please report it";
            AgentError::new(ErrorCode::AgentInternalError, message)
        })
    }
}

/// By which a request for a checkpoint is known again.
pub fn new_request() -> String {
    format!("checkpoint_{}", uuid::Uuid::now_v7().simple())
}

impl RunReader {
    /// The checkpoint that this request has made behind that event, with its files; nothing if it has made none yet.
    pub async fn requested(
        &self,
        run: &RunId,
        after: u64,
        request_id: &str,
    ) -> Result<Option<CheckpointView>, AgentError> {
        let mut walk = Walk::after(self, run, after);
        let is_own = |event: &RunEvent| match &event.kind {
            RunEventKind::CheckpointCreated(made) => {
                made.extra.get("requestId").and_then(|id| id.as_str()) == Some(request_id)
            }
            _ => false,
        };
        while let Some((event, view)) = walk.next().await? {
            if is_own(&event) {
                return self.with_files(view).await.map(Some);
            }
        }
        Ok(None)
    }

    /// As the events tell of them, also of a run that is at work.
    pub async fn checkpoints(
        &self,
        run: &RunId,
        query: CheckpointQuery,
    ) -> Result<CheckpointPage, AgentError> {
        self.record(run).await?;
        let most = match query.with_files {
            true => MAX_CHECKPOINTS_WITH_FILES,
            false => MAX_CHECKPOINTS_PAGE,
        };
        let limit = query.limit.unwrap_or(most).clamp(1, most);
        let mut page = CheckpointPage {
            run_id: run.clone(),
            checkpoints: Vec::new(),
            next: None,
        };
        let mut walk = Walk::after(self, run, 0);
        while let Some((_, view)) = walk.next().await? {
            if view.seq <= query.after {
                continue;
            }
            if page.checkpoints.len() == limit {
                page.next = page.checkpoints.last().map(|last| last.seq);
                break;
            }
            page.checkpoints.push(match query.with_files {
                true => self.with_files(view).await?,
                false => view,
            });
        }
        Ok(page)
    }

    /// One, with all its files.
    pub async fn checkpoint(
        &self,
        run: &RunId,
        id: &CheckpointId,
    ) -> Result<CheckpointView, AgentError> {
        self.record(run).await?;
        let mut last = 0;
        let mut walk = Walk::after(self, run, 0);
        while let Some((_, view)) = walk.next().await? {
            last = view.seq;
            if view.id == *id {
                return self.with_files(view).await;
            }
        }
        Err(no_checkpoint(run, id, last))
    }

    async fn with_files(&self, view: CheckpointView) -> Result<CheckpointView, AgentError> {
        let end = DiffEnd::Checkpoint(view.id.clone());
        let tree = self.files_at(&view.run_id, &end).await?;
        let files = tree.0.into_iter().map(|(path, file)| CheckpointFile {
            path,
            sha256: file.sha256,
            bytes: file.bytes,
        });
        Ok(CheckpointView {
            files: Some(files.collect()),
            ..view
        })
    }
}

/// What people are told has changed when a private state has: nobody writes its file as a file.
const PRIVATE_STATE: &str = "private state";

fn told(path: &str) -> String {
    let below = path.strip_prefix(STATE_FOLDER);
    match below.is_some_and(|below| below.starts_with('/')) {
        true => PRIVATE_STATE.to_owned(),
        false => path.to_owned(),
    }
}

/// Goes through the events of a run from checkpoint to checkpoint.
struct Walk<'r> {
    reader: &'r RunReader,
    run: &'r RunId,
    seq: u64,
    waiting: std::vec::IntoIter<RunEvent>,
    /// By whoever did it: what an agent that works on a task writes is not the run's before it returns.
    changed: BTreeMap<InvocationId, BTreeSet<String>>,
    /// What a rollback has changed: the paths that its event names, and how many more there were.
    taken_back: (BTreeSet<String>, usize),
}

impl<'r> Walk<'r> {
    fn after(reader: &'r RunReader, run: &'r RunId, seq: u64) -> Self {
        Self {
            reader,
            run,
            seq,
            waiting: Vec::new().into_iter(),
            changed: BTreeMap::new(),
            taken_back: (BTreeSet::new(), 0),
        }
    }

    async fn next(&mut self) -> Result<Option<(RunEvent, CheckpointView)>, AgentError> {
        loop {
            let Some(event) = self.waiting.next() else {
                let range = EventRange::After {
                    seq: self.seq,
                    limit: MAX_EVENTS_PAGE,
                };
                let page = self.reader.events(self.run, range).await?;
                let Some(last) = page.last() else {
                    return Ok(None);
                };
                self.seq = last.seq;
                self.waiting = page.into_iter();
                continue;
            };
            let scope = event.scope.as_ref();
            let who = scope.map_or_else(InvocationId::root, |scope| scope.invocation_id.clone());
            let path = match &event.kind {
                RunEventKind::WorkspaceFileWritten(file) => &file.path,
                RunEventKind::WorkspacePatchApplied(file) => &file.path,
                RunEventKind::WorkspaceFileDeleted(file) => &file.path,
                RunEventKind::DirectOutputCaptured(file) => &file.path,
                RunEventKind::RunRolledBack(back) => {
                    let files = &back.files;
                    let all = files.added + files.modified + files.deleted;
                    let more = usize::try_from(all).unwrap_or(usize::MAX);
                    let more = more.saturating_sub(files.paths.len());
                    let paths = files.paths.iter().map(|path| told(path)).collect();
                    self.taken_back = (paths, more);
                    continue;
                }
                RunEventKind::CheckpointCreated(made) => {
                    let mut by_agent = std::mem::take(&mut self.changed);
                    let (taken_back, more) = std::mem::take(&mut self.taken_back);
                    let mut changed = by_agent.remove(&who).unwrap_or_default();
                    changed.extend(taken_back);
                    let note = made.extra.get("note").and_then(|note| note.as_str());
                    let view = CheckpointView {
                        id: made.checkpoint_id.clone(),
                        seq: number(&made.checkpoint_id),
                        event_seq: event.seq,
                        run_id: self.run.clone(),
                        created_at: event.timestamp.clone(),
                        reason: made.reason.clone(),
                        note: note.map(str::to_owned),
                        changed_count: changed.len().saturating_add(more),
                        changed: changed.into_iter().take(MAX_CHANGED_PATHS).collect(),
                        files: None,
                    };
                    return Ok(Some((event, view)));
                }
                RunEventKind::StateUpdated(state) if state.scope == "private" => {
                    let own = self.changed.entry(who).or_default();
                    own.insert(PRIVATE_STATE.to_owned());
                    continue;
                }
                _ => continue,
            };
            self.changed.entry(who).or_default().insert(path.clone());
        }
    }
}
