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
    if hooks.is_empty() {
        return Ok(arguments);
    }
    let ids = tool.ids();
    if !hooks.any(HookPoint::ToolBeforeCall, &ids) {
        return Ok(arguments);
    }
    // Boxed: most calls need no room for it.
    Box::pin(ask_them(hooks, caller, tool, &ids, arguments)).await
}

async fn ask_them(
    hooks: &Hooks,
    caller: &Caller,
    tool: &Tool,
    ids: &[&str],
    arguments: Map<String, Json>,
) -> Result<Map<String, Json>, Outcome> {
    let mut subject = subject(HookPoint::ToolBeforeCall, tool, caller, arguments.into());
    let changed = hooks
        .ask(
            HookPoint::ToolBeforeCall,
            ids,
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

/// What hooks are told. `service` is there where the tool is another name for it.
pub(super) fn subject(point: HookPoint, tool: &Tool, caller: &Caller, arguments: Json) -> Json {
    let mut subject = json!({
        "hook": point.as_str(),
        "tool": tool.definition().id,
        "arguments": arguments,
        "caller": {
            "user": caller.user,
            "actor": caller.actor.to_string(),
            "project": caller.project,
            "run": caller.run,
        },
    });
    if let Some(beneath) = tool.stands_on() {
        subject["service"] = json!(beneath.id);
    }
    subject
}

fn refused(refusal: Refusal) -> Outcome {
    Outcome::Error(Failure {
        reason: Some("hook.refused".to_owned()),
        ..Failure::new(ErrorCode::ToolPolicyDenied, refusal.reason)
    })
}
