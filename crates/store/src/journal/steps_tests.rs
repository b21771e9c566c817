use sqlx::Connection;

use super::super::EventRange;
use super::super::tests::{begin, quiet, step};
use super::*;
use crate::Store;
use crate::store::tests::{behind_its_back, folder};

const ALL: usize = 10_000;

/// Steps of two events each, with one that brought none in between, and a snapshot if it is wanted.
async fn filled(path: &Path, has_snapshot: bool) {
    let store = Store::open(path).await.unwrap();
    begin(&store, "r", 1).await;
    for turn in 0..10 {
        let first = 2 + turn * 2;
        let mut entry = step("r", first..=first + 1);
        entry.snapshot = (has_snapshot && turn == 3).then(|| "{}".into());
        store.journal().append(entry).await.unwrap();
        if turn == 6 {
            store.journal().append(quiet("r", "{}")).await.unwrap();
        }
    }
    store.close().await.unwrap();
}

async fn tampered(original: &Path, sql: &str) -> (tempfile::TempDir, Store) {
    let (folder, path) = folder();
    std::fs::copy(original, &path).unwrap();
    let mut other = behind_its_back(&path).await;
    let sql = sqlx::AssertSqlSafe(sql.to_owned());
    let done = sqlx::raw_sql(sql).execute(&mut other).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
    other.close().await.unwrap();
    (folder, Store::open(&path).await.unwrap())
}

fn is_damage<T>(read: Result<T, StoreError>) -> bool {
    match read {
        Ok(_) => false,
        Err(StoreError::Corrupt { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn nothing_is_replayed_over_a_step_that_is_not_what_was_written() {
    for has_snapshot in [false, true] {
        let (_folder, original) = folder();
        filled(&original, has_snapshot).await;
        for (sql, is_in_events) in [
            ("UPDATE journal SET lines = 'x' WHERE after_seq = 13", true),
            (
                "UPDATE journal SET events_sum = events_sum + 1 WHERE after_seq = 13",
                true,
            ),
            (
                "UPDATE journal SET changes = '{}' WHERE after_seq = 13",
                true,
            ),
            ("UPDATE journal SET events = 0 WHERE after_seq = 13", true),
            ("UPDATE journal SET events = -1 WHERE after_seq = 13", true),
            ("UPDATE journal SET events = 3 WHERE after_seq = 13", true),
            (
                "UPDATE journal SET after_seq = 12 WHERE after_seq = 13",
                true,
            ),
            (
                "UPDATE journal SET after_seq = 900 WHERE after_seq = 13",
                true,
            ),
            ("UPDATE journal SET input = 'x' WHERE after_seq = 13", false),
            (
                "UPDATE journal SET input_sum = input_sum + 1 WHERE after_seq = 13",
                false,
            ),
            ("DELETE FROM journal WHERE after_seq = 13", true),
            ("DELETE FROM journal WHERE after_seq = 19", true),
            ("UPDATE run_states SET last_seq = 3", true),
            ("UPDATE run_states SET last_seq = 0", true),
            ("UPDATE run_states SET last_seq = 99", true),
        ] {
            let (_folder, store) = tampered(&original, sql).await;
            let (journal, run) = (store.journal(), RunId::new("r"));
            assert!(is_damage(journal.replay(&run).await), "{sql}");
            let whole = [
                EventRange::After { seq: 0, limit: ALL },
                EventRange::Last { limit: ALL },
                EventRange::Before {
                    seq: 22,
                    limit: ALL,
                },
            ];
            for range in whole {
                let read = journal.events(&run, range).await;
                // Where the record says less than there is, only those who read up to the end can know.
                let says_less = matches!(range, EventRange::Before { .. })
                    && sql.starts_with("UPDATE run_states SET last_seq");
                assert!(
                    is_damage(read) == is_in_events || says_less,
                    "{sql} {range:?}"
                );
            }
            if !sql.contains("run_states") && !sql.contains("after_seq = 19") {
                let read = journal.inputs(&run, StepPlace::default(), ALL).await;
                assert!(is_damage(read), "{sql}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_not_touched_is_read_as_before() {
    let (_folder, original) = folder();
    filled(&original, true).await;
    let sql = "UPDATE journal SET lines = 'x' WHERE after_seq = 13";
    let (_folder, store) = tampered(&original, sql).await;
    let (journal, run) = (store.journal(), RunId::new("r"));
    for (range, first, count) in [
        (EventRange::After { seq: 0, limit: 13 }, 1, 13),
        (
            EventRange::Before {
                seq: 14,
                limit: ALL,
            },
            1,
            13,
        ),
        (
            EventRange::After {
                seq: 15,
                limit: ALL,
            },
            16,
            6,
        ),
        (EventRange::Last { limit: 6 }, 16, 6),
        (EventRange::Before { seq: 18, limit: 2 }, 16, 2),
        (
            EventRange::After {
                seq: 21,
                limit: ALL,
            },
            22,
            0,
        ),
        (
            EventRange::After {
                seq: 99,
                limit: ALL,
            },
            100,
            0,
        ),
        (EventRange::Before { seq: 1, limit: ALL }, 0, 0),
    ] {
        let events = journal.events(&run, range).await.unwrap();
        let found: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(
            found,
            (first..first + count).collect::<Vec<_>>(),
            "{range:?}"
        );
    }
    let place = StepPlace::default();
    let steps = journal.inputs(&run, place, 3).await.unwrap();
    assert_eq!(steps.len(), 3);
    let next = journal.inputs(&run, steps[2].place, 2).await.unwrap();
    assert_eq!(next[0].place.seq, 5);
    let (_folder, path) = folder();
    std::fs::copy(&original, &path).unwrap();
    let store = Store::open(&path).await.unwrap();
    let replay = store.journal().replay(&run).await.unwrap().unwrap();
    assert_eq!((replay.inputs.len(), replay.record.last_seq), (7, 21));
}

#[tokio::test]
async fn a_journal_that_is_gone_is_not_an_empty_one() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    begin(&store, "r", 1).await;
    let mut other = behind_its_back(&path).await;
    crate::store::tests::execute(&mut other, "DELETE FROM journal").await;
    let (journal, run) = (store.journal(), RunId::new("r"));
    let all = EventRange::After { seq: 0, limit: ALL };
    assert!(is_damage(journal.events(&run, all).await));
    assert!(is_damage(journal.replay(&run).await));
}
