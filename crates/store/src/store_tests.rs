use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

use super::*;
use crate::{
    AuditDecision, AuditEntry, AuditFilter, AuditOutcome, GrantKey, StoreError, Tampering, schema,
};

pub(crate) fn entry(tool: &str) -> AuditEntry {
    AuditEntry {
        at: Timestamp::from_microsecond(1_700_000_000_000_000).unwrap(),
        user: "default".into(),
        actor: "agent:storyteller".into(),
        project: "default".into(),
        run: "run_1".into(),
        call_id: "call_1".into(),
        request_id: None,
        tool: tool.into(),
        source: "builtin".into(),
        arguments: json!({"path": "user://a.txt"}),
        outcome: AuditOutcome::Success,
        error_code: None,
        message: None,
        duration_us: 12,
        decision: AuditDecision::Allow,
        rule: None,
        approved_by: None,
        attempts: 1,
        result_chars: 3,
    }
}

pub(crate) fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("innkeeper.db");
    (folder, path)
}

/// A connection past all that the store does.
pub(crate) async fn behind_its_back(path: &Path) -> SqliteConnection {
    SqliteConnection::connect(&format!("sqlite://{}", path.display()))
        .await
        .unwrap()
}

pub(crate) async fn execute(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

async fn refused(path: &Path) -> StoreError {
    match Store::open(path).await {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

#[tokio::test]
async fn what_was_written_is_there_after_opening_again() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    store.audit().append(entry("File.Read")).await.unwrap();
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    let records = store.audit().query(AuditFilter::default()).await.unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].entry, entry("File.Read"));
}

#[tokio::test]
async fn a_process_that_dies_keeps_what_was_flushed() {
    let (_folder, path) = folder();
    // A runtime of its own, gone without a word to the store.
    let file = path.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let store = runtime.block_on(async {
            let store = Store::open(&file).await.unwrap();
            for _ in 0..50 {
                store.audit().append(entry("File.Read")).await.unwrap();
            }
            store.flush().await.unwrap();
            store
        });
        runtime.shutdown_background();
        std::mem::forget(store);
    })
    .join()
    .unwrap();

    let store = Store::open(&path).await.unwrap();
    let verified = store.audit().verify().await.unwrap();
    assert_eq!((verified.records, verified.broken), (50, None));
}

#[tokio::test]
async fn dropping_the_last_handle_writes_what_is_waiting() {
    let (_folder, path) = folder();
    let reader = Store::open(&path).await.unwrap();
    let store = Store::open(&path).await.unwrap();
    store.audit().append(entry("File.Read")).await.unwrap();
    drop(store);
    let written = async { while reader.audit().verify().await.unwrap().records < 1 {} };
    tokio::time::timeout(std::time::Duration::from_secs(30), written)
        .await
        .unwrap();
}

#[tokio::test]
async fn after_closing_every_clone_says_so() {
    let store = Store::in_memory().await.unwrap();
    let other = store.clone();
    store.close().await.unwrap();
    assert_eq!(other.flush().await, Err(StoreError::Closed));
    assert_eq!(
        other.audit().append(entry("T")).await,
        Err(StoreError::Closed)
    );
    assert_eq!(
        other.audit().try_append(entry("T")),
        Err(StoreError::Closed)
    );
    assert_eq!(
        other.audit().query(AuditFilter::default()).await,
        Err(StoreError::Closed)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    store.audit().append(entry("T")).await.unwrap();
    drop(store.requests().claim("s", "r", "h").await.unwrap());
    store.flush().await.unwrap();
    let mut seen = 0;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?}", file.path());
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
    store.close().await.unwrap();

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    Store::open(&path).await.unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn an_older_database_is_brought_up_to_date() {
    let (_folder, path) = folder();
    std::fs::write(&path, "").unwrap();
    let mut old = behind_its_back(&path).await;
    schema::migrate_to(&mut old, &path, 1).await.unwrap();
    let first = crate::audit_chain::Sealed {
        at_us: 1,
        entry: serde_json::to_string(&entry("File.Read")).unwrap(),
        closes: None,
    };
    crate::audit_chain::append(&mut old, &[first])
        .await
        .unwrap();
    old.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    store.audit().append(entry("File.Write")).await.unwrap();
    let verified = store.audit().verify().await.unwrap();
    assert_eq!((verified.records, verified.broken), (2, None));
    assert_eq!(store.grants().list().await.unwrap(), []);
}

#[tokio::test]
async fn what_is_not_ours_or_too_new_or_damaged_is_refused() {
    let (_folder, path) = folder();
    Store::open(&path).await.unwrap().close().await.unwrap();
    let mut newer = behind_its_back(&path).await;
    execute(&mut newer, "PRAGMA user_version = 99").await;
    newer.close().await.unwrap();
    let error = refused(&path).await;
    assert_eq!(error.code(), "store.newer_version");
    assert!(error.to_string().contains("update"), "{error}");

    let (_folder, path) = folder();
    std::fs::write(&path, "").unwrap();
    let mut foreign = behind_its_back(&path).await;
    execute(&mut foreign, "CREATE TABLE cookies (a)").await;
    foreign.close().await.unwrap();
    assert_eq!(refused(&path).await.code(), "store.foreign_database");

    let (_folder, path) = folder();
    std::fs::write(&path, "this is no database at all".repeat(100)).unwrap();
    let error = refused(&path).await;
    assert_eq!(error.code(), "store.corrupt");
    assert!(error.to_string().contains("innkeeper.db"), "{error}");
}

#[tokio::test]
async fn damage_inside_is_told_apart() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for _ in 0..200 {
        store.audit().append(entry("T")).await.unwrap();
    }
    store.close().await.unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let page = 4096;
    for byte in bytes.iter_mut().skip(page) {
        *byte = 0x5a;
    }
    std::fs::write(&path, bytes).unwrap();
    let outcome = match Store::open(&path).await {
        Ok(store) => store
            .audit()
            .query(AuditFilter::default())
            .await
            .map(|_| ()),
        Err(error) => Err(error),
    };
    assert_eq!(outcome.unwrap_err().code(), "store.corrupt");
}

#[tokio::test]
async fn places_where_nothing_can_be_written_are_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let mut places = vec![
        folder.path().join("missing").join("innkeeper.db"),
        folder.path().join("file").join("innkeeper.db"),
        folder.path().to_owned(),
    ];
    // Nobody, whatever their rights, can put a file here.
    #[cfg(target_os = "linux")]
    places.push("/proc/innkeeper.db".into());
    for place in places.drain(..) {
        let error = refused(&place).await;
        assert_eq!(error.code(), "store.cannot_open", "{}", place.display());
        assert!(
            error.to_string().contains(&place.display().to_string()),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_on_one_file_keep_one_chain() {
    let (_folder, path) = folder();
    let (first, second) = tokio::join!(Store::open(&path), Store::open(&path));
    let stores = [first.unwrap(), second.unwrap()];
    let mut tasks = Vec::new();
    for store in &stores {
        for task in 0..4 {
            let store = store.clone();
            tasks.push(tokio::spawn(async move {
                for _ in 0..100 {
                    store.audit().append(entry("T")).await.unwrap();
                }
                let key = GrantKey {
                    user: "default".into(),
                    actor: "person".into(),
                    tool: format!("T{task}"),
                    source: "builtin".into(),
                    rule: "r".into(),
                };
                store.grants().add(key, None).await.unwrap();
            }));
        }
    }
    for task in tasks {
        task.await.unwrap();
    }
    for store in &stores {
        store.flush().await.unwrap();
    }
    let verified = stores[0].audit().verify().await.unwrap();
    assert_eq!((verified.records, verified.broken), (800, None));
    assert_eq!(stores[1].grants().list().await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_log_that_cannot_be_written_refuses_until_it_can() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let mut other = behind_its_back(&path).await;
    execute(
        &mut other,
        "CREATE TRIGGER fails BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    )
    .await;
    store.audit().append(entry("kept")).await.unwrap();
    let error = store.flush().await.unwrap_err();
    assert!(error.to_string().contains("disk full"), "{error}");
    assert_eq!(
        store.audit().append(entry("refused")).await,
        Err(error.clone())
    );
    assert_eq!(store.audit().try_append(entry("refused")), Err(error));

    execute(&mut other, "DROP TRIGGER fails").await;
    store.flush().await.unwrap();
    store.audit().append(entry("later")).await.unwrap();
    let records = store.audit().query(AuditFilter::default()).await.unwrap();
    let tools: Vec<_> = records.iter().map(|r| r.entry.tool.as_str()).collect();
    // What was refused had happened all the same.
    assert_eq!(tools, ["later", "refused", "refused", "kept"]);
}

#[tokio::test]
async fn a_change_that_fails_does_not_take_the_log_with_it() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let mut other = behind_its_back(&path).await;
    execute(
        &mut other,
        "CREATE TRIGGER fails BEFORE INSERT ON grants BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    .await;
    let key = GrantKey {
        user: "u".into(),
        actor: "a".into(),
        tool: "t".into(),
        source: "s".into(),
        rule: "r".into(),
    };
    let (appended, granted) = tokio::join!(
        store.audit().append(entry("T")),
        store.grants().add(key, None)
    );
    appended.unwrap();
    assert_eq!(granted.unwrap_err().code(), "store.write_failed");
    store.audit().append(entry("T")).await.unwrap();
    assert_eq!(store.audit().verify().await.unwrap().records, 2);
}

#[tokio::test]
async fn removed_records_at_the_end_are_missed() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for _ in 0..3 {
        store.audit().append(entry("T")).await.unwrap();
    }
    store.flush().await.unwrap();
    let mut other = behind_its_back(&path).await;
    execute(
        &mut other,
        "DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE id = 3",
    )
    .await;
    let broken = store.audit().verify().await.unwrap().broken.unwrap();
    assert_eq!((broken.id, broken.what), (3, Tampering::Missing));
}

#[tokio::test]
async fn where_nothing_can_be_written_it_can_be_read() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    crate::journal::tests::begin(&store, "r", 3).await;
    store.close().await.unwrap();
    let names = || {
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = (names(), std::fs::read(&path).unwrap());
    let immutable = sqlx::sqlite::SqliteConnectOptions::new()
        .filename(&path)
        .read_only(true)
        .immutable(true);
    let database = Database::read_over(&path, immutable).await.unwrap();
    let store = Store::over(database);
    let all = crate::journal::EventRange::Last { limit: 10 };
    let events = store.journal().events(&"r".into(), all).await.unwrap();
    assert_eq!(events.len(), 3);
    assert_eq!(
        store.try_writing().await.unwrap_err().code(),
        "store.write_failed"
    );
    let refused = store.journal().delete(&"r".into()).await.unwrap_err();
    assert_eq!(refused.code(), "store.write_failed");
    store.close().await.unwrap();
    assert_eq!((names(), std::fs::read(&path).unwrap()), before);
    let store = Store::open_to_read(&path).await.unwrap();
    store.try_writing().await.unwrap();
    store.close().await.unwrap();
    let missing = Store::open_to_read(&folder.path().join("no/innkeeper.db")).await;
    assert_eq!(missing.err().unwrap().code(), "store.cannot_open");
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_that_is_closed_to_writing_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    crate::journal::tests::begin(&store, "r", 3).await;
    store.close().await.unwrap();
    let mode = |mode: u32| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&path, mode(0o400)).unwrap();
    std::fs::set_permissions(folder.path(), mode(0o500)).unwrap();
    let read = async {
        let store = Store::open_to_read(&path).await?;
        let record = store.journal().record(&"r".into()).await?;
        store.close().await?;
        Ok::<_, StoreError>(record.map(|record| record.last_seq))
    };
    let read = read.await;
    std::fs::set_permissions(folder.path(), mode(0o700)).unwrap();
    assert_eq!(read.unwrap(), Some(3));
}
