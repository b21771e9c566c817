//! Who drives the runs of a home: one process at a time.
//!
//! The operating system holds the lock and lets go of it when the process ends, however it ends. What stands in the file
//! only tells the others whom they are waiting for.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// Its name in the home.
const NAME: &str = "innkeeper.lock";

/// Held for as long as it lives.
#[derive(Debug)]
pub struct HomeLock {
    /// `None`: a home in memory, which nobody else can reach.
    _file: Option<File>,
}

#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    since: Timestamp,
}

impl HomeLock {
    /// `StoreError::InUse` if another process has it.
    pub async fn claim(home: &Path) -> Result<Self, StoreError> {
        let home = home.to_owned();
        let shown = home.clone();
        let claimed = tokio::task::spawn_blocking(move || claim(&home)).await;
        claimed.unwrap_or_else(|error| {
            Err(StoreError::Open {
                path: shown,
                cause: error.to_string(),
            })
        })
    }

    pub(crate) fn of_nothing() -> Self {
        Self { _file: None }
    }
}

fn claim(home: &Path) -> Result<HomeLock, StoreError> {
    let path = home.join(NAME);
    let failed = |error: io::Error| StoreError::Open {
        path: path.clone(),
        cause: error.to_string(),
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {
            match write_holder(&mut file) {
                // It is only told to others, and who has no room has to be able to delete something.
                Err(error) if error.kind() == io::ErrorKind::StorageFull => {}
                written => written.map_err(failed)?,
            }
            Ok(HomeLock { _file: Some(file) })
        }
        Err(TryLockError::WouldBlock) => Err(in_use(home, &mut file)),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn write_holder(file: &mut File) -> io::Result<()> {
    let holder = Holder {
        pid: std::process::id(),
        since: Timestamp::now(),
    };
    let text = serde_json::to_string(&holder)?;
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{text}")
}

fn in_use(home: &Path, file: &mut File) -> StoreError {
    let mut text = String::new();
    // Where it cannot be read, only the fact is told.
    let read = file.take(1_000).read_to_string(&mut text);
    let holder: Option<Holder> = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    StoreError::InUse {
        home: PathBuf::from(home),
        pid: holder.as_ref().map(|holder| holder.pid),
        since: holder.map(|holder| holder.since),
    }
}

#[cfg(test)]
#[path = "home_lock_tests.rs"]
mod tests;
