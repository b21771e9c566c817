//! Hooks after a call. They see what the model would be told, and may change or withhold it.

use innkeeper_protocol::{ErrorCode, Failure, Outcome};
use serde_json::{Map, Value as Json, json};

use super::before::subject;
use crate::Caller;
use crate::hook::{HookPoint, Hooks};
use crate::registry::Tool;

/// Gives the outcome to go on with, and whether it was changed.
pub(super) async fn ask(
    hooks: &Hooks,
    caller: &Caller,
    tool: &Tool,
    arguments: &Map<String, Json>,
    outcome: Outcome,
) -> (Outcome, bool) {
    if hooks.is_empty() {
        return (outcome, false);
    }
    let ids = tool.ids();
    if !hooks.any(HookPoint::ToolAfterCall, &ids) {
        return (outcome, false);
    }
    // Boxed: most calls need no room for it.
    Box::pin(ask_them(hooks, caller, tool, &ids, arguments, outcome)).await
}

async fn ask_them(
    hooks: &Hooks,
    caller: &Caller,
    tool: &Tool,
    ids: &[&str],
    arguments: &Map<String, Json>,
    outcome: Outcome,
) -> (Outcome, bool) {
    let arguments = Json::Object(arguments.clone());
    let mut subject = subject(HookPoint::ToolAfterCall, tool, caller, arguments);
    subject["outcome"] = json!(outcome);
    let end = hooks
        .ask(
            HookPoint::ToolAfterCall,
            ids,
            &mut subject,
            |subject, value| {
                let Some(outcome) = subject.get_mut("outcome") else {
                    return Err("there is no outcome to change".to_owned());
                };
                if outcome.get("outcome").and_then(Json::as_str) != Some("success") {
                    return Err("only a result can be changed, and the call has none".to_owned());
                }
                *outcome = json!({"outcome": "success", "result": value});
                Ok(())
            },
        )
        .await;
    match end {
        Ok(changed) if changed.is_empty() => (outcome, false),
        Ok(_) => {
            let result = subject
                .pointer_mut("/outcome/result")
                .map(Json::take)
                .unwrap_or_default();
            let outcome = Outcome::Success {
                result,
                spilled: None,
            };
            (outcome, true)
        }
        Err(refusal) => {
            let outcome = Outcome::Error(Failure {
                reason: Some("hook.withheld".to_owned()),
                ..Failure::new(
                    ErrorCode::ToolPolicyDenied,
                    format!(
                        "the call has run, but its result is withheld: {}",
                        refusal.reason
                    ),
                )
            });
            (outcome, true)
        }
    }
}
