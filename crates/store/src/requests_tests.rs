use std::time::Duration;

use serde_json::json;

use super::*;
use crate::Store;
use crate::limits::MAX_REQUESTS;
use crate::store::tests::{behind_its_back, entry, folder};

fn new(claim: Claim) -> ClaimToken {
    match claim {
        Claim::New(token) => token,
        other => panic!("{other:?}"),
    }
}

fn interrupted(claim: Claim) -> ClaimToken {
    match claim {
        Claim::Interrupted(token) => token,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_same_request_runs_once() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let requests = store.requests();
    let token = new(requests.claim("u", "r1", "h").await.unwrap());
    assert!(matches!(
        requests.claim("u", "r1", "h").await.unwrap(),
        Claim::Running
    ));
    assert!(matches!(
        requests.claim("u", "r1", "other").await.unwrap(),
        Claim::Conflict
    ));
    let elsewhere = new(requests.claim("v", "r1", "other").await.unwrap());
    requests.release(elsewhere).await.unwrap();
    requests
        .finish(token, &json!([{"ok": true}]))
        .await
        .unwrap();
    assert!(matches!(
        requests.claim("u", "r1", "other").await.unwrap(),
        Claim::Conflict
    ));
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    match store.requests().claim("u", "r1", "h").await.unwrap() {
        Claim::Done { observations } => assert_eq!(observations, json!([{"ok": true}])),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_released_request_is_free_again() {
    let store = Store::in_memory().await.unwrap();
    let requests = store.requests();
    let token = new(requests.claim("u", "r", "h").await.unwrap());
    requests.release(token).await.unwrap();
    new(requests.claim("u", "r", "other content").await.unwrap());
}

#[tokio::test]
async fn a_dropped_claim_is_interrupted_and_can_be_finished() {
    let store = Store::in_memory().await.unwrap();
    let requests = store.requests();
    drop(new(requests.claim("u", "r", "h").await.unwrap()));
    let token = interrupted(requests.claim("u", "r", "h").await.unwrap());
    assert!(matches!(
        requests.claim("u", "r", "h").await.unwrap(),
        Claim::Running
    ));
    requests.finish(token, &json!("unknown")).await.unwrap();
    assert!(matches!(
        requests.claim("u", "r", "h").await.unwrap(),
        Claim::Done { .. }
    ));
}

#[tokio::test]
async fn a_claim_dropped_while_the_queue_is_full_is_interrupted_too() {
    let store = Store::in_memory().await.unwrap();
    let token = new(store.requests().claim("u", "r", "h").await.unwrap());
    while store.audit().try_append(entry("T")).is_ok() {}
    drop(token);
    interrupted(store.requests().claim("u", "r", "h").await.unwrap());
}

#[tokio::test]
async fn a_claim_outlives_other_stores_but_not_its_own() {
    let (_folder, path) = folder();
    let mine = Store::open(&path).await.unwrap();
    let other = Store::open(&path).await.unwrap();
    let token = new(mine.requests().claim("u", "r", "h").await.unwrap());
    assert!(matches!(
        other.requests().claim("u", "r", "h").await.unwrap(),
        Claim::Running
    ));

    // Dead without a word: neither dropped nor closed, only its lock is gone, as when a process ends.
    std::mem::forget(token);
    die(&mine).await;
    let token = interrupted(other.requests().claim("u", "r", "h").await.unwrap());
    other.requests().release(token).await.unwrap();
    new(other.requests().claim("u", "r", "h").await.unwrap());
}

/// What the operating system does when a process ends.
async fn die(store: &Store) {
    let folder = store.requests().database.path.as_ref().unwrap();
    let id = store.requests().owner.id().await.unwrap();
    let mark = format!("{}-owners/{id}", folder.display());
    store.requests().owner.unlock();
    assert!(std::fs::exists(mark).unwrap());
}

#[tokio::test]
async fn marks_of_the_dead_are_swept_away() {
    let (folder, path) = folder();
    let marks = || {
        std::fs::read_dir(folder.path().join("innkeeper.db-owners"))
            .unwrap()
            .count()
    };
    let dead = Store::open(&path).await.unwrap();
    drop(dead.requests().claim("u", "r", "h").await.unwrap());
    die(&dead).await;
    let alive = Store::open(&path).await.unwrap();
    drop(alive.requests().claim("u", "r2", "h").await.unwrap());
    assert_eq!(marks(), 1);
    let second = Store::open(&path).await.unwrap();
    drop(second.requests().claim("u", "r3", "h").await.unwrap());
    assert_eq!(marks(), 2);
    drop(second);
    drop(alive);
    assert_eq!(marks(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_claim_one_gets_it() {
    let (_folder, path) = folder();
    let stores = [
        Store::open(&path).await.unwrap(),
        Store::open(&path).await.unwrap(),
    ];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40 {
        let store = stores[number % 2].clone();
        tasks.spawn(async move {
            match store.requests().claim("u", "r", "h").await.unwrap() {
                Claim::New(token) => Some(token),
                Claim::Running => None,
                other => panic!("{other:?}"),
            }
        });
    }
    let tokens = tasks.join_all().await;
    assert_eq!(tokens.iter().flatten().count(), 1);
}

#[tokio::test]
async fn waiting_ends_when_the_request_does() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let other = Store::open(&path).await.unwrap();
    for end in ["finish", "release", "drop"] {
        let token = new(store.requests().claim("u", end, "h").await.unwrap());
        let waits = [store.clone(), other.clone()]
            .map(|store| tokio::spawn(async move { store.requests().wait("u", end).await }));
        tokio::task::yield_now().await;
        assert!(waits.iter().all(|wait| !wait.is_finished()), "{end}");
        match end {
            "finish" => store.requests().finish(token, &json!(1)).await.unwrap(),
            "release" => store.requests().release(token).await.unwrap(),
            _ => drop(token),
        }
        for wait in waits {
            let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
            waited.unwrap().unwrap().unwrap();
        }
    }
    store.requests().wait("u", "never claimed").await.unwrap();
}

#[tokio::test]
async fn an_outcome_too_large_to_keep_leaves_the_request_interrupted() {
    let store = Store::in_memory().await.unwrap();
    let requests = store.requests();
    let token = new(requests.claim("u", "r", "h").await.unwrap());
    let large = json!("x".repeat(MAX_OBSERVATIONS_BYTES));
    let error = requests.finish(token, &large).await.unwrap_err();
    assert_eq!(error.code(), "store.too_large");
    let token = interrupted(requests.claim("u", "r", "h").await.unwrap());
    let deep = crate::depth::nested(2_000);
    let error = requests.finish(token, &deep).await.unwrap_err();
    assert_eq!(error.code(), "store.too_deep");

    let long = "x".repeat(MAX_REQUEST_KEY_CHARS + 1);
    let error = requests.claim("u", &long, "h").await.unwrap_err();
    assert_eq!(error.code(), "store.too_large");
}

#[tokio::test]
async fn what_is_old_is_forgotten_but_not_what_runs() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let requests = store.requests();
    let done = new(requests.claim("u", "done", "h").await.unwrap());
    requests.finish(done, &json!(1)).await.unwrap();
    let running = new(requests.claim("u", "running", "h").await.unwrap());
    drop(new(requests.claim("u", "dropped", "h").await.unwrap()));
    let crashed = Store::open(&path).await.unwrap();
    std::mem::forget(new(crashed
        .requests()
        .claim("u", "crashed", "h")
        .await
        .unwrap()));
    die(&crashed).await;

    let count = async || {
        let mut connection = behind_its_back(&path).await;
        let row =
            sqlx::query("SELECT group_concat(request_id, ' ' ORDER BY request_id) FROM requests")
                .fetch_one(&mut connection)
                .await
                .unwrap();
        row.get::<String, _>(0)
    };
    let life = jiff::SignedDuration::try_from(REQUEST_LIFE).unwrap();
    let hour = jiff::SignedDuration::from_hours(1);
    requests
        .purge(Timestamp::now() + life - hour)
        .await
        .unwrap();
    assert_eq!(count().await, "crashed done dropped running");
    requests
        .purge(Timestamp::now() + life + hour)
        .await
        .unwrap();
    assert_eq!(count().await, "running");
    requests.finish(running, &json!(1)).await.unwrap();
}

#[tokio::test]
async fn no_more_than_so_many_are_remembered() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let mut connection = behind_its_back(&path).await;
    sqlx::query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         INSERT INTO requests SELECT 'u', i, 'h', i, '', ?, '1' FROM n",
    )
    .bind(i64::try_from(MAX_REQUESTS).unwrap() + 50)
    .bind(Timestamp::now().as_microsecond())
    .execute(&mut connection)
    .await
    .unwrap();
    // The first claim looks after what is too much.
    drop(store.requests().claim("u", "new", "h").await.unwrap());
    let row = sqlx::query("SELECT count(*) FROM requests WHERE observations IS NOT NULL")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(row.get::<i64, _>(0), i64::try_from(MAX_REQUESTS).unwrap());
}
