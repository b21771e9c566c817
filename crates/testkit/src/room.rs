//! Where the sandbox's launcher is while tests run.

use std::path::PathBuf;

/// The launcher, which cargo has built beside the tests.
///
/// # Panics
/// If it is not there.
#[expect(clippy::panic, reason = "only tests call it")]
pub fn launcher() -> PathBuf {
    let mut folder = std::env::current_exe().unwrap_or_default();
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let path = folder.join(format!("innkeeper-room{}", std::env::consts::EXE_SUFFIX));
    match path.is_file() {
        true => path,
        false => panic!(
            "{} is missing; run `cargo build -p innkeeper-sandbox` first",
            path.display()
        ),
    }
}
