//! `workspace.commit`: publishes a file to the chat. Which file, and whether it may be, is decided here; asking the
//! host and waiting for it is the run's business.

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::super::Workspaces;
use super::super::door::{CommitMode, CommitRequest};
use super::super::fault::{fault, is_directory, not_found, quoted};
use super::super::path::WorkspacePath;
use super::super::session::WorkspaceSession;
use super::visible;
use crate::declare::{Nature, declare, examples, object, text};
use crate::limits::MAX_REASON_CHARS;

/// The run keeps the time that its profile allows the host; the pipeline only the longest there is.
const PATIENCE_MS: u64 = 24 * 60 * 60 * 1000;

pub(super) fn definition() -> ToolDefinition {
    let mut definition = ToolDefinition {
        examples: examples(&[
            ("Publish the finished text.", json!({})),
            (
                "Publish another file, and say why.",
                json!({"path": "output/epilogue.md", "mode": "append", "reason": "the epilogue"}),
            ),
        ]),
        ..declare(
            "workspace.commit",
            "Publish to the chat",
            "Publishes a file of the workspace as the chat message of this run. Later commits change the same message.",
            Nature::ControlMutating,
            object(
                json!({
                    "path": {
                        "type": "string",
                        "description": "The file to publish. Left out: the one that your profile names as the message."
                    },
                    "mode": {
                        "type": "string",
                        "description": "replace (if left out): the file becomes the whole message. append: it is added to it."
                    },
                    "reason": {"type": "string", "description": "What for, in a few words; for the record."}
                }),
                &[],
            ),
            json!({
                "type": "object",
                "required": ["path", "mode", "messageId", "messageIndex", "bytes", "chars", "words"],
                "properties": {
                    "path": {"type": "string"},
                    "mode": {"type": "string"},
                    "messageId": {"type": "string"},
                    "messageIndex": {"type": ["integer", "null"]},
                    "bytes": {"type": "integer"},
                    "chars": {"type": "integer"},
                    "words": {"type": "integer"}
                }
            }),
        )
    };
    definition.execution.timeout_ms = Some(PATIENCE_MS);
    definition
}

pub(super) struct Commit(pub(super) Workspaces);

#[async_trait]
impl Executor for Commit {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let desk = self.0.desk(&call)?;
        let session = &desk.session;
        let mode = text(&call, "mode").unwrap_or(CommitMode::Replace.as_str());
        let mode = CommitMode::parse(mode).ok_or_else(|| {
            fault(
                ErrorCode::CommitModeInvalid,
                "workspace.commit_mode_invalid",
                format!("There is no mode '{}': use replace or append", quoted(mode)),
            )
        })?;
        let path = path_of(session, text(&call, "path"))?;
        let is_required = session
            .plan()
            .body()
            .is_some_and(|body| body.required && body.path == path);
        let Some(file) = session.file(path.as_str()) else {
            return Err(match session.is_folder(path.as_str()) {
                true => is_directory(path.as_str()),
                false if is_required => artifact(
                    "workspace.file_not_found",
                    format!(
                        "'{path}' has to be written before it can be published: write it with workspace.write_file"
                    ),
                ),
                false => not_found(path.as_str()),
            });
        };
        let content = session.text(path.as_str(), &file.sha256).await?;
        if is_required && content.as_str().trim().is_empty() {
            return Err(artifact(
                "workspace.required_artifact_empty",
                format!("'{path}' is empty: write the message before you publish it"),
            ));
        }
        drop(content);
        let door = session.door()?;
        let receipt = door
            .commit(CommitRequest {
                call: desk.call.clone(),
                path: path.clone(),
                mode,
                reason: reason(&call),
                unsaved: session.unsaved(&file.sha256),
                file: file.clone(),
            })
            .await?;
        Ok(json!({
            "path": path.as_str(),
            "mode": mode.as_str(),
            "messageId": receipt.message_id,
            "messageIndex": receipt.message_index,
            "bytes": file.bytes,
            "chars": file.chars,
            "words": file.words,
        }))
    }
}

fn path_of(session: &WorkspaceSession, named: Option<&str>) -> Result<WorkspacePath, ToolError> {
    let named = named.map(str::trim).filter(|path| !path.is_empty());
    match (named, session.plan().body()) {
        (Some(path), _) => visible(session.plan(), path),
        (None, Some(body)) => Ok(body.path.clone()),
        (None, None) => Err(artifact(
            "workspace.required_artifact_missing",
            "The profile of this agent names no file as the message: name one with path".to_owned(),
        )),
    }
}

fn artifact(reason: &str, message: String) -> ToolError {
    fault(ErrorCode::WorkspaceRequiredArtifactMissing, reason, message)
}

/// Nothing where nothing is said.
pub(super) fn reason(call: &Invocation) -> Option<String> {
    let reason = text(call, "reason")?.trim();
    let shown: String = reason.chars().take(MAX_REASON_CHARS).collect();
    (!shown.is_empty()).then_some(shown)
}
