//! The one door through which anything happens to a run: decided, written down, and only then told.
//!
//! Whatever is recorded has been on disk when `record` returns. If the disk refuses, the run stops where the journal ends:
//! nothing more is taken until it has been read from there again. A run that waits for people need not be in memory
//! (`rest.rs`); whoever looks at it does not notice.

mod entry;
mod fault;
mod receipt;
mod rest;
mod seal;
#[cfg(test)]
mod testing;

use std::collections::{BTreeSet, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::time::Duration;

use innkeeper_protocol::event::{CallId, InvocationId, RunId};
use innkeeper_store::journal::{RunJournal, Written};
use innkeeper_store::{Blob, BlobId, StoreError};
use innkeeper_tools::Clock;
use tokio::sync::futures::Notified;
use tokio::sync::{Mutex, Notify, OwnedMutexGuard, oneshot};
use tokio_util::sync::CancellationToken;

use self::entry::{Held, kept, standing};
use self::receipt::{HandedIn, Sent};
use crate::run::{AgentRun, Input, Misfit, Stamped};
use crate::workspace::WorkspaceSession;

pub(crate) use self::entry::{Reader, numbered};
pub(crate) use self::fault::Fault;
pub(crate) use self::receipt::Receipt;
pub(crate) use self::rest::Rest;

/// Cheap to clone; clones are the same run.
#[derive(Clone)]
pub(crate) struct RunLog(Arc<Inner>, Option<Arc<Lens>>);

/// One agent of the run that works for another: what is read is its part, what is written is fed to it.
struct Lens {
    invocation: InvocationId,
    session: Arc<WorkspaceSession>,
}

struct Inner {
    run: RunId,
    journal: Arc<dyn RunJournal>,
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    /// Follows what the run's workspace becomes.
    session: std::sync::Mutex<Arc<WorkspaceSession>>,
    /// Something that can be told waits for what is submitted next.
    is_held: AtomicBool,
    /// Entries that nobody waits for.
    pending: std::sync::Mutex<VecDeque<Sent>>,
    /// The last event that is known to be on disk.
    on_disk: AtomicU64,
    /// Told whenever the run was fed something.
    fed: Notify,
    /// Told when the run is in memory and waits for people.
    parked: Notify,
    /// Calls that somebody sees to here: checked, asked about, started.
    in_hand: std::sync::Mutex<BTreeSet<CallId>>,
    /// This process takes nothing more for the run.
    sealed: AtomicBool,
    /// Why nothing more is written: what is in memory is ahead of the journal and must not be acted upon.
    broken: Fault,
    /// Fires then, so that nothing of the run waits for what can no longer be written down.
    let_go: CancellationToken,
}

impl Inner {
    fn journal_fault(&self) -> Option<StoreError> {
        self.broken.get()
    }

    /// Looks at what nobody waits for.
    fn settle(&self) {
        let mut pending = self.pending();
        while let Some(first) = pending.front_mut() {
            let up_to = first.up_to;
            let Some(outcome) = first.written.outcome() else {
                return;
            };
            pending.pop_front();
            self.ended(up_to, outcome);
        }
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, VecDeque<Sent>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What became of the entry that ends with this event.
    fn ended(&self, up_to: u64, outcome: Result<(), StoreError>) {
        match outcome {
            Ok(()) => {
                self.on_disk.fetch_max(up_to, Ordering::AcqRel);
            }
            Err(error) => self.broke(error),
        }
    }

    fn broke(&self, error: StoreError) {
        self.broken.set(error);
        self.let_go.cancel();
    }
}

struct State {
    /// None: it rests.
    awake: Option<Box<Awake>>,
    place: Place,
}

/// The run in memory, with what has not been sent yet.
struct Awake {
    run: AgentRun,
    held: Option<Held>,
}

/// Where the run is in its journal.
struct Place {
    last_seq: u64,
    since_snapshot: u32,
}

type Locked = OwnedMutexGuard<State>;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum RecordError {
    #[error("{0}")]
    Misfit(#[from] Misfit),
    #[error("the journal of the run cannot be written or read: {0}")]
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
        let parked = Notify::new();
        if run.is_parked() {
            parked.notify_one();
        }
        Self(
            Arc::new(Inner {
                run: run.created().run_id.clone(),
                journal,
                clock,
                on_disk: AtomicU64::new(last_seq),
                state: Arc::new(Mutex::new(State {
                    place: Place {
                        last_seq,
                        since_snapshot: 0,
                    },
                    awake: Some(Box::new(Awake { run, held: None })),
                })),
                session: std::sync::Mutex::new(session),
                is_held: AtomicBool::new(false),
                pending: std::sync::Mutex::default(),
                fed: Notify::new(),
                parked,
                in_hand: std::sync::Mutex::default(),
                sealed: AtomicBool::new(false),
                broken: Fault::default(),
                let_go,
            }),
            None,
        )
    }

    /// The same log for an agent that works for another.
    pub(crate) fn of(&self, invocation: InvocationId, session: Arc<WorkspaceSession>) -> Self {
        let lens = Lens {
            invocation,
            session,
        };
        Self(self.0.clone(), Some(Arc::new(lens)))
    }

    /// From now on this one follows what the run's workspace becomes.
    pub(crate) fn seat(&self, session: Arc<WorkspaceSession>) {
        let mut seat = self
            .0
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *seat = session;
    }

    pub(crate) fn root_session(&self) -> Arc<WorkspaceSession> {
        let seat = self
            .0
            .session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        seat.clone()
    }

    /// Of whoever speaks through this.
    fn session(&self) -> Arc<WorkspaceSession> {
        match &self.1 {
            None => self.root_session(),
            Some(lens) => lens.session.clone(),
        }
    }

    /// The part of the run that is seen through this.
    fn part<'r>(&self, run: &'r AgentRun) -> &'r AgentRun {
        match &self.1 {
            None => run,
            Some(lens) => run.of_invocation(&lens.invocation),
        }
    }

    fn addressed(&self, input: Input) -> Input {
        match &self.1 {
            None => input,
            Some(lens) => Input::Child {
                invocation: lens.invocation.clone(),
                input: Box::new(input),
            },
        }
    }

    pub(crate) fn id(&self) -> &RunId {
        &self.0.run
    }

    /// When the run is next fed something, from now on.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.0.fed.notified()
    }

    /// When the run has used up its time for work; never where it has no limit. Waiting for people takes none of it.
    pub(crate) async fn out_of_time(&self) {
        loop {
            let changed = self.changed();
            let now = self.0.clock.now();
            let clock = self.peek(|run| (run.time_left(now), run.is_parked())).await;
            match clock {
                Some((None, _)) => return std::future::pending().await,
                None | Some((_, true)) => changed.await,
                Some((Some(Duration::ZERO), false)) => return,
                // It may be parked in the meantime, so this is looked at again.
                Some((Some(left), false)) => tokio::time::sleep(left).await,
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
            let Some(sent) = next else { return };
            self.0.wait(sent).await;
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

    /// Fails where the run rests and its journal cannot be read; then nothing more is taken.
    pub(crate) async fn read<T>(&self, look: impl FnOnce(&AgentRun) -> T) -> Result<T, StoreError> {
        let mut state = self.0.state.lock().await;
        let (awake, _) = self.awake(&mut state).await?;
        Ok(look(self.part(&awake.run)))
    }

    /// The same of all of the run, whoever speaks through this.
    pub(crate) async fn read_whole<T>(
        &self,
        look: impl FnOnce(&AgentRun) -> T,
    ) -> Result<T, StoreError> {
        let mut state = self.0.state.lock().await;
        let (awake, _) = self.awake(&mut state).await?;
        Ok(look(&awake.run))
    }

    /// None of a run that rests; it goes on resting.
    pub(crate) async fn peek<T>(&self, look: impl FnOnce(&AgentRun) -> T) -> Option<T> {
        let state = self.0.state.lock().await;
        state
            .awake
            .as_ref()
            .map(|awake| look(self.part(&awake.run)))
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
        let (awake, place) = self.awake(&mut state).await?;
        let taken = self.take(awake, place, inputs, brought);
        let sent = self.send(state).await;
        taken?;
        Ok(Receipt {
            sent: sent?,
            log: self.clone(),
        })
    }

    /// Goes to the disk with what is submitted next. For what is followed at once by something else; whoever drives the
    /// run sees to it that something is.
    pub(crate) async fn hold(&self, input: Input, brought: Brought) -> Result<(), RecordError> {
        let mut state = self.0.state.lock().await;
        let (awake, place) = self.awake(&mut state).await?;
        self.take(awake, place, vec![input], brought)
    }

    /// The same, with somebody who is to know when it is on disk.
    pub(crate) async fn hold_for(&self, input: Input, reader: Reader) -> Result<(), RecordError> {
        let mut state = self.0.state.lock().await;
        let (awake, place) = self.awake(&mut state).await?;
        self.take(awake, place, vec![input], Brought::default())?;
        if let Some(held) = &mut awake.held {
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
        let sent = self.send(state).await?;
        drop(Receipt {
            sent,
            log: self.clone(),
        });
        Ok(())
    }

    /// Changes the run. What comes of it waits for [`Self::send`].
    fn take(
        &self,
        awake: &mut Awake,
        place: &mut Place,
        inputs: Vec<Input>,
        mut brought: Brought,
    ) -> Result<(), RecordError> {
        self.0.settle();
        if let Some(error) = self.0.journal_fault() {
            return Err(error.into());
        }
        if self.is_sealed() {
            return Err(StoreError::Closed.into());
        }
        let at = self.0.clock.now();
        let session = self.session();
        for input in inputs {
            let Awake { run, held } = awake;
            let before = standing(run);
            // It makes a checkpoint of how it was, too.
            let is_rollback = matches!(input, Input::RolledBack(_));
            let undone = is_rollback.then(|| run.workspace().tree());
            let stamped = Stamped {
                at,
                input: self.addressed(input),
            };
            let drafts = run.apply(&stamped)?;
            self.0.fed.notify_waiters();
            if run.is_parked() {
                self.0.parked.notify_one();
            }
            let mut kept = kept(run, &drafts);
            if let Some((change, blob)) = kept.captured.take() {
                session.changed(&change, vec![blob.clone()]);
                brought.blobs.push(blob);
            }
            if let Some(change) = kept.delivered.take() {
                self.root_session().changed(&change, Vec::new());
            }
            if is_rollback {
                session.begin(run.workspace().clone());
            }
            session.sent(&brought.blobs);
            let events = numbered(&self.0.run, place.last_seq, at, drafts);
            place.last_seq += events.len() as u64;
            let held = held.get_or_insert_with(|| Held::since(before));
            held.applied.push(stamped);
            held.events.extend(events);
            held.trees.extend(undone);
            held.trees.extend(kept.tree);
            held.blobs.append(&mut brought.blobs);
            let is_told = !held.events.is_empty();
            self.0.is_held.store(is_told, Ordering::Release);
        }
        Ok(())
    }

    /// `None`: there was nothing to be sent. Whoever waits for it may give up at any time: what the run has taken is handed
    /// in all the same, and nothing comes before it.
    async fn send(&self, mut state: Locked) -> Result<Option<Sent>, RecordError> {
        // Every entry goes on from the event before it, so that none can be missing unnoticed. What tells nothing waits for
        // what does: read without it, the run does it again.
        let is_told = |held: &mut Held| !held.events.is_empty();
        let State { awake, place } = &mut *state;
        let Some(awake) = awake else { return Ok(None) };
        let Some(mut held) = awake.held.take_if(is_told) else {
            return Ok(None);
        };
        self.0.is_held.store(false, Ordering::Release);
        let readers = std::mem::take(&mut held.readers);
        let up_to = place.last_seq;
        let brought: Vec<BlobId> = held.blobs.iter().map(|blob| blob.id.clone()).collect();
        let journal = self.0.journal.clone();
        let entry = entry::entry(&awake.run, &mut place.since_snapshot, held);
        let mut submitting: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(async move {
            match entry {
                Ok(entry) => journal.submit(entry).await,
                Err(error) => Err(error),
            }
        });
        // As a rule it is handed in at once.
        let at_once = poll_fn(|context| Poll::Ready(submitting.as_mut().poll(context))).await;
        if let Poll::Ready(Ok(written)) = at_once {
            let written = self.noted(written, brought, readers);
            return Ok(Some(Sent { written, up_to }));
        }
        let (tell, told) = oneshot::channel();
        let log = self.clone();
        tokio::spawn(async move {
            let submitted = match at_once {
                Poll::Ready(submitted) => submitted,
                Poll::Pending => submitting.await,
            };
            let submitted = match submitted {
                Ok(written) => Ok(Sent {
                    written: log.noted(written, brought, readers),
                    up_to,
                }),
                Err(error) => Err(log.refused(&mut state, error).await),
            };
            drop(state);
            if let Err(Ok(sent)) = tell.send(submitted) {
                log.0.pending().push_back(sent);
            }
        });
        let mut handed_in = HandedIn { told, log: self };
        let submitted = (&mut handed_in.told).await;
        submitted.map_or(Err(StoreError::Closed.into()), |sent| sent.map(Some))
    }

    /// The workspace hears of it when its contents are on disk, and whoever else wanted to.
    fn noted(&self, written: Written, brought: Vec<BlobId>, readers: Vec<Reader>) -> Written {
        let written = match brought.is_empty() {
            true => written,
            false => {
                let session = self.session();
                Written::new(async move {
                    let written = written.wait().await;
                    if written.is_ok() {
                        session.saved(&brought);
                    }
                    written
                })
            }
        };
        let passed_on = |written, reader: Reader| reader(written);
        readers.into_iter().fold(written, passed_on)
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
