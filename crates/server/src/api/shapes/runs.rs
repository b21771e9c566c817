//! Runs and what belongs to them.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::ToSchema;

/// Where a run stands. The last four are final, unless a person resumes it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStatus {
    Created,
    InitializingWorkspace,
    AssemblingContext,
    CallingModel,
    DispatchingTool,
    AwaitingApproval,
    ApplyingWorkspacePatch,
    CreatingCheckpoint,
    AwaitingHostCommit,
    Finishing,
    Cancelling,
    Completed,
    PartialSuccess,
    Cancelled,
    Failed,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunHandle {
    run_id: String,
    workspace_id: String,
    stable_chat_id: String,
    generation_type: String,
    status: RunStatus,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Presentation {
    Foreground,
    Background,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CommittedMessage {
    commit_id: String,
    message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_index: Option<u64>,
    #[schema(format = DateTime)]
    committed_at: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Run {
    run_id: String,
    workspace_id: String,
    /// Empty for a run that belongs to no chat.
    stable_chat_id: String,
    /// `{kind: character, characterId, fileName}`, `{kind: group, chatId}`, or null.
    chat_ref: Json,
    generation_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile_id: Option<String>,
    presentation: Presentation,
    status: RunStatus,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    terminal_at: Option<String>,
    commit_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    committed_message: Option<CommittedMessage>,
    /// Number of its last event.
    last_seq: u64,
    /// One line: how it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunCursor {
    #[schema(format = DateTime)]
    created_at: String,
    run_id: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunPage {
    /// Newest first.
    runs: Vec<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<RunCursor>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// One line of a run's journal.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunEvent {
    /// 1, 2, 3 … without a gap.
    seq: u64,
    id: String,
    run_id: String,
    #[schema(format = DateTime)]
    timestamp: String,
    level: Level,
    /// Further ones may come with later versions.
    #[serde(rename = "type")]
    kind: String,
    payload: Json,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunEvents {
    /// In ascending order.
    events: Vec<RunEvent>,
    /// The agents of the run, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline_projection: Option<Json>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Guided {
    run_id: String,
    guidance_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_guidance_id: Option<String>,
    /// `queued`, or `applied` if the model was told already.
    status: String,
    preview: String,
    chars: u64,
    words: u64,
    pending_count: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PendingApproval {
    run_id: String,
    call_id: String,
    approval_id: String,
    /// The tool as the model called it.
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[schema(format = DateTime)]
    asked_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    /// What can be answered: `once`, `run`, `always`, `deny`, `edit`.
    decisions: Vec<String>,
    /// The tool that asks for leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PendingApprovals {
    approvals: Vec<PendingApproval>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Approved {
    run_id: String,
    call_id: String,
    approval_id: String,
    approved: bool,
    /// `once`, `run` or `always`.
    remember: String,
    arguments_edited: bool,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FileDiff {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<String>,
    /// `added`, `modified`, `deleted`, `renamed` or `unchanged`.
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unified_diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    added_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed_lines: Option<u64>,
    /// Why the lines are not all there.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DiffTotals {
    added: u64,
    modified: u64,
    deleted: u64,
    renamed: u64,
    added_lines: u64,
    removed_lines: u64,
    noted: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunDiff {
    run_id: String,
    /// `start`, `now` or a checkpoint.
    from_checkpoint_id: String,
    to_checkpoint_id: String,
    files: Vec<FileDiff>,
    totals: DiffTotals,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CheckpointFile {
    path: String,
    sha256: String,
    bytes: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Checkpoint {
    id: String,
    /// Its number in the run, from 1.
    seq: u64,
    /// The number of the event that tells of it.
    event_seq: u64,
    run_id: String,
    #[schema(format = DateTime)]
    created_at: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The first of many.
    changed: Vec<String>,
    changed_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<CheckpointFile>>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Checkpoints {
    run_id: String,
    /// Oldest first.
    checkpoints: Vec<Checkpoint>,
    /// Give it as `after` for the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkspaceFile {
    path: String,
    text: String,
    bytes: u64,
    chars: u64,
    words: u64,
    sha256: String,
}
