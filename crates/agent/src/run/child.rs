//! Agents that work for the one that has the run: fed through it, told of under their own name, ended with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    CallId, InvocationChanged, InvocationId, ProfileId, RunEventKind, RunStatus, TaskChanged,
    TaskId,
};
use innkeeper_store::BlobId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::apply::Out;
use super::ceiling::Ceiling;
use super::delegate::{ReturnStatus, TaskReturn};
use super::fit::Fit;
use super::model::short;
use super::names::result_file;
use super::state::{Phase, RunFailure};
use super::turn::{CallState, Turn};
use super::{AgentRun, Draft, Input, Misfit, Stamped};
use crate::workspace::state::FileInfo;

/// One agent at work on a task, with the task itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Child {
    /// From 1, in the order in which tasks were given.
    pub number: u32,
    pub task: TaskId,
    /// That gave it.
    pub call: CallId,
    pub parent: InvocationId,
    pub profile_id: ProfileId,
    /// In a line, for people.
    pub title: String,
    /// The name of its part of the workspace.
    pub workspace_key: String,
    pub status: TaskStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The files that it found.
    pub(super) base: BTreeMap<String, BlobId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Arc<TaskReturn>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunFailure>,
    /// What it wrote, where its caller finds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delivered: Vec<(String, FileInfo)>,
    /// See [`super::delegate::Assignment::keeps_state`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) keeps_state: bool,
    /// Tokens of its result that its caller is told at once.
    #[serde(default)]
    pub(super) result_budget: u32,
    /// Files for which its caller had no room.
    #[serde(default)]
    pub left_out: u32,
    #[serde(default, skip_serializing_if = "Standing::is_whole")]
    pub standing: Standing,
    pub(super) run: Box<AgentRun>,
}

/// What a rollback has left of a task: its caller believes in nothing that was taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    #[default]
    Whole,
    /// It was given by then, and what it came to was taken back.
    Given,
    /// It was not given by then.
    Nothing,
}

impl Standing {
    pub fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
}

impl TaskStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

impl Child {
    /// What it does, and has done, as long as it is at work.
    pub fn run(&self) -> &AgentRun {
        &self.run
    }

    /// Where a host finds what it returned.
    pub fn result_ref(&self, id: &InvocationId) -> Option<String> {
        self.result.as_ref().map(|_| result_file(id))
    }

    /// Nobody is at work on it any more.
    pub fn is_over(&self) -> bool {
        self.run.is_over()
    }

    pub(super) fn changed(&self, id: &InvocationId) -> TaskChanged {
        let error = self.error.as_ref().map(|error| {
            json!({"code": error.code.as_str(), "message": short(&error.message), "reason": error.reason})
        });
        TaskChanged {
            task_id: self.task.clone(),
            parent_invocation_id: self.parent.clone(),
            child_invocation_id: Some(id.clone()),
            target_profile_id: self.profile_id.clone(),
            status: self.status.as_str().to_owned(),
            result_ref: self.result_ref(id),
            error,
            extra: Map::from_iter([("workspaceKey".to_owned(), self.workspace_key.clone().into())]),
        }
    }
}

impl AgentRun {
    /// In the order in which tasks were given.
    pub fn children(&self) -> Vec<(&InvocationId, &Child)> {
        let mut children: Vec<_> = self.children.iter().collect();
        children.sort_by_key(|(_, child)| child.number);
        children
    }

    pub fn child_of_call(&self, call: &CallId) -> Option<(&InvocationId, &Child)> {
        let mut children = self.children.iter();
        children.find(|(_, child)| child.call == *call)
    }

    pub fn child_of_task(&self, task: &TaskId) -> Option<(&InvocationId, &Child)> {
        let mut children = self.children.iter();
        children.find(|(_, child)| child.task == *task)
    }

    /// Those that its conversation knows of, in the order in which tasks were given.
    pub fn known_children(&self) -> Vec<(&InvocationId, &Child)> {
        let mut children = self.children();
        children.retain(|(_, child)| child.standing != Standing::Nothing);
        children
    }

    /// The same task, unless it was taken back.
    pub fn known_child_of_task(&self, task: &TaskId) -> Option<(&InvocationId, &Child)> {
        let found = self.child_of_task(task);
        found.filter(|(_, child)| child.standing != Standing::Nothing)
    }

    /// The machine of that agent: a child's, or this one.
    pub fn of_invocation(&self, id: &InvocationId) -> &Self {
        self.children.get(id).map_or(self, |child| &child.run)
    }

    /// Whether what that agent notes in its private state is kept with the run's files.
    pub fn keeps_state_of(&self, id: &InvocationId) -> bool {
        self.children.get(id).is_some_and(|child| child.keeps_state)
    }

    /// Whether there is, or was, an agent of that name.
    pub fn is_agent(&self, id: &InvocationId) -> bool {
        self.invocation == *id
            || self.children.contains_key(id)
            || self.past.iter().any(|past| past.invocation == *id)
    }

    /// Tasks that have no end.
    pub fn open_children(&self) -> impl Iterator<Item = &Child> {
        let children = self.children.values();
        children.filter(|child| !child.status.is_final())
    }

    /// Somebody is at work, perhaps on what is not wanted any more.
    pub fn has_living_children(&self) -> bool {
        self.children.values().any(|child| !child.run.is_over())
    }

    /// Which agent made that call, of those that are open.
    pub fn invocation_of_call(&self, call: &CallId) -> Option<InvocationId> {
        if self.call(call).is_some() {
            return Some(self.invocation.clone());
        }
        let mut children = self.children.iter();
        let found = children.find(|(_, child)| child.run.call(call).is_some());
        found.map(|(id, _)| id.clone())
    }

    pub(super) fn check_child(&self, id: &InvocationId, input: &Input) -> Fit {
        let Some(child) = self.children.get(id) else {
            return Err(Misfit::refused(
                ErrorCode::AgentTaskNotFound,
                "agent.task_record_missing",
                format!("The run has no agent {id}"),
            ));
        };
        if matches!(input, Input::CancelRequested) && child.status.is_final() {
            return Err(Misfit::already("The task is over"));
        }
        let is_its_own = matches!(
            input,
            Input::ContextReady { .. }
                | Input::ModelAsked { .. }
                | Input::ModelReplied(_)
                | Input::Compacted(_)
                | Input::CompactionSkipped
                | Input::ModelFailed { .. }
                | Input::AskingStopped { .. }
                | Input::Rested
                | Input::CallStarted { .. }
                | Input::ApprovalAsked { .. }
                | Input::ApprovalAnswered { .. }
                | Input::CallEnded { .. }
                | Input::BlockEnded { .. }
                | Input::TaskEnded { .. }
                | Input::TaskReturned { .. }
                | Input::CancelRequested
                | Input::Stopped
                | Input::Failed { .. }
        );
        match is_its_own {
            true => child.run.check(input),
            false => Err(Misfit::unfit(
                "An agent that works on a task has nothing to do with this",
            )),
        }
    }

    pub(super) fn child_fed(&mut self, id: &InvocationId, input: &Input, out: &mut Out) {
        let Some(mut child) = self.children.remove(id) else {
            return;
        };
        if matches!(input, Input::CancelRequested) {
            self.cancel_child(id, &mut child, "a person ended it", out);
        } else {
            self.begin_child(id, &mut child, out);
            let stamped = Stamped {
                at: self.at,
                input: input.clone(),
            };
            let before = child.run.spent.clone();
            child.run.ceiling = Some(self.ceiling_for(&child));
            // Ids of calls are the run's.
            std::mem::swap(&mut self.calls, &mut child.run.calls);
            let told = child.run.apply(&stamped).unwrap_or_default();
            std::mem::swap(&mut self.calls, &mut child.run.calls);
            out.extend(told.into_iter().filter_map(|draft| of_child(draft, id)));
            self.take_private_state(&child, input);
            self.spent.add_of_child(&before, &child.run.spent);
            let taken = child.run.ceiling.take();
            self.spent
                .count_calls_of_tools(taken.into_iter().flat_map(Ceiling::taken));
            // What the run has for all its agents is used up.
            let exhausted = self.spent.exhausted(&self.created.profile);
            if is_about_to_ask(&child, input)
                && let Some(why) = exhausted
            {
                let mut told = Out::new();
                child.run.fail(why.code, why.message, why.reason, &mut told);
                out.extend(told.into_iter().filter_map(|draft| of_child(draft, id)));
            }
            self.settle_child(id, &mut child, out);
        }
        self.children.insert(id.clone(), child);
        self.share_grants();
        self.hear_of_tasks(out);
        // Nobody is asked any more.
        if self.status == RunStatus::AwaitingApproval && !self.asks_anybody() {
            self.turn_to(RunStatus::DispatchingTool, out);
        }
    }

    /// A person is asked, about a call of this agent or of one that works for it.
    pub(super) fn asks_anybody(&self) -> bool {
        let mut children = self.children.values();
        self.asking().next().is_some() || children.any(|child| child.run.asking().next().is_some())
    }

    /// Nothing of it is under way: people are asked, and whoever is not asked about waits for somebody who is.
    pub fn only_asks(&self) -> bool {
        let calls = self.turn.iter().flat_map(Turn::calls);
        let is_waiting = |call: &CallId| {
            let waiting = self.awaits.get(call);
            waiting.is_some_and(|waiting| waiting.timed_out.is_none())
        };
        let mut started = calls.filter(|call| matches!(call.state, CallState::Started { .. }));
        let is_at_work = started.any(|call| !is_waiting(&call.call));
        let waits = self.asking().next().is_some() || self.waits_for_children();
        let mut living = self.children.values().filter(|child| !child.is_over());
        !is_at_work
            && waits
            && self.tasks.is_empty()
            && self.asks_anybody()
            && living.all(|child| child.run.only_asks())
    }

    /// What a person has allowed for the run holds for everybody in it.
    pub(super) fn share_grants(&mut self) {
        let all = self.children.values().flat_map(|child| &child.run.grants);
        let news: Vec<_> = all
            .filter(|key| !self.grants.contains(key))
            .cloned()
            .collect();
        for key in news {
            if !self.grants.contains(&key) {
                self.grants.push(key);
            }
        }
        for child in self.children.values_mut() {
            if !child.run.is_over() {
                child.run.grants.clone_from(&self.grants);
            }
        }
    }

    fn begin_child(&self, id: &InvocationId, child: &mut Child, out: &mut Out) {
        if child.status != TaskStatus::Queued {
            return;
        }
        child.status = TaskStatus::Running;
        child.updated_at = self.at;
        let started = InvocationChanged {
            invocation_id: id.clone(),
            status: Some("running".to_owned()),
            message: None,
            extra: Map::new(),
        };
        let kind = RunEventKind::AgentTaskStarted(child.changed(id));
        out.push(Draft::between(kind, &child.parent, &[id]));
        let kind = RunEventKind::AgentInvocationStarted(started);
        out.push(Draft::between(kind, id, &[&child.parent]));
    }

    /// The task is over at once; whoever works on it stops as soon as it can.
    fn cancel_child(&mut self, id: &InvocationId, child: &mut Child, why: &str, out: &mut Out) {
        child.status = TaskStatus::Cancelled;
        child.updated_at = self.at;
        child.error = Some(RunFailure {
            code: ErrorCode::AgentCancelled,
            message: format!("The task was cancelled: {why}"),
            reason: None,
        });
        let kind = RunEventKind::AgentTaskCancelled(child.changed(id));
        out.push(Draft::between(kind, &child.parent, &[id]));
        let mut told = Out::new();
        child.run.at = self.at;
        child.run.cancel_requested(&mut told);
        out.extend(told.into_iter().filter_map(|draft| of_child(draft, id)));
        self.arrived.push(child.end(id));
    }

    /// What it has come to, once it is over.
    fn settle_child(&mut self, id: &InvocationId, child: &mut Child, out: &mut Out) {
        if !child.run.is_over() {
            return;
        }
        if child.status == TaskStatus::Cancelled {
            let stopped = InvocationChanged {
                invocation_id: id.clone(),
                status: Some("cancelled".to_owned()),
                message: child.error.as_ref().map(|error| short(&error.message)),
                extra: Map::new(),
            };
            let kind = RunEventKind::AgentChildInvocationFailed(stopped);
            out.push(Draft::between(kind, id, &[&child.parent]));
            return;
        }
        child.updated_at = self.at;
        let duty = child.run.duty.as_ref();
        child.result = duty.and_then(|duty| Some(duty.returned.as_ref()?.1.clone()));
        child.status = match child.result.as_ref().map(|result| result.status) {
            Some(ReturnStatus::Completed) => TaskStatus::Completed,
            Some(ReturnStatus::Failed) | None => TaskStatus::Failed,
        };
        child.error = match &child.result {
            Some(result) if result.status == ReturnStatus::Failed => Some(RunFailure {
                code: ErrorCode::ToolExecutionFailed,
                message: short(&result.summary),
                reason: Some("agent.task_failed".to_owned()),
            }),
            Some(_) => None,
            None => child.run.failure.clone(),
        };
        self.deliver(id, child, out);
        let kind = match child.status {
            TaskStatus::Completed => RunEventKind::AgentTaskCompleted(child.changed(id)),
            _ => RunEventKind::AgentTaskFailed(child.changed(id)),
        };
        out.push(Draft::between(kind, &child.parent, &[id]));
        self.arrived.push(child.end(id));
    }

    /// Words were no end while somebody was at work.
    fn hear_of_tasks(&mut self, out: &mut Out) {
        if self.phase == Phase::Waiting && !self.arrived.is_empty() {
            self.go_on(out);
        }
    }

    /// Of a child: it has returned.
    pub(super) fn duty_done(&mut self, out: &mut Out) {
        let status = match self.duty.as_ref().and_then(|duty| duty.returned.as_ref()) {
            Some((_, result)) if result.status == ReturnStatus::Failed => "failed",
            _ => "completed",
        };
        let done = InvocationChanged {
            invocation_id: InvocationId::root(),
            status: Some(status.to_owned()),
            message: None,
            extra: Map::new(),
        };
        self.cancel_tasks("the agent has returned", out);
        out.push(match status {
            "failed" => RunEventKind::AgentChildInvocationFailed(done).into(),
            _ => RunEventKind::AgentInvocationCompleted(done).into(),
        });
        self.phase = Phase::Over {
            from: super::state::Stage::End,
        };
    }

    pub(super) fn cancel_children(&mut self, why: &str, out: &mut Out) {
        self.each_child(out, |run, id, child, out| {
            if !child.status.is_final() {
                run.cancel_child(id, child, why, out);
            }
        });
    }

    /// Whoever worked on them has stopped, or is gone.
    pub(super) fn bury_children(&mut self, out: &mut Out) {
        self.each_child(out, |run, id, child, out| {
            if child.run.is_over() {
                return;
            }
            if !child.status.is_final() {
                run.cancel_child(id, child, "the run was stopped", out);
            }
            let mut told = Out::new();
            child.run.stopped(&mut told);
            out.extend(told.into_iter().filter_map(|draft| of_child(draft, id)));
            run.settle_child(id, child, out);
        });
    }

    pub(super) fn recover_children(&mut self, out: &mut Out) {
        self.each_child(out, |run, id, child, out| {
            if !child.run.is_over() {
                // Having nobody to drive it was no work.
                child.run.at = run.at;
                let mut told = Out::new();
                child.run.recovered(&mut told);
                out.extend(told.into_iter().filter_map(|draft| of_child(draft, id)));
            }
        });
    }

    fn each_child(
        &mut self,
        out: &mut Out,
        each: impl Fn(&mut Self, &InvocationId, &mut Child, &mut Out),
    ) {
        let mut children = std::mem::take(&mut self.children);
        for (id, child) in &mut children {
            each(self, id, child, out);
        }
        self.children = children;
    }
}

/// Its next step costs tokens, and what it was fed is no word of a request under way.
fn is_about_to_ask(child: &Child, input: &Input) -> bool {
    let leads_on = matches!(
        input,
        Input::ContextReady { .. }
            | Input::ModelAsked { .. }
            | Input::ModelFailed { .. }
            | Input::Rested
            | Input::Compacted(_)
            | Input::CompactionSkipped
    );
    match child.run.phase {
        Phase::Ready => true,
        Phase::Asked { .. } | Phase::Resting { .. } | Phase::Compacting(_) => {
            leads_on && child.run.shares_limits()
        }
        _ => false,
    }
}

/// What is told of a child: all that it does, and nothing that is the run's.
fn of_child(mut draft: Draft, id: &InvocationId) -> Option<Draft> {
    let kind = match draft.kind {
        RunEventKind::StatusChanged(_)
        | RunEventKind::CheckpointCreated(_)
        | RunEventKind::UserGuidanceDiscarded(_) => return None,
        kind if kind.name().starts_with("run_") => return None,
        RunEventKind::AgentInvocationFailed(failed) => {
            RunEventKind::AgentChildInvocationFailed(failed)
        }
        kind => kind,
    };
    draft.kind = kind;
    draft.kind.in_invocation(id);
    if let Some(scope) = &mut draft.scope {
        scope.invocation_id.clone_from(id);
    }
    Some(draft)
}
