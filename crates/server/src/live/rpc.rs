//! JSON-RPC 2.0: what is asked, what is answered, what is told.

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::problem::Problem;

/// What came in.
pub(super) enum Asked {
    Call(Call),
    /// To something that was asked from here.
    Answer {
        id: Json,
        outcome: Result<Json, String>,
    },
}

pub(super) struct Call {
    /// Without one nobody waits for an answer.
    pub(super) id: Option<Json>,
    pub(super) method: String,
    pub(super) params: Json,
}

/// What is wrong with it is told without an id, since nobody knows whose it is.
pub(super) fn heard_as(text: &str) -> Result<Asked, (Fault, String)> {
    let heard: Json =
        serde_json::from_str(text).map_err(|error| (Fault::Parse, short(&error.to_string())))?;
    let wrong = |why: &str| (Fault::Request, why.to_owned());
    let Json::Object(mut fields) = heard else {
        return Err(wrong("a message is one object"));
    };
    if fields.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return Err(wrong("jsonrpc must be \"2.0\""));
    }
    let id = fields.remove("id");
    let is_id = |id: &Json| match id {
        Json::Null | Json::Number(_) => true,
        Json::String(id) => id.len() <= MAX_ID_BYTES,
        _ => false,
    };
    if id.as_ref().is_some_and(|id| !is_id(id)) {
        return Err(wrong("id must be a number or a short text"));
    }
    match fields.remove("method") {
        Some(Json::String(method)) => Ok(Asked::Call(Call {
            id,
            method,
            params: fields.remove("params").unwrap_or_else(|| json!({})),
        })),
        Some(_) => Err(wrong("method must be a text")),
        None => {
            let message = |error: &Json| {
                let message = error.get("message").and_then(Json::as_str);
                short(message.unwrap_or("the client refused"))
            };
            let outcome = match fields.get("error").filter(|error| !error.is_null()) {
                Some(error) => Err(message(error)),
                None => Ok(fields.remove("result").unwrap_or_default()),
            };
            Ok(Asked::Answer {
                id: id.unwrap_or_default(),
                outcome,
            })
        }
    }
}

const MAX_ID_BYTES: usize = 128;

/// What is repeated of what somebody said.
pub(super) fn short(text: &str) -> String {
    let shown = text.chars().take(200).flat_map(char::escape_debug);
    shown.take(400).collect()
}

/// Codes of the protocol itself; everything else is in the problem.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    Parse = -32700,
    Request = -32600,
    Method = -32601,
    /// The `data` is a problem document.
    Refused = -32000,
}

pub(super) fn answer(id: &Json, result: impl Serialize) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

pub(super) fn fault(id: &Json, fault: Fault, message: &str) -> String {
    let error = json!({ "code": fault as i32, "message": message });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

pub(super) fn refusal(id: &Json, problem: &Problem) -> String {
    let message = format!("{}: {}", problem.code, problem.detail);
    let error = json!({ "code": Fault::Refused as i32, "message": message, "data": problem });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

pub(crate) fn told(method: &str, params: impl Serialize) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}
