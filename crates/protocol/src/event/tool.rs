//! One call of a tool, from the request to its end.

use serde_json::Value as Json;

use super::{CallId, InvocationId, TaskId, payloads};

payloads! {
    ToolCallRequested {
        round: u32,
        invocation_id: InvocationId,
        call_id: CallId,
        name: String,
        /// Where the arguments are kept.
        arguments_ref: Option<String>,
        provider_metadata: Option<Json>,
    }
    /// Nothing happens until somebody answers.
    ToolCallAwaitingApproval {
        round: u32,
        invocation_id: InvocationId,
        call_id: CallId,
        name: String,
        arguments_ref: Option<String>,
        /// Why it is asked.
        reason: Option<String>,
    }
    /// What the person said who was asked.
    ToolCallAnswered {
        round: u32,
        invocation_id: InvocationId,
        call_id: CallId,
        name: String,
        reason: Option<String>,
    }
    ToolCallStarted {
        round: u32,
        invocation_id: InvocationId,
        call_id: CallId,
        name: String,
    }
    ToolResultStored {
        round: u32,
        call_id: CallId,
        path: String,
    }
    ToolCallEnded {
        round: u32,
        invocation_id: InvocationId,
        call_id: CallId,
        name: String,
        is_error: bool,
        error_code: Option<String>,
        message: Option<String>,
        elapsed_ms: u64,
        resource_refs: Vec<String>,
    }
    /// A call that went on in the background has come to its end.
    ToolTaskEnded {
        task_id: TaskId,
        call_id: CallId,
        round: u32,
        invocation_id: InvocationId,
        name: String,
        is_error: bool,
        error_code: Option<String>,
        message: Option<String>,
        resource_refs: Vec<String>,
    }
}
