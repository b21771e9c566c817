//! Who may call whom, and for what. Pure: two profiles in, yes or why not out.

use innkeeper_protocol::{ErrorCode, Pattern};
use innkeeper_tools::ToolError;

use crate::profile::AgentProfile;

/// What another agent is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A task, whose result comes back.
    Delegate,
    /// The rest of the run.
    Handoff,
}

/// Whether `target` lets `caller` (a profile's id) call it. What `caller` itself may is the run's to say.
pub fn may_call(target: &AgentProfile, caller: &str, purpose: Purpose) -> Result<(), ToolError> {
    let rules = &target.delegation;
    let id = &target.id;
    let refused = |code, reason: &str, message: String| {
        Err(ToolError::new(code, message).because(reason).permanent())
    };
    let denied = match purpose {
        Purpose::Delegate => ErrorCode::AgentDelegationDenied,
        Purpose::Handoff => ErrorCode::AgentHandoffDenied,
    };
    if !rules.callable {
        return refused(
            denied,
            "agent.target_not_callable",
            format!("'{id}' is not there for other agents: agent.list names those that are"),
        );
    }
    let is_caller = |name: &String| Pattern::new(name).matches(caller);
    if !rules.allowed_callers.iter().any(is_caller) {
        return refused(
            denied,
            "agent.target_caller_denied",
            format!("'{id}' does not work for '{caller}': choose another with agent.list"),
        );
    }
    match purpose {
        Purpose::Delegate if !rules.allow_as_subagent => refused(
            denied,
            "agent.target_not_subagent",
            format!("'{id}' takes no tasks, though a run may be handed to it"),
        ),
        Purpose::Handoff if !rules.allow_as_handoff_target => refused(
            denied,
            "agent.target_not_handoff",
            format!("A run cannot be handed to '{id}', though it takes tasks: use agent.delegate"),
        ),
        Purpose::Delegate | Purpose::Handoff => Ok(()),
    }
}
