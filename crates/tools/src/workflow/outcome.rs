//! What came of a workflow, in the words of tools.

use innkeeper_engine::{
    ExecutionOutcome, ExecutionStatus, FindError, NodeError, Problems, StartError,
};
use innkeeper_protocol::ErrorCode;
use serde_json::Value as Json;

use crate::ToolError;

/// All outputs as an object, or the bare value where the workflow declares exactly one.
pub fn result_of(outcome: &ExecutionOutcome, declared: usize) -> Result<Json, ToolError> {
    match outcome.status {
        ExecutionStatus::Complete => Ok(match declared {
            1 => {
                let only = outcome.outputs.first();
                only.map(|(_, value)| value.as_json().clone())
                    .unwrap_or_default()
            }
            _ => Json::Object(outcome.outputs_json()),
        }),
        ExecutionStatus::Interrupted => Err(ToolError::new(
            ErrorCode::ToolCancelled,
            "the workflow was stopped before it had ended",
        )
        .because("run.cancelled")
        .permanent()),
        ExecutionStatus::Error | ExecutionStatus::Queued | ExecutionStatus::Running => {
            Err(failed(outcome))
        }
    }
}

fn failed(outcome: &ExecutionOutcome) -> ToolError {
    let lost = NodeError::failed("run.lost", "the workflow ended without saying why");
    let error = outcome.error.clone().unwrap_or(lost);
    let message = match outcome.failed {
        0 | 1 => error.message,
        2 => format!("{} (and another node failed)", error.message),
        nodes => format!("{} (and {} more nodes failed)", error.message, nodes - 1),
    };
    let failed = ToolError::failed(message).because(error.code);
    match error.permanent {
        true => failed.permanent(),
        false => failed,
    }
}

/// Why a run did not begin.
pub fn start_error(error: &StartError) -> ToolError {
    match error {
        StartError::Arguments(problems) => {
            let code = problems.errors().next().map(|problem| problem.code);
            ToolError::invalid(one_line(problems))
                .because(code.unwrap_or("argument.type"))
                .permanent()
        }
        StartError::QueueFull => {
            ToolError::unavailable(error.to_string()).because("workflow.queue_full")
        }
    }
}

pub(super) fn not_found(error: &FindError) -> ToolError {
    let reason = match error {
        FindError::Unknown { .. } => "workflow.unknown",
        FindError::Ambiguous { .. } => "workflow.ambiguous",
        FindError::Broken { .. } => "workflow.broken",
    };
    ToolError::unavailable(error.to_string())
        .because(reason)
        .permanent()
}

pub(super) fn not_ready(name: &str, problems: &Problems) -> ToolError {
    let code = problems.errors().next().map(|problem| problem.code);
    ToolError::unavailable(format!(
        "the workflow '{name}' cannot run: {}",
        one_line(problems)
    ))
    .because(code.unwrap_or("workflow.broken"))
    .permanent()
}

/// The first errors, and how many there are beside them.
pub(super) fn one_line(problems: &Problems) -> String {
    let errors: Vec<String> = problems.errors().map(ToString::to_string).collect();
    let told: Vec<&str> = errors.iter().take(3).map(String::as_str).collect();
    let more = errors.len().saturating_sub(told.len()) + problems.more;
    match more {
        0 => told.join("; "),
        more => format!("{}; and {more} more", told.join("; ")),
    }
}
