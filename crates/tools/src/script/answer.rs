//! What a script's output means.
//!
//! Standard output is JSON: the result itself, or the envelope
//! `{success, outputData?, error?: {type, message, details?}, logs?, files?: [{uri, text | base64}]}`. Anything
//! else is text, and nothing is null. Pure: `executor.rs` does what the answer asks for.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::key::normalise;
use serde_json::{Map, Value as Json, json};

use super::{ExitKind, ScriptEnd, values};
use crate::ToolError;
use crate::limits::{
    MAX_SCRIPT_FILES, MAX_SCRIPT_MESSAGE_CHARS, MAX_SCRIPT_TOLD_LINES, MAX_SCRIPT_VALUES,
};

// Codes that JSON-RPC itself gives a meaning.
const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const METHOD_NOT_FOUND: i64 = -32_601;
const INVALID_PARAMS: i64 = -32_602;

#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    /// For people who watch.
    pub(super) logs: Vec<String>,
    pub(super) outcome: Result<Output, ToolError>,
}

#[derive(Debug, PartialEq, Default)]
pub(super) struct Output {
    pub(super) value: Json,
    pub(super) files: Vec<File>,
}

#[derive(Debug, PartialEq)]
pub(super) struct File {
    pub(super) uri: String,
    pub(super) bytes: Vec<u8>,
}

pub(super) fn read(end: &ScriptEnd) -> Answer {
    let text = String::from_utf8_lossy(&end.stdout);
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['[', '{']) && values::are_too_many(text.as_bytes()) {
        let message = format!("the script's answer has more than {MAX_SCRIPT_VALUES} values");
        return Answer {
            logs: Vec::new(),
            outcome: Err(ToolError::failed(message)
                .because("script.output_too_large")
                .permanent()),
        };
    }
    let json = serde_json::from_str::<Json>(text);
    let envelope = json.as_ref().ok().and_then(as_envelope);
    let logs = envelope.map(|(_, envelope)| logs(envelope));
    let outcome = match (end.exit, envelope) {
        // The script says better than its exit code what went wrong.
        (_, Some((false, envelope))) => Err(told_failure(envelope, &end.stderr)),
        (ExitKind::Code(0), Some((true, envelope))) => told_success(envelope),
        (ExitKind::Code(0), None) => Ok(Output {
            value: match json {
                Ok(value) => value,
                Err(_) if text.trim().is_empty() => Json::Null,
                Err(_) => Json::from(text.trim_end()),
            },
            files: Vec::new(),
        }),
        (exit, _) => Err(ended_badly(exit, &end.stderr)),
    };
    Answer {
        logs: logs.unwrap_or_default(),
        outcome,
    }
}

/// The answer of a worker, which is a value already and has no exit code.
pub(super) fn of_value(value: Json) -> Answer {
    let envelope = as_envelope(&value);
    let logs = envelope.map(|(_, envelope)| logs(envelope));
    let outcome = match envelope {
        Some((false, envelope)) => Err(told_failure(envelope, b"")),
        Some((true, envelope)) => told_success(envelope),
        None => Ok(Output {
            value,
            files: Vec::new(),
        }),
    };
    Answer {
        logs: logs.unwrap_or_default(),
        outcome,
    }
}

/// A failure in the words of JSON-RPC. `data` may hold the `type` of the error, and whether it is `retryable`.
pub(super) fn of_rpc_error(code: i64, message: &str, data: &Json) -> ToolError {
    let message = match message.trim().trim_end_matches('.') {
        "" => format!("the worker failed with code {code} and did not say why"),
        text => cut(text),
    };
    let mut error = match (data.get("type").and_then(Json::as_str), code) {
        (Some(kind), _) => of_kind(kind, message),
        (None, INVALID_PARAMS) => of_kind("ParameterValidationError", message),
        (None, PARSE_ERROR | INVALID_REQUEST | METHOD_NOT_FOUND) => {
            ToolError::failed(format!("the worker did not understand the call: {message}"))
                .because("script.worker_protocol")
                .permanent()
        }
        (None, _) => of_kind("", message),
    };
    if let Some(retryable) = data.get("retryable").and_then(Json::as_bool) {
        error.permanent = !retryable;
    }
    error
}

fn as_envelope(value: &Json) -> Option<(bool, &Map<String, Json>)> {
    let map = value.as_object()?;
    Some((map.get("success")?.as_bool()?, map))
}

fn told_success(envelope: &Map<String, Json>) -> Result<Output, ToolError> {
    let files = files(envelope)?;
    let value = match envelope.get("outputData") {
        Some(value) => value.clone(),
        None => {
            // A result that happens to have `success` in it is still the result.
            let mut rest = envelope.clone();
            rest.retain(|key, _| !matches!(key.as_str(), "error" | "logs" | "files"));
            let uris: Vec<_> = files.iter().map(|file| file.uri.as_str()).collect();
            match (rest.len() > 1, uris.is_empty()) {
                (true, _) => Json::Object(rest),
                (false, false) => json!({ "files": uris }),
                (false, true) => Json::Null,
            }
        }
    };
    Ok(Output { value, files })
}

fn files(envelope: &Map<String, Json>) -> Result<Vec<File>, ToolError> {
    let bad = |why: String| {
        ToolError::new(
            ErrorCode::ToolResultInvalid,
            format!("the script's `files` cannot be read: {why}"),
        )
        .because("script.files")
        .permanent()
    };
    let entries = match envelope.get("files") {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Array(entries)) => entries,
        Some(_) => return Err(bad("expected a list of {uri, text | base64}".into())),
    };
    if entries.len() > MAX_SCRIPT_FILES {
        return Err(bad(format!("more than {MAX_SCRIPT_FILES}")));
    }
    let file = |(number, entry): (usize, &Json)| {
        let part = |key| entry.get(key).and_then(Json::as_str);
        let uri = part("uri").ok_or_else(|| bad(format!("number {} has no uri", number + 1)))?;
        let bytes = match (part("text"), part("base64")) {
            (Some(text), None) => text.as_bytes().to_vec(),
            (None, Some(text)) => STANDARD
                .decode(text.trim())
                .map_err(|error| bad(format!("{uri}: no base64: {error}")))?,
            _ => return Err(bad(format!("{uri} needs either text or base64"))),
        };
        Ok(File {
            uri: uri.to_owned(),
            bytes,
        })
    };
    entries.iter().enumerate().map(file).collect()
}

fn logs(envelope: &Map<String, Json>) -> Vec<String> {
    let logs = envelope.get("logs").and_then(Json::as_array);
    let line = |entry: &Json| match entry {
        Json::String(text) => cut(text),
        other => cut(&other.to_string()),
    };
    logs.into_iter()
        .flatten()
        .take(MAX_SCRIPT_TOLD_LINES)
        .map(line)
        .collect()
}

fn told_failure(envelope: &Map<String, Json>, stderr: &[u8]) -> ToolError {
    let error = envelope.get("error").unwrap_or(&Json::Null);
    let part = |key| error.get(key).and_then(Json::as_str).map(str::trim);
    let kind = part("type").unwrap_or_default();
    let message = part("message").or(error.as_str().map(str::trim));
    let mut message = match message.filter(|text| !text.is_empty()) {
        Some(text) => text.trim_end_matches('.').to_owned(),
        None => match last_lines(stderr) {
            lines if lines.is_empty() => "the script failed and did not say why".to_owned(),
            lines => format!("the script failed: {lines}"),
        },
    };
    match error.get("details") {
        None | Some(Json::Null) => {}
        Some(Json::String(details)) => message.push_str(&format!(" ({details})")),
        Some(details) => message.push_str(&format!(" ({details})")),
    }
    of_kind(kind, cut(&message))
}

/// An error by the name that the script gives it.
fn of_kind(kind: &str, message: String) -> ToolError {
    match kind {
        "TimeoutError" => {
            ToolError::new(ErrorCode::ToolTimeout, message).because("script.timeout_error")
        }
        "DependencyError" => ToolError::unavailable(message).because("script.dependency_error"),
        "SecurityError" => ToolError::denied(message).because("script.security_error"),
        "ParameterValidationError" => ToolError::invalid(message)
            .because("script.parameter_validation_error")
            .permanent(),
        "" | "ScriptError" => ToolError::failed(message).because("script.script_error"),
        other => {
            let name: String = normalise(other).chars().take(64).collect();
            ToolError::failed(message).because(format!("script.{name}"))
        }
    }
}

fn ended_badly(exit: ExitKind, stderr: &[u8]) -> ToolError {
    let how = match exit {
        ExitKind::Code(code) => format!("the script ended with exit code {code}"),
        ExitKind::Signal(signal) => format!("the script was ended by signal {signal}"),
    };
    let message = match last_lines(stderr) {
        lines if lines.is_empty() => format!("{how} and said nothing on stderr"),
        lines => format!("{how}: {lines}"),
    };
    ToolError::failed(message).because("script.exit")
}

/// The end is what matters: there stand the last line of a traceback and the message of an exception.
pub(super) fn last_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<_> = text.trim().lines().collect();
    let from = lines.len().saturating_sub(MAX_SCRIPT_TOLD_LINES);
    let text = lines.get(from..).unwrap_or_default().join("\n");
    let excess = text
        .chars()
        .count()
        .saturating_sub(MAX_SCRIPT_MESSAGE_CHARS);
    text.chars().skip(excess).collect()
}

pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SCRIPT_MESSAGE_CHARS) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", text.split_at(at).0),
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
