//! What tools ask of the run that they belong to. Whoever drives the run stands behind it.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::CallId;
use innkeeper_store::Blob;
use innkeeper_tools::ToolError;
use serde_json::Value as Json;

use super::fault::fault;
use super::path::WorkspacePath;
use super::session::WorkspaceSession;
use super::state::FileInfo;
use crate::chat::ChatView;
use crate::delegation::AgentDesk;
use crate::skills::SkillDesk;
use crate::state::StateDesk;

#[async_trait]
pub trait RunDoor: Send + Sync {
    /// Journals the request, waits for the host and journals its answer. The same call asks for the same commit, also
    /// after a restart: what the host has answered is given again.
    async fn commit(&self, request: CommitRequest) -> Result<CommitReceipt, CommitRefused>;

    /// Refused where the run may not end yet; the model is told.
    async fn finish(&self, call: &CallId, reason: Option<String>) -> Result<(), ToolError>;

    /// The chat as far as the run may see it; none where it has none.
    async fn chat(&self) -> Result<Option<Arc<ChatView>>, ToolError>;

    /// The activation batch of the run's prompt, as the host wrote it.
    async fn world_info(&self) -> Result<Option<Arc<Json>>, ToolError>;

    /// What it has said and heard and is not sent any more, the oldest first, in the chat form.
    async fn dropped(&self) -> Result<Arc<Vec<Json>>, ToolError>;

    /// Its skills.
    fn skills(&self) -> Arc<SkillDesk>;

    /// What it keeps beside its files.
    fn states(&self) -> Arc<StateDesk>;

    /// Where its private state is, if not among its own files: agents that work for another have theirs in the run's, so that
    /// those of one profile share it.
    fn private_home(&self) -> Option<Arc<WorkspaceSession>> {
        None
    }

    /// What it may ask of other agents; nothing where there are none.
    fn agents(&self) -> Option<&dyn AgentDesk> {
        None
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommitRequest {
    pub call: CallId,
    pub path: WorkspacePath,
    pub mode: CommitMode,
    pub reason: Option<String>,
    /// What is published.
    pub file: FileInfo,
    /// Its content, where no step of the run has brought it to the store yet.
    pub unsaved: Option<Blob>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitMode {
    Replace,
    Append,
}

impl CommitMode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Append => "append",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Replace, Self::Append]
            .into_iter()
            .find(|mode| mode.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitReceipt {
    pub message_id: String,
    pub message_index: Option<u64>,
}

/// Why nothing was published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitRefused {
    #[error("The host could not publish '{path}': {message}")]
    Host { path: String, message: String },
    #[error("The host did not answer within {millis} ms, so '{path}' is not published")]
    TimedOut { path: String, millis: u64 },
    #[error("The run is being stopped")]
    Stopped,
    /// Something else, in the run's own words.
    #[error("{0}")]
    Other(ToolError),
}

impl From<CommitRefused> for ToolError {
    fn from(refused: CommitRefused) -> Self {
        let message = refused.to_string();
        match refused {
            CommitRefused::Host { .. } => fault(
                ErrorCode::CommitSaveFailed,
                "agent.chat_commit_failed",
                message,
            ),
            CommitRefused::TimedOut { .. } => fault(
                ErrorCode::CommitSaveFailed,
                "agent.chat_commit_timeout",
                message,
            ),
            CommitRefused::Stopped => Self::new(ErrorCode::ToolCancelled, message),
            CommitRefused::Other(error) => error,
        }
        .permanent()
    }
}
