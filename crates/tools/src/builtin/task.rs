//! `task.status`, `task.await`, `task.cancel`, `task.list`: what an agent can do about its async calls.
//!
//! A run sees the tasks that it started, and no others.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{join_all, select_all};
use innkeeper_protocol::{ToolDefinition, render_observation};
use serde_json::{Map, Value as Json, json};

use crate::limits::{MAX_AWAIT, MAX_AWAITED_TASKS};
use crate::task::{Entry, Tasks};
use crate::{Executor, Invocation, ToolError};

pub fn tools(tasks: &Arc<Tasks>) -> Vec<(ToolDefinition, Arc<dyn Executor>)> {
    [Verb::Status, Verb::Await, Verb::Cancel, Verb::List]
        .into_iter()
        .map(|verb| {
            let tool = TaskTool {
                tasks: tasks.clone(),
                verb,
            };
            (verb.definition(), Arc::new(tool) as Arc<dyn Executor>)
        })
        .collect()
}

#[derive(Clone, Copy)]
enum Verb {
    Status,
    Await,
    Cancel,
    List,
}

impl Verb {
    fn definition(self) -> ToolDefinition {
        let one = json!({
            "type": "object",
            "properties": {"task_id": {"type": "string", "description": "The id that the call gave back when it was started."}},
            "required": ["task_id"],
            "additionalProperties": false,
        });
        let (id, name, description, parameters) = match self {
            Self::Status => (
                "task.status",
                "Task status",
                "Says how far a task has come, with the pieces of its result that are there, and its whole result if it has ended. Does not wait.",
                one,
            ),
            Self::Cancel => (
                "task.cancel",
                "Cancel a task",
                "Stops a task that is still at work. What it has done so far is not undone.",
                one,
            ),
            Self::List => (
                "task.list",
                "List tasks",
                "Lists the tasks that were started in this run, oldest first.",
                json!({
                    "type": "object",
                    "properties": {"status": {
                        "type": "string",
                        "enum": ["running", "succeeded", "failed", "cancelled"],
                        "description": "Only tasks with this status.",
                    }},
                    "additionalProperties": false,
                }),
            ),
            Self::Await => (
                "task.await",
                "Wait for tasks",
                "Waits until tasks have ended and gives their results. Without task_ids it waits for all tasks of this run.",
                json!({
                    "type": "object",
                    "properties": {
                        "task_ids": {
                            "type": "array",
                            "items": {"type": "string"},
                            "minItems": 1,
                            "maxItems": MAX_AWAITED_TASKS,
                            "description": "The tasks to wait for.",
                        },
                        "mode": {
                            "type": "string",
                            "enum": ["all", "any"],
                            "default": "all",
                            "description": "Wait for all of them, or until the first has ended.",
                        },
                        "timeout_ms": {
                            "type": "integer",
                            "minimum": 0,
                            "maximum": MAX_AWAIT.as_millis() as u64,
                            "default": 120_000,
                            "description": "How long to wait, in milliseconds.",
                        },
                    },
                    "additionalProperties": false,
                }),
            ),
        };
        let mut definition = ToolDefinition::new(id, description, parameters);
        definition.display_name = name.to_owned();
        definition.source = "builtin".to_owned();
        definition.tags = vec!["task".to_owned()];
        definition.execution.idempotent = true;
        definition.execution.parallel = true;
        // Longer than the longest wait, so that the wait itself decides.
        let slack = Duration::from_secs(10);
        definition.execution.timeout_ms =
            matches!(self, Self::Await).then_some((MAX_AWAIT + slack).as_millis() as u64);
        definition
    }
}

struct TaskTool {
    tasks: Arc<Tasks>,
    verb: Verb,
}

#[async_trait]
impl Executor for TaskTool {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        match self.verb {
            Verb::Status => Ok(shown(&*self.one(&call).await?)),
            Verb::Cancel => {
                let entry = self.one(&call).await?;
                if entry.is_elsewhere() {
                    let message = "another process is at work on it; only that one can stop it";
                    return Err(ToolError::unavailable(message).because("task.elsewhere"));
                }
                entry.cancel.cancel();
                entry.ended().await;
                Ok(shown(&entry))
            }
            Verb::List => {
                let wanted = text(&call.arguments, "status");
                let tasks: Vec<_> = self
                    .tasks
                    .all(&call.context.caller.desk())
                    .await?
                    .iter()
                    .map(|entry| brief(entry))
                    .filter(|task| wanted.is_none_or(|wanted| task["status"] == wanted))
                    .collect();
                Ok(json!({"tasks": tasks}))
            }
            Verb::Await => self.wait(&call).await,
        }
    }
}

impl TaskTool {
    async fn one(&self, call: &Invocation) -> Result<Arc<Entry>, ToolError> {
        let id = text(&call.arguments, "task_id").unwrap_or_default();
        self.find(call, id).await
    }

    async fn find(&self, call: &Invocation, id: &str) -> Result<Arc<Entry>, ToolError> {
        self.tasks
            .find(&call.context.caller.desk(), id)
            .await?
            .ok_or_else(|| {
                ToolError::invalid(format!(
                    "this run has no task '{id}'; task.list shows those it has"
                ))
                .because("task.not_found")
            })
    }

    async fn wait(&self, call: &Invocation) -> Result<Json, ToolError> {
        let entries: Vec<Arc<Entry>> = match call.arguments.get("task_ids").and_then(Json::as_array)
        {
            Some(ids) => {
                let mut found = Vec::with_capacity(ids.len());
                for id in ids.iter().filter_map(Json::as_str) {
                    found.push(self.find(call, id).await?);
                }
                found
            }
            None => self
                .tasks
                .entries(&call.context.caller.desk())
                .into_iter()
                .filter(|entry| entry.is_running())
                .collect(),
        };
        let limit = call
            .arguments
            .get("timeout_ms")
            .and_then(Json::as_u64)
            .map_or(MAX_AWAIT, Duration::from_millis)
            .min(MAX_AWAIT);
        let waits = entries.iter().map(|entry| Box::pin(entry.ended()));
        let timed_out = match (entries.is_empty(), text(&call.arguments, "mode")) {
            (true, _) => false,
            (_, Some("any")) => tokio::time::timeout(limit, select_all(waits))
                .await
                .is_err(),
            _ => tokio::time::timeout(limit, join_all(waits)).await.is_err(),
        };
        for entry in entries.iter().filter(|entry| !entry.is_running()) {
            entry.mark_told();
        }
        let tasks: Vec<_> = entries.iter().map(|entry| shown(entry)).collect();
        Ok(json!({"timedOut": timed_out, "tasks": tasks}))
    }
}

/// Without the result.
fn brief(entry: &Entry) -> Json {
    let record = entry.record();
    let mut task = json!({
        "taskId": record.task_id,
        "tool": record.tool,
        "status": record.status,
        "startedAt": record.started_at,
    });
    if let Some(progress) = record.progress {
        task["progress"] = json!(progress);
    }
    if let Some(at) = record.ended_at {
        task["endedAt"] = json!(at);
    }
    task
}

/// With what came of it, in the words that an observation has for it.
fn shown(entry: &Entry) -> Json {
    let mut task = brief(entry);
    let record = entry.record();
    if !record.partial.is_empty() {
        task["partial"] = json!(record.partial);
    }
    if let Some(observation) = record.observation {
        task["observation"] = render_observation(&observation).into();
    }
    task
}

fn text<'a>(arguments: &'a Map<String, Json>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Json::as_str)
}
