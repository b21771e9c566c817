//! Publishing to the chat: asked of the host, answered by it.

use serde_json::Value as Json;

use super::{
    CallId, CheckpointId, CommitId, InvocationId, ProfileId, RunId, WorkspaceId, payloads,
};

payloads! {
    ChatCommitStarted {
        commit_id: CommitId,
        invocation_id: InvocationId,
        call_id: CallId,
        path: String,
        mode: String,
        reason: Option<String>,
    }
    ChatCommitRequested {
        commit_id: CommitId,
        invocation_id: InvocationId,
        call_id: CallId,
        run_id: RunId,
        workspace_id: WorkspaceId,
        stable_chat_id: String,
        chat_ref: Json,
        generation_type: String,
        profile_id: Option<ProfileId>,
        persist_base_state_id: Option<String>,
        path: String,
        mode: String,
        reason: Option<String>,
        chars: u64,
        words: u64,
        sha256: String,
        checkpoint_id: CheckpointId,
    }
    ChatCommitCompleted {
        commit_id: CommitId,
        invocation_id: InvocationId,
        call_id: CallId,
        path: String,
        mode: String,
        message_id: String,
        message_index: Option<u64>,
    }
    ChatCommitFailed {
        commit_id: CommitId,
        invocation_id: InvocationId,
        call_id: CallId,
        path: String,
        mode: String,
        message: String,
    }
    ChatCommitRecorded {
        commit_count: u64,
        path: String,
        mode: String,
        message_id: String,
    }
}
