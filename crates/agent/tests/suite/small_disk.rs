//! A real file system that has no room left, where one can be had: a process of its own mounts it for itself alone.

use std::path::Path;
use std::sync::Arc;

use innkeeper_protocol::event::{RunEventKind, RunStatus};
use innkeeper_store::journal::Followed;
use tokio::process::Command;

use super::child::{Ending, Stage, arguments, finished, own_stage, say};
use super::faults::{check_fault, check_stopped, heard};
use super::harness::open;
use super::story::{Teller, asked, policy, tools};
use super::verdict::{Acknowledged, check_end};

const FULL_AFTER: &str = "INNKEEPER_TEST_FULL_AFTER";
const BALLAST: &str = "ballast";

/// Fills what is left.
fn fill(home: &Path) {
    use std::io::Write as _;
    let mut file = std::fs::File::create(home.join(BALLAST)).unwrap();
    let block = [7_u8; 4_096];
    // One that is written in part tells nothing; the next one fails.
    while file.write(&block).is_ok_and(|written| written > 0) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_on_a_small_disk() {
    let Some(full_after) = std::env::var(FULL_AFTER).ok() else {
        return;
    };
    let full_after: usize = full_after.parse().unwrap();
    let stage = own_stage().unwrap();
    let (home, outside) = (stage.home(), stage.outside());
    let models = Arc::new(Teller);
    let (manager, runtime) = open(&home, models, tools(&outside), |journal| journal).await;
    manager.set_policy(policy());
    let run = runtime.start(asked(&home)).await.unwrap().run_id;
    let mut follower = runtime.follow(&run, 0);
    let mut turns = 0;
    'told: while turns < full_after {
        let Followed::Events(events) = follower.next().await else {
            panic!("the run ended too early");
        };
        for event in events {
            turns += usize::from(matches!(event.kind, RunEventKind::ModelCompleted(_)));
            // Nobody answers yet, so it does not get past this.
            if matches!(event.kind, RunEventKind::ChatCommitRequested(_)) {
                break 'told;
            }
        }
    }
    fill(&home);
    let mut told = Acknowledged::new();
    let stopped = heard(&runtime, &run, &outside, &mut told).await;
    assert!(!stopped.is_terminal(), "the disk was not full");
    check_stopped(manager.store(), &run, &told).await;
    check_fault(&runtime, &run).await;
    // Without room it cannot even be taken up; that is said, and does no harm.
    let refused = runtime.recover().await.unwrap();
    assert!(refused.iter().all(|one| one.problem.is_some()));
    std::fs::remove_file(home.join(BALLAST)).unwrap();
    let recovered = runtime.recover().await.unwrap();
    assert!(
        recovered.iter().all(|one| one.problem.is_none()),
        "{recovered:?}"
    );
    let status = heard(&runtime, &run, &outside, &mut told).await;
    assert_eq!(status, RunStatus::Completed);
    runtime.close().await;
    manager.store().clone().close().await.unwrap();
    let files = check_end(&home, &outside, &told).await;
    assert_eq!(files.len(), 3);
    say("over 0");
}

/// `false` where nobody may mount anything.
async fn on_a_small_disk(full_after: usize) -> bool {
    if Command::new("unshare")
        .arg("--version")
        .output()
        .await
        .is_err()
    {
        return false;
    }
    let stage = Stage::new();
    let mount =
        r#"mount -t tmpfs -o size=16m none "$0" || { echo; echo skipped; exit; }; exec "$@""#;
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount])
        .arg(stage.home())
        .arg(std::env::current_exe().unwrap())
        .args(arguments("suite::small_disk::a_process_on_a_small_disk"))
        .env(FULL_AFTER, full_after.to_string());
    stage.surroundings(&mut command);
    let told = finished(command).await;
    match told.ending {
        Ending::Over(_) => true,
        Ending::Skipped => false,
        _ if told.all.contains("unshare") && !told.all.contains("panicked") => false,
        _ => panic!("full after {full_after}: {}", told.all),
    }
}

async fn full_after_each(turns: impl IntoIterator<Item = usize>) {
    for full_after in turns {
        if !on_a_small_disk(full_after).await {
            eprintln!("skipped: a small file system cannot be mounted here");
            return;
        }
    }
}

#[tokio::test]
async fn a_run_on_a_full_disk_stops_and_goes_on_when_there_is_room() {
    full_after_each([1, 6]).await;
}

#[tokio::test]
#[ignore = "takes minutes; make test-faults runs it"]
async fn a_run_on_a_disk_that_is_full_after_any_turn_goes_on_when_there_is_room() {
    full_after_each(0..=9).await;
}
