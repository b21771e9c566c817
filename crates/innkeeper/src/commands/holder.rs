//! Who drives the runs of a home, found out without claiming it: whoever only looks must not be in anybody's way, and
//! must not be taken for the one who drives.

use std::fs::{File, Metadata, TryLockError};
use std::io::Read;

use serde::Deserialize;

use crate::home::Home;

const LOCK: &str = "innkeeper.lock";
/// More than its holder writes into it, in bytes.
const MAX_LOCK_BYTES: u64 = 1_000;

/// A process that drives the runs of a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Nothing if it has not said so yet.
    pub(crate) pid: Option<u32>,
}

#[derive(Deserialize)]
struct Written {
    pid: u32,
}

/// At this moment; what cannot be found out counts as nobody.
pub(crate) fn holder(home: &Home) -> Option<Holder> {
    let file = File::open(home.file(LOCK)).ok()?;
    let mut text = String::new();
    (&file)
        .take(MAX_LOCK_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    let written: Option<Written> = serde_json::from_str(&text).ok();
    let pid = written.map(|written| written.pid);
    match held_by(pid, &file.metadata().ok()?) {
        Some(true) => Some(Holder { pid }),
        Some(false) => None,
        // No way to look at other processes: for a moment we are one of many readers, which is less than a claim.
        None => match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(Holder { pid }),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        },
    }
}

/// Only whoever had the lock has written its number there; whether it still has it stands beside its open files. Nothing
/// where this system does not show them.
#[cfg(target_os = "linux")]
fn held_by(pid: Option<u32>, lock: &Metadata) -> Option<bool> {
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    if !Path::new("/proc/self/fd").exists() {
        return None;
    }
    let Some(pid) = pid else {
        return Some(false);
    };
    match std::fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(open) => Some(open.flatten().any(|entry| {
            let it = std::fs::metadata(entry.path());
            let is_it = it.is_ok_and(|it| (it.dev(), it.ino()) == (lock.dev(), lock.ino()));
            is_it && {
                let info = Path::new("/proc").join(pid.to_string()).join("fdinfo");
                let info = std::fs::read_to_string(info.join(entry.file_name()));
                info.is_ok_and(|info| info.contains("FLOCK"))
            }
        })),
        // Of somebody else; it is there, and that is all that can be said.
        Err(error) => Some(error.kind() == io::ErrorKind::PermissionDenied),
    }
}

#[cfg(not(target_os = "linux"))]
fn held_by(_: Option<u32>, _: &Metadata) -> Option<bool> {
    None
}

#[cfg(test)]
mod tests {
    use innkeeper_store::HomeLock;

    use super::*;

    #[tokio::test]
    async fn the_holder_is_seen_and_nobody_is_disturbed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::of(Some(folder.path())).unwrap();
        assert_eq!(holder(&home), None);
        assert!(!home.file(LOCK).exists(), "looking makes nothing");

        let lock = HomeLock::claim(home.path()).await.unwrap();
        let own = Some(std::process::id());
        assert_eq!(holder(&home), Some(Holder { pid: own }));
        drop(lock);
        assert_eq!(holder(&home), None, "we have it open, and that is all");
        // Somebody who looks has the file open, and is still not the one who drives.
        let _looking = File::open(home.file(LOCK)).unwrap();
        std::fs::write(home.file(LOCK), "{\"pid\": 4194305}").unwrap();
        assert_eq!(holder(&home), None);
        assert!(HomeLock::claim(home.path()).await.is_ok());
    }
}
