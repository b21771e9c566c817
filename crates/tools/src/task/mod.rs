//! Async tools at work: a handle at once, the end as an event and an observation.
//!
//! Owns the table of tasks and what of it is on disk (`keep.rs`). Who may see which task is decided by the run that
//! started it; people see all of them (`house.rs`).

mod house;
mod keep;
mod partial;
mod table;

use innkeeper_protocol::Observation;
use innkeeper_protocol::event::{RunId, TaskId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use partial::TaskPartial;
pub use table::Tasks;
pub(crate) use table::{Completion, Entry, Registered};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Running,
    Succeeded,
    Failed,
    Cancelled,
}

impl TaskStatus {
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Running)
    }
}

/// All that is known of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRecord {
    pub task_id: TaskId,
    pub tool: String,
    pub run: RunId,
    pub call_id: String,
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<TaskProgress>,
    /// Pieces of the result that have come so far; gone once the whole is there.
    #[serde(default, skip_serializing_if = "TaskPartial::is_empty")]
    pub partial: TaskPartial,
    pub started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What came of it, once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<Observation>,
    /// Files that it said it would make; whoever mentions one waits for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskProgress {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<f64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
