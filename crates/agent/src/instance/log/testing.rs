//! A log over a journal in memory, which does with its entries what a test says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use async_trait::async_trait;
use innkeeper_protocol::event::{Presentation, RunEvent, RunId};
use innkeeper_store::StoreError;
use innkeeper_store::journal::{
    Belongings, Entry, EventRange, Follower, Replay, RunFilter, RunJournal, RunPage, RunRecord,
    RunUpdate, StepPlace, StepRead, Written,
};
use innkeeper_tools::Clock;
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{RunLog, numbered};
use crate::instance::drive::AgentInstance;
use crate::run::testing::{created, native};
use crate::run::{AgentRun, Input, ModelTurn, Stamped};
use crate::workspace::testing::InMemory;
use crate::workspace::{WorkspacePlan, WorkspaceSession};

/// What becomes of an entry.
pub(super) enum Fate {
    /// Taken only when it is let go.
    Slow(Arc<Notify>),
    /// The same, but the disk does not.
    SlowAndLost(Arc<Notify>, StoreError),
    /// Taken at once, and on disk when it is let go.
    Late(Arc<Notify>),
    /// Taken at once, but the disk does not.
    Lost(StoreError),
    Never(StoreError),
}

/// A journal in memory.
pub(super) struct Paper {
    record: RunRecord,
    pub(super) entries: Mutex<Vec<Entry>>,
    /// Of the next ones; all others are taken.
    fates: Mutex<VecDeque<Fate>>,
    /// Whenever the run is read: nothing is there, or it cannot be read.
    pub(super) lost: Mutex<Option<Result<(), StoreError>>>,
    reads: AtomicUsize,
    /// How many of the last entries are still on their way.
    unwritten: Arc<AtomicUsize>,
}

#[async_trait]
impl RunJournal for Paper {
    async fn create(&self, _: RunRecord, _: Entry) -> Result<(), StoreError> {
        Ok(())
    }

    async fn append(&self, entry: Entry) -> Result<(), StoreError> {
        self.submit(entry).await?.wait().await
    }

    async fn submit(&self, entry: Entry) -> Result<Written, StoreError> {
        let fate = self.fates.lock().unwrap().pop_front();
        let written = match fate {
            None => Written::new(async { Ok(()) }),
            Some(Fate::Slow(leave)) => {
                leave.notified().await;
                Written::new(async { Ok(()) })
            }
            Some(Fate::SlowAndLost(leave, error)) => {
                leave.notified().await;
                return Ok(Written::new(async { Err(error) }));
            }
            Some(Fate::Late(leave)) => {
                self.unwritten.fetch_add(1, Ordering::Relaxed);
                let unwritten = self.unwritten.clone();
                Written::new(async move {
                    leave.notified().await;
                    unwritten.fetch_sub(1, Ordering::Relaxed);
                    Ok(())
                })
            }
            Some(Fate::Lost(error)) => return Ok(Written::new(async { Err(error) })),
            Some(Fate::Never(error)) => return Err(error),
        };
        self.entries.lock().unwrap().push(entry);
        Ok(written)
    }

    async fn events(&self, _: &RunId, _: EventRange) -> Result<Vec<RunEvent>, StoreError> {
        Ok(Vec::new())
    }

    /// Only what is on disk.
    async fn replay(&self, _: &RunId) -> Result<Option<Replay>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match self.lost.lock().unwrap().clone() {
            None => {}
            Some(Ok(())) => return Ok(None),
            Some(Err(error)) => return Err(error),
        }
        let entries = self.entries.lock().unwrap();
        let written = entries.len() - self.unwritten.load(Ordering::Relaxed);
        let entries = &entries[..written];
        let last = entries.iter().flat_map(|entry| &entry.events).next_back();
        let record = RunRecord {
            last_seq: last.map_or(0, |event| event.seq),
            ..self.record.clone()
        };
        Ok(Some(Replay {
            record,
            snapshot: None,
            inputs: entries.iter().map(|entry| entry.input.clone()).collect(),
        }))
    }

    async fn inputs(&self, _: &RunId, _: StepPlace, _: usize) -> Result<Vec<StepRead>, StoreError> {
        Ok(Vec::new())
    }

    async fn record(&self, _: &RunId) -> Result<Option<RunRecord>, StoreError> {
        Ok(Some(self.record.clone()))
    }

    async fn runs(&self, _: &RunFilter) -> Result<RunPage, StoreError> {
        Err(StoreError::Closed)
    }

    async fn unfinished(&self) -> Result<Vec<RunRecord>, StoreError> {
        Ok(Vec::new())
    }

    async fn delete_with(&self, _: &RunId, _: &Belongings) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn follow(&self, _: &RunId, _: u64) -> Follower {
        panic!("nobody follows here")
    }
}

/// As the tests' clock goes.
struct Ticks(Instant);

impl Clock for Ticks {
    fn now(&self) -> Timestamp {
        let millis = self.0.elapsed().as_millis() as i64;
        Timestamp::from_millisecond(millis).unwrap()
    }
}

pub(super) struct Desk {
    pub(super) log: RunLog,
    pub(super) paper: Arc<Paper>,
    pub(super) session: Arc<WorkspaceSession>,
}

impl Desk {
    pub(super) fn new(profile: Json) -> Self {
        let first = Stamped {
            at: Timestamp::UNIX_EPOCH,
            input: created(Presentation::Foreground, profile),
        };
        let (run, drafts) = AgentRun::begin(&first).unwrap();
        let events = numbered(run.run_id(), 0, first.at, drafts);
        let last_seq = events.len() as u64;
        let record = crate::instance::start::record(run.created(), &run, first.at, last_seq);
        let entry = Entry {
            run: run.run_id().clone(),
            input: serde_json::to_string(&[first]).unwrap().into(),
            events,
            update: RunUpdate::default(),
            blobs: Vec::new(),
            trees: Vec::new(),
            snapshot: None,
        };
        let paper = Arc::new(Paper {
            record,
            entries: Mutex::new(vec![entry]),
            fates: Mutex::default(),
            lost: Mutex::default(),
            reads: AtomicUsize::new(0),
            unwritten: Arc::default(),
        });
        let nobody: Weak<AgentInstance> = Weak::new();
        let session = Arc::new(WorkspaceSession::new(
            run.run_id().clone(),
            WorkspacePlan::of(run.profile()),
            run.workspace().clone(),
            Arc::new(InMemory::default()),
            nobody,
        ));
        let log = RunLog::new(
            run,
            last_seq,
            paper.clone(),
            Arc::new(Ticks(Instant::now())),
            CancellationToken::new(),
            session.clone(),
        );
        Self {
            log,
            paper,
            session,
        }
    }

    pub(super) fn next_is(&self, fate: Fate) {
        self.paper.fates.lock().unwrap().push_back(fate);
    }

    /// Without a gap.
    pub(super) fn check(&self) -> usize {
        let entries = self.paper.entries.lock().unwrap();
        let events = entries.iter().flat_map(|entry| &entry.events);
        for (event, seq) in events.zip(1..) {
            assert_eq!(event.seq, seq);
        }
        entries.len()
    }

    pub(super) async fn feed(&self, input: Input) {
        self.log.record(input).await.unwrap();
    }

    /// Up to the first request.
    pub(super) async fn begin(&self) {
        self.feed(Input::WorkspaceReady {
            files: Vec::new(),
            is_missing: false,
        })
        .await;
        self.feed(Input::ContextReady {
            binding: json!({}),
            request: json!({}),
            tools: json!([]),
        })
        .await;
        self.feed(Input::ModelAsked {
            oversize: None,
            keep: 0,
            add: vec![Arc::new(json!({}))],
            request: json!({}),
            guidance: 0,
            arrived: 0,
        })
        .await;
    }

    /// Up to a reply that calls `x`.
    pub(super) async fn act(&self) {
        self.begin().await;
        self.feed(Input::ModelReplied(Arc::new(ModelTurn {
            tool_calls: vec![native("a", "x", json!({}))],
            ..ModelTurn::default()
        })))
        .await;
    }

    /// Up to where a person is asked about `x`.
    pub(super) async fn ask(&self) {
        self.act().await;
        self.feed(Input::ApprovalAsked {
            call: "a".into(),
            approval_id: "p".to_owned(),
            reason: None,
            expires_at: None,
            question: None,
        })
        .await;
    }

    pub(super) fn reads(&self) -> usize {
        self.paper.reads.load(Ordering::Relaxed)
    }
}

/// The person's answer.
pub(super) fn answer() -> Input {
    Input::ApprovalAnswered {
        call: "a".into(),
        approved: true,
        reason: None,
        approval_id: None,
        remember: Default::default(),
        edit: None,
        by: Default::default(),
    }
}
