//! Calls that go on in the background.

use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::calls::Observation;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum TaskStatus {
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

#[derive(Serialize, ToSchema)]
struct TaskProgress {
    #[serde(skip_serializing_if = "Option::is_none")]
    fraction: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TaskPartial {
    /// Oldest first.
    pieces: Vec<Json>,
    /// How many came that are no longer here.
    left_out: u64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    task_id: String,
    tool: String,
    run: String,
    call_id: String,
    status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<TaskProgress>,
    /// Pieces of the result that have come so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<TaskPartial>,
    #[schema(format = DateTime)]
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observation: Option<Observation>,
    /// Files that it said it would make.
    #[serde(skip_serializing_if = "Option::is_none")]
    promises: Option<Vec<String>>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Tasks {
    tasks: Vec<Task>,
}
