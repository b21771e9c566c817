//! What is known of a run without reading its journal.

use innkeeper_protocol::event::{Presentation, ProfileId, RunId, RunStatus, WorkspaceId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    pub run_id: RunId,
    pub workspace_id: WorkspaceId,
    pub stable_chat_id: String,
    pub chat_ref: Json,
    pub generation_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    #[serde(default)]
    pub presentation: Presentation,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist_base_state_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_message_count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_scope_refs: Option<Json>,
    pub status: RunStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_at: Option<Timestamp>,
    pub commit_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed_message: Option<CommittedMessage>,
    /// Number of its last event.
    pub last_seq: u64,
    /// One line for lists: how it began.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// A repair has cut off what came after `last_seq`, and nothing has been added since: what was cut off may have been
    /// done, so that nobody goes on with it unless a person says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Only its events and this record are kept: it can be neither resumed nor looked into.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_slim: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommittedMessage {
    pub commit_id: String,
    pub message_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_index: Option<u64>,
    pub committed_at: Timestamp,
}

/// What a step changes in the record; `last_seq`, `updated_at` and `terminal_at` follow from its events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunUpdate {
    pub status: Option<RunStatus>,
    pub commit_count: Option<u64>,
    pub committed_message: Option<CommittedMessage>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFilter {
    pub stable_chat_id: Option<String>,
    pub workspace_id: Option<WorkspaceId>,
    /// Empty: all.
    pub statuses: Vec<RunStatus>,
    /// Exclusive.
    pub before: Option<RunCursor>,
    /// 0: the default.
    pub limit: usize,
}

/// Runs are ordered by the time of creation, then by id, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunCursor {
    pub created_at: Timestamp,
    pub run_id: RunId,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunPage {
    pub runs: Vec<RunRecord>,
    pub next: Option<RunCursor>,
}
