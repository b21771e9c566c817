//! What people may read of the agents of a run: who there is, what each of them does, and what it returned.

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{InvocationId, RunEvent, RunId, TaskId};
use innkeeper_store::journal::EventRange;
use serde_json::{Value as Json, json};

use super::AgentError;
use super::reading::RunReader;
use crate::limits::{MAX_AGENTS_NAMED, MAX_EVENTS_PAGE};
use crate::run::{AgentRun, TimelineProjection};

impl RunReader {
    /// The agents of a run, and what they have to do with each other.
    pub async fn timeline(&self, run: &RunId) -> Result<TimelineProjection, AgentError> {
        Ok(self.state(run).await?.timeline())
    }

    /// The events of one agent: those that name it, and nobody else's. As many as the range asks for, where there are so many.
    pub async fn events_of(
        &self,
        run: &RunId,
        invocation: &InvocationId,
        range: EventRange,
    ) -> Result<Vec<RunEvent>, AgentError> {
        if invocation.as_str().trim().is_empty() {
            let message = "invocationId cannot be empty; leave it out for the events of all agents";
            return Err(AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.read_events_invocation_id_invalid"));
        }
        let is_its = |event: &RunEvent| {
            let scope = event.scope.as_ref();
            scope.is_some_and(|scope| scope.invocation_id == *invocation)
        };
        let (mut from, limit, is_forward) = match range {
            EventRange::After { seq, limit } => (seq, limit, true),
            EventRange::Before { seq, limit } => (seq, limit, false),
            EventRange::Last { limit } => (u64::MAX, limit, false),
        };
        let limit = limit.clamp(1, MAX_EVENTS_PAGE);
        let mut found: Vec<RunEvent> = Vec::new();
        while found.len() < limit {
            let range = match (is_forward, from) {
                (true, seq) => EventRange::After {
                    seq,
                    limit: MAX_EVENTS_PAGE,
                },
                (false, u64::MAX) => EventRange::Last {
                    limit: MAX_EVENTS_PAGE,
                },
                (false, seq) => EventRange::Before {
                    seq,
                    limit: MAX_EVENTS_PAGE,
                },
            };
            let page = self.events(run, range).await?;
            let edge = match is_forward {
                true => page.last(),
                false => page.first(),
            };
            let Some(edge) = edge.map(|event| event.seq) else {
                break;
            };
            from = edge;
            let its = page.into_iter().filter(is_its);
            match is_forward {
                true => found.extend(its),
                false => found = its.chain(found).collect(),
            }
            if !is_forward && edge <= 1 {
                break;
            }
        }
        match is_forward {
            true => found.truncate(limit),
            false => drop(found.drain(..found.len().saturating_sub(limit))),
        }
        if found.is_empty() {
            self.check_agent(run, invocation).await?;
        }
        Ok(found)
    }

    /// Whether there is, or was, such an agent. Of a run of which only its events are kept, nobody knows.
    async fn check_agent(&self, run: &RunId, invocation: &InvocationId) -> Result<(), AgentError> {
        if self.record(run).await?.is_slim {
            return Ok(());
        }
        let state = self.state(run).await?;
        if state.is_agent(invocation) {
            return Ok(());
        }
        let timeline = state.timeline();
        let known = timeline.invocations.iter();
        let known: Vec<String> = known
            .take(MAX_AGENTS_NAMED)
            .map(|agent| format!("{} ({})", agent.invocation_id, agent.profile_id))
            .collect();
        let more = timeline.invocations.len().saturating_sub(known.len());
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "the run '{run}' has no agent '{invocation}'; it has {}{more}",
            known.join(", ")
        );
        Err(AgentError::new(ErrorCode::AgentValidationError, message)
            .because("agent.read_events_invocation_id_invalid"))
    }

    /// A task with all that is known of it.
    pub async fn task_detail(&self, run: &RunId, task: &TaskId) -> Result<Json, AgentError> {
        let state = self.state(run).await?;
        let Some((id, child)) = state.child_of_task(task) else {
            let message = format!(
                "the run '{run}' has no task '{task}'; `innkeeper runs show {run}` lists those it has"
            );
            return Err(AgentError::new(ErrorCode::AgentTaskNotFound, message));
        };
        let timeline = state.timeline();
        let edge = timeline
            .delegation_edges
            .into_iter()
            .find(|edge| edge.task_id == *task);
        let spent = child.run().spent();
        Ok(json!({
            "runId": run,
            "task": edge,
            "title": child.title,
            "rounds": spent.rounds,
            "calls": spent.calls,
            "tokens": spent.tokens,
            "cost": spent.cost,
            "files": child.delivered.iter().map(|(path, _)| path).collect::<Vec<_>>(),
            "result": state.result_record(id),
        }))
    }
}

impl AgentRun {
    /// `agent-results/<invocation>.json`; nothing as long as nothing was returned.
    pub(super) fn result_record(&self, id: &InvocationId) -> Option<Json> {
        let (_, child) = self
            .children()
            .into_iter()
            .find(|(known, _)| *known == id)?;
        let result = child.result.as_ref()?;
        Some(json!({
            "schemaVersion": 1,
            "kind": "tauritavern.agentTaskResult",
            "status": child.status,
            "summary": result.summary,
            "summaryRef": child.summary_ref(),
            "result": result,
            "runtime": {
                "taskId": child.task,
                "runId": self.run_id(),
                "parentInvocationId": child.parent,
                "childInvocationId": id,
                "targetProfileId": child.profile_id,
                "workspaceKey": child.workspace_key,
            },
        }))
    }
}
