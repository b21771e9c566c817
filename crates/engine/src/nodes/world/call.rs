//! A tool called by a node: its result, or the node's error with the tool's own code.

use std::sync::Arc;

use innkeeper_protocol::{
    Argument, ErrorCode, Observation, Outcome, Protocol, Provider, Span, ToolCallRequest, Value,
};
use serde_json::{Map, Value as Json};

use crate::node::NodeContext;
use crate::{Kept, NodeError};

/// Calls a tool by its name and waits for its result. Stops the tool if the node is stopped.
pub(in crate::nodes) async fn call(
    context: &NodeContext,
    tool: &str,
    arguments: Map<String, Json>,
) -> Result<Json, NodeError> {
    call_kept(context, tool, arguments, None).await
}

/// The same with what is kept of earlier runs.
pub(super) async fn call_kept(
    context: &NodeContext,
    tool: &str,
    arguments: Map<String, Json>,
    kept: Option<&Kept>,
) -> Result<Json, NodeError> {
    let mut request = ToolCallRequest::new(Protocol::Native(Provider::OpenAi), tool.to_owned());
    let arguments = arguments.into_iter();
    request.arguments = arguments
        .map(|(name, value)| Argument::exact(name, Value::Json(value), Span::default()))
        .collect();
    let cancel = context.cancel.child_token();
    // A node that ran out of time is dropped, and its call must not go on without it.
    let _stop = cancel.clone().drop_guard();
    let tools = context.tools()?;
    let heard = Arc::new(());
    result(match kept {
        Some(kept) => {
            let call = tools.call_kept(request, kept.clone(), heard, cancel);
            call.await
        }
        None => tools.call(request, heard, cancel).await,
    })
}

/// The whole result of a call; anything less is an error.
pub(in crate::nodes) fn result(observation: Observation) -> Result<Json, NodeError> {
    let tool = &observation.tool;
    let code = observation.error_code();
    let failed = |code: ErrorCode, message: String| {
        let message = format!("the tool {tool}: {message}");
        // A tool that failed may work the next time: a host that is just starting, a program that is busy.
        let may_pass = code.retryable() || code == ErrorCode::ToolExecutionFailed;
        match may_pass {
            true => NodeError::failed(code.as_str(), message),
            false => NodeError::invalid(code.as_str(), message),
        }
    };
    match observation.outcome {
        Outcome::Success {
            result,
            spilled: None,
        } => Ok(result),
        Outcome::Success {
            spilled: Some(kept),
            ..
        } => Err(NodeError::invalid(
            "tool.result_too_long",
            format!(
                "the result of the tool {tool} is too long to be passed on ({} characters); it is kept in {}",
                kept.chars, kept.reference
            ),
        )),
        Outcome::AsyncStarted { task_id } => Err(NodeError::invalid(
            "tool.in_background",
            format!(
                "the tool {tool} goes on in the background as {task_id}; a node needs its result, so use a tool that answers at once"
            ),
        )),
        Outcome::Notice { message, .. } => Err(NodeError::invalid("tool.no_result", message)),
        Outcome::Error(failure) => Err(failed(failure.code, failure.message)),
        Outcome::Denied { reason } => Err(failed(
            code.unwrap_or(ErrorCode::ToolApprovalDenied),
            because("it was not allowed", &reason),
        )),
        Outcome::Cancelled { reason } => Err(failed(
            code.unwrap_or(ErrorCode::ToolCancelled),
            because("it was stopped", &reason),
        )),
        Outcome::OutcomeUnknown { message } => Err(failed(
            code.unwrap_or(ErrorCode::ToolOutcomeUnknown),
            because("nobody knows whether it took effect", &message),
        )),
    }
}

fn because(what: &str, why: &str) -> String {
    match why.is_empty() {
        true => what.to_owned(),
        false => format!("{what}: {why}"),
    }
}
