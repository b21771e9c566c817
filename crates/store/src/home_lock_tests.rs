use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;
use crate::Store;
use crate::store::tests::folder;

const CHILD_HOME: &str = "INNKEEPER_TEST_LOCKED_HOME";

#[tokio::test]
async fn a_process_that_holds_the_home() {
    let Some(home) = std::env::var_os(CHILD_HOME) else {
        return;
    };
    let _lock = HomeLock::claim(Path::new(&home)).await.unwrap();
    println!("\nheld");
    std::io::stdin().lines().for_each(drop);
}

#[tokio::test]
async fn the_second_process_is_told_who_has_it_and_gets_it_when_that_one_is_gone() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--nocapture", "--exact"])
        .arg("home_lock::tests::a_process_that_holds_the_home")
        .env(CHILD_HOME, folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "held"));
    let refused = store.claim_home().await.unwrap_err();
    let pid = child.id();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(refused.code(), "store.in_use");
    let said = refused.to_string();
    assert!(said.contains(&format!("process {pid}")), "{said}");
    assert!(
        said.contains(&folder.path().display().to_string()),
        "{said}"
    );

    let lock = store.claim_home().await.unwrap();
    let again = store.claim_home().await.unwrap_err();
    assert!(matches!(again, StoreError::InUse { pid, .. } if pid == Some(std::process::id())));
    drop(lock);
    store.claim_home().await.unwrap();
}

#[tokio::test]
async fn a_file_without_a_name_in_it_still_locks() {
    let folder = tempfile::tempdir().unwrap();
    let _lock = HomeLock::claim(folder.path()).await.unwrap();
    std::fs::write(folder.path().join(NAME), "?").unwrap();
    let refused = HomeLock::claim(folder.path()).await.unwrap_err();
    let nameless = StoreError::InUse {
        home: folder.path().to_owned(),
        pid: None,
        since: None,
    };
    assert_eq!(refused, nameless);
    assert!(refused.to_string().starts_with("another innkeeper drives"));
    let missing = HomeLock::claim(&folder.path().join("missing")).await;
    assert_eq!(missing.unwrap_err().code(), "store.cannot_open");
}
