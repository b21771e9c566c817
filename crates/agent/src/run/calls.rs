//! Calls on their way: begun, asked about, ended, gone on in the background.

use std::sync::Arc;

use innkeeper_models::Estimate;
use innkeeper_protocol::event::{
    CallId, InvocationId, RunEventKind, RunStatus, TaskId, ToolCallEnded, ToolCallStarted,
    ToolResultStored, ToolTaskEnded,
};
use innkeeper_protocol::{
    ErrorCode, Observation, Outcome, render_observation, render_observation_within,
};
use serde_json::{Map, Value as Json};

use super::apply::Out;
use super::model::short;
use super::names::result_path;
use super::state::{OpenTask, Phase};
use super::turn::CallState;
use super::{AgentRun, Draft, ModelUse, PlannedCall, ToolSpent};
use crate::limits::MAX_SHOWN_READ_CHARS;
use crate::workspace::state::WorkspaceChange;

impl AgentRun {
    pub(super) fn call_started(&mut self, id: &CallId, idempotent: bool, out: &mut Out) {
        let round = self.spent.rounds;
        let Some(call) = self.call_mut(id) else {
            return;
        };
        call.state = CallState::Started { idempotent };
        let started = ToolCallStarted {
            round,
            invocation_id: InvocationId::root(),
            call_id: id.clone(),
            name: call.tool.clone(),
            extra: Map::new(),
        };
        // While somebody is asked about another, that is what the run waits for.
        if self.asking().next().is_none() {
            self.turn_to(RunStatus::DispatchingTool, out);
        }
        out.push(RunEventKind::ToolCallStarted(started).into());
    }

    pub(super) fn call_ended(
        &mut self,
        id: &CallId,
        observation: &Arc<Observation>,
        elapsed_ms: u64,
        change: &WorkspaceChange,
        full: Option<&Arc<Json>>,
        out: &mut Out,
    ) {
        let Some(call) = self.call(id).cloned() else {
            return;
        };
        self.end_call(&call, observation.clone(), full.cloned(), elapsed_ms, out);
        let changed = self.change_workspace(change, out);
        if let Outcome::AsyncStarted { task_id } = &observation.outcome {
            let task = OpenTask {
                call: call.call.clone(),
                tool: call.tool.clone(),
                meant: call.meant.clone(),
                arguments: call.arguments.clone(),
                idempotent: matches!(call.state, CallState::Started { idempotent: true }),
                round: self.spent.rounds,
            };
            self.tasks.insert(task_id.clone(), task);
        }
        if observation.error_code().is_none() {
            self.await_told(id);
        }
        self.note_repetition(&call, observation, changed);
    }

    /// What it took, and what the model will read of it.
    pub(super) fn count_call_end(
        &mut self,
        id: &CallId,
        observation: &Observation,
        elapsed_ms: u64,
        used: Option<&ModelUse>,
    ) {
        let Some(call) = self.call(id) else {
            return;
        };
        let tool = counted_as(call.meant.as_deref(), &call.tool, observation);
        let count = |spent: &mut ToolSpent| {
            spent.calls = spent.calls.saturating_add(1);
            spent.elapsed_ms = spent.elapsed_ms.saturating_add(elapsed_ms);
            shown(spent, observation);
        };
        self.spent.count_end(&tool, count, used);
    }

    pub(super) fn count_task_end(&mut self, observation: &Observation, used: Option<&ModelUse>) {
        let task = observation.task.as_deref().unwrap_or_default();
        let Some(open) = self.tasks.get(task) else {
            return;
        };
        let tool = counted_as(open.meant.as_deref(), &open.tool, observation);
        self.spent
            .count_end(&tool, |spent| shown(spent, observation), used);
    }

    pub(super) fn end_call(
        &mut self,
        call: &PlannedCall,
        observation: Arc<Observation>,
        full: Option<Arc<Json>>,
        elapsed_ms: u64,
        out: &mut Out,
    ) {
        self.tell_end(&call.call, &call.tool, &observation, elapsed_ms, out);
        self.tell_edit(call);
        if let Some(call) = self.call_mut(&call.call) {
            call.state = CallState::Ended { observation, full };
        }
    }

    pub(super) fn tell_end(
        &self,
        id: &CallId,
        tool: &str,
        observation: &Observation,
        elapsed_ms: u64,
        out: &mut Out,
    ) {
        let round = self.spent.rounds;
        let stored = ToolResultStored {
            round,
            call_id: id.clone(),
            path: result_path(id),
            extra: Map::new(),
        };
        out.push(RunEventKind::ToolResultStored(stored).into());
        let error = observation.error_code();
        let ended = ToolCallEnded {
            round,
            invocation_id: InvocationId::root(),
            call_id: id.clone(),
            name: tool.to_owned(),
            is_error: error.is_some(),
            error_code: error.map(|code| code.as_str().to_owned()),
            message: complaint(observation),
            elapsed_ms,
            resource_refs: references(&observation.outcome),
            extra: reasons(observation),
        };
        let kind = match error {
            None => RunEventKind::ToolCallCompleted(ended),
            Some(_) => RunEventKind::ToolCallFailed(ended),
        };
        out.push(kind.into());
    }

    pub(super) fn block_ended(&mut self, block: usize, notes: &[Observation], out: &mut Out) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        if let Some(block) = turn.blocks.get_mut(block) {
            block.ended = true;
            block.notes.extend(notes.iter().cloned());
        }
        if turn.current().is_none() {
            self.conclude(out);
        }
    }

    pub(super) fn task_ended(&mut self, observation: &Arc<Observation>, out: &mut Out) {
        let task = observation.task.as_deref().unwrap_or_default();
        let Some(open) = self.tasks.remove(task) else {
            return;
        };
        out.push(task_end(task, &open, observation));
        self.arrived.push(observation.clone());
        if self.phase == Phase::Waiting {
            self.go_on(out);
        }
    }

    /// Those that nobody could say anything of when everything was stopped.
    pub(super) fn cancel_tasks(&mut self, reason: &str, out: &mut Out) {
        for (task, open) in std::mem::take(&mut self.tasks) {
            let outcome = Outcome::Cancelled {
                reason: reason.to_owned(),
            };
            let observation = Arc::new(Observation {
                task: Some(task.clone()),
                ..Observation::new(open.tool.as_str(), outcome)
            });
            out.push(task_end(&task, &open, &observation));
            self.arrived.push(observation);
        }
    }

    pub(super) fn call_mut(&mut self, id: &CallId) -> Option<&mut PlannedCall> {
        let blocks = &mut self.turn.as_mut()?.blocks;
        let mut calls = blocks.iter_mut().flat_map(|block| &mut block.calls);
        calls.find(|call| call.call == *id)
    }
}

/// However the model spells it, it is the same tool.
fn counted_as(meant: Option<&str>, written: &str, observation: &Observation) -> String {
    let told = match observation.tool.is_empty() {
        true => written,
        false => observation.tool.as_str(),
    };
    meant.unwrap_or(told).to_owned()
}

fn shown(spent: &mut ToolSpent, observation: &Observation) {
    let text = render_observation_within(observation, MAX_SHOWN_READ_CHARS);
    let tokens = Estimate::of_text(&text).likely;
    if observation.error_code().is_some() {
        spent.failed = spent.failed.saturating_add(1);
    }
    let chars = text.chars().count() as u64;
    spent.shown_chars = spent.shown_chars.saturating_add(chars);
    spent.shown_tokens = spent.shown_tokens.saturating_add(tokens);
}

fn task_end(task: &str, open: &OpenTask, observation: &Observation) -> Draft {
    let error = observation.error_code();
    let ended = ToolTaskEnded {
        task_id: TaskId::new(task),
        call_id: open.call.clone(),
        round: open.round,
        invocation_id: InvocationId::root(),
        name: open.tool.clone(),
        is_error: error.is_some(),
        error_code: error.map(|code| code.as_str().to_owned()),
        message: complaint(observation),
        resource_refs: references(&observation.outcome),
        extra: Map::new(),
    };
    RunEventKind::ToolTaskEnded(ended).into()
}

/// What went wrong, never nothing: where the tool says nothing, what the model is told.
fn complaint(observation: &Observation) -> Option<String> {
    let said = match &observation.outcome {
        Outcome::Success { .. } | Outcome::AsyncStarted { .. } => return None,
        Outcome::Error(failure) => &failure.message,
        Outcome::Denied { reason } | Outcome::Cancelled { reason } => reason,
        Outcome::OutcomeUnknown { message } | Outcome::Notice { message, .. } => message,
    };
    Some(match said.trim().is_empty() {
        true => {
            let told = render_observation(observation);
            short(told.strip_prefix("Observation: Error - ").unwrap_or(&told))
        }
        false => short(said),
    })
}

fn references(outcome: &Outcome) -> Vec<String> {
    match outcome {
        Outcome::Success {
            spilled: Some(spilled),
            ..
        } => vec![spilled.reference.clone()],
        _ => Vec::new(),
    }
}

/// The finer name of what happened.
fn reasons(observation: &Observation) -> Map<String, Json> {
    if let Outcome::AsyncStarted { task_id } = &observation.outcome {
        return Map::from_iter([("taskId".to_owned(), task_id.as_str().into())]);
    }
    let own = match &observation.outcome {
        Outcome::Error(failure) => failure.reason.as_deref(),
        _ => None,
    };
    let usual = match observation.error_code() {
        Some(ErrorCode::ToolUnknown) => Some("model.unknown_tool_call"),
        Some(ErrorCode::ToolPolicyDenied) => Some("agent.tool_policy_denied"),
        Some(ErrorCode::ToolApprovalDenied) => Some("agent.tool_denied"),
        Some(ErrorCode::ToolBudgetExhausted) => Some("agent.tool_budget_exhausted"),
        _ => None,
    };
    let reason = own.or(usual);
    reason
        .map(|reason| ("reason".to_owned(), reason.into()))
        .into_iter()
        .collect()
}
