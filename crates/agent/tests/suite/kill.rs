//! A process that is killed at any record of its journal loses nothing that was told, does nothing twice, and the next one
//! brings the run to the same end.

use super::child::{Ending, Stage};
use super::verdict::{Acknowledged, Files, check_end};
use super::watched::{Fuse, Moment};

/// A run that nobody disturbs: how many records it writes, and what it leaves.
pub(super) async fn undisturbed() -> (u64, Files) {
    let stage = Stage::new();
    let told = stage.tell(None).await;
    let Ending::Over(records) = told.ending else {
        panic!("{}", told.all);
    };
    let files = check_end(&stage.home(), &stage.outside(), &told.acknowledged).await;
    assert_eq!(files.len(), 3, "{files:?}");
    (records, files)
}

/// Kills one process after the other, and lets the last one come to the end.
async fn killed(fuses: &[Fuse], expected: &Files) {
    let stage = Stage::new();
    let mut acknowledged = Acknowledged::new();
    for fuse in fuses.iter().copied().map(Some).chain([None]) {
        let told = stage.tell(fuse).await;
        told.follows(&acknowledged);
        match told.ending {
            Ending::Killed => {}
            // The order of what happens in the background differs, so there may be a record less.
            Ending::Over(_) => {}
            _ => panic!("killed {fuses:?}: {}", told.all),
        }
        acknowledged.extend(told.acknowledged);
    }
    let files = check_end(&stage.home(), &stage.outside(), &acknowledged).await;
    assert_eq!(files, *expected, "killed {fuses:?}");
}

#[tokio::test]
async fn a_run_that_is_killed_at_some_records_comes_to_the_same_end() {
    let (records, files) = undisturbed().await;
    let some = (1..=records).filter(|record| [1, 2, records].contains(record) || record % 7 == 0);
    for (record, turn) in some.zip(0..) {
        let moment = Moment::ALL[turn % Moment::ALL.len()];
        killed(&[Fuse { moment, record }], &files).await;
    }
}

async fn killed_at_every_record(moment: Moment) {
    let (records, files) = undisturbed().await;
    eprintln!("{records} records");
    for record in 1..=records {
        killed(&[Fuse { moment, record }], &files).await;
    }
}

#[tokio::test]
#[ignore = "takes minutes; make test-faults runs it"]
async fn a_run_that_is_killed_before_any_record_comes_to_the_same_end() {
    killed_at_every_record(Moment::Before).await;
}

#[tokio::test]
#[ignore = "takes minutes; make test-faults runs it"]
async fn a_run_that_is_killed_while_any_record_is_written_comes_to_the_same_end() {
    killed_at_every_record(Moment::During).await;
}

#[tokio::test]
#[ignore = "takes minutes; make test-faults runs it"]
async fn a_run_that_is_killed_after_any_record_comes_to_the_same_end() {
    killed_at_every_record(Moment::After).await;
}

/// Whoever takes over is killed as well, and so is the next.
#[tokio::test]
#[ignore = "takes minutes; make test-faults runs it"]
async fn a_run_whose_recovery_is_killed_comes_to_the_same_end() {
    let (records, files) = undisturbed().await;
    for record in 1..=records {
        let again = |record: u64, at: u64| Fuse {
            moment: Moment::ALL[(record % 3) as usize],
            record: at,
        };
        let first = Fuse {
            moment: Moment::After,
            record,
        };
        let fuses = [first, again(record, 1 + record % 5), again(record + 1, 1)];
        killed(&fuses, &files).await;
    }
}
