//! `agent.await`: waits for tasks, or says how they stand.

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::TaskId;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::arguments::{invalid, texts};
use super::{Wait, no_agents};
use crate::declare::{Nature, declare, examples, number, object, text};
use crate::limits::{AWAIT_MS, MAX_AWAIT_MS, MAX_AWAITED_TASKS, MAX_RETURN_CHARS};
use crate::run::AwaitMode;
use crate::workspace::Workspaces;

/// The wait ends by itself; the pipeline only sees to it that it does.
const PATIENCE_MS: u64 = 10 * 60 * 1000;

pub(super) fn definition() -> ToolDefinition {
    let mut definition = ToolDefinition {
        examples: examples(&[
            ("Wait for whoever is done next.", json!({})),
            (
                "Wait for all.",
                json!({"mode": "allCompleted", "timeoutMs": 300_000}),
            ),
        ]),
        ..declare(
            "agent.await",
            "Wait for tasks",
            "Waits for tasks that you gave to other agents, and tells what came of them. When the time is over it tells how they stand; they go on.",
            Nature::Control,
            object(
                json!({
                    "taskIds": {"type": "array", "items": {"type": "string"}, "description": "Which tasks. Left out: all of which you have not heard the end."},
                    "mode": {"type": "string", "description": "nextCompleted (if left out): until one of them is over. allCompleted: until all are. statusOnly: do not wait."},
                    "timeoutMs": {"type": "integer", "description": "How long at most; 120000 if left out, 300000 is the most."}
                }),
                &[],
            ),
            json!({
                "type": "object",
                "required": ["mode", "timedOut", "tasks"],
                "properties": {
                    "mode": {"type": "string"},
                    "timedOut": {"type": "boolean"},
                    "tasks": {"type": "array"}
                }
            }),
        )
    };
    definition.execution.timeout_ms = Some(PATIENCE_MS);
    definition
}

pub(super) struct AwaitTasks(pub(super) Workspaces);

#[async_trait]
impl Executor for AwaitTasks {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let place = self.0.desk(&call)?;
        let door = place.session.door()?;
        let desk = door.agents().ok_or_else(|| no_agents(&call))?;
        let named = text(&call, "mode").unwrap_or_default().trim();
        let mode = match named {
            "" => AwaitMode::NextCompleted,
            named => AwaitMode::ALL
                .into_iter()
                .find(|mode| mode.as_str() == named)
                .ok_or_else(|| {
                    let named: String = named.chars().take(40).collect();
                    invalid(format!(
                        "There is no mode '{named}': use nextCompleted, allCompleted or statusOnly"
                    ))
                })?,
        };
        let timeout = number(call.arguments.get("timeoutMs")).unwrap_or(AWAIT_MS);
        if !(0..=MAX_AWAIT_MS).contains(&timeout) {
            return Err(invalid(format!(
                "timeoutMs must be between 0 and {MAX_AWAIT_MS}"
            )));
        }
        let tasks = texts(
            &call.arguments,
            "arguments",
            "taskIds",
            MAX_AWAITED_TASKS,
            MAX_RETURN_CHARS,
        )?;
        let tasks: Vec<TaskId> = tasks.into_iter().map(TaskId::new).collect();
        desk.wait(Wait {
            tasks: (!tasks.is_empty()).then_some(tasks),
            mode,
            timeout_ms: u64::try_from(timeout).unwrap_or_default(),
            call: place.call.clone(),
        })
        .await
    }
}
