//! From what a tool gave back to what the model is told: checked against the declared output, without secrets,
//! cut where it is long with the whole kept in a file, seen by the hooks.
//!
//! Secrets go out before anything is written to a file: what an observation hides must not stand in the file
//! that it points to.

use std::sync::Arc;

use innkeeper_protocol::{ErrorCode, Failure, Outcome, Spilled};
use serde_json::Value as Json;

use super::execute::{Ended, Job, Stopped};
use super::trail::Trail;
use super::validate::check;
use super::{after, stop};
use crate::file::WriteMode;
use crate::hook::Hooks;
use crate::limits::{MAX_RESULT_BYTES, MAX_SHOWN_CHARS};
use crate::manager::Shared;

/// What became of a call.
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    /// The whole result, for later steps that refer to it.
    pub(crate) full: Option<Json>,
}

pub(crate) async fn finish(
    shared: &Arc<Shared>,
    hooks: &Hooks,
    job: &Job,
    ended: Ended,
    trail: &mut Trail,
) -> Finished {
    trail.tried(ended.attempts);
    let redactor = shared.redactor.load_full();
    let id = job.tool.definition().id.as_str();
    let (outcome, full) = match ended.result.and_then(|result| checked(job, result)) {
        Ok(mut result) => {
            redactor.redact_json(&mut result);
            let (outcome, chars) = capped(shared, job, &result).await;
            trail.result_chars(chars);
            let full = is_success(&outcome).then_some(result);
            (outcome, full)
        }
        Err(Stopped::Cancelled) => (job.cancelled(), None),
        Err(Stopped::Failed(mut error)) => {
            error.message = redactor.redact_text(&error.message).into_owned();
            (error.into(), None)
        }
    };
    let (outcome, changed) = after::ask(hooks, &job.caller, id, &job.arguments, outcome).await;
    if !changed {
        return Finished { outcome, full };
    }
    match outcome {
        Outcome::Success { mut result, .. } => {
            redactor.redact_json(&mut result);
            let (outcome, _) = capped(shared, job, &result).await;
            Finished {
                full: is_success(&outcome).then_some(result),
                outcome,
            }
        }
        outcome => Finished {
            outcome,
            full: None,
        },
    }
}

fn is_success(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Success { .. })
}

fn checked(job: &Job, result: Json) -> Result<Json, Stopped> {
    let Some(validator) = job.tool.output() else {
        return Ok(result);
    };
    let faults = check(validator, &result, "Result");
    if faults.is_empty() {
        return Ok(result);
    }
    let message = format!(
        "the tool has run, but its result is not what it declares: {}",
        faults.sentences()
    );
    Err(Stopped::Failed(crate::ToolError::new(
        ErrorCode::ToolResultInvalid,
        message,
    )))
}

/// A long result goes to a file of the project; the model gets the beginning and the way to the rest.
async fn capped(shared: &Arc<Shared>, job: &Job, result: &Json) -> (Outcome, u64) {
    let (text, ending) = match result {
        Json::String(text) => (text.clone(), "txt"),
        other => (other.to_string(), "json"),
    };
    let chars = text.chars().count() as u64;
    if text.len() > MAX_RESULT_BYTES {
        let outcome = stop(
            ErrorCode::ToolResultInvalid,
            format!(
                "the tool has run, but its result is larger than {} MiB; ask it for less",
                MAX_RESULT_BYTES >> 20
            ),
        );
        return (outcome, chars);
    }
    if chars <= MAX_SHOWN_CHARS as u64 {
        let outcome = Outcome::Success {
            result: result.clone(),
            spilled: None,
        };
        return (outcome, chars);
    }
    let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    let name = format!("outputs/results/{}.{ending}", job.call_id);
    let written = match shared.files.resolve(&job.caller, &name) {
        Ok(uri) => shared
            .files
            .write(&uri, text.into_bytes(), WriteMode::Replace)
            .await
            .map(|_| uri.to_string()),
        Err(error) => Err(error),
    };
    let outcome = match written {
        Ok(reference) => Outcome::Success {
            result: shown.into(),
            spilled: Some(Spilled { reference, chars }),
        },
        Err(error) => Outcome::Error(Failure {
            reason: Some("result.not_kept".to_owned()),
            ..Failure::new(
                ErrorCode::ToolResultInvalid,
                format!(
                    "the tool has run, but its result of {chars} characters is too long to show and could not be kept in a file ({error}); it begins: {}",
                    shown.chars().take(1_000).collect::<String>()
                ),
            )
        }),
    };
    (outcome, chars)
}
