use std::sync::Weak;

use async_trait::async_trait;
use innkeeper_protocol::event::{Presentation, RunEvent};
use innkeeper_store::journal::{
    Entry, EventRange, Follower, Replay, RunFilter, RunPage, RunRecord, RunUpdate, StepPlace,
    StepRead,
};
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::*;
use crate::instance::drive::AgentInstance;
use crate::run::ModelTurn;
use crate::run::testing::{created, guidance, native};
use crate::workspace::WorkspacePlan;
use crate::workspace::testing::InMemory;

/// What becomes of an entry.
enum Fate {
    /// Taken only when it is let go.
    Slow(Arc<Notify>),
    /// Taken at once, and on disk when it is let go.
    Late(Arc<Notify>),
    Never(StoreError),
}

/// A journal in memory.
struct Paper {
    record: RunRecord,
    entries: std::sync::Mutex<Vec<Entry>>,
    /// Of the next ones; all others are taken.
    fates: std::sync::Mutex<VecDeque<Fate>>,
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
            Some(Fate::Late(leave)) => Written::new(async move {
                leave.notified().await;
                Ok(())
            }),
            Some(Fate::Never(error)) => return Err(error),
        };
        self.entries.lock().unwrap().push(entry);
        Ok(written)
    }

    async fn events(&self, _: &RunId, _: EventRange) -> Result<Vec<RunEvent>, StoreError> {
        Ok(Vec::new())
    }

    async fn replay(&self, _: &RunId) -> Result<Option<Replay>, StoreError> {
        let entries = self.entries.lock().unwrap();
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

    async fn delete(&self, _: &RunId) -> Result<bool, StoreError> {
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

struct Desk {
    log: RunLog,
    paper: Arc<Paper>,
    session: Arc<WorkspaceSession>,
}

impl Desk {
    fn new(profile: Json) -> Self {
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
            entries: std::sync::Mutex::new(vec![entry]),
            fates: std::sync::Mutex::default(),
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

    fn next_is(&self, fate: Fate) {
        self.paper.fates.lock().unwrap().push_back(fate);
    }

    /// Without a gap.
    fn check(&self) -> usize {
        let entries = self.paper.entries.lock().unwrap();
        let events = entries.iter().flat_map(|entry| &entry.events);
        for (event, seq) in events.zip(1..) {
            assert_eq!(event.seq, seq);
        }
        entries.len()
    }

    async fn feed(&self, input: Input) {
        self.log.record(input).await.unwrap();
    }

    /// Up to a reply that calls `x`.
    async fn act(&self) {
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
            keep: 0,
            add: vec![Arc::new(json!({}))],
            request: json!({}),
            guidance: 0,
            arrived: 0,
        })
        .await;
        self.feed(Input::ModelReplied(Arc::new(ModelTurn {
            tool_calls: vec![native("a", "x", json!({}))],
            ..ModelTurn::default()
        })))
        .await;
    }
}

#[tokio::test]
async fn what_a_run_has_taken_is_handed_in_though_nobody_waits_for_it() {
    let desk = Desk::new(json!({}));
    let leave = Arc::new(Notify::new());
    desk.next_is(Fate::Slow(leave.clone()));
    tokio::select! {
        biased;
        _ = desk.log.record(guidance("g1", "one")) => panic!("it was taken"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(desk.check(), 1);
    leave.notify_one();
    desk.feed(guidance("g2", "two")).await;
    assert_eq!(desk.check(), 3);
    assert_eq!(desk.log.fault(), None);
    let replay = desk.paper.replay(desk.log.id()).await.unwrap().unwrap();
    let again = crate::instance::recovery::replayed(&replay).unwrap();
    assert!(desk.log.read(|run| *run == again).await);
}

#[tokio::test]
async fn an_entry_that_can_never_be_written_fails_the_run() {
    for (error, reason) in [
        (StoreError::TooDeep { what: "it" }, "store.too_deep"),
        (
            StoreError::TooLarge {
                what: "it",
                size: 2,
                limit: 1,
            },
            "store.too_large",
        ),
    ] {
        let desk = Desk::new(json!({}));
        desk.next_is(Fate::Never(error));
        let refused = desk.log.record(guidance("g1", "one")).await.unwrap_err();
        assert!(
            matches!(&refused, RecordError::Misfit(misfit) if misfit.why == Why::Over),
            "{refused:?}"
        );
        desk.log.flush().await;
        assert_eq!(desk.log.fault(), None);
        let failure = desk.log.read(|run| run.failure().cloned()).await.unwrap();
        assert_eq!(failure.reason.as_deref(), Some(reason));
        assert_eq!(desk.check(), 2);
        let last = desk.paper.entries.lock().unwrap()[1].events.last().cloned();
        assert!(last.unwrap().is_terminal());
    }
    // A disk that is full is another matter.
    let desk = Desk::new(json!({}));
    desk.next_is(Fate::Never(StoreError::QueueFull));
    assert!(desk.log.record(guidance("g1", "one")).await.is_err());
    assert_eq!(desk.log.fault(), Some(StoreError::QueueFull));
}

#[tokio::test]
async fn what_is_on_its_way_to_the_disk_can_be_read() {
    let desk = Desk::new(json!({}));
    let text = "x".repeat(crate::limits::MAX_CACHED_BYTES + 1);
    let blob = Blob::new(text.as_bytes());
    let id = blob.id.clone();
    let leave = Arc::new(Notify::new());
    desk.next_is(Fate::Late(leave.clone()));
    let brought = Brought { blobs: vec![blob] };
    let submitted = desk.log.submit(vec![guidance("g1", "one")], brought).await;
    drop(submitted.unwrap());
    let read = desk.session.text("output/large.md", &id).await;
    assert!(read.is_ok(), "{:?}", read.err());
    leave.notify_one();
    desk.log.flush().await;
    // It is in the store by now, which here keeps nothing.
    assert!(desk.session.text("output/large.md", &id).await.is_err());
}

#[tokio::test]
async fn an_answer_that_is_captured_is_in_the_workspace_at_once() {
    let desk = Desk::new(json!({}));
    desk.feed(Input::WorkspaceReady {
        files: Vec::new(),
        is_missing: false,
    })
    .await;
    desk.feed(Input::ContextReady {
        binding: json!({}),
        request: json!({}),
        tools: json!([]),
    })
    .await;
    desk.feed(Input::ModelAsked {
        keep: 0,
        add: vec![Arc::new(json!({}))],
        request: json!({}),
        guidance: 0,
        arrived: 0,
    })
    .await;
    desk.feed(Input::ModelReplied(Arc::new(ModelTurn {
        text: "Once upon a time".to_owned(),
        ..ModelTurn::default()
    })))
    .await;
    let state = desk.log.read(|run| run.workspace().clone()).await;
    assert_eq!(state.files.len(), 1);
    let live = desk.session.state();
    assert_eq!((live.files, live.reads), (state.files, state.reads));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_person_takes_no_time() {
    let desk = Desk::new(json!({"agent": {"budget": {"maxWallTimeMs": 1000}}}));
    desk.act().await;
    let mut over = std::pin::pin!(desk.log.out_of_time());
    let soon = Duration::from_millis(400);
    assert!(timeout(soon, &mut over).await.is_err());
    desk.feed(Input::ApprovalAsked {
        call: "a".into(),
        approval_id: "p".to_owned(),
        reason: None,
    })
    .await;
    let long = Duration::from_secs(3_600);
    assert!(timeout(long, &mut over).await.is_err());
    desk.feed(Input::ApprovalAnswered {
        call: "a".into(),
        approved: true,
        reason: None,
    })
    .await;
    let rest = Duration::from_millis(590);
    assert!(timeout(rest, &mut over).await.is_err());
    assert!(timeout(soon, &mut over).await.is_ok());
    // One without a limit.
    let desk = Desk::new(json!({}));
    assert!(timeout(long, desk.log.out_of_time()).await.is_err());
}
