//! Giving a task to another agent: what it is given, whether it may be, and how its own part of the run begins.
//!
//! A child is the same machine as the run that it belongs to. It begins with the files of its caller, sees nothing of what
//! is written there afterwards, and nobody sees what it writes before it returns (`deliver.rs`).

use std::sync::Arc;

use innkeeper_protocol::event::{
    CallId, DelegateStarted, InvocationCreated, InvocationId, Presentation, ProfileId,
    RunEventKind, RunStatus, TaskId,
};
use innkeeper_protocol::{ErrorCode, Failure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::apply::Out;
use super::child::{Child, Standing, TaskStatus};
use super::fit::Fit;
use super::plan::RETURN;
use super::spent::alike;
use super::state::Phase;
use super::turn::CallState;
use super::{AgentRun, Created, Draft, Left, Misfit};
use crate::AgentProfile;
use crate::limits::MAX_WORKSPACE_KEYS;
use crate::profile::{AfterCrash, Budget};
use crate::skills::RunSkills;
use crate::workspace::state::FileInfo;

/// Who is to do what, as `agent.delegate` and `agent.handoff` have found it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    pub call: CallId,
    pub task: TaskId,
    pub invocation: InvocationId,
    pub profile_id: ProfileId,
    /// `built_in` or `file:<id>`.
    pub profile_source: String,
    /// As it was read.
    pub profile: AgentProfile,
    /// In a line, for people.
    pub title: String,
    /// What it is told, as the last message of its conversation.
    pub brief: Json,
    /// Which model; empty for the default.
    #[serde(default)]
    pub model: String,
    #[serde(default, skip_serializing_if = "RunSkills::is_empty")]
    pub skills: RunSkills,
    /// What the caller grants, where that is less than the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// What it notes in its private state stays in the chat. Not of tasks that were given before that was so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_state: bool,
    #[serde(default, skip_serializing_if = "Edition::is_first")]
    pub edition: Edition,
}

/// The rules under which a task is worked on. They have become stricter, and what was begun before is told again as it was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Edition {
    #[default]
    First,
    /// All limits of a run hold for everybody in it together, and who only talks is stopped.
    SharedLimits,
    /// How often a run is handed over and how many tasks are given in it is what each who had it allows; and a person's limit of
    /// rounds holds for all who have it.
    BoundedHandovers,
}

impl Edition {
    /// For tasks that are given now.
    pub const LATEST: Self = Self::BoundedHandovers;

    pub(super) fn is_first(&self) -> bool {
        *self == Self::First
    }

    pub(super) fn shares_limits(self) -> bool {
        self >= Self::SharedLimits
    }

    pub(super) fn bounds_handovers(self) -> bool {
        self >= Self::BoundedHandovers
    }
}

/// What an agent that works for another owes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Duty {
    pub(super) task: TaskId,
    #[serde(default, skip_serializing_if = "Edition::is_first")]
    pub(super) edition: Edition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) returned: Option<(CallId, Arc<TaskReturn>)>,
}

/// What `task.return` was called with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskReturn {
    pub status: ReturnStatus,
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ReturnedArtifact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Json>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggested_next_actions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions_for_caller: Vec<String>,
    /// All of it as a text: what becomes `summaries/<key>-result.md`.
    pub file: FileInfo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReturnStatus {
    Completed,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReturnedArtifact {
    /// In the workspace of whoever wrote it.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// What a child may not call, and what it is told instead.
const NOT_FOR_CHILDREN: [(&str, ErrorCode, &str, &str); 6] = [
    (
        "workspace.finish",
        ErrorCode::AgentDelegationDenied,
        "agent.child_finish_denied",
        "You work on a task for another agent, and only that agent ends the run: give your result with task.return",
    ),
    (
        "workspace.commit",
        ErrorCode::AgentDelegationDenied,
        "agent.child_commit_denied",
        "You work on a task for another agent, and only that agent publishes: leave the text in a file and name it in task.return",
    ),
    (
        "agent.delegate",
        ErrorCode::AgentDelegationDenied,
        "agent.nested_delegation_denied",
        NESTED,
    ),
    (
        "agent.await",
        ErrorCode::AgentDelegationDenied,
        "agent.nested_delegation_denied",
        NESTED,
    ),
    (
        "agent.list",
        ErrorCode::AgentDelegationDenied,
        "agent.nested_delegation_denied",
        NESTED,
    ),
    (
        "agent.handoff",
        ErrorCode::AgentHandoffDenied,
        "agent.child_handoff_denied",
        "You work on a task for another agent and cannot hand the run over: say in task.return who should go on",
    ),
];
pub(super) const RETURN_DENIED: &str = "agent.task_return_denied";
pub(super) const NO_TASK: &str =
    "Nobody has given this agent a task: finish the run with workspace.finish instead";
const NESTED: &str = "You work on a task for another agent and cannot give tasks to others: do it yourself, or say in task.return what is left";

impl AgentRun {
    pub(super) fn not_for_children(&self, tool: &str) -> Option<Failure> {
        self.duty.as_ref()?;
        let denied = NOT_FOR_CHILDREN.iter().find(|(name, ..)| alike(name, tool));
        denied.map(|(_, code, reason, message)| Failure {
            reason: Some((*reason).to_owned()),
            ..Failure::new(*code, *message)
        })
    }

    /// What is left of the run for somebody else: the same limits that end it.
    pub(super) fn check_delegated(&self, assignment: &Assignment) -> Fit {
        if self.child_of_call(&assignment.call).is_some() {
            return Err(Misfit::already("The task has been given"));
        }
        self.check_giving(&assignment.call)?;
        let is_known = self.children.contains_key(&assignment.invocation)
            || self.invocation == assignment.invocation;
        if is_known {
            return Err(Misfit::unfit("There is an agent of that name in the run"));
        }
        let rules = &self.created.profile.delegation;
        let exhausted = |reason, message| {
            Misfit::refused(ErrorCode::AgentDelegationBudgetExhausted, reason, message)
        };
        if !rules.can_delegate {
            return Err(Misfit::refused(
                ErrorCode::AgentDelegationDenied,
                "agent.delegation_policy_denied",
                "The profile of this agent does not let it give tasks to others: do it yourself",
            ));
        }
        let open = self.open_children().count();
        if open >= count(rules.max_concurrent_invocations) {
            return Err(exhausted(
                "agent.max_concurrent_invocations_exhausted",
                format!(
                    "{open} agents are at work for you, and no more may be at once: wait for one with agent.await"
                ),
            ));
        }
        let all = self.children.len();
        if all >= count(rules.max_invocations_per_run) {
            return Err(exhausted(
                "agent.max_invocations_per_run_exhausted",
                format!(
                    "{all} tasks were given in this run, and no more may be: do the rest yourself"
                ),
            ));
        }
        let left = self.left();
        let is_spent = left.calls == 0
            || left.rounds == 0
            || self.spent.exhausted(&self.created.profile).is_some();
        match is_spent {
            true => Err(exhausted(
                "agent.delegation_budget_exhausted",
                "Nothing is left of this run that another agent could work with: bring it to its end".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// A call of this turn that runs.
    pub(super) fn check_giving(&self, call: &CallId) -> Fit {
        let call = self.current_call(call)?;
        match call.state {
            CallState::Started { .. } => Ok(()),
            _ => Err(Misfit::unfit("A call acts only while it runs")),
        }
    }

    pub(super) fn delegated(&mut self, assignment: &Arc<Assignment>, out: &mut Out) {
        let key = self.free_key(assignment.profile_id.as_str());
        let run = self.child(assignment);
        let base = run
            .workspace
            .files
            .iter()
            .map(|(path, file)| (path.clone(), file.sha256.clone()));
        let child = Child {
            number: self.children.len() as u32 + 1,
            task: assignment.task.clone(),
            call: assignment.call.clone(),
            parent: self.invocation.clone(),
            profile_id: assignment.profile_id.clone(),
            title: assignment.title.clone(),
            workspace_key: key,
            status: TaskStatus::Queued,
            created_at: self.at,
            updated_at: self.at,
            base: base.collect(),
            result: None,
            error: None,
            delivered: Vec::new(),
            keeps_state: assignment.keeps_state,
            left_out: 0,
            standing: Standing::Whole,
            result_budget: self.created.profile.delegation.result_budget_tokens,
            run: Box::new(run),
        };
        let (parent, id) = (&self.invocation, &assignment.invocation);
        let created = InvocationCreated {
            invocation_id: id.clone(),
            parent_invocation_id: Some(parent.clone()),
            profile_id: child.profile_id.clone(),
            kind: "subagent".to_owned(),
            status: "created".to_owned(),
            exit_policy: "task_return_required".into(),
            task_id: Some(child.task.clone()),
            extra: Map::new(),
        };
        let started = DelegateStarted {
            task_id: child.task.clone(),
            parent_invocation_id: parent.clone(),
            target_profile_id: child.profile_id.clone(),
            extra: Map::from_iter([
                (
                    "workspaceKey".to_owned(),
                    child.workspace_key.clone().into(),
                ),
                ("title".to_owned(), child.title.clone().into()),
            ]),
        };
        let registered = child.changed(id);
        out.extend([
            Draft::between(
                RunEventKind::AgentTaskRegistered(registered.clone()),
                parent,
                &[id],
            ),
            Draft::between(RunEventKind::AgentInvocationCreated(created), id, &[parent]),
            Draft::between(RunEventKind::AgentDelegateStarted(started), parent, &[id]),
            Draft::between(RunEventKind::AgentTaskQueued(registered), parent, &[id]),
        ]);
        self.children.insert(id.clone(), child);
    }

    /// Named after the profile, with a number where it is not the first.
    fn free_key(&self, profile: &str) -> String {
        let is_free = |key: &String| {
            let mut children = self.children.values();
            !children.any(|child| child.workspace_key == *key)
        };
        let numbered = (2..=MAX_WORKSPACE_KEYS).map(|number| format!("{profile}-{number:03}"));
        let mut keys = std::iter::once(profile.to_owned()).chain(numbered);
        keys.find(is_free).unwrap_or_else(|| profile.to_owned())
    }

    fn child(&self, assignment: &Assignment) -> Self {
        let mut profile = assignment.profile.clone();
        profile.run.presentation = Presentation::Background;
        profile.agent.after_crash = AfterCrash::Continue;
        let denied = NOT_FOR_CHILDREN.iter().map(|(name, ..)| (*name).to_owned());
        profile.tools.deny.extend(denied);
        cut(&mut profile, &self.left(), assignment);
        let created = self.created_for(assignment, profile);
        let mut run = Self::blank(Arc::new(created), self.at);
        run.status = RunStatus::AssemblingContext;
        run.phase = Phase::Assembling;
        run.invocation = assignment.invocation.clone();
        run.workspace.files = self.workspace.files.clone();
        run.grants = self.grants.clone();
        run.duty = Some(Duty {
            task: assignment.task.clone(),
            edition: assignment.edition,
            returned: None,
        });
        run
    }

    /// The same chat, the same person, another agent: it is told what its own policy lets it see of the conversation, and
    /// then what it is to do.
    pub(super) fn created_for(&self, assignment: &Assignment, profile: AgentProfile) -> Created {
        let own = &self.created;
        let lead = own.messages.iter().take_while(|message| {
            let role = message.get("role").and_then(Json::as_str);
            matches!(role, Some("system" | "developer"))
        });
        let lead = lead.count();
        let talk = own.messages.get(lead..).unwrap_or_default();
        let wanted = usize::try_from(profile.context.initial_chat_history_messages);
        let from = talk.len() - wanted.unwrap_or(talk.len()).min(talk.len());
        let mut messages = own.messages.get(..lead).unwrap_or_default().to_vec();
        messages.extend_from_slice(talk.get(from..).unwrap_or_default());
        messages.push(assignment.brief.clone());
        let world_info = own.world_info.clone();
        Created {
            profile_id: assignment.profile_id.clone(),
            profile_source: assignment.profile_source.clone(),
            messages,
            is_snapshot: true,
            world_info: world_info.filter(|_| profile.context.include_activated_world_info),
            // Whoever drives it has the chat of the run.
            chat: Vec::new(),
            private_state: Json::Object(profile.initial_private_state()),
            model: assignment.model.clone(),
            skills: assignment.skills.clone(),
            generation_intent: None,
            fork: None,
            max_rounds: None,
            profile,
            run_id: own.run_id.clone(),
            workspace_id: own.workspace_id.clone(),
            stable_chat_id: own.stable_chat_id.clone(),
            chat_ref: own.chat_ref.clone(),
            generation_type: own.generation_type.clone(),
            presentation: own.presentation,
            persist_base_state_id: own.persist_base_state_id.clone(),
            parameters: own.parameters.clone(),
            skill_scope_refs: own.skill_scope_refs.clone(),
            user: own.user.clone(),
            project: own.project.clone(),
        }
    }

    /// `task.return` is to be called, and has not been.
    pub(super) fn check_returned(&self, call: &CallId) -> Fit {
        let Some(duty) = &self.duty else {
            return Err(Misfit::refused(
                ErrorCode::AgentDelegationDenied,
                RETURN_DENIED,
                NO_TASK,
            ));
        };
        match &duty.returned {
            Some((by, _)) if by == call => {
                return Err(Misfit::already("The task is over after this turn"));
            }
            Some(_) => {
                return Err(Misfit::refused(
                    ErrorCode::AgentDelegationDenied,
                    "agent.task_already_finished",
                    "The result of this task was given already",
                ));
            }
            None => {}
        }
        self.check_giving(call)?;
        self.check_last(call)
    }

    pub(super) fn task_returned(&mut self, call: &CallId, result: &Arc<TaskReturn>) {
        if let Some(duty) = &mut self.duty {
            duty.returned = Some((call.clone(), result.clone()));
        }
    }

    pub(super) fn has_returned(&self) -> bool {
        let duty = self.duty.as_ref();
        duty.is_some_and(|duty| duty.returned.is_some())
    }

    /// Of one that works for another: the limits of its caller hold for all who do together.
    pub(super) fn shares_limits(&self) -> bool {
        let duty = self.duty.as_ref();
        duty.is_some_and(|duty| duty.edition.shares_limits())
    }

    /// Whether the agent is to be reminded of `task.return` instead of `workspace.finish`.
    pub fn owes_return(&self) -> bool {
        self.duty.is_some()
    }
}

/// A child has its own limits, inside what is left of its caller's and of what that grants.
fn cut(profile: &mut AgentProfile, left: &Left, assignment: &Assignment) {
    let tools = &mut profile.tools;
    let within = |own: u32, left: u32, granted: Option<u32>| {
        own.min(left).min(granted.unwrap_or(u32::MAX)).max(1)
    };
    tools.max_rounds = within(tools.max_rounds, left.rounds, assignment.max_rounds);
    tools.max_calls_per_run = within(tools.max_calls_per_run, left.calls, assignment.max_calls);
    // What ends the work must be possible however few calls there are.
    tools
        .max_calls_per_tool
        .retain(|name, _| !alike(name, RETURN));
    let budget = &mut profile.agent.budget;
    *budget = less(
        budget,
        &Budget {
            max_tokens: left.tokens,
            max_cost: left.cost,
            max_wall_time_ms: left.wall_time_ms,
            ..Budget::default()
        },
    );
}

/// Of each the smaller; none is no limit.
pub(super) fn less(one: &Budget, other: &Budget) -> Budget {
    let cost = match (one.max_cost, other.max_cost) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let smaller = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    Budget {
        max_tokens: smaller(one.max_tokens, other.max_tokens),
        max_cost: cost,
        max_wall_time_ms: smaller(one.max_wall_time_ms, other.max_wall_time_ms),
        ..one.clone()
    }
}

/// What single tools may use of models does not grow either.
pub(super) fn keep_tool_limits(own: &mut Budget, before: &Budget) {
    for (tool, most) in &before.max_tokens_per_tool {
        let limit = own.max_tokens_per_tool.entry(tool.clone());
        let limit = limit.or_insert(*most);
        *limit = (*limit).min(*most);
    }
    for (tool, most) in &before.max_cost_per_tool {
        let limit = own.max_cost_per_tool.entry(tool.clone());
        let limit = limit.or_insert(*most);
        *limit = limit.min(*most);
    }
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
