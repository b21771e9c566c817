use innkeeper_store::Blob;
use serde_json::json;
use tokio::time::timeout;

use super::testing::{Desk, Fate, answer};
use super::*;
use crate::run::testing::guidance;
use crate::run::{ModelTurn, Why};

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
    assert!(desk.log.read(|run| *run == again).await.unwrap());
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
        let failure = desk.log.read(|run| run.failure().cloned()).await;
        let failure = failure.unwrap().unwrap();
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
    desk.begin().await;
    desk.feed(Input::ModelReplied(Arc::new(ModelTurn {
        text: "Once upon a time".to_owned(),
        ..ModelTurn::default()
    })))
    .await;
    let state = desk.log.read(|run| run.workspace().clone()).await.unwrap();
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
        expires_at: None,
        question: None,
    })
    .await;
    let long = Duration::from_secs(3_600);
    assert!(timeout(long, &mut over).await.is_err());
    desk.feed(answer()).await;
    let rest = Duration::from_millis(590);
    assert!(timeout(rest, &mut over).await.is_err());
    assert!(timeout(soon, &mut over).await.is_ok());
    // One without a limit.
    let desk = Desk::new(json!({}));
    assert!(timeout(long, desk.log.out_of_time()).await.is_err());
}

/// Between the look and the leaving nothing begins.
#[tokio::test]
async fn a_run_is_left_only_while_nothing_of_it_is_under_way() {
    let desk = Desk::new(json!({}));
    desk.begin().await;
    let calls = ["a", "b"].map(|id| crate::run::testing::native(id, "x", json!({"n": id})));
    desk.feed(Input::ModelReplied(Arc::new(ModelTurn {
        tool_calls: calls.to_vec(),
        ..ModelTurn::default()
    })))
    .await;
    let (a, b): (CallId, CallId) = ("a".into(), "b".into());
    let seals = || async { desk.log.seal_if_only_asking().await.unwrap() };
    assert!(!seals().await, "nobody is asked");
    // Side by side: one is asked about, the other may start at any moment.
    desk.log.take_up(&[a.clone(), b.clone()]);
    desk.feed(Input::ApprovalAsked {
        call: a.clone(),
        approval_id: "p".to_owned(),
        reason: None,
        expires_at: None,
        question: None,
    })
    .await;
    assert!(!seals().await, "the other is about to start");
    let start = Input::CallStarted {
        call: b.clone(),
        idempotent: false,
    };
    desk.feed(start.clone()).await;
    assert!(!seals().await, "the other is at work");
    desk.feed(Input::CallEnded {
        call: b.clone(),
        observation: Arc::new(innkeeper_protocol::Observation::new(
            "x",
            innkeeper_protocol::Outcome::Success {
                result: "ok".into(),
                spilled: None,
            },
        )),
        elapsed_ms: 1,
        change: Default::default(),
        skill_chars: 0,
        worlds: Vec::new(),
        used: None,
        full: None,
    })
    .await;
    desk.log.put_down(&b);
    assert!(!desk.log.is_sealed());
    assert!(seals().await);
    // It was answered in that moment: whoever takes the run up next begins the call.
    let late = desk.log.record(answer()).await.unwrap_err();
    assert_eq!(late, RecordError::Journal(StoreError::Closed));
    assert_eq!(desk.log.fault(), None, "its journal is whole");
}

/// One behind the other: what comes after a question is not taken up before its answer.
#[tokio::test]
async fn a_call_that_waits_behind_a_question_keeps_nobody() {
    let desk = Desk::new(json!({}));
    desk.begin().await;
    let calls = ["a", "b"].map(|id| crate::run::testing::native(id, "x", json!({"n": id})));
    desk.feed(Input::ModelReplied(Arc::new(ModelTurn {
        tool_calls: calls.to_vec(),
        ..ModelTurn::default()
    })))
    .await;
    desk.log.take_up(&["a".into()]);
    desk.feed(Input::ApprovalAsked {
        call: "a".into(),
        approval_id: "p".to_owned(),
        reason: None,
        expires_at: None,
        question: None,
    })
    .await;
    assert!(desk.log.seal_if_only_asking().await.unwrap());
}
