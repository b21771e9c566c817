//! Telling those who follow a run what was committed. A follower keeps no queue: it has a number and a look at what was
//! told last; what is not there any more it reads from disk.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use async_trait::async_trait;
use innkeeper_protocol::event::{RunEvent, RunId};
use tokio::sync::watch;

use super::sqlite::SqliteJournal;
use super::{EventRange, FollowSource, Followed, Follower, RunJournal};
use crate::StoreError;
use crate::limits::{FOLLOW_PAGE, MAX_TOLD_BYTES, MAX_TOLD_EVENTS};
use crate::writer::lock;

/// The runs that somebody follows.
#[derive(Default)]
pub(crate) struct Hub(Mutex<Feeds>);

#[derive(Default)]
struct Feeds {
    runs: HashMap<RunId, Weak<Feed>>,
    is_closed: bool,
}

struct Feed {
    ring: Mutex<Ring>,
    /// Counts what happens to the ring.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Ring {
    /// In order and without gaps, with their size on disk.
    events: VecDeque<(Arc<RunEvent>, usize)>,
    bytes: usize,
    /// The number of the terminal event, once it was told.
    ended: Option<u64>,
    /// Nothing will be told any more: the run was deleted or the store closed.
    is_closed: bool,
}

impl Ring {
    fn push(&mut self, events: Vec<RunEvent>, bytes: usize) {
        let each = bytes / events.len().max(1);
        for event in events {
            if event.is_terminal() {
                self.ended = Some(event.seq);
            } else if event.is_resumption() {
                self.ended = None;
            }
            self.bytes += each;
            self.events.push_back((Arc::new(event), each));
        }
        while self.events.len() > MAX_TOLD_EVENTS || self.bytes > MAX_TOLD_BYTES {
            let Some((_, bytes)) = self.events.pop_front() else {
                break;
            };
            self.bytes -= bytes;
        }
    }
}

impl Hub {
    /// Called after a commit, in the order of the commits.
    pub(crate) fn tell(&self, run: &RunId, events: Vec<RunEvent>, bytes: usize) {
        if events.is_empty() {
            return;
        }
        if let Some(feed) = self.feed(run) {
            lock(&feed.ring).push(events, bytes);
            feed.changed();
        }
    }

    /// The run is gone.
    pub(crate) fn end(&self, run: &RunId) {
        if let Some(feed) = self.feed(run) {
            feed.close();
        }
    }

    pub(crate) fn close(&self) {
        let mut feeds = lock(&self.0);
        feeds.is_closed = true;
        for feed in feeds.runs.values().filter_map(Weak::upgrade) {
            feed.close();
        }
    }

    fn feed(&self, run: &RunId) -> Option<Arc<Feed>> {
        lock(&self.0).runs.get(run).and_then(Weak::upgrade)
    }

    fn join(&self, run: &RunId) -> Arc<Feed> {
        let mut feeds = lock(&self.0);
        if let Some(feed) = feeds.runs.get(run).and_then(Weak::upgrade) {
            return feed;
        }
        let feed = Arc::new(Feed {
            ring: Mutex::default(),
            changes: watch::Sender::new(0),
        });
        lock(&feed.ring).is_closed = feeds.is_closed;
        feeds.runs.insert(run.clone(), Arc::downgrade(&feed));
        feed
    }

    fn leave(&self, run: &RunId) {
        let mut feeds = lock(&self.0);
        if feeds
            .runs
            .get(run)
            .is_some_and(|feed| feed.strong_count() == 0)
        {
            feeds.runs.remove(run);
        }
    }
}

impl Feed {
    fn changed(&self) {
        self.changes
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    fn close(&self) {
        lock(&self.ring).is_closed = true;
        self.changed();
    }
}

pub(crate) fn follow(journal: SqliteJournal, run: &RunId, after: u64) -> Follower {
    // Joined before anything is read: what is committed from now on is told, what was before is on disk.
    let feed = journal.hub.join(run);
    Follower::new(Following {
        changes: feed.changes.subscribe(),
        feed: Some(feed),
        journal,
        run: run.clone(),
        next: after.saturating_add(1),
        place: Place::OnDisk,
        was_there: false,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Reads what was before it came, or what it missed.
    OnDisk,
    /// Has read all that was there; what comes is told.
    Live,
    Over,
}

struct Following {
    journal: SqliteJournal,
    run: RunId,
    /// `None` only while it is dropped.
    feed: Option<Arc<Feed>>,
    changes: watch::Receiver<u64>,
    /// The number of the event that it gives next.
    next: u64,
    place: Place,
    was_there: bool,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.feed = None;
        self.journal.hub.leave(&self.run);
    }
}

enum Look {
    Events(Vec<Arc<RunEvent>>),
    /// What comes next is not kept any more; this is the first that is.
    Behind(u64),
    Nothing,
    Over,
}

impl Following {
    fn look(&self) -> Look {
        let Some(feed) = &self.feed else {
            return Look::Over;
        };
        let ring = lock(&feed.ring);
        let first = ring.events.front().map(|(event, _)| event.seq);
        match first {
            Some(first) if self.next < first => return Look::Behind(first),
            Some(first) => {
                let skipped = usize::try_from(self.next - first).unwrap_or(usize::MAX);
                let events = ring.events.iter().skip(skipped).take(FOLLOW_PAGE);
                let events: Vec<_> = events.map(|(event, _)| event.clone()).collect();
                if !events.is_empty() {
                    return Look::Events(events);
                }
            }
            None => {}
        }
        match ring.is_closed || ring.ended.is_some_and(|last| self.next > last) {
            true => Look::Over,
            false => Look::Nothing,
        }
    }

    fn give(&mut self, events: Vec<Arc<RunEvent>>) -> Followed {
        self.was_there = true;
        if let Some(last) = events.last() {
            // Whether a terminal event is the end is seen at the next look: the run may have been resumed.
            self.next = last.seq.saturating_add(1);
        }
        Followed::Events(events)
    }

    /// `None`: there is nothing more on disk.
    async fn read(&mut self) -> Result<Option<Followed>, StoreError> {
        let range = EventRange::After {
            seq: self.next.saturating_sub(1),
            limit: FOLLOW_PAGE,
        };
        let events = self.journal.events(&self.run, range).await?;
        if let Some(first) = events.first() {
            if first.seq != self.next {
                return Err(self.missing(first.seq));
            }
            let events = events.into_iter().map(Arc::new).collect();
            return Ok(Some(self.give(events)));
        }
        let record = self.journal.record(&self.run).await?;
        let is_over = match record {
            Some(record) => {
                self.was_there = true;
                record.terminal_at.is_some() && self.next > record.last_seq
            }
            // It was deleted since.
            None if self.was_there => true,
            None => return Err(StoreError::NoRun(self.run.as_str().to_owned())),
        };
        if is_over {
            self.place = Place::Over;
            return Ok(Some(Followed::End));
        }
        // More may have come between the two looks; then it was told, too.
        Ok(None)
    }

    /// What was committed before `first` cannot be read any more.
    fn missing(&self, first: u64) -> StoreError {
        StoreError::Corrupt {
            path: self.journal.database.shown().to_owned(),
            cause: format!(
                "events {} to {} of the run {} are missing",
                self.next,
                first.saturating_sub(1),
                self.run
            ),
        }
    }
}

#[async_trait]
impl FollowSource for Following {
    async fn next(&mut self) -> Followed {
        loop {
            // What changes from here on wakes us below.
            self.changes.borrow_and_update();
            match (self.place, self.look()) {
                (Place::Over, _) => return Followed::End,
                (Place::Live, Look::Events(events)) => return self.give(events),
                (Place::Live, Look::Behind(first)) => {
                    self.place = Place::OnDisk;
                    return Followed::Lagged {
                        missed: first - self.next,
                    };
                }
                (Place::Live, Look::Over) => {
                    self.place = Place::Over;
                    return Followed::End;
                }
                (Place::Live, Look::Nothing) => {
                    if self.changes.changed().await.is_err() {
                        return Followed::End;
                    }
                }
                (Place::OnDisk, Look::Events(events)) => {
                    self.place = Place::Live;
                    return self.give(events);
                }
                (Place::OnDisk, seen) => match (self.read().await, seen) {
                    (Ok(Some(followed)), _) => return followed,
                    (Ok(None), Look::Behind(first)) => {
                        self.place = Place::Over;
                        return Followed::Failed(self.missing(first));
                    }
                    (Ok(None), _) => self.place = Place::Live,
                    (Err(StoreError::Closed), _) => {
                        self.place = Place::Over;
                        return Followed::End;
                    }
                    (Err(error), _) => return Followed::Failed(error),
                },
            }
        }
    }
}

#[cfg(test)]
#[path = "follow_tests.rs"]
mod tests;
