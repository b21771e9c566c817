//! `agent.handoff`: another agent goes on with this run. The last thing that the one who calls it does.

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Map, Value as Json, json};

use super::arguments::invalid;
use super::delegate::agent;
use super::{Brief, Delegate, no_agents};
use crate::declare::{Nature, answer, declare, examples, object, text};
use crate::workspace::Workspaces;

pub(super) fn definition() -> ToolDefinition {
    let words = |what: &str| json!({"type": "string", "description": what});
    let list =
        |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
    ToolDefinition {
        examples: examples(&[(
            "The plan stands; somebody else writes.",
            json!({"agentId": "writer", "handoff": {"objective": "Write the chapter after plan/chapter.md and publish it.", "workspaceRefs": ["plan/chapter.md"]}}),
        )]),
        ..declare(
            "agent.handoff",
            "Hand the run over",
            "Hands this run over to another agent, which goes on with the same files and ends the run. Call it last: you do nothing more in this run.",
            Nature::Control,
            object(
                json!({
                    "agentId": words("Who: an id of agent.list."),
                    "handoff": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["objective"],
                        "description": "What it needs to know to go on.",
                        "properties": {
                            "objective": words("What is left to be done."),
                            "title": words("The same in a few words, for people."),
                            "reason": words("Why it is handed over."),
                            "contextSummary": words("What was done and found so far."),
                            "workspaceRefs": list("Paths of files that it should look at."),
                            "mustPreserve": list("What must stay as it is."),
                            "completionCriteria": list("When the run is done.")
                        }
                    },
                    "pendingTaskPolicy": words("denyIfPending (the only one): refused while agents work on tasks for you.")
                }),
                &["agentId", "handoff"],
            ),
            answer(&[
                ("handoffId", "string"),
                ("taskId", "string"),
                ("status", "string"),
                ("agentId", "string"),
            ]),
        )
    }
}

pub(super) struct HandOver(pub(super) Workspaces);

#[async_trait]
impl Executor for HandOver {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let place = self.0.desk(&call)?;
        let door = place.session.door()?;
        let desk = door.agents().ok_or_else(|| no_agents(&call))?;
        let policy = text(&call, "pendingTaskPolicy").map_or("", str::trim);
        if !matches!(policy, "" | "denyIfPending") {
            return Err(invalid(
                "pendingTaskPolicy can only be denyIfPending: leave it out".to_owned(),
            ));
        }
        let empty = Map::new();
        let handoff = match call.arguments.get("handoff") {
            Some(Json::Object(fields)) => fields,
            _ => &empty,
        };
        let given = desk
            .handoff(Delegate {
                agent: agent(&call)?,
                brief: Brief::of_handoff(handoff)?,
                max_rounds: None,
                max_calls: None,
                call: place.call.clone(),
            })
            .await?;
        Ok(json!({
            "handoffId": given.task,
            "taskId": given.task,
            "status": given.status,
            "agentId": given.agent,
        }))
    }
}
