//! JSON-RPC 2.0: what is asked, what is answered, what is told.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::problem::Problem;

/// What came in. Without an `id` nobody waits for an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Incoming {
    pub(super) jsonrpc: String,
    #[serde(default)]
    pub(super) id: Option<Json>,
    #[serde(default)]
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Json,
    /// Of an answer.
    #[serde(default)]
    result: Json,
    #[serde(default)]
    error: Option<Answered>,
}

#[derive(Debug, Deserialize)]
struct Answered {
    #[serde(default)]
    message: String,
}

impl Incoming {
    /// What came of something that the client was asked.
    pub(super) fn outcome(self) -> Result<Json, String> {
        match self.error {
            None => Ok(self.result),
            Some(error) if error.message.is_empty() => Err("the client refused".to_owned()),
            Some(error) => Err(error.message),
        }
    }
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
