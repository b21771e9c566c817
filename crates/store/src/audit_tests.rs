use serde_json::json;

use super::*;
use crate::limits::MAX_OVERFLOW;
use crate::store::tests::{behind_its_back, entry, execute, folder};
use crate::{Store, Tampering};

async fn store_with(entries: impl IntoIterator<Item = AuditEntry>) -> Store {
    let store = Store::in_memory().await.unwrap();
    for entry in entries {
        store.audit().append(entry).await.unwrap();
    }
    store
}

#[tokio::test]
async fn filters_find_what_they_name() {
    let other = AuditEntry {
        user: "mia".into(),
        actor: "person".into(),
        project: "inn".into(),
        run: "run_2".into(),
        source: "plugin:weather".into(),
        arguments: json!({"city": "Zürich [old?]"}),
        outcome: AuditOutcome::Denied,
        decision: AuditDecision::Deny,
        at: "2030-01-01T00:00:00.5Z".parse().unwrap(),
        ..entry("Weather:now")
    };
    let store = store_with([
        entry("File.Read"),
        entry("File.Write"),
        entry("Odd[?]Name"),
        other,
    ])
    .await;
    let all = AuditFilter::default;
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (all(), &[4, 3, 2, 1][..]),
        (
            AuditFilter {
                tool: text("File.Read"),
                ..all()
            },
            &[1],
        ),
        (
            AuditFilter {
                tool: text("File.*"),
                ..all()
            },
            &[2, 1],
        ),
        (
            AuditFilter {
                tool: text("file.*"),
                ..all()
            },
            &[],
        ),
        (
            AuditFilter {
                tool: text("*Re*"),
                ..all()
            },
            &[1],
        ),
        (
            AuditFilter {
                tool: text("Odd[?]*"),
                ..all()
            },
            &[3],
        ),
        (
            AuditFilter {
                tool: text("File.Rea?"),
                ..all()
            },
            &[],
        ),
        (
            AuditFilter {
                actor: text("agent:*"),
                ..all()
            },
            &[3, 2, 1],
        ),
        (
            AuditFilter {
                source: text("plugin:*"),
                ..all()
            },
            &[4],
        ),
        (
            AuditFilter {
                user: text("mia"),
                ..all()
            },
            &[4],
        ),
        (
            AuditFilter {
                user: text("m*"),
                ..all()
            },
            &[],
        ),
        (
            AuditFilter {
                project: text("inn"),
                ..all()
            },
            &[4],
        ),
        (
            AuditFilter {
                run: text("run_1"),
                ..all()
            },
            &[3, 2, 1],
        ),
        (
            AuditFilter {
                outcome: Some(AuditOutcome::Denied),
                ..all()
            },
            &[4],
        ),
        (
            AuditFilter {
                decision: Some(AuditDecision::Allow),
                ..all()
            },
            &[3, 2, 1],
        ),
        (
            AuditFilter {
                since: Some("2030-01-01T00:00:00Z".parse().unwrap()),
                ..all()
            },
            &[4],
        ),
        (
            AuditFilter {
                since: Some("2030-01-01T00:00:01Z".parse().unwrap()),
                ..all()
            },
            &[],
        ),
        (
            AuditFilter {
                until: Some("2030-01-01T00:00:00.5Z".parse().unwrap()),
                ..all()
            },
            &[3, 2, 1],
        ),
        (
            AuditFilter {
                text: text("Zürich"),
                ..all()
            },
            &[4],
        ),
        (
            AuditFilter {
                text: text("File"),
                ..all()
            },
            &[],
        ),
        (
            AuditFilter {
                before: Some(3),
                ..all()
            },
            &[2, 1],
        ),
        (
            AuditFilter {
                limit: Some(2),
                ..all()
            },
            &[4, 3],
        ),
        (
            AuditFilter {
                limit: Some(0),
                ..all()
            },
            &[],
        ),
        (
            AuditFilter {
                limit: Some(usize::MAX),
                ..all()
            },
            &[4, 3, 2, 1],
        ),
        (
            AuditFilter {
                tool: text("File.*"),
                before: Some(2),
                limit: Some(5),
                ..all()
            },
            &[1],
        ),
        (
            AuditFilter {
                tool: text("' OR 1 --"),
                ..all()
            },
            &[],
        ),
    ] {
        let found = store.audit().query(filter.clone()).await.unwrap();
        let ids: Vec<_> = found.iter().map(|record| record.id).collect();
        assert_eq!(ids, expected, "{filter:?}");
    }
}

#[tokio::test]
async fn an_answer_is_bounded() {
    let store = store_with((0..MAX_AUDIT_RECORDS + 5).map(|_| entry("T"))).await;
    let ask = async |limit| {
        let filter = AuditFilter {
            limit,
            ..AuditFilter::default()
        };
        store.audit().query(filter).await.unwrap().len()
    };
    assert_eq!(ask(None).await, DEFAULT_AUDIT_RECORDS);
    assert_eq!(ask(Some(usize::MAX)).await, MAX_AUDIT_RECORDS);
    let verified = store.audit().verify().await.unwrap();
    assert_eq!(verified.records as usize, MAX_AUDIT_RECORDS + 5);
}

#[tokio::test]
async fn the_log_takes_no_change_and_no_removal() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for _ in 0..3 {
        store.audit().append(entry("T")).await.unwrap();
    }
    store.flush().await.unwrap();
    let mut other = behind_its_back(&path).await;
    for sql in [
        "UPDATE audit SET at_us = 0 WHERE id = 2",
        "DELETE FROM audit WHERE id = 2",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit (id, at_us, entry, hash) SELECT 2, at_us, '{}', hash FROM audit WHERE id = 2",
        "INSERT INTO audit (id, at_us, entry, hash) SELECT 9, at_us, entry, hash FROM audit WHERE id = 2",
        "INSERT INTO audit (at_us, entry, hash) SELECT at_us, entry, hash FROM audit WHERE id = 2",
    ] {
        let error = sqlx::raw_sql(sql).execute(&mut other).await.unwrap_err();
        assert!(error.to_string().contains("append-only"), "{sql}: {error}");
    }
    let verified = store.audit().verify().await.unwrap();
    assert_eq!((verified.records, verified.broken), (3, None));
}

#[tokio::test]
async fn tampering_is_found_where_it_begins() {
    for (sql, id, what) in [
        (
            "UPDATE audit SET entry = replace(entry, 'user://a.txt', 'user://b.txt') WHERE id = 2",
            2,
            Tampering::Changed,
        ),
        (
            "UPDATE audit SET at_us = at_us + 1 WHERE id = 3",
            3,
            Tampering::Changed,
        ),
        (
            "UPDATE audit SET hash = (SELECT hash FROM audit WHERE id = 1) WHERE id = 4",
            4,
            Tampering::Changed,
        ),
        ("DELETE FROM audit WHERE id = 2", 2, Tampering::Missing),
        ("DELETE FROM audit WHERE id = 1", 1, Tampering::Missing),
        ("DELETE FROM audit WHERE id > 2", 3, Tampering::Missing),
        ("DELETE FROM audit", 1, Tampering::Missing),
        (
            "DELETE FROM audit WHERE id = 2; UPDATE audit SET id = id - 1 WHERE id > 2",
            2,
            Tampering::Changed,
        ),
    ] {
        let (_folder, path) = folder();
        let store = Store::open(&path).await.unwrap();
        for _ in 0..4 {
            store.audit().append(entry("T")).await.unwrap();
        }
        let before = store.audit().verify().await.unwrap();
        assert!(before.is_intact());
        let mut other = behind_its_back(&path).await;
        execute(
            &mut other,
            "DROP TRIGGER audit_no_update; DROP TRIGGER audit_no_delete",
        )
        .await;
        execute(&mut other, sql).await;
        let after = store.audit().verify().await.unwrap();
        let broken = after.broken.unwrap_or_else(|| panic!("not found: {sql}"));
        assert_eq!((broken.id, broken.what), (id, what), "{sql}");
        assert_eq!(after.records, id - 1, "{sql}");
    }
}

/// Whoever changes a record and its hash as well breaks the link to the next one.
#[tokio::test]
async fn a_record_with_a_hash_made_for_it_is_found_by_the_next() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for _ in 0..3 {
        store.audit().append(entry("T")).await.unwrap();
    }
    let records = store.audit().query(AuditFilter::default()).await.unwrap();
    let first = crate::audit_chain::Head {
        id: 1,
        hash: records[2].hash.clone(),
    };
    let forged = seal(entry("Harmless")).unwrap();
    let second = first.next(forged.at_us, &forged.entry);
    let mut other = behind_its_back(&path).await;
    execute(&mut other, "DROP TRIGGER audit_no_update").await;
    sqlx::query("UPDATE audit SET entry = ?, hash = ? WHERE id = 2")
        .bind(&forged.entry)
        .bind(&second.hash)
        .execute(&mut other)
        .await
        .unwrap();
    let broken = store.audit().verify().await.unwrap().broken.unwrap();
    assert_eq!((broken.id, broken.what), (3, Tampering::Changed));
}

#[tokio::test]
async fn the_same_entries_give_the_same_chain() {
    let first = store_with([entry("A"), entry("B")]).await;
    let second = store_with([entry("A"), entry("B")]).await;
    let swapped = store_with([entry("B"), entry("A")]).await;
    let head = async |store: &Store| store.audit().verify().await.unwrap().head;
    assert_eq!(head(&first).await, head(&second).await);
    assert_ne!(head(&first).await, head(&swapped).await);
}

#[tokio::test]
async fn long_entries_are_cut_and_say_so() {
    let long = AuditEntry {
        tool: "t".repeat(MAX_AUDIT_NAME_CHARS + 1),
        rule: Some("规".repeat(MAX_AUDIT_NAME_CHARS + 1)),
        message: Some("m".repeat(MAX_AUDIT_MESSAGE_CHARS + 1)),
        arguments: json!({"content": "\"é\n".repeat(MAX_AUDIT_ARGUMENT_BYTES)}),
        duration_us: u64::MAX,
        ..entry("T")
    };
    let store = store_with([long]).await;
    let record = &store.audit().query(AuditFilter::default()).await.unwrap()[0];
    let entry = &record.entry;
    assert_eq!(entry.tool.chars().count(), MAX_AUDIT_NAME_CHARS + 1);
    assert!(entry.tool.ends_with("t…"));
    assert_eq!(
        entry.rule.as_ref().unwrap().chars().count(),
        MAX_AUDIT_NAME_CHARS + 1
    );
    assert!(entry.message.as_ref().unwrap().ends_with("m…"));
    assert_eq!(entry.arguments["cut"], true);
    assert!(entry.arguments.to_string().len() < 2 * MAX_AUDIT_ARGUMENT_BYTES);
    assert_eq!(entry.duration_us, u64::MAX);
}

#[tokio::test]
async fn deep_arguments_do_not_make_the_log_unreadable() {
    let deep = |levels| AuditEntry {
        arguments: crate::depth::nested(levels),
        ..entry("T")
    };
    let store = store_with([deep(MAX_JSON_DEPTH), deep(MAX_JSON_DEPTH + 1), deep(2_000)]).await;
    let records = store.audit().query(AuditFilter::default()).await.unwrap();
    assert_eq!(records[0].entry.arguments["cut"], true);
    assert_eq!(records[1].entry.arguments["cut"], true);
    assert_eq!(records[2].entry, deep(MAX_JSON_DEPTH));
}

/// The writer cannot run while nothing is awaited here, so the queue fills up and then what is beside it.
#[tokio::test]
async fn guards_never_wait_and_are_bounded() {
    let store = Store::in_memory().await.unwrap();
    let mut taken = 0_u64;
    let error = loop {
        match store.audit().try_append(entry("T")) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, StoreError::QueueFull);
    assert_eq!(
        taken as usize,
        crate::limits::MAX_QUEUED_WRITES + MAX_OVERFLOW
    );
    let verified = store.audit().verify().await.unwrap();
    assert_eq!((verified.records, verified.broken), (taken, None));
    store.audit().try_append(entry("T")).unwrap();
}

#[tokio::test]
async fn an_entry_survives_whoever_waits_with_it() {
    let store = Store::in_memory().await.unwrap();
    for _ in 0..crate::limits::MAX_QUEUED_WRITES {
        store.audit().try_append(entry("T")).unwrap();
    }
    let mut waiting = Box::pin(store.audit().append(entry("Dropped")));
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("there was room"),
        () = std::future::ready(()) => {}
    }
    drop(waiting);
    let filter = AuditFilter {
        tool: Some("Dropped".into()),
        ..AuditFilter::default()
    };
    assert_eq!(store.audit().query(filter).await.unwrap().len(), 1);
}

#[test]
fn a_record_is_flat_and_in_camel_case() {
    let record = AuditRecord {
        id: 7,
        entry: AuditEntry {
            request_id: Some("r".into()),
            outcome: AuditOutcome::OutcomeUnknown,
            ..entry("File.Read")
        },
        hash: "ab".into(),
    };
    assert_eq!(
        serde_json::to_value(&record).unwrap(),
        json!({
            "id": 7, "at": "2023-11-14T22:13:20Z", "user": "default", "actor": "agent:storyteller",
            "project": "default", "run": "run_1", "callId": "call_1", "requestId": "r", "tool": "File.Read",
            "source": "builtin", "arguments": {"path": "user://a.txt"}, "outcome": "outcome_unknown",
            "durationUs": 12, "decision": "allow", "attempts": 1, "resultChars": 3, "hash": "ab",
        })
    );
}
