//! `workspace.write_file`: a whole file, or more at its end. An existing file is replaced only by whoever has read it.

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::super::Workspaces;
use super::super::fault::{fault, is_directory, quoted};
use super::super::path::WorkspacePath;
use super::super::session::{NewFile, WorkspaceSession};
use super::super::state::{FileInfo, How, ReadState};
use super::super::text::{aside, measured};
use super::super::workspaces::Desk;
use super::writable;
use crate::declare::{Nature, answer, declare, examples, object, text};
use crate::limits::MAX_WORKSPACE_FILE_BYTES;

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[
            (
                "Write a draft.",
                json!({"path": "output/main.md", "content": "# The Inn\n\nIt rained."}),
            ),
            (
                "Go on with it.",
                json!({"path": "output/main.md", "content": "\n\nThen the door opened.", "mode": "append"}),
            ),
        ]),
        ..declare(
            "workspace.write_file",
            "Write file",
            "Writes a text file of the workspace. To replace a file that is there, read it first; to add to its end, use mode append; to change a part, use workspace.apply_patch.",
            Nature::Mutating,
            object(
                json!({
                    "path": {"type": "string", "description": "The file to write, like output/main.md."},
                    "content": {
                        "type": "string", "x-verbatim": true,
                        "description": "The text, exactly as it shall stand in the file."
                    },
                    "mode": {
                        "type": "string",
                        "description": "replace (if left out): the content becomes the whole file. append: it is added to the end, without a line break of its own."
                    }
                }),
                &["path", "content"],
            ),
            answer(&[
                ("path", "string"),
                ("mode", "string"),
                ("bytes", "integer"),
                ("chars", "integer"),
                ("words", "integer"),
                ("sha256", "string"),
            ]),
        )
    }
}

pub(super) struct WriteFile(pub(super) Workspaces);

#[async_trait]
impl Executor for WriteFile {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let desk = self.0.desk(&call)?;
        let content = text(&call, "content").unwrap_or_default().to_owned();
        let append = match text(&call, "mode").unwrap_or("replace") {
            "replace" => false,
            "append" => true,
            other => {
                return Err(fault(
                    ErrorCode::WorkspaceModeInvalid,
                    "workspace.write_mode_invalid",
                    format!(
                        "There is no mode '{}': use replace or append",
                        quoted(other)
                    ),
                ));
            }
        };
        let path = writable(desk.session.plan(), text(&call, "path").unwrap_or_default())?;
        if desk.session.is_folder(path.as_str()) {
            return Err(is_directory(path.as_str()));
        }
        let _writing = desk.session.writing().await;
        match append {
            true => appended(&desk, path, content).await,
            false => replaced(&desk, path, content).await,
        }
    }
}

async fn replaced(desk: &Desk, path: WorkspacePath, content: String) -> Result<Json, ToolError> {
    check_size(&path, content.len() as u64)?;
    let session = &desk.session;
    if let Some(old) = session.file(path.as_str()) {
        may_replace(session, &path, &old)?;
    }
    let (blob, info) = aside(content.len(), move || measured(content)).await?;
    let read = Some(ReadState::full(info.sha256.clone()));
    keep(desk, path, "replace", blob, info, read)
}

fn may_replace(
    session: &WorkspaceSession,
    path: &WorkspacePath,
    old: &FileInfo,
) -> Result<(), ToolError> {
    let Some(read) = session.read_state(path.as_str()) else {
        return Err(fault(
            ErrorCode::WorkspaceWriteRequiresRead,
            "workspace.write_requires_read",
            format!(
                "'{path}' is there already and you have not read it: read it with workspace.read_file before you replace it"
            ),
        ));
    };
    match read.sha256 == old.sha256 {
        true => Ok(()),
        false => Err(fault(
            ErrorCode::WorkspaceWriteStaleFile,
            "workspace.write_stale_file",
            format!("'{path}' has changed since you read it: read it again before you replace it"),
        )),
    }
}

async fn appended(desk: &Desk, path: WorkspacePath, content: String) -> Result<Json, ToolError> {
    let session = &desk.session;
    let old = session.file(path.as_str());
    let held = old.as_ref().map_or(0, |old| old.bytes);
    let size = held.saturating_add(content.len() as u64);
    check_size(&path, size)?;
    let before = match &old {
        Some(old) => Some(session.text(path.as_str(), &old.sha256).await?),
        None => None,
    };
    let whole = move || {
        let before = before.as_ref().map_or("", |before| before.as_str());
        measured([before, content.as_str()].concat())
    };
    let bytes = usize::try_from(size).unwrap_or(usize::MAX);
    let (blob, info) = aside(bytes, whole).await?;
    let read = match &old {
        None => Some(ReadState::full(info.sha256.clone())),
        Some(old) => {
            let known = session.read_state(path.as_str());
            ReadState::appended(known.as_ref(), old, &info)
        }
    };
    keep(desk, path, "append", blob, info, read)
}

fn keep(
    desk: &Desk,
    path: WorkspacePath,
    mode: &str,
    blob: innkeeper_store::Blob,
    info: FileInfo,
    read: Option<ReadState>,
) -> Result<Json, ToolError> {
    let answer = json!({
        "path": path.as_str(),
        "mode": mode,
        "bytes": info.bytes,
        "chars": info.chars,
        "words": info.words,
        "sha256": info.sha256,
    });
    let file = NewFile {
        path,
        how: How::Written {
            mode: mode.to_owned(),
        },
        blob,
        info,
        read,
    };
    desk.session.put(&desk.call, file)?;
    Ok(answer)
}

pub(super) fn check_size(path: &WorkspacePath, bytes: u64) -> Result<(), ToolError> {
    match bytes <= MAX_WORKSPACE_FILE_BYTES {
        true => Ok(()),
        false => Err(fault(
            ErrorCode::WorkspaceWriteTooLarge,
            "workspace.file_too_large",
            format!(
                "'{path}' would have {bytes} bytes, and a file has at most {MAX_WORKSPACE_FILE_BYTES}: split it into several files"
            ),
        )),
    }
}
