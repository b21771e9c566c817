//! The one door through which anything happens to a run: decided, written down, and only then told.
//!
//! Whatever is recorded has been on disk when `record` returns. If the disk refuses, the run stops where the journal ends:
//! nothing more is taken until it has been read from there again.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::time::Duration;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    EventId, RunEvent, RunEventKind, RunId, RunStatus, Timestamp as EventTime,
};
use innkeeper_store::journal::{CommittedMessage, Entry, RunJournal, RunUpdate, Written};
use innkeeper_store::{Blob, BlobId, StoreError, Tree};
use innkeeper_tools::Clock;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::limits::STEPS_BETWEEN_SNAPSHOTS;
use crate::run::{AgentRun, CommitAnswer, Draft, Input, Misfit, Stamped, Why};
use crate::workspace::WorkspaceSession;
use crate::workspace::state::{FileChange, How, WorkspaceChange};

/// Cheap to clone; clones are the same run.
#[derive(Clone)]
pub(crate) struct RunLog(Arc<Inner>);

struct Inner {
    run: RunId,
    journal: Arc<dyn RunJournal>,
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    /// Follows what the run's workspace becomes.
    session: Arc<WorkspaceSession>,
    /// Something that can be told waits for what is submitted next.
    is_held: AtomicBool,
    /// Entries that nobody waits for.
    pending: std::sync::Mutex<VecDeque<Written>>,
    /// Counts what the run was fed.
    fed: watch::Sender<u64>,
    /// Why nothing more is written: what is in memory is ahead of the journal and must not be acted upon.
    broken: Fault,
    /// Fires then, so that nothing of the run waits for what can no longer be written down.
    let_go: CancellationToken,
}

/// Why a run cannot be written down. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Fault(Arc<std::sync::Mutex<Option<StoreError>>>);

impl Fault {
    pub(crate) fn get(&self) -> Option<StoreError> {
        self.lock().clone()
    }

    /// The first one says most, unless it only says that one before it is missing: whoever waits for that one may hear of
    /// it later.
    fn set(&self, error: StoreError) {
        let mut known = self.lock();
        if matches!(*known, None | Some(StoreError::Gap { .. })) {
            *known = Some(error);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<StoreError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn journal_fault(&self) -> Option<StoreError> {
        self.broken.get()
    }

    /// Looks at what nobody waits for.
    fn settle(&self) {
        let mut pending = self.pending();
        while let Some(outcome) = pending.front_mut().and_then(Written::outcome) {
            pending.pop_front();
            if let Err(error) = outcome {
                self.broke(error);
            }
        }
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, VecDeque<Written>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn broke(&self, error: StoreError) {
        self.broken.set(error);
        self.let_go.cancel();
    }
}

/// An entry on its way. Whoever does not wait for it leaves that to the log.
pub(crate) struct Receipt {
    written: Option<Written>,
    log: RunLog,
}

impl Receipt {
    /// It is on disk, and all that was recorded before it.
    pub(crate) async fn written(mut self) -> Result<(), StoreError> {
        let written = match self.written.take() {
            Some(written) => written.wait().await,
            None => Ok(()),
        };
        // What was not waited for came first, and is why.
        self.log.0.settle();
        if let Err(error) = written {
            self.log.0.broke(error);
        }
        match self.log.fault() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(written) = self.written.take() {
            self.log.0.pending().push_back(written);
        }
    }
}

struct State {
    run: AgentRun,
    last_seq: u64,
    since_snapshot: u32,
    held: Option<Held>,
}

type Locked = OwnedMutexGuard<State>;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("{0}")]
    Misfit(#[from] Misfit),
    #[error("the journal of the run cannot be written: {0}")]
    Journal(#[from] StoreError),
}

/// What goes onto the disk beside the inputs.
#[derive(Default)]
pub(crate) struct Brought {
    pub(crate) blobs: Vec<Blob>,
}

impl RunLog {
    /// A run that has just begun; its first entry is written by whoever begins it. `let_go` fires when the journal cannot
    /// be written any more.
    pub(crate) fn new(
        run: AgentRun,
        last_seq: u64,
        journal: Arc<dyn RunJournal>,
        clock: Arc<dyn Clock>,
        let_go: CancellationToken,
        session: Arc<WorkspaceSession>,
    ) -> Self {
        Self(Arc::new(Inner {
            run: run.created().run_id.clone(),
            journal,
            clock,
            state: Arc::new(Mutex::new(State {
                run,
                last_seq,
                since_snapshot: 0,
                held: None,
            })),
            session,
            is_held: AtomicBool::new(false),
            pending: std::sync::Mutex::default(),
            fed: watch::Sender::new(last_seq),
            broken: Fault::default(),
            let_go,
        }))
    }

    pub(crate) fn id(&self) -> &RunId {
        &self.0.run
    }

    /// When the run is next fed something, from now on.
    pub(crate) fn changed(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut fed = self.0.fed.subscribe();
        async move {
            // The sender lives as long as the log.
            let _ = fed.changed().await;
        }
    }

    /// When the run has used up its time for work; never where it has no limit. Waiting for people takes none of it.
    pub(crate) async fn out_of_time(&self) {
        loop {
            let changed = self.changed();
            let now = self.0.clock.now();
            let (left, is_parked) = self.read(|run| (run.time_left(now), run.is_parked())).await;
            match left {
                None => return std::future::pending().await,
                Some(_) if is_parked => changed.await,
                Some(Duration::ZERO) => return,
                // It may be parked in the meantime, so this is looked at again.
                Some(left) => tokio::time::sleep(left).await,
            }
        }
    }

    /// Until all that was recorded is on disk, or will never be.
    pub(crate) async fn flush(&self) {
        // What could not be sent has broken the log, which whoever asks is told.
        let _ = self.send_held().await;
        self.written().await;
    }

    async fn written(&self) {
        loop {
            let next = self.0.pending().pop_front();
            let Some(written) = next else { return };
            if let Err(error) = written.wait().await {
                self.0.broke(error);
            }
        }
    }

    /// As it will be known, for whoever asks when the run has been let go of.
    pub(crate) fn fault_cell(&self) -> Fault {
        self.0.broken.clone()
    }

    /// Why the run cannot go on in this process.
    pub(crate) fn fault(&self) -> Option<StoreError> {
        self.0.journal_fault()
    }

    pub(crate) async fn read<T>(&self, look: impl FnOnce(&AgentRun) -> T) -> T {
        look(&self.0.state.lock().await.run)
    }

    /// On disk when it returns.
    pub(crate) async fn record(&self, input: Input) -> Result<(), RecordError> {
        self.record_with(input, Brought::default()).await
    }

    pub(crate) async fn record_with(
        &self,
        input: Input,
        brought: Brought,
    ) -> Result<(), RecordError> {
        let receipt = self.submit(vec![input], brought).await?;
        Ok(receipt.written().await?)
    }

    /// On its way to the disk when it returns, in the order of the calls; whoever is about to do what cannot be done twice
    /// waits for the receipt. Several inputs are there together or not at all. One that does not fit ends the entry.
    pub(crate) async fn submit(
        &self,
        inputs: Vec<Input>,
        brought: Brought,
    ) -> Result<Receipt, RecordError> {
        let mut state = self.0.state.clone().lock_owned().await;
        let taken = self.take(&mut state, inputs, brought);
        let written = self.send(state).await;
        taken?;
        Ok(Receipt {
            written: written?,
            log: self.clone(),
        })
    }

    /// Goes to the disk with what is submitted next. For what is followed at once by something else; whoever drives the
    /// run sees to it that something is.
    pub(crate) async fn hold(&self, input: Input, brought: Brought) -> Result<(), RecordError> {
        let mut state = self.0.state.lock().await;
        self.take(&mut state, vec![input], brought)
    }

    /// The same, with somebody who is to know when it is on disk.
    pub(crate) async fn hold_for(&self, input: Input, reader: Reader) -> Result<(), RecordError> {
        let mut state = self.0.state.lock().await;
        self.take(&mut state, vec![input], Brought::default())?;
        if let Some(held) = &mut state.held {
            held.readers.push(reader);
        }
        Ok(())
    }

    /// Whether there is something for [`Self::send_held`].
    pub(crate) fn is_held(&self) -> bool {
        self.0.is_held.load(Ordering::Acquire)
    }

    /// Sends what is held.
    pub(crate) async fn send_held(&self) -> Result<(), RecordError> {
        let state = self.0.state.clone().lock_owned().await;
        let written = self.send(state).await?;
        drop(Receipt {
            written,
            log: self.clone(),
        });
        Ok(())
    }

    /// Changes the run. What comes of it waits for [`Self::send`].
    fn take(
        &self,
        state: &mut State,
        inputs: Vec<Input>,
        mut brought: Brought,
    ) -> Result<(), RecordError> {
        self.0.settle();
        if let Some(error) = self.0.journal_fault() {
            return Err(error.into());
        }
        let at = self.0.clock.now();
        for input in inputs {
            let before = standing(&state.run);
            let stamped = Stamped { at, input };
            let drafts = state.run.apply(&stamped)?;
            self.0.fed.send_modify(|fed| *fed += 1);
            let mut kept = kept(&state.run, &drafts);
            if let Some((change, blob)) = kept.captured.take() {
                self.0.session.changed(&change, vec![blob.clone()]);
                brought.blobs.push(blob);
            }
            self.0.session.sent(&brought.blobs);
            let events = numbered(&self.0.run, state.last_seq, at, drafts);
            state.last_seq += events.len() as u64;
            let held = state.held.get_or_insert_with(|| Held::since(before));
            held.applied.push(stamped);
            held.events.extend(events);
            held.trees.extend(kept.tree);
            held.blobs.append(&mut brought.blobs);
            self.0
                .is_held
                .store(!held.events.is_empty(), Ordering::Release);
        }
        Ok(())
    }

    /// `None`: there was nothing to be sent. Whoever waits for it may give up at any time: what the run has taken is handed
    /// in all the same, and nothing comes before it.
    async fn send(&self, mut state: Locked) -> Result<Option<Written>, RecordError> {
        // Every entry goes on from the event before it, so that none can be missing unnoticed. What tells nothing waits for
        // what does: read without it, the run does it again.
        let is_told = |held: &mut Held| !held.events.is_empty();
        let Some(mut held) = state.held.take_if(is_told) else {
            return Ok(None);
        };
        self.0.is_held.store(false, Ordering::Release);
        let readers = std::mem::take(&mut held.readers);
        let brought: Vec<BlobId> = held.blobs.iter().map(|blob| blob.id.clone()).collect();
        let journal = self.0.journal.clone();
        let entry = self.entry(&mut state, held);
        let mut submitting: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(async move {
            match entry {
                Ok(entry) => journal.submit(entry).await,
                Err(error) => Err(error),
            }
        });
        // As a rule it is handed in at once.
        let at_once = poll_fn(|context| Poll::Ready(submitting.as_mut().poll(context))).await;
        if let Poll::Ready(Ok(written)) = at_once {
            return Ok(Some(self.noted(written, brought, readers)));
        }
        let (tell, told) = oneshot::channel();
        let log = self.clone();
        tokio::spawn(async move {
            let submitted = match at_once {
                Poll::Ready(submitted) => submitted,
                Poll::Pending => submitting.await,
            };
            let submitted = match submitted {
                Ok(written) => Ok(log.noted(written, brought, readers)),
                Err(error) => Err(log.refused(&mut state, error).await),
            };
            drop(state);
            if let Err(Ok(written)) = tell.send(submitted) {
                log.0.pending().push_back(written);
            }
        });
        let submitted = told.await;
        submitted.map_or(Err(StoreError::Closed.into()), |written| written.map(Some))
    }

    /// The workspace hears of it when its contents are on disk, and whoever else wanted to.
    fn noted(&self, written: Written, brought: Vec<BlobId>, readers: Vec<Reader>) -> Written {
        let written = match brought.is_empty() {
            true => written,
            false => {
                let session = self.0.session.clone();
                Written::new(async move {
                    let written = written.wait().await;
                    if written.is_ok() {
                        session.saved(&brought);
                    }
                    written
                })
            }
        };
        readers
            .into_iter()
            .fold(written, |written, reader| reader(written))
    }

    /// A journal that will never take an entry is no broken disk: the run fails where the journal ends.
    async fn refused(&self, state: &mut State, error: StoreError) -> RecordError {
        let is_final = matches!(
            error,
            StoreError::TooLarge { .. } | StoreError::TooDeep { .. }
        );
        let failed = match is_final {
            true => self.fail(state, &error).await,
            false => Err(error.clone()),
        };
        match failed {
            Ok(()) => RecordError::Misfit(Misfit {
                why: Why::Over,
                message: format!("The run has failed: {error}"),
            }),
            Err(error) => {
                self.0.broke(error.clone());
                error.into()
            }
        }
    }

    /// From the journal, without what it does not take.
    async fn fail(&self, state: &mut State, why: &StoreError) -> Result<(), StoreError> {
        self.written().await;
        let replay = self.0.journal.replay(&self.0.run).await?;
        let replay = replay.ok_or_else(|| StoreError::NoRun(self.0.run.to_string()))?;
        let unreadable = |cause: String| StoreError::Read { cause };
        *state = State {
            run: super::recovery::replayed(&replay).map_err(unreadable)?,
            last_seq: replay.record.last_seq,
            since_snapshot: 0,
            held: None,
        };
        let failed = Input::Failed {
            code: ErrorCode::AgentInternalError,
            message: format!(
                "A step of the run cannot be written down: {why}; resume it, and let it do this in smaller parts"
            ),
            reason: Some(why.code().to_owned()),
        };
        // One that is being ended already has its end before it.
        if self.take(state, vec![failed], Brought::default()).is_err() {
            return Ok(());
        }
        let Some(held) = state.held.take() else {
            return Ok(());
        };
        let entry = self.entry(state, held)?;
        let written = self.0.journal.submit(entry).await?;
        self.0.pending().push_back(written);
        Ok(())
    }

    fn entry(&self, state: &mut State, held: Held) -> Result<Entry, StoreError> {
        let failed = |error: serde_json::Error| StoreError::Write {
            cause: error.to_string(),
        };
        state.since_snapshot += 1;
        let snapshot = match state.since_snapshot >= STEPS_BETWEEN_SNAPSHOTS {
            false => None,
            true => {
                state.since_snapshot = 0;
                Some(serde_json::to_string(&state.run).map_err(failed)?.into())
            }
        };
        let before = held.before;
        let (commits, status) = standing(&state.run);
        Ok(Entry {
            run: self.0.run.clone(),
            input: serde_json::to_string(&held.applied).map_err(failed)?.into(),
            events: held.events,
            update: RunUpdate {
                status: (status != before.1).then_some(status),
                commit_count: (commits != before.0).then_some(commits),
                committed_message: match commits != before.0 {
                    true => committed(&state.run),
                    false => None,
                },
            },
            blobs: held.blobs,
            trees: held.trees,
            snapshot,
        })
    }
}

/// Waits for an entry, and passes on what became of it.
pub(crate) type Reader = Box<dyn FnOnce(Written) -> Written + Send>;

/// Inputs that the run has taken, on their way into one entry.
struct Held {
    /// Where the run stood.
    before: (u64, RunStatus),
    applied: Vec<Stamped>,
    events: Vec<RunEvent>,
    blobs: Vec<Blob>,
    trees: Vec<Tree>,
    readers: Vec<Reader>,
}

impl Held {
    fn since(before: (u64, RunStatus)) -> Self {
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

/// What follows from the events of an entry.
struct Kept {
    /// The workspace at a checkpoint.
    tree: Option<Tree>,
    /// An answer that became a file.
    captured: Option<(WorkspaceChange, Blob)>,
}

fn kept(run: &AgentRun, drafts: &[Draft]) -> Kept {
    let has = |wanted: fn(&RunEventKind) -> bool| drafts.iter().any(|draft| wanted(&draft.kind));
    let is_checkpoint = has(|kind| matches!(kind, RunEventKind::CheckpointCreated(_)));
    let captured = drafts.iter().find_map(|draft| match &draft.kind {
        RunEventKind::DirectOutputCaptured(captured) => Some(captured.path.as_str()),
        _ => None,
    });
    Kept {
        tree: is_checkpoint.then(|| run.workspace().tree()),
        captured: captured.and_then(|path| captured_as(run, path)),
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
fn standing(run: &AgentRun) -> (u64, RunStatus) {
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

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
