//! Taking back: what a person undid, and what the host is to do about what was published.

use super::{CheckpointId, CommitId, InvocationId, payloads};

/// How far a rollback goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum RollbackScope {
    /// Files and conversation; what was published stays.
    #[default]
    Workspace,
    /// What was published since then is withdrawn too.
    CommittedMessage,
}

impl RollbackScope {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::CommittedMessage => "committed-message",
        }
    }
}

/// What a host does with a message whose commit was withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WithdrawStrategy {
    DeleteMessage,
    /// Only the swipe that the run has added.
    DeleteSwipe,
    /// The message is the work of an earlier commit too, which stays.
    ReplaceMessage,
}

payloads! {
    /// Files and conversation are as they were at a checkpoint.
    RunRolledBack {
        rollback_id: String,
        invocation_id: InvocationId,
        /// `start` for what the run began with.
        checkpoint_id: CheckpointId,
        /// The number of the event that tells of it.
        event_seq: u64,
        /// As it was until now. Rolling back to it undoes this.
        before_checkpoint_id: CheckpointId,
        scope: RollbackScope,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Replies of the model that it does not know of any more.
        rounds: u32,
        files: RolledBackFiles,
        withdrawn_commits: Vec<WithdrawnCommit>,
        /// What the run had left for later runs; whoever deletes its message goes back to what was known before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withdrawn_state_id: Option<String>,
    }
    RolledBackFiles {
        added: u64,
        modified: u64,
        deleted: u64,
        /// Only the first of many.
        paths: Vec<String>,
    }
    WithdrawnCommit {
        commit_id: CommitId,
        message_id: String,
        message_index: Option<u64>,
        path: String,
        mode: String,
        checkpoint_id: CheckpointId,
        strategy: WithdrawStrategy,
        /// Where the message is replaced: the commits that its text is made of then, the first one first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replace_with: Vec<ReplacingCommit>,
    }
    ReplacingCommit {
        commit_id: CommitId,
        path: String,
        mode: String,
        sha256: String,
    }
}
