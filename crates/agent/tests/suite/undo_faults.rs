//! A rollback is there wholly or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use innkeeper_protocol::event::RunStatus;

use super::harness::{self, House, Script};
use super::undo::{text, to, write};
use super::watched::{Fate, Watched};

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
