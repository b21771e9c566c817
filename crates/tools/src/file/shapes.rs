//! The small types that go in and come out.

use cap_std::fs::{FileType, Metadata};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::FileUri;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    File,
    Directory,
    /// A symbolic link. It is never followed.
    Link,
    /// A device, a pipe or a socket.
    Special,
}

impl Kind {
    pub(super) fn of(file_type: FileType) -> Self {
        if file_type.is_file() {
            Self::File
        } else if file_type.is_dir() {
            Self::Directory
        } else if file_type.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stat {
    pub uri: FileUri,
    pub kind: Kind,
    /// In bytes; 0 for what is no file.
    pub size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<Timestamp>,
}

impl Stat {
    pub(super) fn new(uri: FileUri, metadata: &Metadata) -> Self {
        let kind = Kind::of(metadata.file_type());
        let modified = metadata.modified().ok().map(|time| time.into_std());
        Self {
            uri,
            kind,
            size: if kind == Kind::File {
                metadata.len()
            } else {
                0
            },
            modified: modified.and_then(|time| Timestamp::try_from(time).ok()),
        }
    }

    /// A root that is no folder on disk.
    pub(super) fn root(uri: FileUri) -> Self {
        Self {
            uri,
            kind: Kind::Directory,
            size: 0,
            modified: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Only if there is nothing yet.
    Create,
    /// Whatever was there before.
    Replace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListOptions {
    /// 1 for the folder alone.
    pub depth: usize,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Listing {
    /// By path.
    pub entries: Vec<Stat>,
    /// There is more than `limit` allowed.
    pub truncated: bool,
    /// What could not be shown: names that no URI can carry, folders that may not be read.
    pub skipped: usize,
}

/// Lines to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// From 1.
    pub start: u64,
    pub count: u64,
    pub max_bytes: usize,
}

/// Some lines of a file, their ends included as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPart {
    pub text: String,
    pub start_line: u64,
    /// One before `start_line` if there is no such line.
    pub end_line: u64,
    pub total_lines: u64,
    /// The file goes on after `text`.
    pub truncated: bool,
    /// `text` ends inside a line that alone is too long.
    pub cut: bool,
    /// Of the whole file.
    pub size: u64,
    pub sha256: String,
}
