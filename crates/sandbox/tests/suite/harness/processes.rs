//! Looks at the machine's processes from outside.

use std::fs;
use std::time::Duration;

/// Processes whose command line holds this text, this one left out.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own)
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(text))
        })
        .collect()
}

/// Waits until it is so: for what the kernel does in its own time. Gives up after many looks.
pub(crate) async fn until(what: &str, mut so: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not come to be: {what}");
}
