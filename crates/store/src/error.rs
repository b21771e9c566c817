//! What can go wrong with what must survive, in sentences that say what to do.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::limits::MAX_JSON_DEPTH;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error(
        "the database {path} cannot be opened: {cause}; check that its folder exists and may be written to"
    )]
    Open { path: PathBuf, cause: String },
    #[error(
        "the database {path} has schema version {found}, and this version knows only {known}: it was used by a newer version; update this one"
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error(
        "the database {path} belongs to another program; choose another folder or move that file away"
    )]
    Foreign { path: PathBuf },
    #[error(
        "the database {path} is damaged: {cause}; 'innkeeper doctor --repair' saves what can be read"
    )]
    Corrupt { path: PathBuf, cause: String },
    #[error(
        "another process holds the database for too long; end it or wait until it is done, then try again"
    )]
    Busy,
    #[error("writing to the database failed: {cause}; check the disk")]
    Write { cause: String },
    #[error("there is no room to write: {cause}; nothing was written; make room, then try again")]
    DiskFull { cause: String },
    #[error("reading from the database failed: {cause}")]
    Read { cause: String },
    #[error("more is waiting to be written than may wait; try again")]
    QueueFull,
    #[error("the store has been closed")]
    Closed,
    #[error("there are {limit} {what} already; remove some")]
    Full { what: &'static str, limit: u64 },
    #[error("{what} is too large: {size}, at most {limit}")]
    TooLarge {
        what: &'static str,
        size: usize,
        limit: usize,
    },
    #[error("{what} is nested too deep, at most {MAX_JSON_DEPTH} levels are kept")]
    TooDeep { what: &'static str },
    #[error("this request is claimed by somebody else, or not at all")]
    ClaimLost,
    #[error(
        "event {found} does not follow on the last of the run, which is {last}; somebody else writes to it"
    )]
    Gap { last: u64, found: u64 },
    #[error("the run is over; nothing can be added to it")]
    RunOver,
    #[error("there is no run '{0}'")]
    NoRun(String),
    #[error(
        "the run '{0}' was slimmed: its events are kept, what it was fed and its files are not; start another run, and to keep more of them raise retention.keep_full_recent_runs"
    )]
    RunSlimmed(String),
    #[error("there is a run '{0}' already")]
    RunExists(String),
    #[error("the content {id} is not in the store, but a tree needs it; bring it with the tree")]
    ContentMissing { id: String },
    #[error("the content {id} is damaged: {cause}; 'innkeeper doctor' tells what else is")]
    ContentDamaged { id: String, cause: String },
    #[error(
        "another innkeeper{} drives the runs in {home}{}; let it do the work or end it first",
        pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(),
        since.map(|since| format!(" since {since}")).unwrap_or_default()
    )]
    InUse {
        home: PathBuf,
        pid: Option<u32>,
        since: Option<Timestamp>,
    },
}

impl StoreError {
    /// A stable name.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open { .. } => "store.cannot_open",
            Self::Newer { .. } => "store.newer_version",
            Self::Foreign { .. } => "store.foreign_database",
            Self::Corrupt { .. } => "store.corrupt",
            Self::Busy => "store.busy",
            Self::Write { .. } => "store.write_failed",
            Self::DiskFull { .. } => "store.disk_full",
            Self::Read { .. } => "store.read_failed",
            Self::QueueFull => "store.queue_full",
            Self::Closed => "store.closed",
            Self::Full { .. } => "store.full",
            Self::TooLarge { .. } => "store.too_large",
            Self::TooDeep { .. } => "store.too_deep",
            Self::ClaimLost => "store.claim_lost",
            Self::Gap { .. } => "store.gap",
            Self::RunOver => "store.run_over",
            Self::NoRun(_) => "store.no_run",
            Self::RunSlimmed(_) => "store.run_slimmed",
            Self::RunExists(_) => "store.run_exists",
            Self::ContentMissing { .. } => "store.content_missing",
            Self::ContentDamaged { .. } => "store.content_damaged",
            Self::InUse { .. } => "store.in_use",
        }
    }

    pub(crate) fn open(path: &Path, error: &sqlx::Error) -> Self {
        match Kind::of(error) {
            Kind::Other => Self::Open {
                path: path.to_owned(),
                cause: cause(error),
            },
            kind => kind.error(path, error),
        }
    }

    pub(crate) fn write(path: &Path, error: &sqlx::Error) -> Self {
        match Kind::of(error) {
            Kind::Other => Self::Write {
                cause: cause(error),
            },
            kind => kind.error(path, error),
        }
    }

    pub(crate) fn read(path: &Path, error: &sqlx::Error) -> Self {
        match Kind::of(error) {
            Kind::Other => Self::Read {
                cause: cause(error),
            },
            kind => kind.error(path, error),
        }
    }
}

impl StoreError {
    /// For what lies in files beside the database.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        let cause = format!("{}: {error}", path.display());
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::DiskFull { cause },
            _ => Self::Write { cause },
        }
    }

    /// A step of a run that cannot be read as it was written.
    pub(crate) fn damaged(path: &Path, run: &str, what: impl std::fmt::Display) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            cause: format!("run '{run}', {what}"),
        }
    }
}

enum Kind {
    Busy,
    Corrupt,
    Closed,
    DiskFull,
    Other,
}

impl Kind {
    fn of(error: &sqlx::Error) -> Self {
        if matches!(error, sqlx::Error::PoolClosed) {
            return Self::Closed;
        }
        if matches!(
            error,
            sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. }
        ) {
            return Self::Corrupt;
        }
        match primary_code(error) {
            Some(5 | 6) => Self::Busy,
            Some(11 | 26) => Self::Corrupt,
            Some(13) => Self::DiskFull,
            _ => Self::Other,
        }
    }

    fn error(self, path: &Path, error: &sqlx::Error) -> StoreError {
        match self {
            Self::Busy => StoreError::Busy,
            Self::Closed => StoreError::Closed,
            Self::DiskFull => StoreError::DiskFull {
                cause: cause(error),
            },
            Self::Corrupt | Self::Other => StoreError::Corrupt {
                path: path.to_owned(),
                cause: cause(error),
            },
        }
    }
}

/// Without the extension that SQLite puts above the lowest byte.
fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

/// Another process is at it; the same may work in a moment.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    matches!(Kind::of(error), Kind::Busy)
}

/// In SQLite's words, without those that sqlx puts around them.
fn cause(error: &sqlx::Error) -> String {
    match error.as_database_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_from_a_broken_one() {
        for (kind, code) in [
            (io::ErrorKind::StorageFull, "store.disk_full"),
            (io::ErrorKind::QuotaExceeded, "store.disk_full"),
            (io::ErrorKind::FileTooLarge, "store.disk_full"),
            (io::ErrorKind::PermissionDenied, "store.write_failed"),
        ] {
            let error = StoreError::file(Path::new("blobs/ab"), &kind.into());
            assert_eq!(error.code(), code);
            assert!(error.to_string().contains("blobs/ab"), "{error}");
        }
    }
}
