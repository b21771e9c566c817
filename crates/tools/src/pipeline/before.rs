//! Hooks before a call. What one changes is checked against the schema like anything else.

use innkeeper_protocol::{ErrorCode, Failure, Outcome};
use serde_json::{Map, Value as Json, json};

use super::bind::validate_alone;
use crate::Caller;
use crate::hook::{HookPoint, Hooks, Refusal};
use crate::registry::Tool;

/// Gives the arguments to go on with.
pub(super) async fn ask(
    hooks: &Hooks,
    caller: &Caller,
    tool: &Tool,
    arguments: Map<String, Json>,
) -> Result<Map<String, Json>, Outcome> {
    let id = tool.definition().id.as_str();
    if !hooks.any(HookPoint::ToolBeforeCall, id) {
        return Ok(arguments);
    }
    let mut subject = json!({
        "hook": HookPoint::ToolBeforeCall.as_str(),
        "tool": id,
        "arguments": arguments,
        "caller": about(caller),
    });
    let changed = hooks
        .ask(
            HookPoint::ToolBeforeCall,
            id,
            &mut subject,
            |subject, value| {
                let Json::Object(value) = value else {
                    return Err(
                        "a change of the arguments must be an object of arguments".to_owned()
                    );
                };
                if let Some(field) = subject.get_mut("arguments") {
                    *field = Json::Object(value);
                }
                Ok(())
            },
        )
        .await
        .map_err(refused)?;
    let mut arguments = match subject.get_mut("arguments").map(Json::take) {
        Some(Json::Object(arguments)) => arguments,
        _ => Map::new(),
    };
    if changed.is_empty() {
        return Ok(arguments);
    }
    match validate_alone(tool, &mut arguments) {
        Ok(()) => Ok(arguments),
        Err(Outcome::Error(failure)) => Err(Outcome::Error(Failure {
            reason: Some("hook.invalid_change".to_owned()),
            ..Failure::new(
                ErrorCode::ToolPolicyDenied,
                format!(
                    "the hook {} changed the arguments to something the tool does not take ({})",
                    changed.join(", "),
                    failure.message
                ),
            )
        })),
        Err(other) => Err(other),
    }
}

pub(super) fn about(caller: &Caller) -> Json {
    json!({
        "user": caller.user,
        "actor": caller.actor.to_string(),
        "project": caller.project,
        "run": caller.run,
    })
}

fn refused(refusal: Refusal) -> Outcome {
    Outcome::Error(Failure {
        reason: Some("hook.refused".to_owned()),
        ..Failure::new(ErrorCode::ToolPolicyDenied, refusal.reason)
    })
}
