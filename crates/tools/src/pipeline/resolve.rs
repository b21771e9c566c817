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
    if caller.reach.includes(tool.definition()) && !beneath {
        return Ok(());
    }
    Err(stop(
        ErrorCode::ToolPolicyDenied,
        "the profile of this agent does not offer it; use one of the tools that were listed",
    ))
}
