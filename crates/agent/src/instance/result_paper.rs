//! `tool-results/call_….json`: what came of a call, in the form in which hosts know it.

use innkeeper_protocol::{ErrorCode, Observation, Outcome};
use serde_json::{Map, Value as Json, json};

use crate::run::{CallState, PlannedCall};

/// Of a call that has ended.
pub(super) fn result_of(call: &PlannedCall) -> Option<Map<String, Json>> {
    let CallState::Ended { observation, full } = &call.state else {
        return None;
    };
    let mut result = Map::new();
    result.insert("callId".to_owned(), json!(call.call));
    result.insert("name".to_owned(), json!(call.tool));
    result.append(&mut outcome(observation, full.as_deref()));
    if let Outcome::AsyncStarted { task_id } = &observation.outcome {
        result.insert("task".to_owned(), json!({"taskId": task_id}));
    }
    Some(result)
}

/// `content` is what the model was shown, `structured` all that there is.
pub(super) fn outcome(observation: &Observation, full: Option<&Json>) -> Map<String, Json> {
    let code = observation.error_code();
    let (content, structured) = match &observation.outcome {
        Outcome::Success { result, .. } => {
            let shown = match result {
                Json::String(text) => text.clone(),
                result => result.to_string(),
            };
            (shown, full.unwrap_or(result).clone())
        }
        Outcome::AsyncStarted { task_id } => (String::new(), json!({"taskId": task_id})),
        Outcome::Error(failure) => (failure.message.clone(), error(code, &failure.message)),
        Outcome::Denied { reason } | Outcome::Cancelled { reason } => {
            (reason.clone(), error(code, reason))
        }
        Outcome::OutcomeUnknown { message } => (message.clone(), error(code, message)),
        Outcome::Notice { reason, message } => (message.clone(), json!({"reason": reason})),
    };
    let reason = match &observation.outcome {
        Outcome::Error(failure) => failure.reason.as_deref(),
        _ => None,
    };
    let references: Vec<&str> = match &observation.outcome {
        Outcome::Success {
            spilled: Some(spilled),
            ..
        } => vec![&spilled.reference],
        _ => Vec::new(),
    };
    let mut result = Map::new();
    result.insert("content".to_owned(), Json::String(content));
    result.insert("structured".to_owned(), structured);
    result.insert("isError".to_owned(), json!(code.is_some()));
    if let Some(code) = code {
        result.insert("errorCode".to_owned(), json!(code.as_str()));
    }
    if let Some(reason) = reason {
        result.insert("reason".to_owned(), json!(reason));
    }
    result.insert("resourceRefs".to_owned(), json!(references));
    result
}

fn error(code: Option<ErrorCode>, message: &str) -> Json {
    let code = code.map(ErrorCode::as_str);
    json!({"error": {"code": code, "message": message}})
}
