//! A call that nobody has written: a node of a workflow at work, whose inputs the engine has held against its slots.
//!
//! It goes the way of every call (reach, hooks, policy, approval, budget, audit, redaction); only reading and checking
//! the arguments is left out.

use std::sync::Arc;

use innkeeper_protocol::{ErrorCode, Failure, Outcome, Protocol, ToolCallRequest};
use serde_json::{Map, Value as Json};

use super::call::{Way, perform};
use super::finish::Finished;
use super::trail::Trail;
use crate::registry::Tool;
use crate::run::{NodeReach, ToolRun};

/// What is to be done, and by what leave.
pub(crate) struct Ready {
    pub(crate) tool: Arc<Tool>,
    pub(crate) arguments: Map<String, Json>,
    pub(crate) leave: Leave,
}

/// Why a caller may be asking for it at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leave {
    /// It stands in a workflow, which anybody may have written.
    Workflow,
    /// A tool that the caller may call is made of it, by whoever made both.
    Tool,
}

/// The whole result.
pub(crate) async fn pass(run: &ToolRun, ready: Ready) -> Result<Json, Outcome> {
    let Ready {
        tool,
        arguments,
        leave,
    } = ready;
    let id = tool.definition().id.to_string();
    let request = ToolCallRequest::new(Protocol::ToolCall, id);
    let call_id = run.shared.next_call();
    let mut trail = Trail::begin(run, &request, &call_id);
    trail.found(&tool);
    let mut way = Way::new(&request, call_id);
    // Also where it comes no further than this.
    trail.arguments_are(&tool, &arguments);
    let gone = match check(run, &tool, leave).await {
        Ok(()) => perform(run, tool, arguments, &request, &mut way, &mut trail).await,
        Err(outcome) => Err(outcome),
    };
    let Finished { outcome, full } = gone.unwrap_or_else(|mut outcome| {
        run.shared.redactor.load().redact_failure(&mut outcome);
        Finished {
            outcome,
            full: None,
        }
    });
    run.note(trail, &outcome).await;
    match (full, outcome) {
        (Some(full), Outcome::Success { .. }) => Ok(full),
        (_, outcome) => Err(outcome),
    }
}

async fn check(run: &ToolRun, tool: &Tool, leave: Leave) -> Result<(), Outcome> {
    run.check_open().await?;
    let (caller, definition) = (&run.caller, tool.definition());
    let reach = &caller.reach;
    let needs_name = tool.is_hidden() && caller.is_agent() && run.nodes == NodeReach::ByName;
    let is_allowed = match leave {
        Leave::Tool => !reach.denies(definition),
        Leave::Workflow if needs_name => reach.names(definition),
        Leave::Workflow => reach.includes(definition),
    };
    if is_allowed {
        return Ok(());
    }
    let id = &definition.id;
    let why = match reach.denies(definition) {
        true => format!("the profile of this agent denies '{id}'; leave the node out"),
        false => format!(
            "the profile of this agent does not allow '{id}'; allow it there by that very name, or leave the node out"
        ),
    };
    Err(Outcome::Error(Failure {
        reason: Some("node.not_allowed".to_owned()),
        ..Failure::new(ErrorCode::ToolPolicyDenied, why)
    }))
}
