//! A journal that counts what is written to it and may fail, or end the process, at any record.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use innkeeper_protocol::event::{RunEvent, RunId};
use innkeeper_store::StoreError;
use innkeeper_store::journal::{
    Belongings, Entry, EventRange, Follower, Replay, RunFilter, RunJournal, RunPage, RunRecord,
    StepPlace, StepRead, Written,
};
use rustix::process::{Signal, getpid, kill_process};

/// When the process ends, seen from one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// It has not been handed in; what was handed in before it may be on disk or not.
    Before,
    /// It is on its way.
    During,
    /// It is on disk.
    After,
    /// Not at all: it waits there until its input ends, and goes on.
    Never,
}

impl Moment {
    /// At which it ends.
    pub(crate) const ALL: [Self; 3] = [Self::Before, Self::During, Self::After];
}

/// Ends the process at that record of those that it writes, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fuse {
    pub(crate) moment: Moment,
    pub(crate) record: u64,
}

impl fmt::Display for Fuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.moment, self.record)
    }
}

impl FromStr for Fuse {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (moment, record) = text.split_once(' ').ok_or(text)?;
        let mut all = Moment::ALL.into_iter().chain([Moment::Never]);
        let moment = all.find(|known| format!("{known:?}") == moment);
        Ok(Self {
            moment: moment.ok_or(text)?,
            record: record.parse().map_err(|_| text)?,
        })
    }
}

/// What becomes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Passes,
    Kills(Moment),
    /// There is no room, and that is said at once.
    Refused,
    /// There is no room, and that shows when it is written.
    RefusedLate,
}

pub(crate) struct Watched {
    inner: Arc<dyn RunJournal>,
    count: Arc<AtomicU64>,
    fate: Box<dyn Fn(u64) -> Fate + Send + Sync>,
}

impl Watched {
    pub(crate) fn new(
        inner: Arc<dyn RunJournal>,
        count: Arc<AtomicU64>,
        fate: impl Fn(u64) -> Fate + Send + Sync + 'static,
    ) -> Self {
        let fate = Box::new(fate);
        Self { inner, count, fate }
    }

    fn next(&self) -> Fate {
        (self.fate)(self.count.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

fn full() -> StoreError {
    StoreError::DiskFull {
        cause: "the test has filled it".to_owned(),
    }
}

/// Says that it is there, and waits for the end of the input.
async fn hold() {
    super::child::say("holding");
    let read = || std::io::stdin().lines().for_each(drop);
    tokio::task::spawn_blocking(read).await.unwrap();
}

/// As a power cut does it: nothing is written, closed or told any more.
async fn die() -> ! {
    kill_process(getpid(), Signal::KILL).unwrap();
    std::future::pending().await
}

#[async_trait]
impl RunJournal for Watched {
    async fn create(&self, record: RunRecord, first: Entry) -> Result<(), StoreError> {
        match self.next() {
            Fate::Passes => self.inner.create(record, first).await,
            Fate::Kills(Moment::Never) => {
                hold().await;
                self.inner.create(record, first).await
            }
            Fate::Kills(Moment::Before) => die().await,
            Fate::Kills(Moment::During) => {
                let creating = self.inner.create(record, first);
                tokio::select! { biased; _ = creating => {}, () = std::future::ready(()) => {} }
                die().await
            }
            Fate::Kills(Moment::After) => {
                self.inner.create(record, first).await?;
                die().await
            }
            Fate::Refused | Fate::RefusedLate => Err(full()),
        }
    }

    async fn append(&self, entry: Entry) -> Result<(), StoreError> {
        self.submit(entry).await?.wait().await
    }

    async fn submit(&self, entry: Entry) -> Result<Written, StoreError> {
        match self.next() {
            Fate::Passes => self.inner.submit(entry).await,
            Fate::Kills(Moment::Never) => {
                hold().await;
                self.inner.submit(entry).await
            }
            Fate::Kills(Moment::Before) => die().await,
            Fate::Kills(Moment::During) => {
                let _written = self.inner.submit(entry).await?;
                die().await
            }
            Fate::Kills(Moment::After) => {
                self.inner.submit(entry).await?.wait().await?;
                die().await
            }
            Fate::Refused => Err(full()),
            Fate::RefusedLate => Ok(Written::new(async { Err(full()) })),
        }
    }

    async fn events(&self, run: &RunId, range: EventRange) -> Result<Vec<RunEvent>, StoreError> {
        self.inner.events(run, range).await
    }

    async fn replay(&self, run: &RunId) -> Result<Option<Replay>, StoreError> {
        self.inner.replay(run).await
    }

    async fn inputs(
        &self,
        run: &RunId,
        after: StepPlace,
        limit: usize,
    ) -> Result<Vec<StepRead>, StoreError> {
        self.inner.inputs(run, after, limit).await
    }

    async fn record(&self, run: &RunId) -> Result<Option<RunRecord>, StoreError> {
        self.inner.record(run).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<RunPage, StoreError> {
        self.inner.runs(filter).await
    }

    async fn unfinished(&self) -> Result<Vec<RunRecord>, StoreError> {
        self.inner.unfinished().await
    }

    async fn delete_with(&self, run: &RunId, belongings: &Belongings) -> Result<bool, StoreError> {
        self.inner.delete_with(run, belongings).await
    }

    fn follow(&self, run: &RunId, after: u64) -> Follower {
        self.inner.follow(run, after)
    }
}
