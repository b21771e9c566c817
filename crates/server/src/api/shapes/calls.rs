//! What comes of calls, and what is understood of a text.

use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ObservationOutcome {
    Success,
    Error,
    /// A person or a rule said no. Nothing was done.
    Denied,
    Cancelled,
    /// Sent, and no answer came: it may have taken effect.
    OutcomeUnknown,
    /// It runs in the background, as a task.
    AsyncStarted,
    /// Nothing failed, but a part of the text was not used.
    Notice,
}

#[derive(Serialize, ToSchema)]
struct Spilled {
    reference: String,
    chars: u64,
}

#[derive(Serialize, ToSchema)]
struct ParameterProblem {
    code: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<String>,
    message: String,
}

/// Which fields there are depends on the outcome.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Observation {
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<String>,
    /// Step number in its block.
    index: u32,
    /// The task that ran it in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    outcome: ObservationOutcome,
    /// Of a success.
    #[schema(required = false)]
    result: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    spilled: Option<Spilled>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problems: Option<Vec<ParameterProblem>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestions: Option<Vec<String>>,
    /// Of what was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    /// What a model reads.
    text: String,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Called {
    /// Under which the audit log and the tasks have it.
    run: String,
    /// Whether any of them failed, was refused or was stopped.
    failed: bool,
    observations: Vec<Observation>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ParsedCommand {
    index: u32,
    tool_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<String>,
    #[schema(value_type = Object)]
    params: Json,
    /// `stop` or `continue`.
    on_error: String,
    retry: u32,
    #[schema(value_type = Object)]
    type_hints: Json,
    #[schema(value_type = Object)]
    uris: Json,
    /// Bytes of the text, from and to.
    span: Vec<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ParsedBlock {
    /// `tam`, `action`, `tool-call` or `native`.
    protocol: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    #[schema(required)]
    request_id: Option<String>,
    comments: Vec<String>,
    commands: Vec<ParsedCommand>,
    warnings: Vec<String>,
    errors: Vec<String>,
    span: Vec<u64>,
}

#[derive(Serialize, ToSchema)]
struct ParsedDiagnostic {
    code: String,
    /// `error` or `warning`.
    severity: String,
    message: String,
    span: Vec<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Parsed {
    /// What stands before the first call.
    response_text: String,
    outside_text: String,
    trailing_text: String,
    blocks: Vec<ParsedBlock>,
    warnings: Vec<String>,
    errors: Vec<String>,
    diagnostics: Vec<ParsedDiagnostic>,
}
