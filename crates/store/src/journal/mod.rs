//! The journal of runs: what happened in each, in order, without a gap, and committed before anyone is told.
//!
//! Owns the shapes and the promise, for every database. An [`Entry`] is one step of one run: what the run was fed (the
//! store does not understand it), the events that came of it, and the contents that belong to it. All of it is there
//! after a crash, or nothing. `sqlite.rs` keeps the promise in one file; `follow.rs` tells whoever follows a run.

mod codec;
mod follow;
mod read;
mod record;
mod retention;
mod sqlite;
mod steps;
mod write;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use innkeeper_protocol::event::{RunEvent, RunId};

use crate::StoreError;
use crate::content::{Blob, Tree};

pub(crate) use codec::{
    Changes, at_most, events_sum, input_sum, nanoseconds, read_lines, signed, status_text, sum,
    time_of, timestamp,
};
pub(crate) use read::record_of;
pub(crate) use retention::SqliteRetention;
pub(crate) use sqlite::SqliteJournal;
pub(crate) use write::{Appending, append};

pub use record::{CommittedMessage, RunCursor, RunFilter, RunPage, RunRecord, RunUpdate};
pub use retention::{EndedPlace, EndedRun, RunCounts, RunRetention, RunSeen, RunWeight, Weight};

/// One step of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub run: RunId,
    /// What the run was fed, as JSON. Handed back by [`RunJournal::replay`] in the same order.
    pub input: Arc<str>,
    /// What came of it; may be empty. The first has the number after the run's last, the others follow.
    pub events: Vec<RunEvent>,
    /// What changes in the run's record.
    pub update: RunUpdate,
    /// Contents that this step brings; those that are there already cost nothing.
    pub blobs: Vec<Blob>,
    /// If there are as many as `checkpoint_created` among the events, each belongs to one of them, in order, and is found
    /// under its id ([`crate::Contents::checkpoint`]); otherwise they are kept by their hash.
    pub trees: Vec<Tree>,
    /// The run as it is after this step, so that a replay need not begin at the beginning.
    pub snapshot: Option<Arc<str>>,
}

/// Which events of a run. Always given in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventRange {
    /// The first `limit` after `seq`.
    After { seq: u64, limit: usize },
    /// The last `limit` before `seq`.
    Before { seq: u64, limit: usize },
    /// The last ones there are.
    Last { limit: usize },
}

/// Where a step stands in its run. The default is before the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepPlace {
    /// The number of the last event before it.
    pub seq: u64,
    /// Tells apart the steps that came of no event: larger is later.
    pub entry: u64,
}

/// What a run was fed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRead {
    pub place: StepPlace,
    pub input: Arc<str>,
}

/// All that is needed to bring a run back.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    pub record: RunRecord,
    pub snapshot: Option<Arc<str>>,
    /// Since the snapshot, oldest first.
    pub inputs: Vec<Arc<str>>,
}

/// What goes with a run that is deleted, since nobody can come to it without the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Belongings {
    /// States of its workspace. One that another run without an end began with stays.
    pub states: Vec<String>,
    /// The workspace was that of a run without a chat: with its last run go all its states and its world.
    pub has_own_workspace: bool,
}

/// Kept by SQLite here and by PostgreSQL where many machines share a database.
#[async_trait]
pub trait RunJournal: Send + Sync {
    /// A run and its first step. A run of that id must not be there. The record's `last_seq` is the number of the
    /// step's last event, whatever it says.
    async fn create(&self, record: RunRecord, first: Entry) -> Result<(), StoreError>;

    /// On disk when it returns. `StoreError::Gap` if the events do not follow on the run's last, and
    /// `StoreError::RunOver` if its last was terminal and the first of these does not resume the run; then nothing was
    /// written. Who followed it to its end has been told of the end; to hear what comes now they follow it anew.
    async fn append(&self, entry: Entry) -> Result<(), StoreError>;

    /// On its way to the disk, behind all that was handed in before it, when it returns; on disk when the receipt says
    /// so. If an entry of a run cannot be written, none that follows it is.
    async fn submit(&self, entry: Entry) -> Result<Written, StoreError>;

    /// None of a run that is not there. What is asked for at once is bounded (`limits::MAX_EVENTS_READ`, and in bytes),
    /// so only an empty answer is the end.
    async fn events(&self, run: &RunId, range: EventRange) -> Result<Vec<RunEvent>, StoreError>;

    async fn replay(&self, run: &RunId) -> Result<Option<Replay>, StoreError>;

    /// A page of what a run was fed, oldest first; the next one begins after the place of the last. An empty one is
    /// the end.
    async fn inputs(
        &self,
        run: &RunId,
        after: StepPlace,
        limit: usize,
    ) -> Result<Vec<StepRead>, StoreError>;

    async fn record(&self, run: &RunId) -> Result<Option<RunRecord>, StoreError>;

    /// Newest first.
    async fn runs(&self, filter: &RunFilter) -> Result<RunPage, StoreError>;

    /// Those without a terminal event, oldest first.
    async fn unfinished(&self) -> Result<Vec<RunRecord>, StoreError>;

    /// With all its events, and nothing of what it has left to others. Contents that nothing else holds go with the next
    /// sweep.
    async fn delete(&self, run: &RunId) -> Result<bool, StoreError> {
        self.delete_with(run, &Belongings::default()).await
    }

    /// The same, with what belongs to it: at once, or not at all.
    async fn delete_with(&self, run: &RunId, belongings: &Belongings) -> Result<bool, StoreError>;

    /// Told after the commit of every entry of the run; gives events from after `seq` on, from disk as far as needed.
    fn follow(&self, run: &RunId, after: u64) -> Follower;
}

/// The receipt for an entry on its way. May be dropped: the entry is written all the same.
pub struct Written(Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>);

impl Written {
    pub fn new(written: impl Future<Output = Result<(), StoreError>> + Send + 'static) -> Self {
        Self(Box::pin(written))
    }

    /// Until it is on disk, or will never be.
    pub async fn wait(self) -> Result<(), StoreError> {
        self.0.await
    }

    /// What became of it, if that is known.
    pub fn outcome(&mut self) -> Option<Result<(), StoreError>> {
        match self
            .0
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        }
    }
}

/// What happens in a run, as it happens. A slow one holds nobody up: what it missed it reads from disk, and is told so.
pub struct Follower(Box<dyn FollowSource>);

#[async_trait]
pub trait FollowSource: Send {
    /// May be dropped while it waits, without losing anything.
    async fn next(&mut self) -> Followed;
}

#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// At least one, in order, none left out.
    Events(Vec<Arc<RunEvent>>),
    /// It was too slow to be told; the next events come from disk.
    Lagged { missed: u64 },
    /// After the terminal event, or when the store is closed.
    End,
    /// Asked again, it tries again.
    Failed(StoreError),
}

impl Follower {
    pub fn new(source: impl FollowSource + 'static) -> Self {
        Self(Box::new(source))
    }

    pub async fn next(&mut self) -> Followed {
        self.0.next().await
    }
}

#[cfg(test)]
#[path = "fixtures_tests.rs"]
pub(crate) mod tests;

#[cfg(test)]
#[path = "delete_tests.rs"]
mod delete_tests;

#[cfg(test)]
#[path = "resume_tests.rs"]
mod resume_tests;

#[cfg(test)]
#[path = "survival_tests.rs"]
mod survival_tests;
