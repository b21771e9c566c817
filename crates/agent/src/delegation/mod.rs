//! Agents that call agents: the tools `agent.list`, `agent.delegate`, `agent.await`, `agent.handoff` and `task.return`, one
//! file each. They read what the model wrote; who may call whom is `rules.rs`'s, what another agent is told `brief.rs`'s,
//! and what happens then is the run's (`run/delegate.rs` and its neighbours).

mod arguments;
mod brief;
mod delegate;
mod handoff;
mod list;
mod rules;
mod task_return;
mod wait;

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::event::{CallId, TaskId};
use innkeeper_store::Blob;
use innkeeper_tools::builtin::Tool;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::Value as Json;

use crate::profile::AgentProfile;
use crate::run::{AwaitMode, TaskReturn};
use crate::workspace::Workspaces;

pub use brief::Brief;
pub use rules::{Purpose, may_call};

/// What the tools of one agent may ask of the run that it belongs to.
#[async_trait]
pub trait AgentDesk: Send + Sync {
    /// Every profile that can be used, and the id of the one that asks.
    async fn profiles(&self) -> Result<(String, Vec<AgentProfile>), ToolError>;

    /// Gives a task to another agent. The same call gives the same task, also after a restart.
    async fn delegate(&self, asked: Delegate) -> Result<TaskGiven, ToolError>;

    /// Waits as long as is wanted. The same call goes on waiting after a restart, for as long as is left.
    async fn wait(&self, asked: Wait) -> Result<Json, ToolError>;

    /// Another agent gets the run after this turn.
    async fn handoff(&self, asked: Delegate) -> Result<TaskGiven, ToolError>;

    /// The result of the task that this agent works on; `text` is all of it, for people and models.
    async fn give_back(
        &self,
        call: &CallId,
        result: TaskReturn,
        text: Blob,
    ) -> Result<(), ToolError>;
}

/// What is wanted of another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegate {
    pub call: CallId,
    pub agent: String,
    pub brief: Brief,
    pub max_rounds: Option<u32>,
    pub max_calls: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TaskGiven {
    pub task: TaskId,
    pub status: String,
    pub agent: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    pub call: CallId,
    /// None: those of which there is something to hear.
    pub tasks: Option<Vec<TaskId>>,
    pub mode: AwaitMode,
    pub timeout_ms: u64,
}

/// All of them, ready to be registered.
pub fn tools(workspaces: &Workspaces) -> Vec<Tool> {
    fn tool(
        definition: innkeeper_protocol::ToolDefinition,
        executor: impl Executor + 'static,
    ) -> Tool {
        (definition, Arc::new(executor))
    }
    let all = || workspaces.clone();
    vec![
        tool(list::definition(), list::List(all())),
        tool(delegate::definition(), delegate::DelegateTask(all())),
        tool(wait::definition(), wait::AwaitTasks(all())),
        tool(handoff::definition(), handoff::HandOver(all())),
        tool(task_return::definition(), task_return::Return(all())),
    ]
}

fn no_agents(call: &Invocation) -> ToolError {
    ToolError::unavailable(format!(
        "{} works in a run of an agent, and there is none here",
        call.tool.id
    ))
    .because("workspace.no_run")
    .permanent()
}

#[cfg(test)]
mod tests;
