//! `workspace.delete_file`: a file that is there no more, for later runs of the chat neither. Only by whoever has read it.

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::super::Workspaces;
use super::super::fault::{fault, is_directory, not_found};
use super::writable;
use crate::declare::{Nature, answer, declare, examples, object, text};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[(
            "What was noted does not hold any more.",
            json!({"path": "persist/plans.md"}),
        )]),
        ..declare(
            "workspace.delete_file",
            "Delete file",
            "Deletes one file of the workspace. Read it first. What is deleted in persist is not there for later runs of this chat either.",
            Nature::Mutating,
            object(
                json!({"path": {"type": "string", "description": "The file to delete, like persist/plans.md; no folder."}}),
                &["path"],
            ),
            answer(&[("path", "string"), ("oldSha256", "string")]),
        )
    }
}

pub(super) struct DeleteFile(pub(super) Workspaces);

#[async_trait]
impl Executor for DeleteFile {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let desk = self.0.desk(&call)?;
        let session = &desk.session;
        let path = writable(session.plan(), text(&call, "path").unwrap_or_default())?;
        if session.is_folder(path.as_str()) {
            return Err(is_directory(path.as_str()));
        }
        let _writing = session.writing().await;
        let Some(old) = session.file(path.as_str()) else {
            return Err(not_found(path.as_str()));
        };
        match session.read_state(path.as_str()) {
            None => Err(fault(
                ErrorCode::WorkspaceWriteRequiresRead,
                "workspace.delete_requires_read",
                format!(
                    "You have not read '{path}': read it with workspace.read_file before you delete it"
                ),
            )),
            Some(read) if read.sha256 != old.sha256 => Err(fault(
                ErrorCode::WorkspaceWriteStaleFile,
                "workspace.delete_stale_file",
                format!(
                    "'{path}' has changed since you read it: read it again before you delete it"
                ),
            )),
            Some(_) => {
                let answer = json!({"path": path.as_str(), "oldSha256": old.sha256});
                session.remove(&desk.call, &path, old);
                Ok(answer)
            }
        }
    }
}
