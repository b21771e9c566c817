//! Files of a run, and what of them is kept for later runs.

use serde_json::Value as Json;

use super::{CallId, CheckpointId, InvocationId, ProfileId, RunId, WorkspaceId, payloads};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

payloads! {
    WorkspaceInitialized {
        workspace_id: WorkspaceId,
        stable_chat_id: String,
    }
    PersistentProjectionInitialized {
        roots: Json,
    }
    WorkspaceFileWritten {
        invocation_id: InvocationId,
        path: String,
        mode: String,
        chars: u64,
        words: u64,
        sha256: String,
    }
    WorkspaceFileDeleted {
        invocation_id: InvocationId,
        path: String,
        old_sha256: Option<String>,
    }
    WorkspacePatchApplied {
        invocation_id: InvocationId,
        path: String,
        chars: u64,
        words: u64,
        old_sha256: String,
        sha256: String,
        replacements: u64,
    }
    /// What an agent keeps for itself, or what all agents of a chat share.
    StateUpdated {
        invocation_id: InvocationId,
        call_id: CallId,
        /// `private` or `world`.
        scope: String,
        version: u64,
        /// What is different now, as JSON Pointers.
        paths: Vec<String>,
    }
    CheckpointCreated {
        checkpoint_id: CheckpointId,
        /// `tool_workspace_write`, `tool_workspace_patch`, `tool_workspace_delete`, `chat_commit`, `direct_output_capture`,
        /// `tool_state_update`, `requested`, `before_rollback`, `rollback`, `fork`.
        reason: String,
    }
    PersistentChange {
        path: String,
        kind: ChangeKind,
        sha256: Option<String>,
    }
    PersistentChangesCommitted {
        state_id: String,
        base_state_id: Option<String>,
        change_count: u64,
        changes: Vec<PersistentChange>,
    }
    PersistentChangesCommitFailed {
        message: String,
    }
    MetadataUpdateRequested {
        update_id: String,
        run_id: RunId,
        workspace_id: WorkspaceId,
        stable_chat_id: String,
        chat_ref: Json,
        generation_type: String,
        profile_id: Option<ProfileId>,
        message_id: String,
        state_id: String,
        base_state_id: Option<String>,
        change_count: u64,
        changes: Vec<PersistentChange>,
    }
    MetadataUpdated {
        update_id: String,
        message_id: String,
        state_id: String,
    }
    MetadataUpdateFailed {
        update_id: String,
        message_id: String,
        state_id: String,
        message: String,
    }
}
