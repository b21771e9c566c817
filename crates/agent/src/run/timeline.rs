//! The agents of a run and what they have to do with each other, as pages draw it. Pure: it follows from the run alone.

use innkeeper_protocol::event::{InvocationId, ProfileId, TaskId};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::model::short;
use super::{AgentRun, TaskStatus};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineProjection {
    /// Who has, or had, the run itself; the last one has it now.
    pub foreground_invocation_ids: Vec<InvocationId>,
    pub invocations: Vec<InvocationView>,
    pub delegation_edges: Vec<DelegationEdge>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InvocationView {
    pub invocation_id: InvocationId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_invocation_id: Option<InvocationId>,
    pub profile_id: ProfileId,
    /// `root`, `subagent` or `handoff`.
    pub kind: &'static str,
    /// `created`, `running`, `completed`, `failed`, `cancelled` or `transferred`.
    pub status: &'static str,
    /// `run_finish_allowed` or `task_return_required`.
    pub exit_policy: &'static str,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub rounds: u32,
    pub calls: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DelegationEdge {
    pub task_id: TaskId,
    pub source_invocation_id: InvocationId,
    pub target_invocation_id: InvocationId,
    pub target_profile_id: ProfileId,
    pub workspace_key: String,
    /// `return_to_parent` or `transfer_control`.
    pub continuation: &'static str,
    /// `queued`, `running`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// In a line, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What came of it, or the task itself, was taken back by a rollback that stands.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub taken_back: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

const FREE: &str = "run_finish_allowed";

impl AgentRun {
    pub fn timeline(&self) -> TimelineProjection {
        let mut all = TimelineProjection {
            foreground_invocation_ids: Vec::new(),
            invocations: Vec::new(),
            delegation_edges: Vec::new(),
        };
        let mut parent = None;
        for past in &self.past {
            all.foreground_invocation_ids.push(past.invocation.clone());
            all.invocations.push(InvocationView {
                kind: kind_of(parent.as_ref()),
                parent_invocation_id: parent.replace(past.invocation.clone()),
                invocation_id: past.invocation.clone(),
                profile_id: past.profile_id.clone(),
                status: "transferred",
                exit_policy: FREE,
                created_at: past.created_at,
                updated_at: past.handed_at,
                rounds: past.rounds,
                calls: past.calls,
            });
            all.delegation_edges.push(DelegationEdge {
                task_id: past.task.clone(),
                source_invocation_id: past.invocation.clone(),
                target_invocation_id: past.to.clone(),
                target_profile_id: past.to_profile_id.clone(),
                workspace_key: "main".to_owned(),
                continuation: "transfer_control",
                status: match (past.to == self.invocation, self.standing()) {
                    (true, status @ ("running" | "failed" | "cancelled")) => status,
                    (true, "created") => "queued",
                    _ => "completed",
                },
                result_ref: None,
                error: None,
                title: past.title.clone(),
                taken_back: false,
                created_at: past.handed_at,
                updated_at: past.handed_at,
            });
        }
        all.foreground_invocation_ids.push(self.invocation.clone());
        all.invocations.push(InvocationView {
            invocation_id: self.invocation.clone(),
            kind: kind_of(parent.as_ref()),
            parent_invocation_id: parent,
            profile_id: self.created.profile_id.clone(),
            status: self.standing(),
            exit_policy: FREE,
            created_at: self
                .past
                .last()
                .map_or(self.created_at, |past| past.handed_at),
            updated_at: self.at,
            rounds: self.spent.rounds,
            calls: self.spent.calls,
        });
        for (id, child) in self.children() {
            let task = child.status;
            all.invocations.push(InvocationView {
                invocation_id: id.clone(),
                parent_invocation_id: Some(child.parent.clone()),
                profile_id: child.profile_id.clone(),
                kind: "subagent",
                status: match task {
                    TaskStatus::Queued => "created",
                    task => task.as_str(),
                },
                exit_policy: "task_return_required",
                created_at: child.created_at,
                updated_at: child.updated_at.max(child.run.at),
                rounds: child.run.spent.rounds,
                calls: child.run.spent.calls,
            });
            all.delegation_edges.push(DelegationEdge {
                task_id: child.task.clone(),
                source_invocation_id: child.parent.clone(),
                target_invocation_id: id.clone(),
                target_profile_id: child.profile_id.clone(),
                workspace_key: child.workspace_key.clone(),
                continuation: "return_to_parent",
                status: task.as_str(),
                result_ref: child.result_ref(id),
                error: child.error.as_ref().map(|error| {
                    json!({"code": error.code.as_str(), "message": short(&error.message), "reason": error.reason})
                }),
                title: child.title.clone(),
                taken_back: !child.standing.is_whole(),
                created_at: child.created_at,
                updated_at: child.updated_at,
            });
        }
        all
    }

    /// Of whoever has the run.
    fn standing(&self) -> &'static str {
        use innkeeper_protocol::event::RunStatus;
        match self.status {
            RunStatus::Created | RunStatus::InitializingWorkspace => "created",
            RunStatus::Completed => "completed",
            RunStatus::Failed | RunStatus::PartialSuccess => "failed",
            RunStatus::Cancelled => "cancelled",
            _ => "running",
        }
    }
}

fn kind_of(parent: Option<&InvocationId>) -> &'static str {
    match parent {
        None => "root",
        Some(_) => "handoff",
    }
}
