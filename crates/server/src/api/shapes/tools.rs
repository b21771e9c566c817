//! Tools as they are declared.

use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ToolKind)]
pub(crate) enum Kind {
    Tool,
    /// A workflow that takes several steps.
    Skill,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ToolMode)]
pub(crate) enum Mode {
    Sync,
    /// It works in the background, as a task.
    Async,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ToolExecution)]
struct Execution {
    mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    idempotent: bool,
    parallel: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ToolExample)]
struct Example {
    #[serde(skip_serializing_if = "Option::is_none")]
    situation: Option<String>,
    #[schema(value_type = Object)]
    arguments: Json,
}

/// As its author wrote it; further fields may be there.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolDefinition {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    aliases: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    description: String,
    kind: Kind,
    /// JSON Schema of an object.
    parameters: Json,
    /// JSON Schema of what it gives.
    #[schema(required = false)]
    output: Json,
    execution: Execution,
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    examples: Option<Vec<Example>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}
