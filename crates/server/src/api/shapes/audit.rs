//! The log of what was called.

use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuditOutcome {
    Success,
    Error,
    Denied,
    Cancelled,
    Started,
    OutcomeUnknown,
    Skipped,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuditDecision {
    Allow,
    Ask,
    Deny,
    None,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AuditRecord {
    /// From 1, without gaps.
    id: u64,
    #[schema(format = DateTime)]
    at: String,
    user: String,
    /// `person`, `agent:storyteller`.
    actor: String,
    project: String,
    run: String,
    call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    tool: String,
    source: String,
    /// Without secrets.
    arguments: Json,
    outcome: AuditOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    duration_us: u64,
    decision: AuditDecision,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// `once`, `run`, `always`, `person`.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved_by: Option<String>,
    attempts: u32,
    result_chars: u64,
    /// SHA-256 over the hash before, the id and the entry, in hexadecimal.
    hash: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditPage {
    records: Vec<AuditRecord>,
    /// Give it as `before` for the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum Tampering {
    Missing,
    Changed,
}

#[derive(Serialize, ToSchema)]
struct BrokenLink {
    id: u64,
    what: Tampering,
}

#[derive(Serialize, ToSchema)]
#[schema(as = AuditVerification)]
pub(crate) struct Verification {
    /// Records in order, from the first.
    records: u64,
    /// The hash of the last of them.
    head: String,
    /// The first place where the log is not what was written; null where there is none.
    #[schema(required)]
    broken: Option<BrokenLink>,
}
