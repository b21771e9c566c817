//! Deleting runs where there is no room left: on a real file system that a process of its own mounts for itself alone.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use super::tests::{begin, step};
use crate::Store;

const DISK: &str = "INNKEEPER_TEST_SMALL_DISK";

/// Fills what is left.
fn fill(folder: &Path) {
    let mut file = std::fs::File::create(folder.join("ballast")).unwrap();
    while file.write(&[7; 4_096]).is_ok_and(|written| written > 0) {}
}

#[tokio::test]
async fn on_a_small_disk_of_its_own() {
    let Some(folder) = std::env::var_os(DISK) else {
        return;
    };
    let folder = Path::new(&folder);
    let path = folder.join("innkeeper.db");
    let store = Store::open(&path).await.unwrap();
    let lock = store.claim_home().await.unwrap();
    for run in ["a", "b"] {
        begin(&store, run, 1).await;
        for seq in 2..=60 {
            let mut entry = step(run, seq..=seq);
            entry.input = format!("\"{}\"", "x".repeat(20_000)).into();
            store.journal().append(entry).await.unwrap();
        }
    }
    store.close().await.unwrap();
    drop(lock);
    fill(folder);
    let store = Store::open(&path).await.unwrap();
    let lock = store.claim_home().await.unwrap();
    let mut next = 61;
    let full = loop {
        match store.journal().append(step("b", next..=next)).await {
            Ok(()) => next += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full.code(), "store.disk_full");
    assert!(next < 100, "{next}");
    for run in ["a", "b"] {
        assert!(store.journal().delete(&run.into()).await.unwrap());
        assert_eq!(store.journal().record(&run.into()).await.unwrap(), None);
    }
    assert!(store.check().await.unwrap().is_sound());
    drop(lock);
    store.close().await.unwrap();
    println!("deleted on a full disk");
}

#[test]
fn runs_can_be_deleted_on_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=12m none \"$1\" && exec \"$2\" --nocapture --exact \
                  journal::delete_tests::on_a_small_disk_of_its_own";
    let done = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .env(DISK, folder.path())
        .output();
    // Where nobody may mount anything there is no such disk.
    let Ok(done) = done else { return };
    let said = String::from_utf8_lossy(&done.stdout);
    let wrong = String::from_utf8_lossy(&done.stderr);
    if said.contains("running 1 test") {
        assert!(said.contains("deleted on a full disk"), "{said}\n{wrong}");
    }
}
