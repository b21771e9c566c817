//! The one door through which anything happens to a run: decided, written down, and only then told.
//!
//! Whatever is recorded has been on disk when `record` returns. If the disk refuses, the run stops where the journal ends:
//! nothing more is taken until it has been read from there again.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use innkeeper_protocol::event::{
    EventId, RunEvent, RunEventKind, RunId, RunStatus, Timestamp as EventTime,
};
use innkeeper_store::journal::{CommittedMessage, Entry, RunJournal, RunUpdate, Written};
use innkeeper_store::{Blob, StoreError, Tree};
use innkeeper_tools::Clock;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

use crate::limits::STEPS_BETWEEN_SNAPSHOTS;
use crate::run::{AgentRun, CommitAnswer, Draft, Input, Misfit, Stamped};

/// Cheap to clone; clones are the same run.
#[derive(Clone)]
pub(crate) struct RunLog(Arc<Inner>);

struct Inner {
    run: RunId,
    journal: Arc<dyn RunJournal>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
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
}

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
    ) -> Self {
        Self(Arc::new(Inner {
            run: run.created().run_id.clone(),
            journal,
            clock,
            state: Mutex::new(State {
                run,
                last_seq,
                since_snapshot: 0,
            }),
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

    /// Until all that was recorded is on disk, or will never be.
    pub(crate) async fn flush(&self) {
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
        let mut state = self.0.state.lock().await;
        self.0.settle();
        if let Some(error) = self.0.journal_fault() {
            return Err(error.into());
        }
        let at = self.0.clock.now();
        let mut applied = Vec::with_capacity(inputs.len());
        let mut drafts = Vec::new();
        let mut misfit = None;
        let before = standing(&state.run);
        for input in inputs {
            let stamped = Stamped { at, input };
            match state.run.apply(&stamped) {
                Ok(told) => {
                    drafts.extend(told);
                    applied.push(stamped);
                }
                Err(why) => {
                    misfit = Some(why);
                    break;
                }
            }
        }
        if applied.is_empty() {
            return match misfit {
                Some(why) => Err(why.into()),
                None => Ok(Receipt {
                    written: None,
                    log: self.clone(),
                }),
            };
        }
        let kept = kept(&state.run, &drafts);
        let events = numbered(&self.0.run, state.last_seq, at, drafts);
        let count = events.len() as u64;
        let entry = self.entry(&mut state, &applied, events, before, brought, kept);
        let submitted = match entry {
            Ok(entry) => self.0.journal.submit(entry).await,
            Err(error) => Err(error),
        };
        let written = match submitted {
            Ok(written) => written,
            Err(error) => {
                self.0.broke(error.clone());
                return Err(error.into());
            }
        };
        state.last_seq += count;
        self.0.fed.send_modify(|fed| *fed += 1);
        match misfit {
            Some(why) => Err(why.into()),
            None => Ok(Receipt {
                written: Some(written),
                log: self.clone(),
            }),
        }
    }

    fn entry(
        &self,
        state: &mut State,
        applied: &[Stamped],
        events: Vec<RunEvent>,
        before: (u64, RunStatus),
        mut brought: Brought,
        kept: Kept,
    ) -> Result<Entry, StoreError> {
        brought.blobs.extend(kept.captured);
        let trees = kept.tree.into_iter().collect();
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
        let (commits, status) = standing(&state.run);
        Ok(Entry {
            run: self.0.run.clone(),
            input: serde_json::to_string(applied).map_err(failed)?.into(),
            events,
            update: RunUpdate {
                status: (status != before.1).then_some(status),
                commit_count: (commits != before.0).then_some(commits),
                committed_message: match commits != before.0 {
                    true => committed(&state.run),
                    false => None,
                },
            },
            blobs: brought.blobs,
            trees,
            snapshot,
        })
    }
}

/// What follows from the events of an entry.
struct Kept {
    /// The workspace at a checkpoint.
    tree: Option<Tree>,
    /// An answer that became a file.
    captured: Option<Blob>,
}

fn kept(run: &AgentRun, drafts: &[Draft]) -> Kept {
    let has = |wanted: fn(&RunEventKind) -> bool| drafts.iter().any(|draft| wanted(&draft.kind));
    let is_checkpoint = has(|kind| matches!(kind, RunEventKind::CheckpointCreated(_)));
    let is_captured = has(|kind| matches!(kind, RunEventKind::DirectOutputCaptured(_)));
    Kept {
        tree: is_checkpoint.then(|| run.workspace().tree()),
        captured: run
            .turn()
            .filter(|_| is_captured)
            .map(|turn| Blob::new(turn.reply.text.as_bytes())),
    }
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
