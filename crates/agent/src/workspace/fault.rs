//! How workspace tools refuse: a code of the platform, and the finer name beside it.

use innkeeper_protocol::ErrorCode;
use innkeeper_store::StoreError;
use innkeeper_tools::ToolError;

use super::path::PathFault;

pub(crate) fn fault(code: ErrorCode, reason: &str, message: impl Into<String>) -> ToolError {
    ToolError::new(code, message).because(reason)
}

pub(crate) fn invalid_path(path: &str, why: PathFault) -> ToolError {
    fault(
        ErrorCode::WorkspacePathDenied,
        "workspace.invalid_path",
        format!("'{}' is no path: {why}", quoted(path)),
    )
}

pub(crate) fn not_found(path: &str) -> ToolError {
    fault(
        ErrorCode::WorkspaceFileNotFound,
        "workspace.file_not_found",
        format!("There is no file '{path}': list the files with workspace.list_files"),
    )
}

pub(crate) fn is_directory(path: &str) -> ToolError {
    fault(
        ErrorCode::WorkspacePathIsDirectory,
        "workspace.path_is_directory",
        format!("'{path}' is a folder: name a file in it"),
    )
}

/// The disk, not the model, has to be mended.
pub(crate) fn storage(what: &str, error: &StoreError) -> ToolError {
    fault(
        ErrorCode::WorkspaceStorageFailed,
        error.code(),
        format!("'{what}' cannot be read from the store: {error}"),
    )
}

pub(crate) fn lost(what: &str) -> ToolError {
    fault(
        ErrorCode::WorkspaceStorageFailed,
        "workspace.content_missing",
        format!(
            "The content of '{what}' is not in the store any more: check the database with 'innkeeper doctor'"
        ),
    )
}

/// Foreign text in a sentence: one line, not too long.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().take(80).map(plain).collect();
    if text.chars().nth(80).is_some() {
        shown.push('…');
    }
    shown
}
