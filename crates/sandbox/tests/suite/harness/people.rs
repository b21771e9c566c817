//! As whom the suites run. Started by root they run as root, and then once more as somebody without rights:
//! the test binary starts a copy of itself that this user can reach. Started by anybody else they run as that user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `nobody`, or at least nobody in particular.
const NOBODY: u32 = 65534;
const LAUNCHER: &str = "innkeeper-room";

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The launcher: beside a copy of the tests, or where cargo has built it.
pub(crate) fn launcher() -> PathBuf {
    let beside = std::env::current_exe().unwrap().with_file_name(LAUNCHER);
    match beside.is_file() {
        true => beside,
        false => PathBuf::from(env!("CARGO_BIN_EXE_innkeeper-room")),
    }
}

/// Runs a test's body for everybody. `test` is its path as the test runner knows it.
pub(crate) fn as_everybody(test: &str, body: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(body);
    if is_root() {
        as_nobody(test);
    }
}

/// Runs an ignored test in a process where nothing else happens, for everybody.
pub(crate) fn apart(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    expect_pass(rerun_command(folder.path(), test));
    if is_root() {
        as_nobody(test);
    }
}

fn as_nobody(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = rerun_command(folder.path(), test);
    command.uid(NOBODY).gid(NOBODY);
    expect_pass(command);
}

fn expect_pass(mut command: Command) {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    eprint!("{complaints}");
    assert!(
        output.status.success() && told.contains("test result: ok. 1 passed"),
        "{command:?} has failed\n{told}"
    );
}

/// This test binary once more, from a place that everybody can reach, for one test.
pub(crate) fn rerun_command(folder: &Path, test: &str) -> Command {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let copy = folder.join("suite");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    fs::copy(launcher(), folder.join(LAUNCHER)).unwrap();
    let mut command = Command::new(copy);
    command
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .current_dir("/");
    command
}
