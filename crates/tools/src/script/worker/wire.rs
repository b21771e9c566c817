//! What host and worker say to each other: JSON-RPC 2.0, one object a line. Pure.
//!
//! Reading never fails: what is no message is a stray line, and somebody else keeps it for people to read.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

/// One line from a worker.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    Answer {
        id: u64,
        outcome: Result<Json, RpcError>,
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
    let mut message = match serde_json::from_slice(line) {
        Ok(Json::Object(message)) => message,
        // A list that was printed by mistake is no batch.
        Ok(Json::Array(items)) if items.first().is_some_and(is_message) => return Incoming::Batch,
        _ => return stray(),
    };
    if message.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return stray();
    }
    let id = message.remove("id");
    match (message.remove("method"), id) {
        (None, Some(id)) => match id.as_u64() {
            Some(id) => answer(id, message).unwrap_or_else(stray),
            None => stray(),
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

/// Has either a result or an error, never both.
fn answer(id: u64, mut message: Map<String, Json>) -> Option<Incoming> {
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
        _ => return None,
    };
    Some(Incoming::Answer { id, outcome })
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

/// The answer to a worker that asks the host.
pub(super) fn refusal(id: &Json, method: &str) -> Vec<u8> {
    let message = format!("the host has no method '{method}'");
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
