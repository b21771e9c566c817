use std::io::ErrorKind;

use innkeeper_protocol::event::RunId;

use super::*;
use crate::Caller;

/// Whatever disk it comes from, an error of the system has one meaning.
#[test]
fn faults_of_the_system_have_codes() {
    let uri = super::super::uri::resolve(&Caller::person(RunId::new("r")), "x").unwrap();
    for (kind, code, reason, may_pass) in [
        (
            ErrorKind::NotFound,
            ErrorCode::WorkspaceFileNotFound,
            "file.not_found",
            false,
        ),
        (
            ErrorKind::PermissionDenied,
            ErrorCode::WorkspacePathDenied,
            "file.permission",
            false,
        ),
        (
            ErrorKind::ReadOnlyFilesystem,
            ErrorCode::WorkspacePathDenied,
            "file.permission",
            false,
        ),
        (
            ErrorKind::AlreadyExists,
            ErrorCode::ToolInvalidArguments,
            "file.exists",
            false,
        ),
        (
            ErrorKind::DirectoryNotEmpty,
            ErrorCode::ToolInvalidArguments,
            "file.exists",
            false,
        ),
        (
            ErrorKind::IsADirectory,
            ErrorCode::WorkspacePathIsDirectory,
            "file.is_directory",
            false,
        ),
        (
            ErrorKind::NotADirectory,
            ErrorCode::ToolInvalidArguments,
            "file.not_a_directory",
            false,
        ),
        (
            ErrorKind::InvalidFilename,
            ErrorCode::WorkspacePathDenied,
            "file.invalid_path",
            false,
        ),
        (
            ErrorKind::StorageFull,
            ErrorCode::WorkspaceStorageFailed,
            "file.disk_full",
            true,
        ),
        (
            ErrorKind::QuotaExceeded,
            ErrorCode::WorkspaceStorageFailed,
            "file.disk_full",
            true,
        ),
        (
            ErrorKind::Other,
            ErrorCode::WorkspaceStorageFailed,
            "file.io",
            true,
        ),
        (
            ErrorKind::TimedOut,
            ErrorCode::WorkspaceStorageFailed,
            "file.io",
            true,
        ),
    ] {
        let error = FileError::at(&uri, io::Error::from(kind));
        assert_eq!((error.code(), error.reason()), (code, reason), "{kind:?}");
        let message = error.to_string();
        assert!(message.contains("user://projects/default/x"), "{message}");
        let tool: ToolError = error.into();
        assert_eq!(tool.reason.as_deref(), Some(reason));
        assert_eq!(tool.may_pass(), may_pass, "{kind:?}");
        assert_eq!(tool.permanent, !may_pass, "{kind:?}");
    }
}

#[test]
fn half_an_append_is_not_tried_again() {
    let uri = super::super::uri::resolve(&Caller::person(RunId::new("r")), "x").unwrap();
    let error = FileError::HalfAppended {
        uri,
        written: 1,
        size: 2,
    };
    assert!(!ToolError::from(error).may_pass());
}

#[test]
fn messages_are_sentences_without_a_full_stop() {
    let uri = super::super::uri::resolve(&Caller::person(RunId::new("r")), "x").unwrap();
    for error in [
        FileError::Protected(uri.clone()),
        FileError::Link(uri.clone()),
        FileError::RecycleFull(3),
        FileError::DiskFull("x".to_owned()),
        FileError::InvalidQuery("it is empty".to_owned()),
    ] {
        assert!(!error.to_string().ends_with('.'), "{error}");
    }
}
