//! What is left of runs: whole, slim or gone, and never anything in between.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use innkeeper_agent::instance::retention::{BlockReason, Driven, RetentionAction};
use innkeeper_agent::instance::{DiffQuery, Retention, RetentionQuery, RetentionSettings};
use innkeeper_protocol::event::{RunEvent, RunId, RunStatus};
use innkeeper_store::journal::{EventRange, RunRecord};
use innkeeper_store::{HomeLock, Store};
use serde_json::json;
use sqlx::Connection;
use tokio::sync::Notify;

use super::harness::{DATABASE, House, Say};

const FILE: &str = "output/main.md";

fn keep(recent: u32, full: u32) -> RetentionQuery {
    RetentionQuery {
        retention: Some(RetentionSettings {
            auto_prune_enabled: false,
            keep_recent_terminal_runs: recent,
            keep_full_recent_runs: full,
        }),
        detail_limit: None,
    }
}

/// Runs that each wrote a file, the oldest first.
async fn runs(house: &House, count: usize) -> Vec<RunId> {
    house.profile("teller", "tam");
    let mut all = Vec::new();
    for number in 0..count {
        house.script.say(&format!(
            "<|[REQUEST_TOOL]|>\ncommand:»»»workspace.write_file«««\npath:»»»{FILE}«««\ncontent:»»»Text {}«««\n<|[END_TOOL]|>",
            // Every other shares its text with its neighbour.
            number / 2
        ));
        house.script.say("Done.");
        let (run, _) = house.run("teller", &format!("Write number {number}")).await;
        assert_eq!(run.status, RunStatus::Completed);
        all.push(run.run_id);
    }
    all
}

/// All that can be read of a run.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    record: RunRecord,
    events: Vec<RunEvent>,
    /// Nothing of a slim run.
    file: Option<String>,
}

async fn known(house: &House, run: &RunId) -> Option<Known> {
    let reader = house.runtime.reader();
    let record = house.runtime.journal().record(run).await.unwrap()?;
    let file = match reader.file(run, FILE).await {
        Ok(file) => Some(file.text),
        Err(error) => {
            assert_eq!(error.reason.as_deref(), Some("agent.run_was_slimmed"));
            None
        }
    };
    Some(Known {
        record,
        events: house.events(run).await,
        file,
    })
}

async fn all(house: &House, runs: &[RunId]) -> BTreeMap<RunId, Known> {
    let mut found = BTreeMap::new();
    for run in runs {
        if let Some(one) = known(house, run).await {
            found.insert(run.clone(), one);
        }
    }
    found
}

/// Whole or slim as it was before, in what is left of it.
fn fits(before: &Known, after: &Known) {
    let as_it_was = Known {
        record: RunRecord {
            is_slim: after.record.is_slim,
            ..before.record.clone()
        },
        events: before.events.clone(),
        file: before.file.clone().filter(|_| !after.record.is_slim),
    };
    assert_eq!(*after, as_it_was);
}

#[tokio::test]
async fn what_is_kept_reads_as_before() {
    let house = House::new().await;
    let runs = runs(&house, 7).await;
    let before = all(&house, &runs).await;
    let keeping = house.runtime.retention();
    let plan = keeping.plan(&keep(5, 2)).await.unwrap();
    let counts = (
        plan.terminal_run_count,
        plan.full_retained_run_count,
        plan.core_retained_run_count,
        plan.slim_candidate_count,
        plan.delete_candidate_count,
        plan.blocked_run_count,
    );
    assert_eq!(counts, (7, 2, 3, 3, 2, 0));
    let named: Vec<&RunId> = plan.candidates.iter().map(|one| &one.run.run_id).collect();
    let expected: Vec<&RunId> = runs.iter().rev().skip(2).collect();
    assert_eq!(named, expected);
    assert!(
        plan.candidates
            .iter()
            .all(|one| one.byte_count > 0 && one.file_count > 0)
    );
    assert_eq!(
        plan.total_candidate_byte_count,
        plan.total_slim_byte_count + plan.total_delete_byte_count
    );
    assert_eq!(all(&house, &runs).await, before, "a plan changes nothing");

    let seen = AtomicU64::new(0);
    let told = |progress: innkeeper_agent::instance::retention::RetentionProgress| {
        seen.store(progress.runs(), Ordering::Relaxed);
    };
    let done = keeping.apply(&keep(5, 2), &told).await.unwrap();
    let counts = (
        done.slimmed_run_count,
        done.deleted_run_count,
        done.failed_run_count,
    );
    assert_eq!(counts, (3, 2, 0));
    assert_eq!(seen.into_inner(), 5);
    // More than was planned: what several of them shared is free as well.
    assert!(done.removed_byte_count >= plan.total_candidate_byte_count);
    let after = all(&house, &runs).await;
    for (place, run) in runs.iter().rev().enumerate() {
        let Some(now) = after.get(run) else {
            assert!(place >= 5, "{place}");
            continue;
        };
        assert_eq!(now.record.is_slim, place >= 2, "{place}");
        fits(&before[run], now);
    }
    assert_eq!(after.len(), 5);
    let left = (
        done.after_plan.slim_candidate_count,
        done.after_plan.delete_candidate_count,
        done.after_plan.core_retained_run_count,
    );
    assert_eq!(left, (0, 0, 3));
    assert!(house.tools.store().check().await.unwrap().is_sound());
    let again = keeping.apply(&keep(5, 2), &|_| {}).await.unwrap();
    assert_eq!((again.slimmed_run_count, again.removed_byte_count), (0, 0));
    assert_eq!(all(&house, &runs).await, after);
}

#[tokio::test]
async fn a_slim_run_says_what_is_gone() {
    let house = House::new().await;
    let run = runs(&house, 1).await.remove(0);
    house
        .runtime
        .retention()
        .apply(&keep(1, 0), &|_| {})
        .await
        .unwrap();
    let reader = house.runtime.reader();
    let refused = [
        ("file", reader.file(&run, FILE).await.map(drop)),
        (
            "arguments",
            reader
                .file(&run, "input/prompt_snapshot.json")
                .await
                .map(drop),
        ),
        ("turn", reader.model_turn(&run, 1, None).await.map(drop)),
        (
            "diff",
            reader.diff(&run, &DiffQuery::default()).await.map(drop),
        ),
        ("state", reader.state(&run).await.map(drop)),
        (
            "resume",
            house.runtime.resume(&run, None, None).await.map(drop),
        ),
        (
            "guide",
            house
                .runtime
                .resume(&run, Some(1), Some("Go on"))
                .await
                .map(drop),
        ),
    ];
    for (what, refused) in refused {
        let error = refused.unwrap_err();
        assert_eq!(
            error.reason.as_deref(),
            Some("agent.run_was_slimmed"),
            "{what}: {error}"
        );
        assert!(error.message.contains("keep_full_recent_runs"), "{error}");
    }
    for paper in ["events.jsonl", "run.json"] {
        assert!(!reader.file(&run, paper).await.unwrap().text.is_empty());
    }
    let cancelled = house.runtime.cancel(&run).await.unwrap();
    assert_eq!(cancelled.status, RunStatus::Completed);
    assert_eq!(house.runtime.recover().await.unwrap(), []);
    assert!(house.runtime.delete(&run).await.unwrap());
}

#[tokio::test]
async fn what_is_in_the_way_is_told() {
    let house = House::new().await;
    let over = runs(&house, 3).await;
    house.script.push(Say::Hang);
    let asked = house.script.requests();
    let at_work = house.start("teller", "Wait").await.run_id;
    house.script.asked_times(asked + 1).await;
    let mut behind = sqlx::SqliteConnection::connect(&format!(
        "sqlite://{}",
        house.home.path().join(DATABASE).display()
    ))
    .await
    .unwrap();
    for (sql, run) in [
        (
            "DELETE FROM journal WHERE after_seq = 0 AND run = (SELECT no FROM runs WHERE id = ?)",
            &over[0],
        ),
        ("UPDATE runs SET record = '{}' WHERE id = ?", &over[1]),
    ] {
        sqlx::query(sql)
            .bind(run.as_str())
            .execute(&mut behind)
            .await
            .unwrap();
    }
    let store = house.tools.store();
    let here = house.runtime.retention();
    let elsewhere = Retention::reading(store).driven(Driven::Elsewhere);
    let nobody = Retention::reading(store);
    for (who, keeping, open) in [
        ("at work here", &here, BlockReason::ActiveRun),
        ("at work elsewhere", &elsewhere, BlockReason::ActiveRun),
        (
            "left by everybody",
            &nobody,
            BlockReason::MissingTerminalEvent,
        ),
    ] {
        let plan = keeping.plan(&keep(0, 0)).await.unwrap();
        let found: BTreeMap<RunId, BlockReason> = plan
            .blocked_runs
            .iter()
            .map(|blocked| (blocked.run.run_id.clone(), blocked.block_reason))
            .collect();
        let expected = BTreeMap::from([
            (at_work.clone(), open),
            (over[0].clone(), BlockReason::InvalidJournal),
            (over[1].clone(), BlockReason::InvalidStorage),
        ]);
        assert_eq!(found, expected, "{who}");
        assert_eq!(plan.blocked_run_count, 3);
        assert_eq!(plan.candidates.len(), 1);
        assert_eq!(plan.candidates[0].action, RetentionAction::DeleteRun);
        let told = serde_json::to_value(&plan).unwrap();
        assert_eq!(told["candidates"][0]["action"], "delete_run");
        assert_eq!(
            told["candidates"][0]["reason"],
            "outside_history_retention_window"
        );
        let few = RetentionQuery {
            detail_limit: Some(1),
            ..keep(0, 0)
        };
        let plan = keeping.plan(&few).await.unwrap();
        assert_eq!((plan.blocked_runs.len(), plan.blocked_run_count), (1, 3));
        assert!(plan.blocked_details_truncated && !plan.candidate_details_truncated);
    }
    // Damage that only shows when it is read is found before anything goes.
    sqlx::query("UPDATE journal SET lines = lines || ' ' WHERE after_seq = 0 AND run = (SELECT no FROM runs WHERE id = ?)")
        .bind(over[2].as_str())
        .execute(&mut behind)
        .await
        .unwrap();
    let done = here.apply(&keep(0, 0), &|_| {}).await.unwrap();
    assert_eq!((done.deleted_run_count, done.failed_run_count), (0, 1));
    assert!(
        done.failed_runs[0].message.contains("not what was written"),
        "{:?}",
        done.failed_runs
    );
    house.runtime.cancel(&at_work).await.unwrap();
    house.end_of(&at_work).await;
    let done = here.apply(&keep(0, 0), &|_| {}).await.unwrap();
    assert_eq!(done.deleted_run_count, 1);
}

#[tokio::test]
async fn cut_off_in_the_middle_it_is_gone_on_with() {
    let house = House::new().await;
    let runs = runs(&house, 6).await;
    let before = all(&house, &runs).await;
    let query = keep(3, 1);
    for stop_after in 1..=2 {
        let reached = Arc::new(Notify::new());
        let told = |progress: innkeeper_agent::instance::retention::RetentionProgress| {
            if progress.runs() >= stop_after {
                reached.notify_one();
            }
        };
        let keeping = house.runtime.retention();
        tokio::select! {
            biased;
            () = reached.notified() => {}
            done = keeping.apply(&query, &told) => drop(done),
        }
        // What is on its way to the disk gets there, as it would from a process that is killed a moment later.
        house.tools.store().flush().await.unwrap();
        for (run, now) in all(&house, &runs).await {
            fits(&before[&run], &now);
        }
    }
    let house = house.again().await;
    let done = house
        .runtime
        .retention()
        .apply(&query, &|_| {})
        .await
        .unwrap();
    assert_eq!(done.failed_run_count, 0);
    let after = all(&house, &runs).await;
    assert_eq!(after.values().filter(|run| run.record.is_slim).count(), 2);
    assert_eq!(after.len(), 3);
    assert!(house.tools.store().check().await.unwrap().is_sound());
    let swept = house.tools.store().contents().sweep().await.unwrap();
    assert_eq!(swept.contents, 0, "nothing is left lying about");
}

#[tokio::test]
async fn by_itself_only_where_it_is_switched_on() {
    let house = House::new().await;
    let runs = runs(&house, 2).await;
    let mut settings = keep(1, 1).retention.unwrap();
    let keeping = house.runtime.retention().with_settings(settings);
    assert_eq!(keeping.tick().await.unwrap(), None);
    settings.auto_prune_enabled = true;
    let keeping = keeping.with_settings(settings);
    let done = keeping.tick().await.unwrap().unwrap();
    assert_eq!((done.slimmed, done.deleted, done.failed), (0, 1, 0));
    let left = all(&house, &runs).await;
    assert_eq!(left.keys().collect::<Vec<_>>(), [&runs[1]]);
}

/// `cargo nextest run -p innkeeper-agent --run-ignored all how_long --no-capture`, for docs/store.md.
#[tokio::test]
#[ignore = "measures"]
async fn how_long_it_takes() {
    use innkeeper_protocol::event::{EventId, Level, RunEventKind};
    use innkeeper_store::journal::{Entry, RunUpdate};
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join(DATABASE)).await.unwrap();
    let _lock: HomeLock = store.claim_home().await.unwrap();
    let house = House::new().await;
    let run = runs(&house, 1).await.remove(0);
    let pattern = house.runtime.record(&run).await.unwrap();
    for number in 0..10_000_u64 {
        let run = RunId::new(format!("run_{number:08}"));
        let event = |seq: u64, kind: RunEventKind| RunEvent {
            seq,
            id: EventId::new(format!("evt_{seq}")),
            run_id: run.clone(),
            timestamp: jiff::Timestamp::from_second(1_700_000_000 + number as i64)
                .unwrap()
                .to_string()
                .as_str()
                .into(),
            level: Level::Info,
            scope: None,
            kind,
        };
        let text = format!("content {number} {}", "x".repeat(2_000));
        let mut entry = Entry {
            run: run.clone(),
            input: json!({"fed": "y".repeat(20_000)}).to_string().into(),
            events: vec![event(
                1,
                RunEventKind::Other {
                    kind: "note".to_owned(),
                    payload: json!({"n": 1}),
                },
            )],
            update: RunUpdate::default(),
            blobs: vec![innkeeper_store::Blob {
                id: innkeeper_store::BlobId::of(text.as_bytes()),
                content: text.as_bytes().into(),
            }],
            trees: Vec::new(),
            snapshot: None,
        };
        let record = RunRecord {
            run_id: run.clone(),
            last_seq: 0,
            terminal_at: None,
            ..pattern.clone()
        };
        store.journal().create(record, entry.clone()).await.unwrap();
        entry.blobs.clear();
        for seq in 2..=5 {
            entry.events = vec![event(
                seq,
                RunEventKind::Other {
                    kind: "note".to_owned(),
                    payload: json!({"n": seq}),
                },
            )];
            drop(store.journal().submit(entry.clone()).await.unwrap());
        }
        entry.events = vec![event(6, RunEventKind::RunCompleted)];
        drop(store.journal().submit(entry).await.unwrap());
    }
    store.flush().await.unwrap();
    let keeping = Retention::reading(&store);
    let begun = Instant::now();
    let plan = keeping.plan(&keep(100, 20)).await.unwrap();
    println!(
        "planned {} runs, {} bytes: {:?}",
        plan.terminal_run_count,
        plan.total_candidate_byte_count,
        begun.elapsed()
    );
    for (what, query) in [
        ("slimmed", keep(10_000, 9_000)),
        ("deleted", keep(9_000, 9_000)),
    ] {
        let begun = Instant::now();
        let done = keeping.apply(&query, &|_| {}).await.unwrap();
        println!(
            "{what} {} runs, {} bytes: {:?}",
            done.slimmed_run_count + done.deleted_run_count,
            done.removed_byte_count,
            begun.elapsed()
        );
    }
    let range = EventRange::Last { limit: 1 };
    assert_eq!(
        store
            .journal()
            .events(&RunId::new("run_00009999"), range)
            .await
            .unwrap()
            .len(),
        1
    );
}

/// What earlier versions left of runs without a chat, and of chats by name, is found and goes; what somebody may still name stays.
#[tokio::test]
async fn states_and_worlds_that_nobody_can_come_to_go_and_all_others_stay() {
    use innkeeper_agent::instance::{StartPrompt, StartRun};
    use innkeeper_agent::workspace::workspace_id;
    use innkeeper_store::{StateRecord, WorldUpdate};

    let house = House::new().await;
    let store = house.tools.store().clone();
    let lost = format!("run_{}", "0a".repeat(16));
    let own = workspace_id("session", &lost).unwrap();
    let (host, named) = (
        "chat_of_a_host",
        workspace_id("session", "evening").unwrap(),
    );
    let put = async |workspace: &str, id: &str, chat: serde_json::Value| {
        let mut record =
            json!({"workspaceId": workspace, "stateId": id, "baseStateId": null, "files": {}});
        if !chat.is_null() {
            record["chat"] = chat;
        }
        let state = StateRecord {
            workspace: workspace.into(),
            state: id.to_owned(),
            record: record.to_string().into(),
            contents: Default::default(),
        };
        store.states().put(state).await.unwrap();
    };
    let session = json!({"kind": "session", "stableChatId": "evening"});
    for (workspace, id, chat) in [
        (own.as_str(), lost.as_str(), json!(null)),
        (host, "run_1", json!(null)),
        (host, "run_2", json!(null)),
        (named.as_str(), "run_1", json!(null)),
        (named.as_str(), "run_2.9", session.clone()),
        (named.as_str(), "run_2.11", session),
    ] {
        put(workspace, id, chat).await;
    }
    for (workspace, by) in [
        (
            own.as_str(),
            json!({"kind": "agent", "profileId": "a", "runId": lost, "callId": "c"}),
        ),
        (named.as_str(), json!({"kind": "person"})),
    ] {
        let record = json!({"version": 1, "at": "2026-01-01T00:00:00Z", "by": by, "changes": []});
        let update = WorldUpdate {
            workspace: workspace.into(),
            base: 0,
            value: "{}".into(),
            record: record.to_string().into(),
            request: None,
        };
        store.worlds().update(update).await.unwrap();
    }
    let keeping = house.runtime.retention();
    let plan = keeping.plan(&keep(5, 2)).await.unwrap();
    assert_eq!(
        (plan.orphaned_state_count, plan.orphaned_world_count),
        (3, 1)
    );
    assert_eq!(plan.orphans.len(), 3, "{:?}", plan.orphans);
    let done = keeping.apply(&keep(5, 2), &|_| {}).await.unwrap();
    assert_eq!((done.removed_state_count, done.removed_world_count), (3, 1));
    assert!(done.after_plan.orphans.is_empty());
    let states =
        async |workspace: &str| store.states().list(&workspace.into(), None).await.unwrap();
    assert!(states(own.as_str()).await.is_empty());
    assert_eq!(states(host).await, ["run_1", "run_2"]);
    // Numbers are numbers.
    assert_eq!(states(named.as_str()).await, ["run_2.11"]);
    assert_eq!(store.worlds().get(&own).await, Ok(None));
    assert!(store.worlds().get(&named).await.unwrap().is_some());

    // And the chat goes on from there.
    house.profile("teller", "tam");
    house.script.say("Hello.");
    let asked = StartRun {
        profile_id: Some("teller".to_owned()),
        prompt: Some(StartPrompt::Message("Go on".to_owned())),
        stable_chat_id: Some("evening".to_owned()),
        ..StartRun::default()
    };
    let run = house.runtime.start(asked).await.unwrap().run_id;
    house.end_of(&run).await;
    let record = house.runtime.record(&run).await.unwrap();
    assert_eq!(record.persist_base_state_id.as_deref(), Some("run_2.11"));
}
