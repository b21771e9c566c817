//! Channels that did not answer, and the one error that tells of all of them.

use std::time::Duration;

use super::retry::Then;
use crate::limits::{MAX_ATTEMPT_CHARS, MAX_RETRY_WAIT};
use crate::{ModelError, ModelErrorKind};

/// A channel that did not answer.
pub(super) struct GivenUp {
    pub(super) channel: String,
    pub(super) sent: u32,
    /// It could have been asked. One that lacks its key tells nothing of the request.
    pub(super) ready: bool,
    pub(super) error: ModelError,
    pub(super) then: Then,
}

/// The error of a channel that asks for a longer pause than anybody waits for.
pub(super) fn busy(channel: &str, last: Option<ModelError>, wait: Duration) -> ModelError {
    let seconds = wait.as_secs().max(1);
    let mut error = last.unwrap_or_else(|| {
        ModelError::new(
            ModelErrorKind::RateLimited,
            format!("{channel} has asked for a pause"),
        )
    });
    error.message = format!(
        "{}; it can be asked again in {seconds} s, and up to {} s are waited here",
        error.message,
        MAX_RETRY_WAIT.as_secs()
    );
    error.retry_after = Some(wait);
    error
}

/// The error of a channel whose attempts together took as long as one answer may take.
pub(super) fn out_of_time(channel: &str, last: Option<ModelError>, total: Duration) -> ModelError {
    let mut error = last.unwrap_or_else(|| {
        ModelError::new(
            ModelErrorKind::Timeout,
            format!("{channel} did not begin to answer"),
        )
    });
    error.message = format!(
        "{}; it is not asked again, for the {} ms of `timeouts.total_ms` are over",
        error.message,
        total.as_millis()
    );
    error
}

/// One error for all that failed: the last one, unless an earlier one may pass and the last may not.
pub(super) fn sum_up(name: &str, given_up: Vec<GivenUp>) -> ModelError {
    let several = given_up.len() > 1;
    let told: Vec<String> = given_up
        .iter()
        .map(|failed| told(failed, several))
        .collect();
    // A pause helps only where the kind may pass.
    let wait = given_up
        .iter()
        .filter(|failed| failed.error.kind.may_pass())
        .filter_map(|failed| failed.error.retry_after)
        .min();
    let stopped = given_up
        .last()
        .is_some_and(|failed| failed.then == Then::Stop);
    let best = given_up
        .iter()
        .rposition(|failed| failed.ready && failed.error.kind.may_pass())
        .filter(|_| !stopped)
        .or_else(|| given_up.iter().rposition(|failed| failed.ready))
        .or_else(|| given_up.len().checked_sub(1));
    let Some(failed) = best.and_then(|best| given_up.into_iter().nth(best)) else {
        let why = format!("nobody can be asked for '{name}'");
        return ModelError::new(ModelErrorKind::UnknownModel, why);
    };
    ModelError {
        message: told.join("; "),
        retry_after: wait.filter(|_| failed.error.kind.may_pass()),
        ..failed.error
    }
}

fn told(failed: &GivenUp, several: bool) -> String {
    let message = &failed.error.message;
    let message = match message.char_indices().nth(MAX_ATTEMPT_CHARS) {
        Some((end, _)) if several || failed.sent > 1 => {
            format!("{}…", message.get(..end).unwrap_or_default())
        }
        _ => message.clone(),
    };
    let times = match failed.sent {
        0 | 1 => message,
        sent => format!("{sent} attempts; the last: {message}"),
    };
    let needs_name = several || failed.sent == 0 && failed.then == Then::OtherChannel;
    // Most messages begin with it.
    match needs_name && !times.starts_with(&format!("{} (", failed.channel)) {
        true => format!("{}: {times}", failed.channel),
        false => times,
    }
}
