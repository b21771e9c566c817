//! What is left of an agent that works for another, and what is told of it where it is no more.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::event::InvocationId;
use innkeeper_protocol::{ErrorCode, Failure, Observation, Outcome};

use super::AgentRun;
use super::child::{Child, TaskStatus};
use crate::skills::RunSkills;

impl Child {
    /// What the caller is told with its next turn, if it does not ask before.
    pub(super) fn end(&self, id: &InvocationId) -> Arc<Observation> {
        let outcome = match (self.status, &self.error) {
            (TaskStatus::Completed, _) | (_, None) => Outcome::Success {
                result: self.report(id),
                spilled: None,
            },
            (TaskStatus::Cancelled, Some(error)) => Outcome::Cancelled {
                reason: format!("{} ({})", error.message, self.profile_id),
            },
            (_, Some(error)) => {
                let mut message = format!("{} could not do it: {}", self.profile_id, error.message);
                if !self.delivered.is_empty() {
                    message.push_str("; what it left is in ");
                    message.push_str(&self.folder());
                }
                Outcome::Error(Failure {
                    reason: error.reason.clone(),
                    ..Failure::new(ErrorCode::ToolExecutionFailed, message)
                })
            }
        };
        Arc::new(Observation {
            task: Some(self.task.to_string()),
            ..Observation::new("agent.delegate", outcome)
        })
    }

    /// What nobody needs of an agent that is over. Its journal has what it was asked and said.
    fn shed(&mut self) {
        self.base = BTreeMap::new();
        let run = &mut *self.run;
        run.told = None;
        run.turn = None;
        run.repeated = None;
        run.captured = None;
        run.sent = Vec::new();
        run.dropped = Vec::new();
        run.arrived = Vec::new();
        run.grants = Vec::new();
        run.binding = Arc::default();
        run.persist_base = BTreeMap::new();
        run.workspace.files = BTreeMap::new();
        run.workspace.reads = BTreeMap::new();
        if !run.created.messages.is_empty() {
            let created = Arc::make_mut(&mut run.created);
            created.messages = Vec::new();
            created.world_info = None;
            created.skills = RunSkills::default();
        }
    }

    fn is_shed(&self) -> bool {
        self.run.created.messages.is_empty()
    }
}

impl AgentRun {
    /// Of those that were over before this: what ended them is still to be seen when it is told.
    pub(super) fn shed_children(&mut self) {
        let children = self.children.values_mut();
        for child in children.filter(|child| child.run.is_over() && !child.is_shed()) {
            child.shed();
        }
    }

    /// What is told of those who are at work where nobody will be.
    pub(super) fn ends_of_children(&self, why: &str) -> impl Iterator<Item = Arc<Observation>> {
        self.open_children().map(move |child| {
            let reason = format!("{why} ({}, {})", child.task, child.profile_id);
            Arc::new(Observation {
                task: Some(child.task.to_string()),
                ..Observation::new("agent.delegate", Outcome::Cancelled { reason })
            })
        })
    }
}
