//! Handing the run over: another agent goes on with the same files and the same message, with a conversation, rounds and
//! calls of its own. What the run as a whole may cost goes on counting.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    CallId, HandoffAccepted, HandoffRequested, InvocationChanged, InvocationCreated, InvocationId,
    ProfileId, RunEventKind, TaskId,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use super::apply::Out;
use super::delegate::{Assignment, keep_tool_limits, less};
use super::fit::Fit;
use super::model::fields;
use super::state::Phase;
use super::{AgentRun, Draft, Misfit};

/// The name of the whole workspace, which goes with the run.
const WHOLE: &str = "main";

/// Agreed, and done when the turn is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Handoff {
    pub(super) call: CallId,
    pub(super) to: Arc<Assignment>,
}

/// Who had the run, and to whom it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Past {
    pub invocation: InvocationId,
    pub profile_id: ProfileId,
    pub created_at: Timestamp,
    /// When it was handed over, as which task, to whom.
    pub handed_at: Timestamp,
    pub task: TaskId,
    pub to: InvocationId,
    pub to_profile_id: ProfileId,
    /// What it was handed over for, in a line, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What it had used.
    pub rounds: u32,
    pub calls: u32,
}

impl AgentRun {
    /// Who had the run before, the first one first.
    pub fn past(&self) -> &[Past] {
        &self.past
    }

    pub fn handoff_of(&self, call: &CallId) -> Option<&Arc<Assignment>> {
        let handoff = self.handoff.as_ref();
        handoff
            .filter(|handoff| handoff.call == *call)
            .map(|handoff| &handoff.to)
    }

    /// Of everybody who had the run, one after the other.
    pub fn rounds_of_all(&self) -> u32 {
        let past = self.past.iter().map(|past| past.rounds);
        past.fold(self.spent.rounds, u32::saturating_add)
    }

    /// See [`Self::rounds_of_all`].
    pub fn calls_of_all(&self) -> u32 {
        let past = self.past.iter().map(|past| past.calls);
        past.fold(self.spent.calls, u32::saturating_add)
    }

    pub(super) fn check_handoff(&self, call: &CallId, to: &Assignment) -> Fit {
        let denied = |reason, message: String| {
            Err(Misfit::refused(
                ErrorCode::AgentHandoffDenied,
                reason,
                message,
            ))
        };
        if self.handoff_of(call).is_some() {
            return Err(Misfit::already("The run is handed over after this turn"));
        }
        self.check_giving(call)?;
        let rules = &self.created.profile.delegation;
        if !rules.can_handoff {
            return denied(
                "agent.handoff_policy_denied",
                "The profile of this agent does not let it hand the run over: go on yourself"
                    .to_owned(),
            );
        }
        let pending = self.open_children().count();
        if pending > 0 {
            return denied(
                "agent.handoff_pending_tasks",
                format!(
                    "{pending} agents are at work for you: wait for them with agent.await, then hand the run over"
                ),
            );
        }
        let depth = self.past.len();
        if depth >= usize::try_from(rules.max_handoff_depth).unwrap_or(usize::MAX) {
            return denied(
                "agent.handoff_depth_exhausted",
                format!(
                    "The run was handed over {depth} times, and may not be once more: bring it to its end"
                ),
            );
        }
        let is_known = self.invocation == to.invocation
            || self.children.contains_key(&to.invocation)
            || self
                .past
                .iter()
                .any(|past| past.invocation == to.invocation);
        if is_known {
            return Err(Misfit::unfit("There is an agent of that name in the run"));
        }
        self.check_last(call)
    }

    pub(super) fn handoff_called(&mut self, call: &CallId, to: &Arc<Assignment>, out: &mut Out) {
        let requested = HandoffRequested {
            task_id: to.task.clone(),
            source_invocation_id: self.invocation.clone(),
            target_profile_id: to.profile_id.clone(),
            extra: fields(json!({"title": to.title})),
        };
        let kind = RunEventKind::AgentHandoffRequested(requested);
        out.push(Draft::between(kind, &self.invocation, &[]));
        self.handoff = Some(Handoff {
            call: call.clone(),
            to: to.clone(),
        });
    }

    pub(super) fn hand_over(&mut self, handoff: &Handoff, out: &mut Out) {
        let to = &handoff.to;
        let source = self.invocation.clone();
        let created_at = self
            .past
            .last()
            .map_or(self.created_at, |past| past.handed_at);
        let accepted = HandoffAccepted {
            task_id: to.task.clone(),
            source_invocation_id: source.clone(),
            new_invocation_id: to.invocation.clone(),
            target_profile_id: to.profile_id.clone(),
            workspace_key: WHOLE.to_owned(),
            extra: Map::new(),
        };
        let changed = |id: &InvocationId, status: &str| InvocationChanged {
            invocation_id: id.clone(),
            status: Some(status.to_owned()),
            message: None,
            extra: Map::new(),
        };
        let created = InvocationCreated {
            invocation_id: to.invocation.clone(),
            parent_invocation_id: Some(source.clone()),
            profile_id: to.profile_id.clone(),
            kind: "handoff".to_owned(),
            status: "created".to_owned(),
            exit_policy: "run_finish_allowed".into(),
            task_id: Some(to.task.clone()),
            extra: Map::new(),
        };
        let next = &to.invocation;
        out.extend([
            Draft::between(
                RunEventKind::AgentHandoffAccepted(accepted),
                &source,
                &[next],
            ),
            Draft::between(
                RunEventKind::AgentInvocationCompleted(changed(&source, "transferred")),
                &source,
                &[next],
            ),
            Draft::between(
                RunEventKind::AgentInvocationCreated(created),
                next,
                &[&source],
            ),
            Draft::between(
                RunEventKind::AgentInvocationStarted(changed(next, "running")),
                next,
                &[&source],
            ),
        ]);
        self.past.push(Past {
            invocation: source,
            profile_id: self.created.profile_id.clone(),
            created_at,
            handed_at: self.at,
            task: to.task.clone(),
            to: to.invocation.clone(),
            to_profile_id: to.profile_id.clone(),
            title: to.title.clone(),
            rounds: self.spent.rounds,
            calls: self.spent.calls,
        });
        let mut profile = to.profile.clone();
        // What the run may cost does not grow with the number of those who have it.
        profile.agent.budget = less(&profile.agent.budget, &self.created.profile.agent.budget);
        if to.edition.shares_limits() {
            keep_tool_limits(
                &mut profile.agent.budget,
                &self.created.profile.agent.budget,
            );
        }
        let max_rounds = self.created.max_rounds;
        if to.edition.bounds_handovers() {
            let (next, last) = (&mut profile.delegation, &self.created.profile.delegation);
            next.max_handoff_depth = next.max_handoff_depth.min(last.max_handoff_depth);
            next.max_invocations_per_run = next
                .max_invocations_per_run
                .min(last.max_invocations_per_run);
            if let Some(all) = max_rounds {
                let used = self.past.iter().map(|past| past.rounds).sum();
                let left = all.saturating_sub(used);
                profile.tools.max_rounds = profile.tools.max_rounds.min(left);
            }
        }
        let mut created = self.created_for(to, profile);
        created.max_rounds = max_rounds;
        created.generation_intent = self.created.generation_intent.clone();
        self.created = Arc::new(created);
        self.invocation = to.invocation.clone();
        self.spent.hand_over();
        self.binding = Arc::default();
        self.told = None;
        self.sent = Vec::new();
        self.dropped = Vec::new();
        self.refused_in = None;
        self.set_back = None;
        self.turn = None;
        self.awaits.clear();
        self.workspace.reads.clear();
        self.finish = None;
        self.repeated = None;
        self.barren = 0;
        self.drifts = 0;
        self.phase = Phase::Assembling;
    }
}
