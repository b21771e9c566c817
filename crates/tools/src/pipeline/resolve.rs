//! Which tool is meant, and whether the caller's profile offers it.

use std::sync::Arc;

use innkeeper_protocol::{ErrorCode, Failure, Outcome};

use super::stop;
use crate::Caller;
use crate::registry::{Lookup, Snapshot, Tool};

/// Suggests only what the caller could call.
pub(super) fn resolve(
    snapshot: &Snapshot,
    caller: &Caller,
    name: &str,
) -> Result<Arc<Tool>, Outcome> {
    match snapshot.find(name) {
        Lookup::Found(tool) => Ok(tool.clone()),
        Lookup::Unknown { .. } => {
            let suggestions = snapshot.nearest(name, &caller.reach);
            // The sentence is made from the name and the suggestions where the observation is worded.
            Err(Outcome::Error(Failure {
                suggestions,
                ..Failure::new(ErrorCode::ToolUnknown, "")
            }))
        }
    }
}

pub(super) fn check_reach(caller: &Caller, tool: &Tool) -> Result<(), Outcome> {
    let beneath = tool
        .stands_on()
        .is_some_and(|beneath| caller.reach.denies(beneath));
    let by_id = tool.is_hidden() && caller.is_agent();
    let included = match by_id {
        true => caller.reach.names(tool.definition()),
        false => caller.reach.includes(tool.definition()),
    };
    if included && !beneath {
        return Ok(());
    }
    if by_id && caller.reach.includes(tool.definition()) {
        return Err(stop(
            ErrorCode::ToolPolicyDenied,
            "it is a node of workflows; an agent can call one only if its profile allows it by its full type",
        ));
    }
    Err(stop(
        ErrorCode::ToolPolicyDenied,
        "the profile of this agent does not offer it; use one of the tools that were listed",
    ))
}
