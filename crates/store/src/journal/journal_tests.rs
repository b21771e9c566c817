use innkeeper_protocol::event::{RunEventKind, RunStatus};
use serde_json::Value as Json;

use super::*;
use crate::journal::tests::{at, begin, event, last, note, quiet, record, step};
use crate::journal::{CommittedMessage, RunCursor, RunUpdate};
use crate::limits::{MAX_ENTRY_BLOBS, MAX_ENTRY_BYTES, MAX_ENTRY_EVENTS, MAX_JSON_DEPTH};
use crate::store::tests::{behind_its_back, entry as audit_entry, execute, folder};
use crate::{GrantKey, Store, StoreError};

async fn seqs(store: &Store, run: &str, range: EventRange) -> Vec<u64> {
    let events = store.journal().events(&run.into(), range).await.unwrap();
    events.iter().map(|event| event.seq).collect()
}

const ALL: EventRange = EventRange::After {
    seq: 0,
    limit: 1_000,
};

#[tokio::test]
async fn what_happened_is_there_after_opening_again() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    begin(&store, "r", 2).await;
    let mut entry = step("r", 3..=4);
    entry.update = RunUpdate {
        status: Some(RunStatus::CallingModel),
        commit_count: Some(1),
        committed_message: Some(CommittedMessage {
            commit_id: "c".to_owned(),
            message_id: "m".to_owned(),
            message_index: Some(4),
            committed_at: at(9),
        }),
    };
    store.journal().append(entry.clone()).await.unwrap();
    let before = store.journal().record(&"r".into()).await.unwrap().unwrap();
    assert_eq!(
        before,
        RunRecord {
            status: RunStatus::CallingModel,
            updated_at: at(4),
            commit_count: 1,
            committed_message: entry.update.committed_message.clone(),
            last_seq: 4,
            ..record("r")
        }
    );
    store.journal().append(last("r", 5)).await.unwrap();
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    let found = store.journal().events(&"r".into(), ALL).await.unwrap();
    let expected: Vec<_> = step("r", 1..=4)
        .events
        .into_iter()
        .chain(last("r", 5).events)
        .collect();
    assert_eq!(found, expected);
    let after = store.journal().record(&"r".into()).await.unwrap().unwrap();
    assert_eq!(
        after,
        RunRecord {
            status: RunStatus::Completed,
            updated_at: at(5),
            terminal_at: Some(at(5)),
            last_seq: 5,
            ..before
        }
    );
    assert_eq!(store.journal().record(&"x".into()).await.unwrap(), None);
    assert_eq!(store.journal().replay(&"x".into()).await.unwrap(), None);
    assert_eq!(seqs(&store, "x", ALL).await, [0_u64; 0]);
}

#[tokio::test]
async fn any_part_of_a_run_can_be_read() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 3).await;
    begin(&store, "other", 5).await;
    for entry in [
        step("r", 4..=4),
        quiet("r", "1"),
        quiet("r", "2"),
        step("r", 5..=9),
        step("r", 10..=10),
        quiet("r", "3"),
    ] {
        store.journal().append(entry).await.unwrap();
    }
    let after = |seq, limit| EventRange::After { seq, limit };
    let before = |seq, limit| EventRange::Before { seq, limit };
    for (range, expected) in [
        (ALL, (1..=10).collect::<Vec<_>>()),
        (after(0, 2), vec![1, 2]),
        (after(2, 3), vec![3, 4, 5]),
        (after(4, 1), vec![5]),
        (after(6, 100), vec![7, 8, 9, 10]),
        (after(9, 5), vec![10]),
        (after(10, 5), vec![]),
        (after(99, 5), vec![]),
        (after(u64::MAX, 5), vec![]),
        (before(1, 5), vec![]),
        (before(0, 5), vec![]),
        (before(2, 5), vec![1]),
        (before(5, 2), vec![3, 4]),
        (before(8, 3), vec![5, 6, 7]),
        (before(11, 2), vec![9, 10]),
        (before(u64::MAX, 2), vec![9, 10]),
        (EventRange::Last { limit: 3 }, vec![8, 9, 10]),
        (EventRange::Last { limit: 100 }, (1..=10).collect()),
        (EventRange::Last { limit: 0 }, vec![]),
    ] {
        assert_eq!(seqs(&store, "r", range).await, expected, "{range:?}");
    }
}

#[tokio::test]
async fn what_does_not_follow_is_refused_and_leaves_nothing() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 2).await;
    begin(&store, "over", 1).await;
    store.journal().append(last("over", 2)).await.unwrap();
    let mut twice_over = last("r", 3);
    twice_over.events.push(note("r", 4));
    let mut elsewhere = step("r", 3..=3);
    elsewhere.events = vec![note("over", 3)];
    let mut hole = step("r", 3..=5);
    hole.events.remove(1);
    let mut deep = step("r", 3..=3);
    deep.events = vec![event(
        "r",
        3,
        RunEventKind::Other {
            kind: "deep".to_owned(),
            payload: crate::depth::nested(MAX_JSON_DEPTH + 1),
        },
    )];
    for (entry, expected) in [
        (step("r", 2..=2), StoreError::Gap { last: 2, found: 2 }),
        (step("r", 4..=4), StoreError::Gap { last: 2, found: 4 }),
        (step("r", 1..=3), StoreError::Gap { last: 2, found: 1 }),
        (hole, StoreError::Gap { last: 3, found: 5 }),
        (step("over", 3..=3), StoreError::RunOver),
        (quiet("over", "x"), StoreError::RunOver),
        (twice_over, StoreError::RunOver),
        (step("none", 1..=1), StoreError::NoRun("none".to_owned())),
        (elsewhere, StoreError::NoRun("over".to_owned())),
        (
            deep,
            StoreError::TooDeep {
                what: "an event of the run",
            },
        ),
        (
            Entry {
                input: nested(MAX_JSON_DEPTH + 1),
                ..step("r", 3..=3)
            },
            StoreError::TooDeep {
                what: "a step of the run",
            },
        ),
        (
            Entry {
                snapshot: Some(nested(MAX_JSON_DEPTH + 1)),
                ..step("r", 3..=3)
            },
            StoreError::TooDeep {
                what: "the snapshot of the run",
            },
        ),
        (
            step("r", 3..=3 + MAX_ENTRY_EVENTS as u64),
            StoreError::TooLarge {
                what: "the number of events of a step",
                size: MAX_ENTRY_EVENTS + 1,
                limit: MAX_ENTRY_EVENTS,
            },
        ),
    ] {
        assert_eq!(store.journal().append(entry).await, Err(expected));
    }
    let large = Entry {
        input: "x".repeat(MAX_ENTRY_BYTES + 1).into(),
        ..step("r", 3..=3)
    };
    let many = Entry {
        trees: vec![crate::Tree::default(); MAX_ENTRY_BLOBS + 1],
        ..step("r", 3..=3)
    };
    for entry in [large, many] {
        let error = store.journal().append(entry).await.unwrap_err();
        assert_eq!(error.code(), "store.too_large");
    }
    let name = "x".repeat(MAX_RUN_ID_CHARS + 1);
    let journal = store.journal();
    let long = journal.create(record(&name), step(&name, 1..=1)).await;
    assert_eq!(long.unwrap_err().code(), "store.too_large");
    for (record, first, expected) in [
        (
            record("r"),
            step("r", 1..=1),
            StoreError::RunExists("r".to_owned()),
        ),
        (
            record("new"),
            step("new", 2..=2),
            StoreError::Gap { last: 0, found: 2 },
        ),
        (
            record("new"),
            step("r", 3..=3),
            StoreError::NoRun("r".to_owned()),
        ),
    ] {
        assert_eq!(store.journal().create(record, first).await, Err(expected));
    }
    assert_eq!(seqs(&store, "r", ALL).await, [1, 2]);
    assert_eq!(seqs(&store, "over", ALL).await, [1, 2]);
    assert_eq!(store.journal().record(&"new".into()).await.unwrap(), None);
    store.journal().append(step("r", 3..=3)).await.unwrap();
}

#[tokio::test]
async fn one_who_is_refused_takes_nobody_along() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for run in ["a", "b", "c"] {
        begin(&store, run, 1).await;
    }
    let journal = store.journal();
    let (a, b, gap, c, again) = tokio::join!(
        journal.append(step("a", 2..=2)),
        journal.append(step("b", 2..=3)),
        journal.append(step("c", 7..=7)),
        journal.append(step("c", 2..=2)),
        journal.append(step("a", 3..=3)),
    );
    assert_eq!((a, b, c, again), (Ok(()), Ok(()), Ok(()), Ok(())));
    assert_eq!(gap.unwrap_err().code(), "store.gap");

    // Nor does one whom the database itself refuses.
    let mut other = behind_its_back(&path).await;
    execute(
        &mut other,
        "CREATE TRIGGER no_b BEFORE INSERT ON journal WHEN NEW.input = 'no' BEGIN SELECT RAISE(ABORT, 'no'); END;
         CREATE TRIGGER no_grant BEFORE INSERT ON grants BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    .await;
    let key = GrantKey {
        user: "u".into(),
        actor: "a".into(),
        tool: "t".into(),
        source: "s".into(),
        rule: "r".into(),
    };
    let (a, b, c, granted, logged) = tokio::join!(
        journal.append(step("a", 4..=4)),
        journal.append(quiet("b", "no")),
        journal.append(step("c", 3..=3)),
        store.grants().add(key, None),
        store.audit().append(audit_entry("T")),
    );
    assert_eq!((a, c, logged), (Ok(()), Ok(()), Ok(())));
    assert_eq!(b.unwrap_err().code(), "store.write_failed");
    assert_eq!(granted.unwrap_err().code(), "store.write_failed");
    assert_eq!(seqs(&store, "a", ALL).await, [1, 2, 3, 4]);
    assert_eq!(seqs(&store, "b", ALL).await, [1, 2, 3]);
    assert_eq!(seqs(&store, "c", ALL).await, [1, 2, 3]);
    assert_eq!(store.audit().verify().await.unwrap().records, 1);
}

#[tokio::test]
async fn steps_of_one_run_that_come_together_are_as_if_they_came_one_by_one() {
    let marked = |input: &str, snapshot: Option<&str>, entry: Entry| Entry {
        input: input.into(),
        snapshot: snapshot.map(Arc::from),
        ..entry
    };
    let entries = || {
        let mut busy = step("r", 3..=4);
        busy.update.status = Some(RunStatus::CallingModel);
        vec![
            (marked("a", None, step("r", 2..=2)), None),
            (marked("b", None, quiet("r", "")), None),
            (marked("c", None, busy), None),
            (marked("gap", None, step("r", 9..=9)), Some("store.gap")),
            (marked("d", Some("after d"), step("r", 5..=5)), None),
            (marked("e", None, quiet("r", "")), None),
            (marked("f", None, step("r", 6..=7)), None),
            (marked("g", None, last("r", 8)), None),
            (marked("late", None, quiet("r", "")), Some("store.run_over")),
            (
                marked("late", None, step("r", 9..=9)),
                Some("store.run_over"),
            ),
        ]
    };
    for together in [true, false] {
        let store = Store::in_memory().await.unwrap();
        begin(&store, "r", 1).await;
        let journal = store.journal();
        let mut on_their_way = Vec::new();
        for (entry, expected) in entries() {
            let written = journal.submit(entry).await.unwrap();
            match together {
                true => on_their_way.push((written, expected)),
                false => assert_eq!(code(written.wait().await), expected),
            }
        }
        for (written, expected) in on_their_way {
            assert_eq!(code(written.wait().await), expected);
        }
        assert_eq!(seqs(&store, "r", ALL).await, [1, 2, 3, 4, 5, 6, 7, 8]);
        let replay = journal.replay(&"r".into()).await.unwrap().unwrap();
        assert_eq!(replay.snapshot.as_deref(), Some("after d"));
        assert_eq!(replay.inputs, ["e", "f", "g"].map(Arc::from));
        assert_eq!(replay.record.status, RunStatus::Completed);
        assert_eq!(replay.record.last_seq, 8);
    }
}

fn code(written: Result<(), StoreError>) -> Option<&'static str> {
    written.err().map(|error| error.code())
}

#[tokio::test]
async fn a_run_is_brought_back_from_its_last_snapshot() {
    let store = Store::in_memory().await.unwrap();
    let journal = store.journal();
    let first = Entry {
        input: "0".into(),
        ..step("r", 1..=1)
    };
    journal.create(record("r"), first).await.unwrap();
    journal.append(quiet("r", "1")).await.unwrap();
    let replay = journal.replay(&"r".into()).await.unwrap().unwrap();
    assert_eq!(replay.snapshot, None);
    assert_eq!(replay.inputs, [Arc::from("0"), Arc::from("1")]);
    for (input, snapshot) in [
        ("2", Some("s2")),
        ("3", Some("s3")),
        ("4", None),
        ("5", None),
    ] {
        let entry = Entry {
            snapshot: snapshot.map(Arc::from),
            ..quiet("r", input)
        };
        journal.append(entry).await.unwrap();
    }
    let more = Entry {
        input: "6".into(),
        ..step("r", 2..=2)
    };
    journal.append(more).await.unwrap();
    let replay = journal.replay(&"r".into()).await.unwrap().unwrap();
    assert_eq!(replay.snapshot.as_deref(), Some("s3"));
    assert_eq!(replay.inputs, ["4", "5", "6"].map(Arc::from));
    assert_eq!(replay.record.last_seq, 2);

    // And all of it can be paged through, whatever the pages.
    for limit in [1, 2, 3, 100] {
        let mut place = StepPlace::default();
        let mut all = Vec::new();
        loop {
            let page = journal.inputs(&"r".into(), place, limit).await.unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            place = last.place;
            all.extend(page.into_iter().map(|step| (step.place.seq, step.input)));
        }
        let expected = [
            (0, "0"),
            (1, "1"),
            (1, "2"),
            (1, "3"),
            (1, "4"),
            (1, "5"),
            (1, "6"),
        ];
        assert_eq!(all, expected.map(|(seq, input)| (seq, Arc::from(input))));
    }
}

#[tokio::test]
async fn runs_are_listed_newest_first() {
    let store = Store::in_memory().await.unwrap();
    let journal = store.journal();
    for (run, chat, workspace, time) in [
        ("a", "c1", "w1", 1),
        ("b", "c2", "w1", 2),
        ("c", "c1", "w2", 2),
        ("d", "c1", "w1", 3),
    ] {
        let record = RunRecord {
            stable_chat_id: chat.to_owned(),
            workspace_id: workspace.into(),
            created_at: at(time),
            ..record(run)
        };
        journal.create(record, step(run, 1..=1)).await.unwrap();
    }
    journal.append(last("c", 2)).await.unwrap();
    let list = async |filter: RunFilter| {
        let page = store.journal().runs(&filter).await.unwrap();
        let ids: Vec<_> = page.runs.iter().map(|run| run.run_id.to_string()).collect();
        (ids.join(""), page.next)
    };
    let all = RunFilter::default();
    let chat = Some("c1".to_owned());
    for (filter, expected) in [
        (all.clone(), "dcba"),
        (
            RunFilter {
                stable_chat_id: chat.clone(),
                ..all.clone()
            },
            "dca",
        ),
        (
            RunFilter {
                workspace_id: Some("w1".into()),
                stable_chat_id: chat,
                ..all.clone()
            },
            "da",
        ),
        (
            RunFilter {
                statuses: vec![RunStatus::Completed, RunStatus::Failed],
                ..all.clone()
            },
            "c",
        ),
        (
            RunFilter {
                statuses: vec![RunStatus::Created],
                ..all.clone()
            },
            "dba",
        ),
        (
            RunFilter {
                statuses: vec![RunStatus::Failed],
                ..all.clone()
            },
            "",
        ),
    ] {
        assert_eq!(
            list(filter.clone()).await,
            (expected.to_owned(), None),
            "{filter:?}"
        );
    }
    let mut before = None;
    for expected in ["d", "c", "b", "a"] {
        let filter = RunFilter {
            limit: 1,
            before,
            ..all.clone()
        };
        let (found, next) = list(filter).await;
        assert_eq!(found, expected);
        before = next;
    }
    assert_eq!(before, None::<RunCursor>);
    let unfinished = journal.unfinished().await.unwrap();
    let unfinished: Vec<_> = unfinished.iter().map(|run| run.run_id.as_str()).collect();
    assert_eq!(unfinished, ["a", "b", "d"]);
}

#[tokio::test]
async fn a_deleted_run_is_gone_with_all_that_was_its() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    begin(&store, "r", 3).await;
    begin(&store, "other", 2).await;
    for seq in 4..100 {
        store.journal().append(step("r", seq..=seq)).await.unwrap();
    }
    assert_eq!(store.journal().delete(&"r".into()).await, Ok(true));
    assert_eq!(store.journal().delete(&"r".into()).await, Ok(false));
    assert_eq!(seqs(&store, "r", ALL).await, [0_u64; 0]);
    assert_eq!(
        store.journal().append(step("r", 100..=100)).await,
        Err(StoreError::NoRun("r".to_owned()))
    );
    let mut other = behind_its_back(&path).await;
    let left: i64 = sqlx::query("SELECT count(*) FROM journal")
        .fetch_one(&mut other)
        .await
        .unwrap()
        .get(0);
    assert_eq!(left, 1);
    // The id is free again, and what comes under it is not mixed with what was, whoever makes it.
    begin(&store, "r", 1).await;
    let elsewhere = Store::open(&path).await.unwrap();
    elsewhere.journal().delete(&"r".into()).await.unwrap();
    begin(&elsewhere, "r", 1).await;
    assert_eq!(seqs(&store, "r", ALL).await, [1]);
    let first = store.journal().append(step("r", 2..=2)).await;
    assert_eq!(first, Err(StoreError::NoRun("r".to_owned())));
    store.journal().append(step("r", 2..=2)).await.unwrap();
    assert_eq!(seqs(&store, "r", ALL).await, [1, 2]);
    assert_eq!(seqs(&store, "other", ALL).await, [1, 2]);
}

#[tokio::test]
async fn what_was_changed_behind_its_back_is_not_passed_on() {
    for (sql, what) in [
        (
            "UPDATE journal SET lines = replace(lines, 'event 2', 'event 9')",
            "events",
        ),
        ("UPDATE journal SET lines = substr(lines, 1, 20)", "events"),
        ("UPDATE journal SET input = 'x'", "input"),
        ("UPDATE snapshots SET state = 'x'", "replay"),
    ] {
        let (_folder, path) = folder();
        let store = Store::open(&path).await.unwrap();
        begin(&store, "r", 3).await;
        let entry = Entry {
            snapshot: Some("s".into()),
            ..quiet("r", "q")
        };
        store.journal().append(entry).await.unwrap();
        execute(&mut behind_its_back(&path).await, sql).await;
        let journal = store.journal();
        let run = RunId::new("r");
        let outcome = match what {
            "events" => journal.events(&run, ALL).await.map(drop),
            "input" => journal
                .inputs(&run, StepPlace::default(), 9)
                .await
                .map(drop),
            _ => journal.replay(&run).await.map(drop),
        };
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), "store.corrupt", "{sql}");
        let text = error.to_string();
        assert!(
            text.contains("run 'r'") && text.contains("--repair"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn times_that_are_none_do_not_lose_an_event() {
    let store = Store::in_memory().await.unwrap();
    let mut entry = step("r", 1..=1);
    entry.events[0].timestamp = "yesterday".into();
    store
        .journal()
        .create(record("r"), entry.clone())
        .await
        .unwrap();
    let found = store.journal().events(&"r".into(), ALL).await.unwrap();
    assert_eq!(found, entry.events);
    let _: Json = serde_json::to_value(&found[0]).unwrap();
}

fn nested(depth: usize) -> Arc<str> {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth)).into()
}
