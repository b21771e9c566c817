use std::task::{Context, Poll, Waker};

use super::*;
use crate::Store;
use crate::journal::tests::{begin, last, quiet, resumed, step};
use crate::store::tests::behind_its_back;

fn numbers(followed: &Followed) -> Vec<u64> {
    match followed {
        Followed::Events(events) => events.iter().map(|event| event.seq).collect(),
        other => panic!("{other:?}"),
    }
}

async fn next_numbers(follower: &mut Follower) -> Vec<u64> {
    numbers(&follower.next().await)
}

#[tokio::test]
async fn what_was_comes_first_then_what_happens() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 3).await;
    begin(&store, "other", 1).await;
    let journal = store.journal();
    let mut all = journal.follow(&"r".into(), 0);
    let mut some = journal.follow(&"r".into(), 2);
    let mut later = journal.follow(&"r".into(), 4);
    assert_eq!(next_numbers(&mut all).await, [1, 2, 3]);
    assert_eq!(next_numbers(&mut some).await, [3]);
    let (told, written) = tokio::join!(all.next(), async {
        journal.append(step("other", 2..=2)).await.unwrap();
        journal.append(quiet("r", "nothing to tell")).await.unwrap();
        journal.append(step("r", 4..=5)).await
    });
    written.unwrap();
    assert_eq!(numbers(&told), [4, 5]);
    assert_eq!(next_numbers(&mut later).await, [5]);
    journal.append(last("r", 6)).await.unwrap();
    for follower in [&mut all, &mut later] {
        assert_eq!(next_numbers(follower).await, [6]);
        assert_eq!(follower.next().await, Followed::End);
        assert_eq!(follower.next().await, Followed::End);
    }
    assert_eq!(next_numbers(&mut some).await, [4, 5, 6]);
    assert_eq!(some.next().await, Followed::End);
    // Who comes when it is over, and who comes too late for everything.
    let mut after = journal.follow(&"r".into(), 4);
    assert_eq!(next_numbers(&mut after).await, [5, 6]);
    assert_eq!(after.next().await, Followed::End);
    for seq in [6, 99] {
        let mut late = journal.follow(&"r".into(), seq);
        assert_eq!(late.next().await, Followed::End);
    }
}

#[tokio::test]
async fn the_slow_are_told_and_read_on_from_disk() {
    let (_folder, path) = crate::store::tests::folder();
    let store = Store::open(&path).await.unwrap();
    begin(&store, "r", 1).await;
    let journal = store.journal();
    let mut slow = journal.follow(&"r".into(), 0);
    assert_eq!(next_numbers(&mut slow).await, [1]);
    journal.append(step("r", 2..=2)).await.unwrap();
    assert_eq!(next_numbers(&mut slow).await, [2]);
    let events = MAX_TOLD_EVENTS as u64 + 500;
    for seq in 0..events / 4 {
        let first = 3 + seq * 4;
        journal.append(step("r", first..=first + 3)).await.unwrap();
    }
    let total = 2 + events / 4 * 4;
    let mut seen: Vec<u64> = vec![1, 2];
    let mut lagged = 0;
    while seen.len() < total as usize {
        match slow.next().await {
            Followed::Events(events) => {
                assert!(events.len() <= FOLLOW_PAGE);
                seen.extend(events.iter().map(|event| event.seq));
            }
            Followed::Lagged { missed } => {
                assert_eq!(missed, total - MAX_TOLD_EVENTS as u64 - 2);
                lagged += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, (1..=total).collect::<Vec<_>>());
    assert_eq!(lagged, 1);
}

#[tokio::test]
async fn what_is_missing_on_disk_is_an_error_and_not_waited_for() {
    for (gone, seen) in [(1_i64..=2, 0), (2..=4, 1)] {
        let (_folder, path) = crate::store::tests::folder();
        let store = Store::open(&path).await.unwrap();
        begin(&store, "r", 1).await;
        let journal = store.journal();
        for seq in 2..=MAX_TOLD_EVENTS as u64 + 8 {
            journal.append(step("r", seq..=seq)).await.unwrap();
        }
        let mut behind = behind_its_back(&path).await;
        sqlx::query("DELETE FROM journal WHERE after_seq BETWEEN ? AND ?")
            .bind(gone.start() - 1)
            .bind(gone.end() - 1)
            .execute(&mut behind)
            .await
            .unwrap();
        let mut follower = journal.follow(&"r".into(), seen);
        let Followed::Failed(error) = follower.next().await else {
            panic!("nobody noticed");
        };
        assert_eq!(error.code(), "store.corrupt");
        let told = format!("events {} to {} are missing", gone.start(), gone.end());
        assert!(error.to_string().contains(&told), "{error}");
    }
}

#[tokio::test]
async fn large_events_are_not_kept_for_long() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 1).await;
    let journal = store.journal();
    let _slow = journal.follow(&"r".into(), 0);
    let hub = &store.journal_for_tests().hub;
    for seq in 2..20 {
        let mut entry = step("r", seq..=seq);
        let large = serde_json::json!({"text": "x".repeat(MAX_TOLD_BYTES / 4)});
        entry.events[0].kind = innkeeper_protocol::event::RunEventKind::Other {
            kind: "large".to_owned(),
            payload: large,
        };
        journal.append(entry).await.unwrap();
        let feed = hub.feed(&"r".into()).unwrap();
        assert!(lock(&feed.ring).bytes <= MAX_TOLD_BYTES);
        assert!(lock(&feed.ring).events.len() <= 4);
    }
}

#[tokio::test]
async fn whoever_leaves_leaves_nothing_behind() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 1).await;
    let journal = store.journal();
    let (first, second) = (
        journal.follow(&"r".into(), 0),
        journal.follow(&"r".into(), 0),
    );
    let hub = &store.journal_for_tests().hub;
    assert_eq!(lock(&hub.0).runs.len(), 1);
    drop(first);
    assert_eq!(lock(&hub.0).runs.len(), 1);
    drop(second);
    assert_eq!(lock(&hub.0).runs.len(), 0);
}

#[tokio::test]
async fn waiting_can_be_given_up_without_losing_anything() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 2).await;
    let journal = store.journal();
    let mut follower = journal.follow(&"r".into(), 0);
    let mut seen = Vec::new();
    for seq in 3..50 {
        {
            // Dropped after one look.
            let mut next = std::pin::pin!(follower.next());
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(followed) = next.as_mut().poll(&mut context) {
                seen.extend(numbers(&followed));
            }
        }
        journal.append(step("r", seq..=seq)).await.unwrap();
    }
    while seen.len() < 49 {
        seen.extend(next_numbers(&mut follower).await);
    }
    assert_eq!(seen, (1..50).collect::<Vec<_>>());
}

#[tokio::test]
async fn it_ends_with_the_run_and_with_the_store() {
    let store = Store::in_memory().await.unwrap();
    for run in ["deleted", "closed"] {
        begin(&store, run, 1).await;
    }
    let journal = store.journal();
    let mut nobody = journal.follow(&"nobody".into(), 0);
    let refused = Followed::Failed(StoreError::NoRun("nobody".to_owned()));
    assert_eq!(nobody.next().await, refused);
    assert_eq!(nobody.next().await, refused);

    let mut deleted = journal.follow(&"deleted".into(), 0);
    let mut closed = journal.follow(&"closed".into(), 0);
    for follower in [&mut deleted, &mut closed] {
        assert_eq!(next_numbers(follower).await, [1]);
    }
    let run = "deleted".into();
    let (end, gone) = tokio::join!(deleted.next(), journal.delete(&run));
    assert_eq!((end, gone), (Followed::End, Ok(true)));
    let (end, written) = tokio::join!(closed.next(), store.close());
    assert_eq!((end, written), (Followed::End, Ok(())));
    let mut late = journal.follow(&"closed".into(), 0);
    assert_eq!(late.next().await, Followed::End);
}

#[tokio::test]
async fn a_run_that_is_resumed_is_followed_over_its_first_end() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 1).await;
    let journal = store.journal();
    let mut live = journal.follow(&"r".into(), 0);
    let mut over = journal.follow(&"r".into(), 0);
    for follower in [&mut live, &mut over] {
        assert_eq!(next_numbers(follower).await, [1]);
    }
    journal.append(last("r", 2)).await.unwrap();
    for follower in [&mut live, &mut over] {
        assert_eq!(next_numbers(follower).await, [2]);
    }
    assert_eq!(over.next().await, Followed::End);
    journal.append(resumed("r", 3..=4)).await.unwrap();
    // Who has heard of the end stays away; who had not yet, and who comes now, hear what follows.
    assert_eq!(over.next().await, Followed::End);
    let mut anew = journal.follow(&"r".into(), 2);
    for follower in [&mut live, &mut anew] {
        assert_eq!(next_numbers(follower).await, [3, 4]);
    }
    journal.append(last("r", 5)).await.unwrap();
    drop((live, over, anew));
    let mut late = journal.follow(&"r".into(), 0);
    assert_eq!(next_numbers(&mut late).await, [1, 2, 3, 4, 5]);
    assert_eq!(late.next().await, Followed::End);
}

/// From disk, in pages that end at the first end.
#[tokio::test]
async fn an_end_that_was_taken_back_does_not_end_a_page() {
    let store = Store::in_memory().await.unwrap();
    let page = FOLLOW_PAGE as u64;
    begin(&store, "r", page - 1).await;
    let journal = store.journal();
    journal.append(last("r", page)).await.unwrap();
    journal
        .append(resumed("r", page + 1..=page + 1))
        .await
        .unwrap();
    journal.append(last("r", page + 2)).await.unwrap();
    let mut follower = journal.follow(&"r".into(), 0);
    assert_eq!(next_numbers(&mut follower).await.last(), Some(&page));
    assert_eq!(next_numbers(&mut follower).await, [page + 1, page + 2]);
    assert_eq!(follower.next().await, Followed::End);
}
