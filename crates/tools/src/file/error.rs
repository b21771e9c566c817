//! Why a file could not be had: what happened, where, and what to do instead.

use std::io;

use innkeeper_protocol::ErrorCode;

use super::FileUri;
use crate::ToolError;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error(
        "'{text}' is no path: {problem}; write a path inside the project (reports/x.md) or user://…, shared://…, system://…, fam://<project>/…"
    )]
    InvalidPath { text: String, problem: String },
    #[error("'{0}' leads out of its root: a path may not climb above it with '..'")]
    LeavesRoot(String),
    #[error("'{uri}' does not exist: {scheme}:// has {roots}")]
    NoSuchRoot {
        uri: String,
        scheme: &'static str,
        roots: String,
    },
    #[error("'{0}' is not open to agents: use a path in a project, user:// or shared://")]
    SystemDenied(String),
    #[error("'{0}' is a folder that must stay: choose something inside it")]
    Protected(FileUri),
    #[error("'{0}' does not exist: list its folder to see what does")]
    NotFound(FileUri),
    #[error("'{0}' exists already: choose another name, or delete it first")]
    Exists(FileUri),
    #[error("'{0}' is a folder, not a file")]
    IsDirectory(FileUri),
    #[error("'{0}' is not a folder")]
    NotADirectory(FileUri),
    #[error("'{0}' is a symbolic link, and links are not followed: use the path it stands for")]
    Link(FileUri),
    #[error("'{0}' is a device, a pipe or a socket, not a file")]
    Special(FileUri),
    #[error("'{uri}' has {size} bytes, at most {limit} can be read at once")]
    ReadTooLarge { uri: FileUri, size: u64, limit: u64 },
    #[error("'{uri}' would get {size} bytes, at most {limit} can be written")]
    WriteTooLarge { uri: FileUri, size: u64, limit: u64 },
    #[error("'{uri}' is too large to copy: at most {limit}; copy its parts")]
    CopyTooLarge { uri: FileUri, limit: String },
    #[error("'{from}' cannot go to '{to}': that is inside it or the same")]
    IntoItself { from: FileUri, to: FileUri },
    #[error("'{uri}' is not text in UTF-8 (byte {at} is wrong): only text can be read this way")]
    NotText { uri: FileUri, at: u64 },
    #[error("this cannot be searched for: {0}")]
    InvalidQuery(String),
    #[error("'{0}' is not the id of anything in the recycle bin")]
    NotRecycled(String),
    #[error("the recycle bin holds {0} things and takes no more: empty it")]
    RecycleFull(usize),
    #[error("'{0}' may not be touched: the file system refuses it to this program")]
    Permission(String),
    #[error("the disk is full: '{0}' was not written, what was there before is still there")]
    DiskFull(String),
    #[error("the disk is full: only {written} of {size} bytes were appended to '{uri}'")]
    HalfAppended {
        uri: FileUri,
        written: u64,
        size: u64,
    },
    #[error("'{0}' changed while it was being used: try again")]
    Changed(FileUri),
    #[error("the work on '{0}' was stopped before it was done")]
    Stopped(String),
    #[error("'{place}' could not be used: {source}")]
    Io { place: String, source: io::Error },
}

impl FileError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidPath { .. }
            | Self::LeavesRoot(_)
            | Self::SystemDenied(_)
            | Self::Protected(_)
            | Self::Link(_)
            | Self::Special(_)
            | Self::Permission(_) => ErrorCode::WorkspacePathDenied,
            Self::NoSuchRoot { .. } | Self::NotFound(_) | Self::NotRecycled(_) => {
                ErrorCode::WorkspaceFileNotFound
            }
            Self::IsDirectory(_) => ErrorCode::WorkspacePathIsDirectory,
            Self::Exists(_)
            | Self::NotADirectory(_)
            | Self::IntoItself { .. }
            | Self::InvalidQuery(_)
            | Self::NotText { .. } => ErrorCode::ToolInvalidArguments,
            Self::ReadTooLarge { .. } => ErrorCode::WorkspaceReadTooLarge,
            Self::WriteTooLarge { .. } | Self::CopyTooLarge { .. } | Self::RecycleFull(_) => {
                ErrorCode::WorkspaceWriteTooLarge
            }
            Self::Changed(_) => ErrorCode::ToolExecutionFailed,
            Self::Stopped(_) => ErrorCode::ToolCancelled,
            Self::DiskFull(_) | Self::HalfAppended { .. } | Self::Io { .. } => {
                ErrorCode::WorkspaceStorageFailed
            }
        }
    }

    /// Finer than the code, and as stable.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::InvalidPath { .. } => "file.invalid_path",
            Self::LeavesRoot(_) => "file.leaves_root",
            Self::NoSuchRoot { .. } => "file.no_such_root",
            Self::SystemDenied(_) => "file.system_denied",
            Self::Protected(_) => "file.protected",
            Self::NotFound(_) => "file.not_found",
            Self::Exists(_) => "file.exists",
            Self::IsDirectory(_) => "file.is_directory",
            Self::NotADirectory(_) => "file.not_a_directory",
            Self::Link(_) => "file.link",
            Self::Special(_) => "file.special",
            Self::ReadTooLarge { .. } => "file.read_too_large",
            Self::WriteTooLarge { .. } => "file.write_too_large",
            Self::CopyTooLarge { .. } => "file.copy_too_large",
            Self::IntoItself { .. } => "file.into_itself",
            Self::NotText { .. } => "file.not_text",
            Self::InvalidQuery(_) => "file.invalid_query",
            Self::NotRecycled(_) => "file.not_recycled",
            Self::RecycleFull(_) => "file.recycle_full",
            Self::Permission(_) => "file.permission",
            Self::DiskFull(_) => "file.disk_full",
            Self::HalfAppended { .. } => "file.half_appended",
            Self::Changed(_) => "file.changed",
            Self::Stopped(_) => "file.stopped",
            Self::Io { .. } => "file.io",
        }
    }

    /// The same request may succeed when it is tried again. Half an append may not: it would be there twice.
    fn may_pass(&self) -> bool {
        matches!(self, Self::DiskFull(_) | Self::Changed(_) | Self::Io { .. })
    }

    /// What the operating system said about a thing with a URI.
    pub(super) fn at(uri: &FileUri, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound(uri.clone()),
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                Self::Exists(uri.clone())
            }
            io::ErrorKind::IsADirectory => Self::IsDirectory(uri.clone()),
            io::ErrorKind::NotADirectory => Self::NotADirectory(uri.clone()),
            io::ErrorKind::InvalidFilename => Self::InvalidPath {
                text: uri.to_string(),
                problem: "the file system takes no such name".to_owned(),
            },
            _ => Self::on(uri.to_string(), source),
        }
    }

    /// What the operating system said about a place that need not have a URI.
    pub(super) fn on(place: impl Into<String>, source: io::Error) -> Self {
        let place = place.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Permission(place)
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull(place),
            _ => Self::Io { place, source },
        }
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        let tool_error = ToolError::new(error.code(), error.to_string()).because(error.reason());
        match error.may_pass() {
            true => tool_error,
            false => tool_error.permanent(),
        }
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
