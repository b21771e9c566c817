//! What host and worker say to each other: JSON-RPC 2.0, one object a line. Pure.
//!
//! Reading never fails: what is no message is a stray line, and somebody else keeps it for people to read. What is meant
//! as an answer and is none says whose it was, so that nobody waits for a better one.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::super::values;
use crate::limits::MAX_SCRIPT_VALUES;

/// One line from a worker.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    Answer {
        id: u64,
        outcome: Result<Json, RpcError>,
    },
    /// Meant as the answer to this call, and not to be read as one; this is why.
    Malformed {
        id: u64,
        why: String,
    },
    Progress {
        id: u64,
        fraction: Option<f64>,
        message: String,
    },
    /// A piece of the result.
    Partial {
        id: u64,
        data: Json,
    },
    Log {
        id: Option<u64>,
        message: String,
    },
    /// It asks the host for something, which has nothing to offer.
    Request {
        id: Json,
        method: String,
    },
    /// Several messages in one array.
    Batch,
    /// No message at all, or one that makes no sense.
    Stray(String),
}

/// A failure in the words of JSON-RPC.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Json,
}

pub(super) fn read(line: &[u8]) -> Incoming {
    let stray = || Incoming::Stray(String::from_utf8_lossy(line).into_owned());
    if values::are_too_many(line) {
        let why = format!("it has more than {MAX_SCRIPT_VALUES} values");
        return unreadable(line, &why).unwrap_or_else(stray);
    }
    let mut message = match serde_json::from_slice(line) {
        Ok(Json::Object(message)) => message,
        // A list that was printed by mistake is no batch.
        Ok(Json::Array(items)) if items.first().is_some_and(is_message) => return Incoming::Batch,
        Ok(_) => return stray(),
        Err(error) => {
            let why = format!("it is no JSON: {error}");
            return unreadable(line, &why).unwrap_or_else(stray);
        }
    };
    if message.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return without_version(&message).unwrap_or_else(stray);
    }
    let id = message.remove("id");
    match (message.remove("method"), id) {
        (None, Some(id)) => match (id.as_u64(), meant(&id)) {
            (Some(id), _) => answer(id, message),
            (None, Some(id)) => malformed(id, "its id is not the number that the call had"),
            (None, None) => stray(),
        },
        (Some(Json::String(method)), None | Some(Json::Null)) => {
            let params = message.remove("params");
            notification(&method, params).unwrap_or_else(stray)
        }
        (Some(Json::String(method)), Some(id)) => Incoming::Request { id, method },
        _ => stray(),
    }
}

fn is_message(item: &Json) -> bool {
    item.get("jsonrpc").is_some()
}

fn malformed(id: u64, why: impl Into<String>) -> Incoming {
    let why = why.into();
    Incoming::Malformed { id, why }
}

/// The number behind an id that came back as a text or as `1.0`.
fn meant(id: &Json) -> Option<u64> {
    match id {
        Json::String(text) => text.parse().ok(),
        Json::Number(number) => number.to_string().strip_suffix(".0")?.parse().ok(),
        _ => None,
    }
}

/// Has nothing but the parts of an answer: whoever wrote it has forgotten one.
fn without_version(message: &Map<String, Json>) -> Option<Incoming> {
    let is_part = |key: &String| ["jsonrpc", "id", "result", "error"].contains(&key.as_str());
    let answers = message.contains_key("result") || message.contains_key("error");
    let id = message.get("id")?.as_u64()?;
    (answers && message.keys().all(is_part))
        .then(|| malformed(id, "it has no \"jsonrpc\": \"2.0\""))
}

/// No JSON, such as an answer with `NaN` in it, but the only call that it speaks of is plain.
fn unreadable(line: &[u8], why: &str) -> Option<Incoming> {
    let text = String::from_utf8_lossy(line);
    let looks_like_answer = text.trim_start().starts_with('{')
        && text.contains("\"jsonrpc\"")
        && !text.contains("\"method\"");
    if !looks_like_answer {
        return None;
    }
    let mut ids = text.split("\"id\"").skip(1).map(|behind| {
        let value = behind.trim_start().strip_prefix(':')?.trim_start();
        let end = value.find(|c: char| !c.is_ascii_digit());
        value.get(..end?)?.parse::<u64>().ok()
    });
    let id = ids.next()??;
    if !ids.all(|other| other == Some(id)) {
        return None;
    }
    Some(match std::str::from_utf8(line) {
        Err(_) => malformed(id, "it is not UTF-8"),
        Ok(_) => malformed(id, why),
    })
}

/// Has either a result or an error, never both.
fn answer(id: u64, mut message: Map<String, Json>) -> Incoming {
    let outcome = match (message.remove("result"), message.remove("error")) {
        (Some(result), None | Some(Json::Null)) => Ok(result),
        (None | Some(Json::Null), Some(Json::Object(mut error))) => Err(RpcError {
            code: error.get("code").and_then(Json::as_i64).unwrap_or_default(),
            message: match error.remove("message") {
                Some(Json::String(text)) => text,
                _ => String::new(),
            },
            data: error.remove("data").unwrap_or_default(),
        }),
        (None, None | Some(Json::Null)) => {
            return malformed(id, "it has neither a result nor an error");
        }
        (Some(Json::Null) | None, Some(_)) => return malformed(id, "its error is no object"),
        (Some(_), Some(_)) => return malformed(id, "it has both a result and an error"),
    };
    Incoming::Answer { id, outcome }
}

fn notification(method: &str, params: Option<Json>) -> Option<Incoming> {
    let Some(Json::Object(mut params)) = params else {
        return None;
    };
    let id = params.get("id").and_then(Json::as_u64);
    let mut message = || match params.remove("message") {
        Some(Json::String(text)) => Some(text),
        None | Some(Json::Null) => Some(String::new()),
        Some(_) => None,
    };
    Some(match method {
        "progress" => Incoming::Progress {
            id: id?,
            message: message()?,
            fraction: params.get("fraction").and_then(Json::as_f64),
        },
        "partial" => Incoming::Partial {
            id: id?,
            data: params.remove("data")?,
        },
        "log" => Incoming::Log {
            id,
            message: message()?,
        },
        _ => return None,
    })
}

/// A line that asks for something.
pub(super) fn request(id: u64, method: &str, params: &Json) -> Vec<u8> {
    line(&Request {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
}

/// The line that says that nobody waits for an answer any more.
pub(super) fn cancel(id: u64) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "method": "cancel", "params": {"id": id}}))
}

/// Of what a worker says itself, as much is said back.
const MOST_ECHOED: usize = 100;

/// The answer to a worker that asks the host.
pub(super) fn refusal(id: &Json, method: &str) -> Vec<u8> {
    let method: String = method.chars().take(MOST_ECHOED).collect();
    let message = format!("the host has no method '{method}'");
    let id = match id {
        Json::Number(_) => id,
        Json::String(text) if text.len() <= MOST_ECHOED => id,
        _ => &Json::Null,
    };
    line(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": message}}))
}

#[derive(Serialize)]
struct Request<'r> {
    jsonrpc: &'static str,
    id: u64,
    method: &'r str,
    params: &'r Json,
}

fn line(message: &impl Serialize) -> Vec<u8> {
    // A `Json` and texts always serialise; were it otherwise, the worker would be told nothing and time would tell.
    let mut text = serde_json::to_string(message).unwrap_or_default();
    // Line ends to Node's readline and to Python's splitlines; in JSON they stand only inside of strings.
    for (end, escape) in [
        ("\u{2028}", "\\u2028"),
        ("\u{2029}", "\\u2029"),
        ("\u{85}", "\\u0085"),
    ] {
        if text.contains(end) {
            text = text.replace(end, escape);
        }
    }
    text.push('\n');
    text.into_bytes()
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
