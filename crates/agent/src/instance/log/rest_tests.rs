use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use innkeeper_store::Blob;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::super::testing::{Desk, Fate, answer};
use super::*;
use crate::limits::MAX_PENDING_GUIDANCE;
use crate::run::AgentRun;
use crate::run::testing::guidance;

/// One that a person is asked about.
async fn parked() -> Desk {
    let desk = Desk::new(json!({}));
    desk.ask().await;
    desk
}

async fn resting() -> Desk {
    let desk = parked().await;
    assert_eq!(desk.log.rest().await, Rest::Rests);
    desk
}

impl Desk {
    async fn is_here(&self) -> bool {
        self.log.peek(|_| ()).await.is_some()
    }

    async fn run(&self) -> AgentRun {
        self.log.read(AgentRun::clone).await.unwrap()
    }

    /// As the journal has it.
    async fn on_paper(&self) -> AgentRun {
        self.log.replay().await.unwrap().1.run
    }
}

#[tokio::test]
async fn a_run_that_has_rested_is_as_it_was() {
    let desk = parked().await;
    let before = desk.run().await;
    for times in 1..=3 {
        assert_eq!(desk.log.rest().await, Rest::Rests);
        assert!(!desk.is_here().await);
        assert_eq!(desk.run().await, before);
        assert_eq!(desk.reads(), times);
    }
    // It stays until it is let go of again.
    assert_eq!(desk.run().await, before);
    assert_eq!(desk.reads(), 3);
}

#[tokio::test]
async fn what_is_said_to_a_run_that_rests_reaches_it() {
    for (input, waits) in [
        (answer(), false),
        (guidance("g1", "one"), true),
        (Input::CancelRequested, true),
    ] {
        let desk = resting().await;
        let mut changed = std::pin::pin!(desk.log.changed());
        assert!(futures_util::poll!(changed.as_mut()).is_pending());
        desk.feed(input.clone()).await;
        assert!(
            futures_util::poll!(changed.as_mut()).is_ready(),
            "{input:?}"
        );
        assert_eq!(desk.reads(), 1);
        desk.check();
        assert_eq!(desk.run().await, desk.on_paper().await);
        // One that still waits can rest once more.
        let rests = desk.log.rest().await;
        assert_eq!(rests == Rest::Rests, waits, "{input:?}: {rests:?}");
        assert_eq!(desk.run().await, desk.on_paper().await);
    }
    // What does not fit leaves it as it was.
    let desk = parked().await;
    let before = desk.run().await;
    desk.log.rest().await;
    let refused = desk.log.record(Input::Rested).await.unwrap_err();
    assert!(matches!(refused, RecordError::Misfit(_)), "{refused:?}");
    assert_eq!(desk.run().await, before);
    assert_eq!(desk.log.fault(), None);
    // What is held wakes it too, and keeps it here until it is sent.
    let desk = resting().await;
    let held = desk.log.hold(guidance("g1", "one"), Brought::default());
    held.await.unwrap();
    assert!(desk.is_here().await);
    assert_eq!(desk.log.rest().await, Rest::Rests);
    assert_eq!(desk.run().await.guidance().len(), 1);
}

#[tokio::test]
async fn only_a_run_that_waits_for_people_rests() {
    let working = Desk::new(json!({}));
    working.act().await;
    let over = Desk::new(json!({}));
    over.feed(Input::CancelRequested).await;
    over.feed(Input::Stopped).await;
    let answered = resting().await;
    answered.feed(answer()).await;
    for desk in [working, over, answered] {
        assert_eq!(desk.log.rest().await, Rest::No);
        assert!(desk.is_here().await);
    }
    // One that cannot be written down is ahead of its journal.
    let desk = parked().await;
    desk.next_is(Fate::Lost(StoreError::QueueFull));
    let sent = desk
        .log
        .submit(vec![guidance("g1", "one")], Brought::default());
    drop(sent.await.unwrap());
    assert_eq!(desk.log.rest().await, Rest::No);
    assert_eq!(desk.log.fault(), Some(StoreError::QueueFull));
    assert!(desk.is_here().await);
}

#[tokio::test]
async fn a_run_stays_while_something_of_it_is_on_its_way() {
    let desk = parked().await;
    let leave = Arc::new(Notify::new());
    desk.next_is(Fate::Late(leave.clone()));
    let submitted = desk
        .log
        .submit(vec![guidance("g1", "one")], Brought::default());
    let receipt = submitted.await.unwrap();
    assert_eq!(desk.log.rest().await, Rest::NotYet);
    assert!(desk.is_here().await);
    // Whoever gives up waiting for it leaves it to the log, which then waits for it.
    {
        let mut written = std::pin::pin!(receipt.written());
        assert!(futures_util::poll!(written.as_mut()).is_pending());
    }
    {
        let mut rest = std::pin::pin!(desk.log.rest());
        assert!(futures_util::poll!(rest.as_mut()).is_pending());
    }
    let mut rest = std::pin::pin!(desk.log.rest());
    assert!(futures_util::poll!(rest.as_mut()).is_pending());
    // While it waits, something else is sent.
    let late = Arc::new(Notify::new());
    desk.next_is(Fate::Late(late.clone()));
    let submitted = desk
        .log
        .submit(vec![guidance("g2", "two")], Brought::default());
    let receipt = submitted.await.unwrap();
    leave.notify_one();
    assert_eq!(rest.await, Rest::NotYet);
    late.notify_one();
    receipt.written().await.unwrap();
    let before = desk.run().await;
    assert_eq!(desk.log.rest().await, Rest::Rests);
    assert_eq!(desk.run().await, before);
    desk.check();
}

/// The journal had no room at first. By the time that it has, nobody looks.
#[tokio::test]
async fn an_entry_that_nobody_hears_of_is_left_to_the_log() {
    for outcome in [Ok(()), Err(StoreError::QueueFull)] {
        let desk = parked().await;
        let leave = Arc::new(Notify::new());
        desk.next_is(match &outcome {
            Ok(()) => Fate::Slow(leave.clone()),
            Err(error) => Fate::SlowAndLost(leave.clone(), error.clone()),
        });
        {
            let submitted = desk
                .log
                .submit(vec![guidance("g1", "one")], Brought::default());
            let mut submitted = std::pin::pin!(submitted);
            assert!(futures_util::poll!(submitted.as_mut()).is_pending());
            leave.notify_one();
            // Whoever hands it in holds the run until it is.
            desk.log.peek(|_| ()).await;
        }
        let rest = desk.log.rest().await;
        match outcome {
            Ok(()) => assert_eq!(rest, Rest::Rests),
            Err(error) => assert_eq!((rest, desk.log.fault()), (Rest::No, Some(error))),
        }
    }
}

#[tokio::test]
async fn whoever_comes_while_it_is_let_go_of_sees_all_of_it() {
    let desk = parked().await;
    let leave = Arc::new(Notify::new());
    desk.next_is(Fate::Late(leave.clone()));
    let text = Blob::new(*b"words");
    let brought = Brought { blobs: vec![text] };
    drop(desk.log.submit(vec![guidance("g1", "one")], brought).await);
    let mut rest = std::pin::pin!(desk.log.rest());
    assert!(futures_util::poll!(rest.as_mut()).is_pending());
    // The answer is there before it is let go of: it stays.
    let mut answered = std::pin::pin!(desk.log.record(answer()));
    assert!(futures_util::poll!(answered.as_mut()).is_ready());
    leave.notify_one();
    assert_eq!(rest.await, Rest::No);
    assert_eq!(desk.reads(), 0);
    assert_eq!(desk.run().await, desk.on_paper().await);
    // Everybody at once: it is read once, and everybody finds the same.
    let desk = resting().await;
    let (one, two, fed) = tokio::join!(
        desk.log.read(|run| run.guidance().len()),
        desk.log.record(guidance("g1", "one")),
        desk.log.read(|run| run.guidance().len()),
    );
    two.unwrap();
    assert_eq!((one.unwrap(), fed.unwrap()), (0, 1));
    assert_eq!(desk.reads(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_whoever_is_quicker() {
    for _ in 0..25 {
        let desk = parked().await;
        for number in 0..MAX_PENDING_GUIDANCE {
            meet(&desk, number).await;
        }
        assert_eq!(desk.log.fault(), None);
        assert_eq!(desk.run().await, desk.on_paper().await);
        assert_eq!(desk.run().await.guidance().len(), MAX_PENDING_GUIDANCE);
        desk.check();
    }
}

/// Somebody lets go of it, somebody tells it something and somebody looks at it, all at once.
async fn meet(desk: &Desk, number: usize) {
    let log = desk.log.clone();
    let resting = tokio::spawn(async move { log.rest().await });
    let log = desk.log.clone();
    let id = format!("g{number}");
    let said = tokio::spawn(async move {
        let sent = log.submit(vec![guidance(&id, &id)], Brought::default());
        sent.await.unwrap().written().await
    });
    let seen = desk.log.read(|run| run.guidance().len()).await.unwrap();
    assert!((number..=number + 1).contains(&seen));
    said.await.unwrap().unwrap();
    assert_ne!(resting.await.unwrap(), Rest::No);
}

#[tokio::test]
async fn a_run_that_cannot_be_read_back_takes_nothing_more() {
    let unread = StoreError::Read {
        cause: "worn out".to_owned(),
    };
    let gone = StoreError::NoRun("run_1".to_owned());
    for (lost, expected) in [(Err(unread.clone()), unread), (Ok(()), gone)] {
        let desk = resting().await;
        *desk.paper.lost.lock().unwrap() = Some(lost);
        let refused = desk.log.record(answer()).await.unwrap_err();
        assert_eq!(refused, RecordError::Journal(expected.clone()));
        assert_eq!(desk.log.fault(), Some(expected.clone()));
        assert!(desk.log.0.let_go.is_cancelled());
        // Not even if it could be read by now.
        *desk.paper.lost.lock().unwrap() = None;
        assert_eq!(desk.log.read(|_| ()).await, Err(expected));
        assert_eq!(desk.reads(), 1);
        assert_eq!(desk.log.rest().await, Rest::Rests);
    }
    // Somebody has cut it, or has written to it as well.
    let desk = resting().await;
    desk.paper.entries.lock().unwrap().pop();
    let cut = desk.log.read(|_| ()).await.unwrap_err();
    assert!(matches!(cut, StoreError::Read { .. }), "{cut:?}");
    assert_eq!(desk.log.fault(), Some(cut));
}

#[tokio::test]
async fn what_the_journal_refuses_of_a_run_that_rested_fails_it() {
    let desk = resting().await;
    desk.next_is(Fate::Never(StoreError::TooDeep { what: "it" }));
    let refused = desk.log.record(guidance("g1", "one")).await.unwrap_err();
    assert!(
        matches!(&refused, RecordError::Misfit(misfit) if misfit.why == Why::Over),
        "{refused:?}"
    );
    desk.log.flush().await;
    assert_eq!(desk.log.fault(), None);
    assert!(desk.run().await.is_over());
    assert_eq!(desk.run().await, desk.on_paper().await);
    desk.check();
    let desk = resting().await;
    desk.next_is(Fate::Never(StoreError::QueueFull));
    assert!(desk.log.record(guidance("g1", "one")).await.is_err());
    assert_eq!(desk.log.fault(), Some(StoreError::QueueFull));
}

#[tokio::test(start_paused = true)]
async fn looking_at_the_clock_wakes_nobody() {
    let desk = Desk::new(json!({"agent": {"budget": {"maxWallTimeMs": 1000}}}));
    desk.act().await;
    let mut over = std::pin::pin!(desk.log.out_of_time());
    assert!(
        timeout(Duration::from_millis(400), &mut over)
            .await
            .is_err()
    );
    desk.feed(Input::ApprovalAsked {
        call: "a".into(),
        approval_id: "p".to_owned(),
        reason: None,
        expires_at: None,
        question: None,
    })
    .await;
    assert_eq!(desk.log.rest().await, Rest::Rests);
    let long = Duration::from_secs(3_600);
    assert!(timeout(long, &mut over).await.is_err());
    assert_eq!(desk.reads(), 0);
    assert!(!desk.is_here().await);
    desk.feed(answer()).await;
    assert!(
        timeout(Duration::from_millis(590), &mut over)
            .await
            .is_err()
    );
    assert!(timeout(Duration::from_millis(20), &mut over).await.is_ok());
}

#[tokio::test]
async fn one_is_told_whenever_a_parked_run_is_in_memory() {
    let is_told = async |desk: &Desk| {
        let mut parked = std::pin::pin!(desk.log.parked());
        futures_util::poll!(parked.as_mut()) == Poll::Ready(())
    };
    let desk = Desk::new(json!({}));
    desk.act().await;
    assert!(!is_told(&desk).await);
    let desk = parked().await;
    assert!(is_told(&desk).await);
    desk.log.rest().await;
    assert!(!is_told(&desk).await);
    desk.run().await;
    assert!(is_told(&desk).await);
    desk.log.rest().await;
    desk.feed(guidance("g1", "one")).await;
    assert!(is_told(&desk).await);
}
