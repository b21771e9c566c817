//! The one who writes: takes what is waiting, puts it into one transaction, commits, answers.
//!
//! Audit entries that could not be written are kept and tried again; until then whoever brings one more is told, so
//! that nobody goes on acting without a trace. Every other change is answered with the error at once. A transaction that
//! fails is done again in parts, so that one who brings what cannot be written fails alone.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

use crate::StoreError;
use crate::audit_chain::{self, Sealed};
use crate::database::Database;
use crate::error::is_busy;
use crate::journal::{self, Appending};
use crate::limits::{
    BUSY_TRIES, MAX_BATCH, MAX_GATHERINGS, MAX_OVERFLOW, MAX_QUEUED_WRITES, RETRY_AFTER,
};
use crate::open_calls::{self, Opening};

/// Something that is done to the database in a transaction.
#[async_trait]
pub(crate) trait Change: Send + 'static {
    type Output: Send + 'static;

    /// The inner error refuses this change alone, so it is decided before anything is written. The outer one
    /// undoes the whole transaction.
    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<Self::Output, StoreError>, sqlx::Error>;
}

/// A change and who waits for it, with the output's type forgotten.
#[async_trait]
trait Pending: Send {
    async fn apply(&mut self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error>;
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Waiting<C: Change> {
    change: C,
    output: Option<Result<C::Output, StoreError>>,
    answer: oneshot::Sender<Result<C::Output, StoreError>>,
}

#[async_trait]
impl<C: Change> Pending for Waiting<C> {
    async fn apply(&mut self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        self.output = Some(self.change.apply(connection).await?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let answer = match committed {
            Ok(()) => self.output.unwrap_or(Err(StoreError::Closed)),
            Err(error) => Err(error),
        };
        // Whoever asked may have gone away.
        drop(self.answer.send(answer));
    }
}

enum Job {
    Audit(Sealed),
    Change(Box<dyn Pending>),
    Open(Box<Opening>),
    Append(Box<Appending>),
    Flush(oneshot::Sender<Result<(), StoreError>>),
    Stop(oneshot::Sender<Result<(), StoreError>>),
}

/// What the handles and the task both see.
#[derive(Default)]
struct Shared {
    /// Why the log takes nothing at the moment.
    failure: Mutex<Option<StoreError>>,
    overflow: Mutex<Vec<Sealed>>,
}

/// The way to the writing task. The task ends when the last of these is gone and all is written.
#[derive(Clone)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
    shared: Arc<Shared>,
}

impl Writer {
    pub(crate) fn start(database: Database) -> Self {
        let (jobs, queue) = mpsc::channel(MAX_QUEUED_WRITES);
        let shared = Arc::new(Shared::default());
        let task = Task {
            database,
            shared: shared.clone(),
            unwritten: Vec::new(),
            stops: Vec::new(),
        };
        tokio::spawn(task.run(queue));
        Self { jobs, shared }
    }

    /// An entry that is refused, or whose bringer is dropped while it waits for room, goes beside the queue: what it
    /// tells of has happened.
    pub(crate) async fn audit(&self, entry: Sealed) -> Result<(), StoreError> {
        let mut entry = Unsent {
            writer: self,
            entry: Some(entry),
        };
        self.healthy()?;
        let room = self.jobs.reserve().await;
        let room = room.map_err(|_| StoreError::Closed)?;
        if let Some(entry) = entry.entry.take() {
            room.send(Job::Audit(entry));
        }
        Ok(())
    }

    /// What ends a call is taken in any case: it has happened, and there are no more of these than calls that were
    /// begun while all was well. Asked for only when there is room, so that whoever stops waiting still has the call.
    pub(crate) async fn audit_end(
        &self,
        entry: impl FnOnce() -> Result<Sealed, StoreError>,
    ) -> Result<(), StoreError> {
        let room = self.jobs.reserve().await;
        let room = room.map_err(|_| StoreError::Closed)?;
        room.send(Job::Audit(entry()?));
        self.healthy()
    }

    /// For places that cannot wait: when the queue is full, the entry goes beside it.
    pub(crate) fn try_audit(&self, entry: Sealed) -> Result<(), StoreError> {
        if let Err(error) = self.healthy() {
            drop(self.beside(entry));
            return Err(error);
        }
        match self.jobs.try_send(Job::Audit(entry)) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Full(Job::Audit(entry))) => self.beside(entry),
            Err(_) => Err(StoreError::Closed),
        }
    }

    fn beside(&self, entry: Sealed) -> Result<(), StoreError> {
        let mut overflow = lock(&self.shared.overflow);
        if overflow.len() >= MAX_OVERFLOW {
            return Err(StoreError::QueueFull);
        }
        overflow.push(entry);
        Ok(())
    }

    pub(crate) async fn change<C: Change>(&self, change: C) -> Result<C::Output, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Job::Change(Box::new(Waiting {
            change,
            output: None,
            answer,
        })))
        .await?;
        answered.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Who brings the call is answered through it.
    pub(crate) async fn open(&self, call: Opening) -> Result<(), StoreError> {
        self.send(Job::Open(Box::new(call))).await
    }

    /// Who brings the step is answered through it.
    pub(crate) async fn append(&self, step: Appending) -> Result<(), StoreError> {
        self.send(Job::Append(Box::new(step))).await
    }

    /// Without waiting for room or for the outcome.
    pub(crate) fn try_change<C: Change>(&self, change: C) -> Result<(), StoreError> {
        let (answer, _) = oneshot::channel();
        let job = Job::Change(Box::new(Waiting {
            change,
            output: None,
            answer,
        }));
        self.jobs.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::QueueFull,
            mpsc::error::TrySendError::Closed(_) => StoreError::Closed,
        })
    }

    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Job::Flush(answer)).await?;
        answered.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Writes what is waiting, then takes nothing more.
    pub(crate) async fn stop(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Job::Stop(answer)).await?;
        answered.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(crate) fn healthy(&self) -> Result<(), StoreError> {
        match &*lock(&self.shared.failure) {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.send(job).await.map_err(|_| StoreError::Closed)
    }
}

/// An entry that waits for room.
struct Unsent<'w> {
    writer: &'w Writer,
    entry: Option<Sealed>,
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            drop(self.writer.beside(entry));
        }
    }
}

struct Task {
    database: Database,
    shared: Arc<Shared>,
    /// In the order in which they came.
    unwritten: Vec<Sealed>,
    /// Who waits for the end.
    stops: Vec<oneshot::Sender<Result<(), StoreError>>>,
}

impl Task {
    async fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        loop {
            gather(&queue).await;
            let taken = match self.unwritten.is_empty() {
                true => queue.recv_many(&mut batch, MAX_BATCH).await,
                false => tokio::select! {
                    taken = queue.recv_many(&mut batch, MAX_BATCH) => taken,
                    () = tokio::time::sleep(RETRY_AFTER) => 1,
                },
            };
            self.serve(&mut batch).await;
            if !self.stops.is_empty() {
                queue.close();
            }
            if taken == 0 {
                break;
            }
        }
        let outcome = match lock(&self.shared.failure).clone() {
            Some(error) => Err(error),
            None => Ok(()),
        };
        for stop in self.stops.drain(..) {
            drop(stop.send(outcome.clone()));
        }
    }

    /// One transaction, if all is well.
    async fn serve(&mut self, jobs: &mut Vec<Job>) {
        let mut batch = Batch::default();
        let mut flushes = Vec::new();
        for job in jobs.drain(..) {
            match job {
                Job::Audit(entry) => self.unwritten.push(entry),
                Job::Open(call) => batch.opened.push(*call),
                Job::Change(change) => batch.changes.push(change),
                Job::Append(step) => batch.steps.push(*step),
                Job::Flush(answer) => flushes.push(answer),
                Job::Stop(answer) => self.stops.push(answer),
            }
        }
        // While nothing can be written, what waits beside stays there: it is bounded.
        if self.unwritten.len() < MAX_BATCH + MAX_OVERFLOW {
            self.unwritten.append(&mut lock(&self.shared.overflow));
        }
        let parts = usize::from(!self.unwritten.is_empty()) + batch.len();
        let outcome = match parts {
            0 => Ok(()),
            _ => self.commit(&self.unwritten, &mut batch).await,
        };
        // One of them may be at fault, so that the others can be written without it.
        let apart = match &outcome {
            Ok(()) | Err(StoreError::Busy | StoreError::Closed) => false,
            Err(_) => parts > 1,
        };
        let logged = match &outcome {
            Err(_) if self.unwritten.is_empty() => Ok(()),
            Err(_) if apart => self.commit(&self.unwritten, &mut Batch::default()).await,
            outcome => outcome.clone(),
        };
        if logged.is_ok() {
            self.unwritten.clear();
        }
        *lock(&self.shared.failure) = logged.clone().err();
        match apart {
            false => batch.answer(&outcome),
            true => {
                for mut one in batch.apart() {
                    let outcome = self.commit(&[], &mut one).await;
                    one.answer(&outcome);
                }
            }
        }
        for flush in flushes {
            drop(flush.send(logged.clone()));
        }
    }

    async fn commit(&self, log: &[Sealed], batch: &mut Batch) -> Result<(), StoreError> {
        let failed = |error: sqlx::Error| self.database.write_error(&error);
        let mut connection = self.database.writer.acquire().await.map_err(failed)?;
        let mut tries = 1;
        // The lock on writing is taken at once, so nothing later in the transaction can find it taken.
        while let Err(error) = run(&mut connection, "BEGIN IMMEDIATE").await {
            if !is_busy(&error) || tries == BUSY_TRIES {
                return Err(failed(error));
            }
            tries += 1;
        }
        let written = batch.write(&mut connection, log).await;
        let ended = match written {
            Ok(()) => run(&mut connection, "COMMIT").await,
            Err(error) => Err(error),
        };
        if ended.is_err() {
            // SQLite may have rolled back by itself; then this fails, and that is fine.
            drop(run(&mut connection, "ROLLBACK").await);
        }
        ended.map_err(failed)
    }
}

/// What goes into one transaction beside the log.
#[derive(Default)]
struct Batch {
    opened: Vec<Opening>,
    changes: Vec<Box<dyn Pending>>,
    steps: Vec<Appending>,
}

impl Batch {
    fn len(&self) -> usize {
        self.opened.len() + self.changes.len() + self.steps.len()
    }

    /// Calls before changes, for one of these may take a call back.
    async fn write(
        &mut self,
        connection: &mut SqliteConnection,
        log: &[Sealed],
    ) -> Result<(), sqlx::Error> {
        if !log.is_empty() {
            audit_chain::append(connection, log).await?;
        }
        if !self.opened.is_empty() {
            open_calls::write(connection, &mut self.opened).await?;
        }
        for change in &mut self.changes {
            change.apply(connection).await?;
        }
        journal::append(connection, &mut self.steps).await
    }

    /// Each for itself, in their order.
    fn apart(self) -> impl Iterator<Item = Self> {
        let opened = self.opened.into_iter().map(|call| Self {
            opened: vec![call],
            ..Self::default()
        });
        let changes = self.changes.into_iter().map(|change| Self {
            changes: vec![change],
            ..Self::default()
        });
        let steps = self.steps.into_iter().map(|step| Self {
            steps: vec![step],
            ..Self::default()
        });
        opened.chain(changes).chain(steps)
    }

    fn answer(self, outcome: &Result<(), StoreError>) {
        for call in self.opened {
            call.answer(outcome.clone());
        }
        for change in self.changes {
            change.answer(outcome.clone());
        }
        for step in self.steps {
            step.settle(outcome.clone());
        }
    }
}

/// Lets those who were just answered bring what comes next, so that one wait for the disk serves them too. Without it
/// half of many runs would wait while the other half is written.
async fn gather(queue: &mpsc::Receiver<Job>) {
    let mut waiting = queue.len();
    for _ in 0..MAX_GATHERINGS {
        tokio::task::yield_now().await;
        let now = queue.len();
        if now == waiting || now >= MAX_BATCH {
            break;
        }
        waiting = now;
    }
}

async fn run(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), sqlx::Error> {
    sqlx::query(sql).execute(connection).await.map(drop)
}

/// A panic elsewhere leaves these in order: each is only ever replaced or pushed to.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
