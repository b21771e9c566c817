//! `agent.list`: who can be called. Sorted first and cut then, so that the same question has the same answer.

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::arguments::{held, invalid};
use super::no_agents;
use super::rules::{Purpose, may_call};
use crate::declare::{Nature, answer, declare, examples, number, object, text};
use crate::limits::{LISTED_AGENTS, MAX_LISTED_AGENTS, MAX_QUERY_CHARS};
use crate::profile::AgentProfile;
use crate::workspace::Workspaces;

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[
            ("See who could take a task.", json!({"purpose": "delegate"})),
            (
                "Look for somebody who checks facts.",
                json!({"query": "facts"}),
            ),
        ]),
        ..declare(
            "agent.list",
            "List agents",
            "Lists the agents that you may give a task to or hand the run over to, each with what it is good at.",
            Nature::ReadOnly,
            object(
                json!({
                    "purpose": {
                        "type": "string",
                        "description": "any (if left out), delegate: who takes tasks, handoff: to whom a run can be handed."
                    },
                    "query": {"type": "string", "description": "Only those whose name or description has these words."},
                    "limit": {"type": "integer", "description": "How many at most; 8 if left out, 20 is the most."}
                }),
                &[],
            ),
            answer(&[("agents", "array"), ("total", "integer")]),
        )
    }
}

pub(super) struct List(pub(super) Workspaces);

#[async_trait]
impl Executor for List {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let door = self.0.of_call(&call)?.door()?;
        let desk = door.agents().ok_or_else(|| no_agents(&call))?;
        let purposes: &[Purpose] = match text(&call, "purpose").unwrap_or("any") {
            "any" | "" => &[Purpose::Delegate, Purpose::Handoff],
            "delegate" => &[Purpose::Delegate],
            "handoff" => &[Purpose::Handoff],
            other => {
                let other: String = other.chars().take(40).collect();
                return Err(invalid(format!(
                    "There is no purpose '{other}': use any, delegate or handoff"
                )));
            }
        };
        let limit = number(call.arguments.get("limit")).unwrap_or(LISTED_AGENTS);
        if !(1..=MAX_LISTED_AGENTS).contains(&limit) {
            return Err(invalid(format!(
                "limit must be between 1 and {MAX_LISTED_AGENTS}"
            )));
        }
        let query = text(&call, "query").unwrap_or_default();
        held("query", query, MAX_QUERY_CHARS)?;
        let (caller, profiles) = desk.profiles().await?;
        let found = found(&profiles, &caller, purposes, query);
        let total = found.len();
        let agents: Vec<Json> = found
            .into_iter()
            .take(usize::try_from(limit).unwrap_or_default())
            .collect();
        Ok(json!({"agents": agents, "total": total}))
    }
}

/// By their ids; pure.
pub(super) fn found(
    profiles: &[AgentProfile],
    caller: &str,
    purposes: &[Purpose],
    query: &str,
) -> Vec<Json> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<(&str, Json)> = Vec::new();
    for profile in profiles {
        let modes: Vec<&str> = [
            (Purpose::Delegate, "delegate"),
            (Purpose::Handoff, "handoff"),
        ]
        .into_iter()
        .filter(|(purpose, _)| may_call(profile, caller, *purpose).is_ok())
        .map(|(_, name)| name)
        .collect();
        let is_wanted = purposes
            .iter()
            .any(|purpose| may_call(profile, caller, *purpose).is_ok());
        let rules = &profile.delegation;
        let description = rules.description_for_agents.as_ref();
        let description = description.or(profile.description.as_ref());
        let about = format!(
            "{} {} {}",
            profile.id,
            profile.display_name,
            description.map_or("", String::as_str)
        );
        let about = about.to_lowercase();
        // Whoever asks would only call itself.
        let is_self = profile.id.as_str() == caller;
        if is_wanted && !is_self && words.iter().all(|word| about.contains(word.as_str())) {
            let agent = json!({
                "id": profile.id,
                "displayName": profile.display_name,
                "description": description,
                "modes": modes,
            });
            found.push((profile.id.as_str(), agent));
        }
    }
    found.sort_by_key(|(id, _)| *id);
    found.into_iter().map(|(_, agent)| agent).collect()
}
