//! From what a tool gave back to what the model is told: checked against the declared output, without secrets,
//! cut where it is long with the whole kept in a file, seen by the hooks.
//!
//! Secrets go out and hooks are asked before anything is written to a file: what an observation hides must not stand
//! in the file that it points to.

use std::fmt::Display;
use std::sync::Arc;

use innkeeper_protocol::{ErrorCode, Failure, Outcome, Spilled};
use serde_json::Value as Json;

use super::execute::{Ended, Job, Stopped};
use super::trail::Trail;
use super::validate::check;
use super::{after, stop};
use crate::file::WriteMode;
use crate::hook::Hooks;
use crate::limits::{MAX_RESULT_BYTES, MAX_RESULT_DEPTH, MAX_SHOWN_CHARS, MAX_TOLD_BEGINNING};
use crate::manager::Shared;
use crate::{FileError, FileUri, Redactor, ResultLength, SpillPlace};

/// What became of a call.
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    /// The whole result, for later steps that refer to it.
    pub(crate) full: Option<Json>,
}

/// What the model is told, and what is to be kept in a file beside it.
struct Shown {
    outcome: Outcome,
    chars: u64,
    whole: Option<Whole>,
}

/// A result that is too long to be shown.
struct Whole {
    place: WholePlace,
    text: String,
}

enum WholePlace {
    File(FileUri),
    OfRun {
        place: Arc<dyn SpillPlace>,
        call: Arc<str>,
        ending: &'static str,
    },
}

impl WholePlace {
    fn of(shared: &Shared, job: &Job, ending: &'static str) -> Result<Self, FileError> {
        if let (Some(place), Some(call)) = (&job.spill, &job.asked_as) {
            return Ok(Self::OfRun {
                place: place.clone(),
                call: call.clone(),
                ending,
            });
        }
        let name = format!("outputs/results/{}.{ending}", job.call_id);
        shared.files.resolve(&job.caller, &name).map(Self::File)
    }

    fn reference(&self) -> String {
        match self {
            Self::File(uri) => uri.to_string(),
            Self::OfRun {
                place,
                call,
                ending,
            } => place.reference(call, ending),
        }
    }
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
    let checked = ended
        .result
        .and_then(|result| checked(job, &redactor, result));
    let (outcome, mut whole, mut full) = match checked {
        Ok(mut result) => {
            redactor.redact_json(&mut result);
            let shown = capped(shared, job, &result);
            trail.result_chars(shown.chars);
            (shown.outcome, shown.whole, Some(result))
        }
        Err(Stopped::Cancelled) => (job.cancelled(), None, None),
        Err(Stopped::Failed(error)) => (error.into(), None, None),
    };
    let (mut outcome, changed) =
        after::ask(hooks, &job.caller, &job.tool, &job.arguments, outcome).await;
    if changed {
        // What a hook took away must not stand in a file either.
        (whole, full) = (None, None);
        if let Outcome::Success { mut result, .. } = outcome {
            redactor.redact_json(&mut result);
            let shown = capped(shared, job, &result);
            (outcome, whole, full) = (shown.outcome, shown.whole, Some(result));
        }
    }
    if let Some(whole) = whole
        && let Err(not_kept) = Box::pin(keep(shared, whole)).await
    {
        outcome = not_kept;
    }
    redactor.redact_failure(&mut outcome);
    Finished {
        full: full.filter(|_| is_success(&outcome)),
        outcome,
    }
}

fn is_deeper(value: &Json, levels: usize) -> bool {
    let below = |value: &Json| is_deeper(value, levels.saturating_sub(1));
    match value {
        Json::Array(items) => levels == 0 || items.iter().any(below),
        Json::Object(fields) => levels == 0 || fields.values().any(below),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

fn is_success(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Success { .. })
}

fn checked(job: &Job, redactor: &Redactor, mut result: Json) -> Result<Json, Stopped> {
    if is_deeper(&result, MAX_RESULT_DEPTH) {
        let message = format!(
            "the tool has run, but in its result lists and objects lie more than {MAX_RESULT_DEPTH} deep in each other; \
             ask it for less, or for text"
        );
        let error = crate::ToolError::new(ErrorCode::ToolResultInvalid, message);
        return Err(Stopped::Failed(error.because("tool.result_too_deep")));
    }
    let Some(validator) = job.tool.output() else {
        return Ok(result);
    };
    if validator.is_valid(&result) {
        return Ok(result);
    }
    // The sentences quote the beginning of what they found, and half a secret would not be found any more.
    redactor.redact_json(&mut result);
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

/// A long result goes to a place of the run, or to a file of the project; the model gets the beginning and the way to the rest.
fn capped(shared: &Arc<Shared>, job: &Job, result: &Json) -> Shown {
    let (text, ending) = match result {
        Json::String(text) => (text.clone(), "txt"),
        other => (other.to_string(), "json"),
    };
    let chars = text.chars().count() as u64;
    let most = job.tool.executor().most_shown();
    let (outcome, whole) = if text.len() > MAX_RESULT_BYTES {
        let outcome = stop(
            ErrorCode::ToolResultInvalid,
            format!(
                "the tool has run, but its result is larger than {} MiB; ask it for less",
                MAX_RESULT_BYTES >> 20
            ),
        );
        (outcome, None)
    } else if job.results == ResultLength::Whole || chars <= most as u64 {
        let outcome = Outcome::Success {
            result: result.clone(),
            spilled: None,
        };
        (outcome, None)
    } else {
        match WholePlace::of(shared, job, ending) {
            Ok(place) => {
                let outcome = Outcome::Success {
                    result: beginning(&text, MAX_SHOWN_CHARS).into(),
                    spilled: Some(Spilled {
                        reference: place.reference(),
                        chars,
                    }),
                };
                (outcome, Some(Whole { place, text }))
            }
            Err(error) => {
                let begins = beginning(&text, MAX_TOLD_BEGINNING);
                (not_kept(text.chars().count(), &begins, &error), None)
            }
        }
    };
    Shown {
        outcome,
        chars,
        whole,
    }
}

/// `Err` is what the model is told instead.
async fn keep(shared: &Arc<Shared>, whole: Whole) -> Result<(), Outcome> {
    let Whole { place, text } = whole;
    let begins = beginning(&text, MAX_TOLD_BEGINNING);
    let chars = text.chars().count();
    match place {
        WholePlace::File(uri) => {
            let bytes = text.into_bytes();
            let written = shared.files.write(&uri, bytes, WriteMode::Replace).await;
            written
                .map(drop)
                .map_err(|error| not_kept(chars, &begins, &error))
        }
        WholePlace::OfRun {
            place,
            call,
            ending,
        } => {
            let kept = place.keep(&call, ending, text).await;
            kept.map_err(|error| not_kept(chars, &begins, &error))
        }
    }
}

fn not_kept(chars: usize, begins: &str, error: &dyn Display) -> Outcome {
    Outcome::Error(Failure {
        reason: Some("result.not_kept".to_owned()),
        ..Failure::new(
            ErrorCode::ToolResultInvalid,
            format!(
                "the tool has run, but its result of {chars} characters is too long to show and could not be kept in a file ({error}); it begins: {begins}"
            ),
        )
    })
}

fn beginning(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}
