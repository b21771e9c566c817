//! Tools as they travel along edges: `{name, description, parameters}`, and the way back to their definitions.

use std::collections::HashMap;
use std::sync::Arc;

use innkeeper_protocol::{Aliases, Protocol, ToolCallRequest, ToolDefinition};
use serde_json::{Value as Json, json};

use crate::node::NodeContext;
use crate::{NodeError, Value};

pub(in crate::nodes) fn to_json(tool: &ToolDefinition) -> Json {
    json!({"name": tool.id, "description": tool.description, "parameters": tool.parameters})
}

/// The definitions behind a list. What the registry knows is taken from there, with its examples and rules; a tool that
/// somebody wrote into the workflow is taken as it is.
pub(in crate::nodes) fn definitions(
    context: &NodeContext,
    tools: &[Value],
) -> Result<Vec<Arc<ToolDefinition>>, NodeError> {
    if tools.is_empty() {
        return Ok(Vec::new());
    }
    let known = context.tools().map(|port| port.list()).unwrap_or_default();
    let known: HashMap<&str, &Arc<ToolDefinition>> =
        known.iter().map(|tool| (tool.id.as_str(), tool)).collect();
    let found = tools.iter().enumerate().map(|(number, tool)| {
        let json = tool.as_json();
        // Also in the form of a provider's declaration.
        let json = json.get("function").unwrap_or(json);
        let name = json.as_str().or_else(|| json.get("name").and_then(Json::as_str));
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            let message = format!(
                "tool {} of the list has no name; each must be like {{\"name\": \"…\", \"description\": \"…\", \"parameters\": {{…}}}}",
                number + 1
            );
            return Err(NodeError::invalid("tools.list", message));
        };
        if let Some(known) = known.get(name) {
            return Ok(Arc::clone(known));
        }
        let about = json.get("description").and_then(Json::as_str).unwrap_or_default();
        let parameters = json.get("parameters").cloned();
        let parameters = parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
        Ok(Arc::new(ToolDefinition::new(name, about, parameters)))
    });
    found.collect()
}

/// Puts the tools' own names into calls that were written with the names of a prompt.
pub(in crate::nodes) fn restore(calls: &mut [ToolCallRequest<'_>], tools: &[Arc<ToolDefinition>]) {
    let mut known: Vec<(Protocol, Aliases)> = Vec::new();
    for call in calls {
        let at = known
            .iter()
            .position(|(protocol, _)| *protocol == call.protocol);
        let at = at.unwrap_or_else(|| {
            let all = tools.iter().map(Arc::as_ref);
            known.push((call.protocol, Aliases::new(all, call.protocol)));
            known.len() - 1
        });
        if let Some((_, aliases)) = known.get(at) {
            aliases.restore(call);
        }
    }
}
