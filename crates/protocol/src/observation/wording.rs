//! The sentences.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::{Failure, Observation, Outcome, Spilled, quoted};
use crate::ErrorCode;
use crate::defuse::{capped, defuse, one_line};
use crate::limits::{MAX_MESSAGE_CHARS, MAX_OBSERVATION_CHARS, MAX_PROBLEMS, MAX_REFERENCE_CHARS};

/// The observation as the model reads it. Never longer than the limits allow, and never more than one
/// observation, whatever the result or the message says.
pub fn render_observation(observation: &Observation) -> String {
    render_observation_within(observation, MAX_OBSERVATION_CHARS)
}

/// The same with at most so many characters of the result: for whoever has bounded results already, each by its tool.
pub fn render_observation_within(observation: &Observation, most: usize) -> String {
    let tool = quoted(&observation.tool);
    let said = match &observation.outcome {
        Outcome::Success { result, spilled } => {
            format!(
                "Tool {tool} executed successfully. Result: {}",
                shown(result, spilled.as_ref(), most)
            )
        }
        Outcome::Error(failure) => format!("Error - {}", error(&tool, failure)),
        Outcome::Denied { reason } => {
            format!("Error - Tool {tool} was denied{}", because(reason))
        }
        Outcome::Cancelled { reason } => {
            format!("Error - Tool {tool} was cancelled{}", because(reason))
        }
        Outcome::OutcomeUnknown { message } => format!(
            "Error - Tool {tool} was interrupted and its outcome is unknown{}. Check whether it took effect \
             before calling it again.",
            because(message).trim_end_matches('.')
        ),
        Outcome::AsyncStarted { task_id } => format!(
            "Tool {tool} started in the background. Task ID: {}. Its result will follow as an observation.",
            one_line(task_id, MAX_REFERENCE_CHARS)
        ),
        Outcome::Notice { message, .. } => format!("Note - {}", said(message)),
    };
    format!("Observation: {said}")
}

fn error(tool: &str, failure: &Failure) -> String {
    match failure.code {
        ErrorCode::ToolInvalidArguments => {
            format!("Invalid parameters for {tool}: {}", problems(failure))
        }
        ErrorCode::ToolUnknown => match failure.message.is_empty() {
            true => unknown_tool(tool, &failure.suggestions),
            false => said(&failure.message),
        },
        // The sentence already says what it is about.
        ErrorCode::ProtocolMalformed => said(&failure.message),
        code if tool.is_empty() => format!("{} ({code})", said(&failure.message)),
        code => format!("Tool {tool} failed ({code}): {}", said(&failure.message)),
    }
}

pub(super) fn unknown_tool(tool: &str, suggestions: &[String]) -> String {
    let meant = match suggestions.first() {
        Some(name) => format!(", did you mean '{}'?", quoted(name)),
        None => String::new(),
    };
    format!("Unknown tool ID '{}'{meant}", quoted(tool))
}

fn problems(failure: &Failure) -> String {
    if failure.problems.is_empty() {
        return said(&failure.message);
    }
    let mut parts: Vec<_> = failure
        .problems
        .iter()
        .take(MAX_PROBLEMS)
        .map(|problem| problem.message.clone())
        .collect();
    let more = failure.problems.len() - parts.len() + failure.omitted;
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    said(&parts.join("; "))
}

fn because(reason: &str) -> String {
    match reason.trim() {
        "" => ".".to_owned(),
        reason => format!(": {}", said(reason)),
    }
}

/// A message of someone else.
fn said(message: &str) -> String {
    defuse(&capped(message.trim(), MAX_MESSAGE_CHARS))
        .0
        .into_owned()
}

/// Strings bare, everything else compact JSON. Where one member of an object is a text of several lines (a file, what a
/// program printed), it follows bare below the others: escaped, its lines could not be read or quoted back.
fn written(result: &Json) -> Cow<'_, str> {
    match result {
        Json::String(text) => Cow::Borrowed(text),
        Json::Object(members) => match the_text(members) {
            Some((name, text)) => {
                let mut rest = members.clone();
                rest.shift_remove(name);
                let name = one_line(name, MAX_REFERENCE_CHARS);
                let below = match rest.is_empty() {
                    true => format!("{name}:\n{text}"),
                    false => format!("{}\n{name}:\n{text}", Json::Object(rest)),
                };
                Cow::Owned(below)
            }
            None => Cow::Owned(result.to_string()),
        },
        other => Cow::Owned(other.to_string()),
    }
}

/// The one member that has several lines; none where there are more of them, which could not be told apart.
fn the_text(members: &serde_json::Map<String, Json>) -> Option<(&str, &str)> {
    let mut long = members.iter().filter_map(|(name, value)| {
        let text = value.as_str()?;
        let has_lines = text.trim_end_matches(['\r', '\n']).contains('\n');
        has_lines.then_some((name.as_str(), text))
    });
    long.next().filter(|_| long.next().is_none())
}

/// Cut where it is too long, with a note of what was done.
fn shown(result: &Json, spilled: Option<&Spilled>, most: usize) -> String {
    let whole = written(result);
    let end = whole.char_indices().nth(most).map(|(at, _)| at);
    let part = end.map_or(whole.as_ref(), |end| whole.get(..end).unwrap_or_default());
    let (text, count) = defuse(part);

    let mut out = text.into_owned();
    if end.is_some() || spilled.is_some() {
        let chars = part.chars().count();
        let total = match spilled {
            Some(spilled) => spilled.chars,
            None => whole.chars().count() as u64,
        };
        out.push_str(&format!(
            "\n[Result cut: {chars} of {total} characters shown."
        ));
        if let Some(spilled) = spilled {
            out.push_str(&format!(
                " The whole is at {}.",
                one_line(&spilled.reference, MAX_REFERENCE_CHARS)
            ));
        }
        out.push(']');
    }
    if count > 0 {
        let places = if count == 1 { "place" } else { "places" };
        out.push_str(&format!(
            "\n[{count} {places} in this result looked like an observation or a call; a backslash was added there.]"
        ));
    }
    out
}
