//! A rollback is there wholly or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use innkeeper_agent::run::AgentRun;
use innkeeper_protocol::event::{RunId, RunStatus};
use innkeeper_store::{BlobId, Store};
use innkeeper_tools::policy::Policy;
use serde_json::json;
use tokio::process::Command;

use super::child::{Ending, Stage, Told, arguments, finished, own_stage, say};
use super::harness::{self, DATABASE, House, Script, profile, start};
use super::undo::{call, text, to, write};
use super::verdict::{Files, events, files, only_run};
use super::watched::{Fate, Fuse, Moment, Watched};

const MAIN: &str = "output/main.md";

#[tokio::test]
async fn a_rollback_that_cannot_be_written_has_not_happened() {
    for fate in [Fate::Refused, Fate::RefusedLate] {
        let house = House::new().await;
        house.profile("worker", "tam");
        house.script.say(&write(MAIN, "one"));
        house.script.say(&write(MAIN, "two"));
        house.script.say("Done.");
        let run = house.run("worker", "Go").await.0.run_id;
        let before = house.runtime.reader().state(&run).await.unwrap();
        let last = house.runtime.record(&run).await.unwrap().last_seq;
        house.runtime.close().await;
        house.tools.store().clone().close().await.unwrap();

        // The first thing that this process writes is the rollback.
        let (script, count) = (Arc::new(Script::default()), Arc::new(AtomicU64::new(0)));
        let seen = count.clone();
        let (tools, runtime) =
            harness::open(house.home.path(), script, Vec::new(), move |journal| {
                Arc::new(Watched::new(journal, seen, move |_| fate))
            })
            .await;
        runtime.rollback(to(&run, "1")).await.unwrap_err();
        assert_eq!(count.load(Ordering::SeqCst), 1);
        runtime.close().await;
        tools.store().clone().close().await.unwrap();

        let script = Arc::new(Script::default());
        let (_tools, runtime) =
            harness::open(house.home.path(), script, Vec::new(), |journal| journal).await;
        assert_eq!(runtime.reader().state(&run).await.unwrap(), before);
        assert_eq!(runtime.record(&run).await.unwrap().last_seq, last);
        let receipt = runtime.rollback(to(&run, "1")).await.unwrap();
        assert_eq!(receipt.status, RunStatus::Completed);
        let house = House { runtime, ..house };
        assert_eq!(text(&house, &run, MAIN).await.as_deref(), Some("one"));
    }
}

/// The process ends at once after it was written: nothing was closed, nobody was told.
#[tokio::test]
async fn a_rollback_that_was_written_has_happened() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.say(&write(MAIN, "one"));
    house.script.say(&write(MAIN, "two"));
    house.script.say("Done.");
    let run = house.run("worker", "Go").await.0.run_id;
    house.runtime.rollback(to(&run, "1")).await.unwrap();
    let before = house.runtime.reader().state(&run).await.unwrap();
    // As another process sees it, while this one still has everything open.
    let script = Arc::new(Script::default());
    let (_tools, runtime) =
        harness::open(house.home.path(), script, Vec::new(), |journal| journal).await;
    assert_eq!(runtime.reader().state(&run).await.unwrap(), before);
    assert!(runtime.recover().await.unwrap().is_empty());
    assert_eq!(before.workspace().files.len(), 1);
}

const FUSE: &str = "INNKEEPER_TEST_ROLLBACK_FUSE";

/// A run that has written twice and asks a person: to be rolled back it has to be ended first.
async fn asking(stage: &Stage) -> RunId {
    let home = stage.home();
    profile(&home, "worker", "tam", |_| {});
    let script = Arc::new(Script::default());
    script.say(&write(MAIN, "one"));
    script.say(&write("output/other.md", "of another"));
    script.say(&call("gate", &[]));
    let tools = vec![super::cast::gated(&Arc::default())];
    let (manager, runtime) = harness::open(&home, script, tools, |journal| journal).await;
    let rules = json!([{"tool": "*", "decision": "allow"}, {"tool": "gate", "decision": "ask"}]);
    manager.set_policy(Policy::read(rules.as_array().unwrap().clone()).unwrap());
    let run = start(&runtime, "worker", "Go").await.run_id;
    let mut follower = runtime.follow(&run, 0);
    while runtime
        .pending_approvals(Some(&run))
        .await
        .unwrap()
        .is_empty()
    {
        follower.next().await;
    }
    runtime.close().await;
    manager.store().clone().close().await.unwrap();
    run
}

/// Rolls the one run of a home back, and may end in the middle of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_rolls_back() {
    let (Some(fuse), Some(stage)) = (std::env::var(FUSE).ok(), own_stage()) else {
        return;
    };
    let fuse: Option<Fuse> = fuse.parse().ok();
    let count = Arc::new(AtomicU64::new(0));
    let fate = move |record| match fuse {
        Some(fuse) if fuse.record == record => Fate::Kills(fuse.moment),
        _ => Fate::Passes,
    };
    let tools = vec![super::cast::gated(&Arc::default())];
    let script = Arc::new(Script::default());
    let (manager, runtime) = harness::open(&stage.home(), script, tools, |journal| {
        Arc::new(Watched::new(journal, count.clone(), fate))
    })
    .await;
    let _lock = manager.store().claim_home().await.unwrap();
    let run = only_run(manager.store()).await.unwrap();
    runtime.rollback(to(&run, "1")).await.unwrap();
    runtime.close().await;
    manager.store().clone().close().await.unwrap();
    say(&format!("over {}", count.load(Ordering::SeqCst)));
}

async fn rolls_back(stage: &Stage, fuse: Option<Fuse>) -> Told {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments("suite::undo_faults::a_process_that_rolls_back"));
    stage.surroundings(&mut command);
    let fuse = fuse.map_or("none".to_owned(), |fuse| fuse.to_string());
    command.env(FUSE, fuse);
    finished(command).await
}

/// The run as its journal has it, its files as they are on disk, and whether a rollback is told of.
async fn found(stage: &Stage, run: &RunId) -> (AgentRun, Files, bool) {
    let store = Store::open(&stage.home().join(DATABASE)).await.unwrap();
    let checked = store.check().await.unwrap();
    assert!(checked.is_sound(), "{checked}");
    let files = files(&store, run).await;
    let told = events(&store, run).await;
    for (event, seq) in told.iter().zip(1..) {
        assert_eq!(event.seq, seq, "there is a gap");
    }
    let times = told
        .iter()
        .filter(|event| event.kind.name() == "run_rolled_back");
    let times = times.count();
    assert!(times <= 1, "rolled back {times} times");
    let state = innkeeper_agent::instance::RunReader::new(&store);
    let state = state.state(run).await.unwrap();
    store.close().await.unwrap();
    (state, files, times == 1)
}

fn sha256(text: &str) -> String {
    BlobId::of(text.as_bytes()).as_str().to_owned()
}

fn expected(is_back: bool) -> Files {
    let other = (!is_back).then_some(("output/other.md", "of another"));
    let files = [(MAIN, "one")].into_iter().chain(other);
    files
        .map(|(path, text)| (path.to_owned(), sha256(text)))
        .collect()
}

/// Killed before, while and after each of its records is written: it has happened, or it has not, and then it can be done.
#[tokio::test]
async fn a_rollback_that_is_killed_at_any_record_is_there_wholly_or_not_at_all() {
    let stage = Stage::new();
    let run = asking(&stage).await;
    let before = found(&stage, &run).await;
    assert_eq!((&before.1, before.2), (&expected(false), false));
    let told = rolls_back(&stage, None).await;
    let Ending::Over(records) = told.ending else {
        panic!("{}", told.all);
    };
    let (whole, files, is_back) = found(&stage, &run).await;
    assert_eq!((files, is_back), (expected(true), true));
    assert!(records >= 3, "it ends the run first: {records}");

    let (mut done, mut undone) = (0, 0);
    for record in 1..=records {
        for moment in Moment::ALL {
            let stage = Stage::new();
            let run = asking(&stage).await;
            let fuse = Fuse { moment, record };
            let told = rolls_back(&stage, Some(fuse)).await;
            let ended = matches!(told.ending, Ending::Killed | Ending::Over(_));
            assert!(ended, "{fuse}: {}", told.all);
            let (state, files, is_back) = found(&stage, &run).await;
            assert_eq!(files, expected(is_back), "{fuse}");
            // The conversation goes with the files.
            let expected_turns = match is_back {
                true => whole.turn().map(|turn| turn.round),
                false => before.0.turn().map(|turn| turn.round),
            };
            assert_eq!(
                state.turn().map(|turn| turn.round),
                expected_turns,
                "{fuse}"
            );
            match is_back {
                true => done += 1,
                false => undone += 1,
            }
            if is_back {
                continue;
            }
            let told = rolls_back(&stage, None).await;
            assert!(matches!(told.ending, Ending::Over(_)), "{}", told.all);
            let (state, files, is_back) = found(&stage, &run).await;
            assert_eq!((files, is_back), (expected(true), true), "{fuse}");
            assert!(state.is_over(), "{fuse}");
        }
    }
    assert!(done > 0 && undone > 0, "{done} {undone}");
}

/// The same where the disk is full.
#[tokio::test]
async fn a_rollback_without_room_at_any_record_is_there_wholly_or_not_at_all() {
    let mut record = 0;
    loop {
        record += 1;
        let mut has_failed = false;
        for fate in [Fate::Refused, Fate::RefusedLate] {
            let stage = Stage::new();
            let run = asking(&stage).await;
            let tools = vec![super::cast::gated(&Arc::default())];
            let script = Arc::new(Script::default());
            let count = Arc::new(AtomicU64::new(0));
            let (manager, runtime) = harness::open(&stage.home(), script, tools, |journal| {
                let fate = move |at| match at == record {
                    true => fate,
                    false => Fate::Passes,
                };
                Arc::new(Watched::new(journal, count.clone(), fate))
            })
            .await;
            has_failed |= runtime.rollback(to(&run, "1")).await.is_err();
            runtime.close().await;
            manager.store().clone().close().await.unwrap();
            let (_, files, is_back) = found(&stage, &run).await;
            assert_eq!(files, expected(is_back), "{fate:?} at {record}");
            if !is_back {
                let told = rolls_back(&stage, None).await;
                assert!(matches!(told.ending, Ending::Over(_)), "{}", told.all);
            }
            let (_, files, is_back) = found(&stage, &run).await;
            assert_eq!(
                (files, is_back),
                (expected(true), true),
                "{fate:?} at {record}"
            );
        }
        if !has_failed {
            break;
        }
    }
    assert!(record > 3, "{record}");
}
