//! `agent.delegate`: a task for another agent, which works on it beside this one.

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Map, Value as Json, json};

use super::arguments::invalid;
use super::{Brief, Delegate, no_agents};
use crate::declare::{Nature, answer, declare, examples, number, object, text};
use crate::workspace::Workspaces;

pub(super) fn definition() -> ToolDefinition {
    let words = |what: &str| json!({"type": "string", "description": what});
    let list =
        |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
    ToolDefinition {
        examples: examples(&[(
            "Let another agent look something up.",
            json!({"agentId": "researcher", "task": {"objective": "Find out how tea came to Europe.", "expectedOutput": "Five sentences with years."}}),
        )]),
        ..declare(
            "agent.delegate",
            "Give a task",
            "Gives a task to another agent. It works beside you, with its own tools and its own copy of your files; go on meanwhile. Its result comes to you by itself, or when you wait for it with agent.await.",
            Nature::Control,
            object(
                json!({
                    "agentId": words("Who: an id of agent.list."),
                    "task": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["objective"],
                        "description": "What it is to do. It knows nothing of your conversation but what you tell it here.",
                        "properties": {
                            "objective": words("What is to be done."),
                            "title": words("The same in a few words, for people."),
                            "context": words("What it should know."),
                            "expectedOutput": words("What you want back, and in which form."),
                            "workspaceRefs": list("Paths of files that it should look at."),
                            "constraints": list("What it must not do, or must leave as it is."),
                            "successCriteria": list("When it is done.")
                        }
                    },
                    "budget": {
                        "type": "object",
                        "additionalProperties": false,
                        "description": "Less than its profile gives it.",
                        "properties": {
                            "maxRounds": {"type": "integer", "description": "So many rounds at most."},
                            "maxToolCalls": {"type": "integer", "description": "So many calls at most."}
                        }
                    }
                }),
                &["agentId", "task"],
            ),
            answer(&[
                ("taskId", "string"),
                ("status", "string"),
                ("agentId", "string"),
            ]),
        )
    }
}

pub(super) struct DelegateTask(pub(super) Workspaces);

#[async_trait]
impl Executor for DelegateTask {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let place = self.0.desk(&call)?;
        let door = place.session.door()?;
        let desk = door.agents().ok_or_else(|| no_agents(&call))?;
        let empty = Map::new();
        let part = |name: &str| match call.arguments.get(name) {
            Some(Json::Object(fields)) => fields,
            _ => &empty,
        };
        let budget = part("budget");
        let given = desk
            .delegate(Delegate {
                agent: agent(&call)?,
                brief: Brief::of_task(part("task"))?,
                max_rounds: granted(budget, "maxRounds")?,
                max_calls: granted(budget, "maxToolCalls")?,
                call: place.call.clone(),
            })
            .await?;
        Ok(json!({"taskId": given.task, "status": given.status, "agentId": given.agent}))
    }
}

pub(super) fn agent(call: &Invocation) -> Result<String, ToolError> {
    let id = text(call, "agentId").unwrap_or_default().trim();
    match id.is_empty() {
        true => Err(invalid(
            "agentId is empty: name an agent, agent.list shows which there are".to_owned(),
        )),
        false => Ok(id.to_owned()),
    }
}

fn granted(budget: &Map<String, Json>, name: &str) -> Result<Option<u32>, ToolError> {
    let Some(value) = budget.get(name).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let number = number(Some(value)).and_then(|number| u32::try_from(number).ok());
    match number.filter(|number| *number > 0) {
        Some(number) => Ok(Some(number)),
        None => Err(invalid(format!("budget.{name} must be a number from 1 on"))),
    }
}
