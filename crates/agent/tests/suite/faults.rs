//! A disk without room, a file with its end cut off, a second process: what was written stays, and the run goes on or says why.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::WaitError;
use innkeeper_protocol::event::{RunEvent, RunId, RunStatus};
use innkeeper_store::{Store, StoreError};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::child::{Ending, PATIENCE, Stage};
use super::harness::{DATABASE, check_journal, open};
use super::kill::undisturbed;
use super::story::{Outside, Teller, asked, host, policy, tools};
use super::verdict::{Acknowledged, Files, check_end, check_told, events, only_run};
use super::watched::{Fate, Fuse, Moment, Watched};

/// Plays the host, and keeps what it is told beside what was told before.
pub(crate) async fn heard(
    runtime: &AgentRuntime,
    run: &RunId,
    outside: &Outside,
    told: &mut Acknowledged,
) -> RunStatus {
    let hears = |event: &RunEvent| {
        let event = serde_json::to_value(event).unwrap();
        let seq = event["seq"].as_u64().unwrap();
        let before = told.insert(seq, event.clone());
        assert!(before.is_none_or(|before| before == event), "{event}");
    };
    host(runtime, run, outside, hears).await
}

/// Nothing was told that is not there.
pub(crate) async fn check_stopped(store: &Store, run: &RunId, told: &Acknowledged) {
    let events = events(store, run).await;
    let last = told.keys().last().copied().unwrap_or_default();
    assert!(last <= events.len() as u64, "{last} of {}", events.len());
    assert!(events.iter().all(|event| !event.is_terminal()));
    check_told(told, &events);
}

/// Whoever waits for the run, or asks, is told why it has stopped.
pub(crate) async fn check_fault(runtime: &AgentRuntime, run: &RunId) {
    let waited = runtime.wait(run).await;
    let Err(WaitError::Stopped {
        run: stopped,
        cause,
    }) = waited
    else {
        panic!("{waited:?}");
    };
    assert_eq!(stopped, *run);
    assert!(matches!(cause, StoreError::DiskFull { .. }), "{cause}");
    assert_eq!(runtime.fault(run), Some(cause));
}

/// The disk is full from that record on, and has room again when the run has stopped. Gives how many records there were.
async fn full_at(record: u64, fate: Fate) -> (u64, Files) {
    let stage = Stage::new();
    let (home, outside) = (stage.home(), stage.outside());
    let (count, is_full) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(true)));
    let full = is_full.clone();
    let fate = move |at| match at >= record && full.load(Ordering::SeqCst) {
        true => fate,
        false => Fate::Passes,
    };
    let (manager, runtime) = open(&home, Arc::new(Teller), tools(&outside), |journal| {
        Arc::new(Watched::new(journal, count.clone(), fate))
    })
    .await;
    manager.set_policy(policy());
    let mut told = Acknowledged::new();
    let run = match runtime.start(asked(&home)).await {
        Ok(handle) => handle.run_id,
        Err(error) => {
            assert_eq!(
                (record, error.reason.as_deref()),
                (1, Some("store.disk_full"))
            );
            assert_eq!(only_run(manager.store()).await, None);
            is_full.store(false, Ordering::SeqCst);
            runtime.start(asked(&home)).await.unwrap().run_id
        }
    };
    let mut status = heard(&runtime, &run, &outside, &mut told).await;
    if !status.is_terminal() {
        assert!(!runtime.is_alive(&run));
        check_stopped(manager.store(), &run, &told).await;
        check_fault(&runtime, &run).await;
        is_full.store(false, Ordering::SeqCst);
        let recovered = runtime.recover().await.unwrap();
        assert!(recovered.iter().all(|one| one.problem.is_none()));
        assert_eq!(recovered.len(), 1);
        status = heard(&runtime, &run, &outside, &mut told).await;
        assert_eq!(runtime.fault(&run), None);
    }
    assert_eq!(status, RunStatus::Completed, "full at {record}");
    runtime.close().await;
    manager.store().clone().close().await.unwrap();
    let files = check_end(&home, &outside, &told).await;
    (count.load(Ordering::SeqCst), files)
}

async fn full_at_every(step: usize) {
    let (records, expected) = full_at(u64::MAX, Fate::Passes).await;
    let fates = [Fate::Refused, Fate::RefusedLate];
    for record in (1..=records).step_by(step) {
        for fate in fates {
            let (_, files) = full_at(record, fate).await;
            assert_eq!(files, expected, "{fate:?} at {record}");
        }
    }
}

#[tokio::test]
async fn a_run_without_room_stops_where_its_journal_ends_and_goes_on_later() {
    full_at_every(15).await;
}

#[tokio::test]
#[ignore = "takes minutes; make test-faults runs it"]
async fn a_run_without_room_at_any_record_goes_on_later() {
    full_at_every(1).await;
}

/// What is cut off.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// The last page of the database, after all has been put into it.
    Page,
    /// The log of what is not yet in it, in the middle of the last frame.
    Frame,
    /// So much that several steps are gone.
    Frames,
}

async fn cut(database: &Path, cut: Cut) {
    let log = database.with_extension("db-wal");
    let (file, bytes) = match cut {
        Cut::Page => {
            let store = Store::open(database).await.unwrap();
            store.close().await.unwrap();
            (database, 4_096)
        }
        Cut::Frame => (log.as_path(), 2_000),
        Cut::Frames => (log.as_path(), 40_000),
    };
    let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length.saturating_sub(bytes)).unwrap();
}

/// Opens it, repaired if need be. Gives how many events are left, and what was said of it.
async fn mended(database: &Path) -> (Vec<RunEvent>, String) {
    let mut said = "sound".to_owned();
    let is_sound = match Store::open(database).await {
        Ok(store) => {
            let checked = store.check().await;
            store.close().await.unwrap();
            checked.is_ok_and(|checked| checked.is_sound())
        }
        Err(StoreError::Corrupt { .. }) => false,
        Err(error) => panic!("{error}"),
    };
    if !is_sound {
        let report = Store::repair(database).await.unwrap();
        assert!(!report.was_sound(), "{report}");
        said = report.to_string();
    }
    let store = Store::open(database).await.unwrap();
    let kept = match only_run(&store).await {
        Some(run) => events(&store, &run).await,
        None => Vec::new(),
    };
    store.close().await.unwrap();
    (kept, said)
}

async fn survives(how: Cut, record: u64) {
    let stage = Stage::new();
    let database = stage.home().join(DATABASE);
    let moment = Moment::After;
    let first = stage.tell(Some(Fuse { moment, record })).await;
    assert_eq!(first.ending, Ending::Killed, "{}", first.all);
    cut(&database, how).await;
    let (kept, said) = mended(&database).await;
    check_told(&first.acknowledged, &kept);
    for (event, seq) in kept.iter().zip(1..) {
        assert_eq!(event.seq, seq, "there is a gap");
    }
    let told = stage.recover().await;
    match told.ending {
        Ending::Over(_) => {}
        // Where even its beginning is gone, or what it wrote, that is said.
        Ending::Nothing | Ending::Reported if said != "sound" || kept.is_empty() => return,
        _ => panic!("{how:?} at {record}, {said}: {}", told.all),
    }
    let store = Store::open(&database).await.unwrap();
    let run = only_run(&store).await.unwrap();
    let events = events(&store, &run).await;
    check_journal(&events);
    assert_eq!(events[..kept.len()], kept, "{how:?} at {record}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_database_that_lost_its_end_is_repaired_and_its_run_goes_on() {
    for (how, record) in [(Cut::Page, 18), (Cut::Frame, 19), (Cut::Frames, 28)] {
        survives(how, record).await;
    }
}

#[tokio::test]
#[ignore = "takes minutes; make test-faults runs it"]
async fn a_database_that_lost_its_end_at_any_record_is_repaired_and_its_run_goes_on() {
    let (records, _) = undisturbed().await;
    for how in [Cut::Page, Cut::Frame, Cut::Frames] {
        // The order of what happens in the background differs, so there may be a few less.
        for record in (2..records - 3).step_by(2) {
            survives(how, record).await;
        }
    }
}

#[tokio::test]
async fn a_second_process_on_a_home_leaves_without_doing_harm() {
    let stage = Stage::new();
    let moment = Moment::Never;
    let fuse = Fuse { moment, record: 25 };
    let mut command = stage.command(Some(fuse));
    let mut first = command.stdin(Stdio::piped()).spawn().unwrap();
    let output = first.stdout.take().unwrap();
    let mut lines = BufReader::new(output).lines();
    let mut told = Vec::new();
    let telling = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line == "holding" {
                let second = stage.tell(None).await;
                assert_eq!(second.ending, Ending::InUse, "{}", second.all);
                let holder = first.id().unwrap().to_string();
                assert!(second.all.contains(&holder), "{}", second.all);
                drop(first.stdin.take());
            }
            told.push(line);
        }
        first.wait().await.unwrap()
    };
    let ended = tokio::time::timeout(PATIENCE, telling).await;
    assert!(ended.expect("the child hangs").success(), "{told:?}");
    assert!(told.iter().any(|line| line == "holding"));
    let told = told
        .iter()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("ack ")?).ok())
        .map(|event: serde_json::Value| (event["seq"].as_u64().unwrap(), event))
        .collect();
    check_end(&stage.home(), &stage.outside(), &told).await;
}
