//! An answer that is none: status, headers and the server's words in, an error out. Pure.
//!
//! What the words mean is `trouble`'s; here is what whom was asked for what adds to it.

use std::time::SystemTime;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, LOCATION};
use url::Url;

use super::place::{may_be_wrong, shown};
use super::retry_after::retry_after;
use crate::names::quoted;
use crate::trouble::{ASK_ANOTHER, Mask, Words, clean, judge, misdirected};
use crate::{ModelError, ModelErrorKind};

/// Whom was asked for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) label: &'a str,
    pub(super) base: &'a Url,
    /// Empty where it was not about one model.
    pub(super) model: &'a str,
}

pub(super) fn failure(
    asked: Asked<'_>,
    status: StatusCode,
    headers: &HeaderMap,
    words: &Words,
    mask: &Mask,
    now: SystemTime,
) -> ModelError {
    if status.is_redirection() {
        return redirect(asked, status, headers, mask);
    }
    let (kind, usual) = judge(Some(status.as_u16()), words);
    let remedy = remedy(asked, kind, usual);
    let mut error = ModelError::new(kind, message(asked.label, status, &words.text, &remedy));
    if kind.may_pass() {
        error.retry_after = retry_after(headers, words.wait, now);
    }
    error
}

/// What the table cannot know: whom and what was asked for.
fn remedy(asked: Asked<'_>, kind: ModelErrorKind, usual: &str) -> String {
    let no_model = || {
        format!(
            "there is no model '{}' for this key; `innkeeper models list` shows those there are",
            clean(&quoted(asked.model))
        )
    };
    match kind {
        _ if usual == ASK_ANOTHER => usual.to_owned(),
        ModelErrorKind::UnknownModel => no_model(),
        ModelErrorKind::Misdirected if asked.model.is_empty() => may_be_wrong(asked.base),
        ModelErrorKind::Misdirected => format!("{}, or {}", may_be_wrong(asked.base), no_model()),
        _ => usual.to_owned(),
    }
}

fn redirect(asked: Asked<'_>, status: StatusCode, headers: &HeaderMap, mask: &Mask) -> ModelError {
    let target = headers
        .get(LOCATION)
        .and_then(|location| location.to_str().ok())
        .and_then(|location| asked.base.join(location).ok())
        .map(|target| clean(&mask.apply(shown(&target))));
    let said = match &target {
        Some(target) => format!("points to {target}"),
        None => "points elsewhere without saying where".to_owned(),
    };
    let remedy = "redirects are not followed, since they would carry the key along; \
                  set the channel's base URL to where the server really is";
    misdirected(message(asked.label, status, &said, remedy))
}

fn message(label: &str, status: StatusCode, words: &str, remedy: &str) -> String {
    let code = status.as_u16();
    match (words, status.canonical_reason()) {
        ("", None) => format!("{label} answered {code}; {remedy}"),
        ("", Some(reason)) => format!("{label} answered {code}: {reason}; {remedy}"),
        (words, _) => format!("{label} answered {code}: {words}; {remedy}"),
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
