//! Workflows and their executions.

use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ProblemSeverity {
    Warning,
    Error,
}

/// One thing that is wrong with a workflow.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkflowProblem {
    severity: ProblemSeverity,
    /// Stable: `edge.unknown_node`.
    code: String,
    /// Path of the node: `group_1/Merge_2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<String>,
    /// Line and column in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Vec<u64>>,
    message: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExecutionStatus {
    Queued,
    Running,
    Complete,
    Error,
    Interrupted,
}

/// One thing that happened while a workflow ran.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExecutionEvent {
    /// `NODE_COMPLETE`, `EXECUTION_STATUS_UPDATE` …
    #[serde(rename = "type")]
    kind: String,
    /// From 1, without gaps.
    seq: u64,
    payload: Json,
}
