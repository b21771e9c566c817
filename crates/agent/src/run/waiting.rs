//! `agent.await`: what a call waits for, kept so that it goes on waiting after a restart, for as long as is left.

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{AwaitChanged, CallId, RunEventKind, TaskId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::apply::Out;
use super::fit::Fit;
use super::state::Phase;
use super::{AgentRun, Draft, Misfit};

/// When a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AwaitMode {
    /// With the first that is over.
    NextCompleted,
    /// With the last.
    AllCompleted,
    /// At once.
    StatusOnly,
}

impl AwaitMode {
    pub const ALL: [Self; 3] = [Self::NextCompleted, Self::AllCompleted, Self::StatusOnly];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NextCompleted => "nextCompleted",
            Self::AllCompleted => "allCompleted",
            Self::StatusOnly => "statusOnly",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Await {
    pub tasks: Vec<TaskId>,
    pub mode: AwaitMode,
    pub asked_at: Timestamp,
    pub timeout_ms: u64,
    /// How it ended: whether its time was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

impl AgentRun {
    pub fn awaits(&self, call: &CallId) -> Option<&Await> {
        self.awaits.get(call)
    }

    /// Whether what is waited for is there.
    pub fn is_awaited(&self, tasks: &[TaskId], mode: AwaitMode) -> bool {
        let is_over = |task: &TaskId| {
            let child = self.known_child_of_task(task);
            child.is_none_or(|(_, child)| child.status.is_final())
        };
        match mode {
            AwaitMode::StatusOnly => true,
            AwaitMode::AllCompleted => tasks.iter().all(is_over),
            AwaitMode::NextCompleted => tasks.is_empty() || tasks.iter().any(is_over),
        }
    }

    /// Those that are meant where none are named: that are at work, or of whose end the model has not heard; all, where
    /// there are none of these.
    pub fn tasks_to_await(&self) -> Vec<TaskId> {
        let children = self.known_children();
        let is_news = |task: &TaskId| {
            let mut arrived = self.arrived.iter();
            arrived.any(|end| end.task.as_deref() == Some(task.as_str()))
        };
        let all = || children.iter().map(|(_, child)| child);
        let some: Vec<TaskId> = all()
            .filter(|child| !child.status.is_final() || is_news(&child.task))
            .map(|child| child.task.clone())
            .collect();
        match some.is_empty() {
            true => all().map(|child| child.task.clone()).collect(),
            false => some,
        }
    }

    pub(super) fn check_await(&self, call: &CallId, tasks: &[TaskId]) -> Fit {
        if self.awaits.contains_key(call) {
            return Err(Misfit::already("The call waits"));
        }
        self.check_giving(call)?;
        if self.known_children().is_empty() {
            return Err(Misfit::refused(
                ErrorCode::AgentTaskNotFound,
                "agent.no_child_tasks",
                "No task was given in this run, so there is nothing to wait for: give one with agent.delegate",
            ));
        }
        match tasks
            .iter()
            .find(|task| self.known_child_of_task(task).is_none())
        {
            Some(task) => {
                let known: Vec<&str> = self
                    .known_children()
                    .iter()
                    .map(|(_, child)| child.task.as_str())
                    .collect();
                Err(Misfit::refused(
                    ErrorCode::AgentTaskNotFound,
                    "agent.await_task_not_found",
                    format!(
                        "This run has no task '{}'; it has {}",
                        task.as_str().chars().take(80).collect::<String>(),
                        known.join(", ")
                    ),
                ))
            }
            None => Ok(()),
        }
    }

    pub(super) fn await_started(
        &mut self,
        call: &CallId,
        tasks: &[TaskId],
        mode: AwaitMode,
        timeout_ms: u64,
        out: &mut Out,
    ) {
        let waiting = Await {
            tasks: tasks.to_vec(),
            mode,
            asked_at: self.at,
            timeout_ms,
            timed_out: None,
        };
        let kind = RunEventKind::AgentAwaitStarted(self.awaiting(&waiting));
        out.push(Draft::between(kind, &self.invocation, &[]));
        self.awaits.insert(call.clone(), waiting);
    }

    pub(super) fn check_await_end(&self, call: &CallId) -> Fit {
        match self.awaits.get(call) {
            Some(waiting) if waiting.timed_out.is_none() => Ok(()),
            Some(_) => Err(Misfit::already("The call does not wait any more")),
            None => Err(Misfit::unfit("The call waits for nothing")),
        }
    }

    pub(super) fn await_ended(&mut self, call: &CallId, timed_out: bool, out: &mut Out) {
        let Some(waiting) = self.awaits.get_mut(call) else {
            return;
        };
        waiting.timed_out = Some(timed_out);
        let waiting = waiting.clone();
        let kind = RunEventKind::AgentAwaitCompleted(self.awaiting(&waiting));
        out.push(Draft::between(kind, &self.invocation, &[]));
    }

    /// What a wait has told need not be told again.
    pub(super) fn await_told(&mut self, call: &CallId) {
        let Some(waiting) = self.awaits.get(call) else {
            return;
        };
        let told = waiting.tasks.clone();
        self.arrived.retain(|end| {
            let task = end.task.as_deref();
            !told.iter().any(|known| Some(known.as_str()) == task)
        });
    }

    fn awaiting(&self, waiting: &Await) -> AwaitChanged {
        AwaitChanged {
            parent_invocation_id: self.invocation.clone(),
            mode: waiting.mode.as_str().to_owned(),
            timed_out: waiting.timed_out,
            task_count: waiting.tasks.len() as u64,
            extra: Map::new(),
        }
    }

    /// It does nothing but wait for agents that work for it.
    pub(super) fn waits_for_children(&self) -> bool {
        if self.open_children().next().is_none() {
            return false;
        }
        match &self.phase {
            Phase::Waiting => self.tasks.is_empty(),
            Phase::Acting => {
                let calls = self.turn.iter().flat_map(|turn| turn.calls());
                let mut open = calls.filter(|call| call.is_open()).peekable();
                let waits = |call: &super::PlannedCall| {
                    let waiting = self.awaits.get(&call.call);
                    waiting.is_some_and(|waiting| waiting.timed_out.is_none())
                };
                open.peek().is_some() && open.all(waits)
            }
            _ => false,
        }
    }
}
