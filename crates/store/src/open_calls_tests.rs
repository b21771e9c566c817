use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use sqlx::Connection;

use super::*;
use crate::store::tests::{behind_its_back, entry, execute, folder};
use crate::{AuditFilter, AuditRecord, Store, schema};

/// What a caller knows before the call.
fn beginning(tool: &str) -> AuditEntry {
    AuditEntry {
        outcome: AuditOutcome::Cancelled,
        duration_us: 0,
        result_chars: 0,
        ..entry(tool)
    }
}

fn ended_unknown(tool: &str, message: &str) -> AuditEntry {
    AuditEntry {
        outcome: AuditOutcome::OutcomeUnknown,
        error_code: Some("tool.outcome_unknown".into()),
        message: Some(message.into()),
        ..beginning(tool)
    }
}

async fn open_rows(path: &Path) -> i64 {
    let mut connection = behind_its_back(path).await;
    let row = sqlx::query("SELECT count(*) FROM open_calls")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    row.get(0)
}

/// Oldest first; and the chain holds.
async fn entries(store: &Store) -> Vec<AuditEntry> {
    assert!(store.audit().verify().await.unwrap().is_intact());
    let records = store.audit().query(AuditFilter::default()).await.unwrap();
    let oldest_first = records.into_iter().rev();
    oldest_first
        .map(|AuditRecord { entry, .. }| entry)
        .collect()
}

/// As when the process ends: nothing is said any more, and its lock is gone.
fn die(store: Store, calls: impl IntoIterator<Item = OpenCall>) {
    store.audit().owner.unlock();
    calls.into_iter().for_each(std::mem::forget);
    std::mem::forget(store);
}

#[tokio::test]
async fn a_call_that_ends_leaves_one_record_and_no_row() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let first = store.audit().begin(beginning("A")).await.unwrap();
    let second = store.audit().begin(beginning("B")).await.unwrap();
    assert_eq!(open_rows(&path).await, 2);
    assert_eq!(entries(&store).await, []);

    store.audit().try_close(second, entry("B")).unwrap();
    store.audit().close(first, entry("A")).await.unwrap();
    assert_eq!(entries(&store).await, [entry("B"), entry("A")]);
    assert_eq!(open_rows(&path).await, 0);
    store.close().await.unwrap();
    let store = Store::open(&path).await.unwrap();
    assert_eq!(entries(&store).await.len(), 2);
}

#[tokio::test]
async fn in_memory_it_is_the_same() {
    let store = Store::in_memory().await.unwrap();
    let call = store.audit().begin(beginning("A")).await.unwrap();
    store.audit().close(call, entry("A")).await.unwrap();
    drop(store.audit().begin(beginning("B")).await.unwrap());
    assert_eq!(
        entries(&store).await,
        [entry("A"), ended_unknown("B", DROPPED)]
    );
}

#[tokio::test]
async fn a_dropped_call_is_settled_at_once_even_when_the_queue_is_full() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let dropped = store.audit().begin(beginning("dropped")).await.unwrap();
    let waiting = store.audit().begin(beginning("waiting")).await.unwrap();
    for _ in 0..crate::limits::MAX_QUEUED_WRITES {
        store.audit().try_append(entry("T")).unwrap();
    }
    drop(dropped);
    {
        let close = std::pin::pin!(store.audit().close(waiting, entry("waiting")));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(close.poll(&mut context).is_pending());
    }
    let filter = AuditFilter {
        outcome: Some(AuditOutcome::OutcomeUnknown),
        ..AuditFilter::default()
    };
    let settled = store.audit().query(filter).await.unwrap();
    let settled: Vec<_> = settled.into_iter().map(|record| record.entry).collect();
    assert_eq!(
        settled,
        [
            ended_unknown("waiting", DROPPED),
            ended_unknown("dropped", DROPPED)
        ]
    );
    assert_eq!(open_rows(&path).await, 0);
}

#[tokio::test]
async fn whoever_stops_waiting_for_the_beginning_leaves_nothing() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    // The mark is made, so that the next one gets as far as the queue at once.
    let call = store.audit().begin(beginning("A")).await.unwrap();
    store.audit().close(call, entry("A")).await.unwrap();
    {
        let begin = std::pin::pin!(store.audit().begin(beginning("B")));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(begin.poll(&mut context).is_pending());
    }
    assert_eq!(entries(&store).await, [entry("A")]);
    assert_eq!(open_rows(&path).await, 0);
}

#[tokio::test]
async fn the_next_to_open_settles_what_the_dead_left_and_nothing_else() {
    let (_folder, path) = folder();
    let alive = Store::open(&path).await.unwrap();
    let running = alive.audit().begin(beginning("running")).await.unwrap();
    let dead = Store::open(&path).await.unwrap();
    let many = usize::try_from(RECOVERY_PAGE).unwrap() + 3;
    let mut calls = Vec::new();
    for number in 0..many {
        let tool = format!("lost {number}");
        calls.push(dead.audit().begin(beginning(&tool)).await.unwrap());
    }
    // While its owner lives nothing is touched.
    Store::open(&path).await.unwrap().close().await.unwrap();
    assert_eq!(entries(&alive).await, []);

    die(dead, calls);
    let store = Store::open(&path).await.unwrap();
    let lost = (0..many).map(|number| ended_unknown(&format!("lost {number}"), PROCESS_ENDED));
    let filter = AuditFilter {
        limit: Some(many * 2),
        ..AuditFilter::default()
    };
    let found = store.audit().query(filter).await.unwrap();
    let found = found.into_iter().rev().map(|record| record.entry);
    assert_eq!(found.collect::<Vec<_>>(), lost.collect::<Vec<_>>());
    assert_eq!(open_rows(&path).await, 1);

    let close = alive.audit().close(running, entry("running"));
    close.await.unwrap();
    alive.flush().await.unwrap();
    let verified = store.audit().verify().await.unwrap();
    assert_eq!((verified.records, verified.broken), (many as u64 + 1, None));
    assert_eq!(open_rows(&path).await, 0);
}

/// The writing goes on after the last handle is gone, and so must the mark.
#[tokio::test]
async fn an_end_that_waits_to_be_written_is_not_taken_for_a_death() {
    let (folder, path) = folder();
    let reader = Store::open(&path).await.unwrap();
    let store = Store::open(&path).await.unwrap();
    let call = store.audit().begin(beginning("A")).await.unwrap();
    store.audit().close(call, entry("A")).await.unwrap();
    drop(store);
    // Nothing was awaited that lets the writer run.
    let marks = std::fs::read_dir(folder.path().join("innkeeper.db-owners")).unwrap();
    assert_eq!(marks.count(), 1);
    let late = Store::open(&path).await.unwrap();
    let written = async { while reader.audit().verify().await.unwrap().records < 1 {} };
    let in_time = tokio::time::timeout(std::time::Duration::from_secs(30), written);
    in_time.await.unwrap();
    assert_eq!(entries(&late).await, [entry("A")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_open_at_once_one_settles() {
    let (_folder, path) = folder();
    let dead = Store::open(&path).await.unwrap();
    let calls = [
        dead.audit().begin(beginning("A")).await.unwrap(),
        dead.audit().begin(beginning("B")).await.unwrap(),
    ];
    die(dead, calls);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let path = path.clone();
        tasks.spawn(async move { Store::open(&path).await.unwrap() });
    }
    let stores = tasks.join_all().await;
    assert_eq!(
        entries(&stores[0]).await,
        ["A", "B"].map(|tool| ended_unknown(tool, PROCESS_ENDED))
    );
    assert_eq!(open_rows(&path).await, 0);
}

const CHILD_DATABASE: &str = "INNKEEPER_STORE_TEST_DATABASE";

/// The process that the next test kills; nothing when it is not started by that.
#[tokio::test]
async fn a_process_to_be_killed() {
    let Some(path) = std::env::var_os(CHILD_DATABASE) else {
        return;
    };
    let store = Store::open(Path::new(&path)).await.unwrap();
    let _call = store.audit().begin(beginning("killed")).await.unwrap();
    println!("\nbegun");
    std::io::stdin().lines().for_each(drop);
}

#[tokio::test]
async fn a_killed_process_leaves_a_record_of_its_call() {
    let (_folder, path) = folder();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--nocapture", "--exact"])
        .arg("open_calls::tests::a_process_to_be_killed")
        .env(CHILD_DATABASE, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let begun = lines.any(|line| line.unwrap() == "begun");
    let store = Store::open(&path).await.unwrap();
    let before = entries(&store).await;
    store.close().await.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(begun);
    assert_eq!(before, []);

    let store = Store::open(&path).await.unwrap();
    assert_eq!(
        entries(&store).await,
        [ended_unknown("killed", PROCESS_ENDED)]
    );
}

#[tokio::test]
async fn nothing_begins_where_nothing_can_be_written() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    execute_on_writer(&store, "PRAGMA query_only = ON").await;
    let error = store.audit().begin(beginning("T")).await.unwrap_err();
    assert_eq!(error.code(), "store.write_failed");
    assert!(error.to_string().contains("readonly"), "{error}");
    execute_on_writer(&store, "PRAGMA query_only = OFF").await;

    // A log that refuses refuses this too.
    let call = store.audit().begin(beginning("begun")).await.unwrap();
    let mut other = behind_its_back(&path).await;
    execute(
        &mut other,
        "CREATE TRIGGER fails BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    )
    .await;
    store.audit().append(entry("kept")).await.unwrap();
    let error = store.flush().await.unwrap_err();
    let refused = store.audit().begin(beginning("T")).await.unwrap_err();
    assert_eq!(refused, error);
    // But what has begun may end, and its row stays until that is written.
    let closed = store.audit().close(call, entry("begun")).await;
    assert_eq!(closed, Err(error));
    assert_eq!(open_rows(&path).await, 1);
    execute(&mut other, "DROP TRIGGER fails").await;
    store.flush().await.unwrap();
    assert_eq!(entries(&store).await, [entry("kept"), entry("begun")]);
    assert_eq!(open_rows(&path).await, 0);
}

async fn execute_on_writer(store: &Store, sql: &'static str) {
    let writer = &store.audit().database.writer;
    sqlx::raw_sql(sql).execute(writer).await.unwrap();
}

#[tokio::test]
async fn nothing_begins_in_a_damaged_database() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for _ in 0..200 {
        store.audit().append(entry("T")).await.unwrap();
    }
    store.close().await.unwrap();
    let mut connection = behind_its_back(&path).await;
    let row = sqlx::query("SELECT rootpage FROM sqlite_schema WHERE name = 'audit'")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let root = usize::try_from(row.get::<i64, _>(0)).unwrap();
    connection.close().await.unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let page = 4096;
    bytes[(root - 1) * page..root * page].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();

    // The table of open calls is whole, so the store opens; only the log is not.
    let store = Store::open(&path).await.unwrap();
    let error = store.audit().begin(beginning("T")).await.unwrap_err();
    assert_eq!(error.code(), "store.corrupt");
    assert_eq!(open_rows(&path).await, 0);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_told_and_not_dropped() {
    let (_folder, path) = folder();
    Store::open(&path).await.unwrap().close().await.unwrap();
    let mut other = behind_its_back(&path).await;
    execute(&mut other, "INSERT INTO open_calls VALUES ('1', '', '{}')").await;
    let Err(error) = Store::open(&path).await else {
        panic!("it was opened");
    };
    assert_eq!(error.code(), "store.corrupt");
    assert_eq!(open_rows(&path).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_and_other_entries_keep_their_order_and_one_chain() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4 {
        let store = store.clone();
        tasks.spawn(async move {
            for step in 0..20 {
                let name = |what: &str| format!("{task} {what} {step:02}");
                let open = store.audit().begin(beginning("T")).await.unwrap();
                let before = store.audit().append(entry(&name("a")));
                before.await.unwrap();
                let close = store.audit().close(open, entry(&name("b")));
                close.await.unwrap();
                store.audit().append(entry(&name("c"))).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let filter = AuditFilter {
        limit: Some(1_000),
        ..AuditFilter::default()
    };
    let records = store.audit().query(filter).await.unwrap();
    let verified = store.audit().verify().await.unwrap();
    assert_eq!((verified.records, verified.broken), (240, None));
    for task in 0..4 {
        let tools = records.iter().rev().map(|record| &record.entry.tool);
        let own = tools.filter(|tool| tool.starts_with(&task.to_string()));
        let expected =
            (0..20).flat_map(|step| ["a", "b", "c"].map(|what| format!("{task} {what} {step:02}")));
        assert!(own.cloned().eq(expected), "{task}");
    }
    assert_eq!(open_rows(&path).await, 0);
}

#[tokio::test]
async fn older_databases_learn_of_open_calls() {
    for version in [1, 2] {
        let (_folder, path) = folder();
        std::fs::write(&path, "").unwrap();
        let mut old = behind_its_back(&path).await;
        schema::migrate_to(&mut old, &path, version).await.unwrap();
        let first = seal(entry("old")).unwrap();
        audit_chain::append(&mut old, &[first]).await.unwrap();
        old.close().await.unwrap();

        let store = Store::open(&path).await.unwrap();
        let call = store.audit().begin(beginning("new")).await.unwrap();
        store.audit().close(call, entry("new")).await.unwrap();
        assert_eq!(entries(&store).await, [entry("old"), entry("new")]);
    }
}
