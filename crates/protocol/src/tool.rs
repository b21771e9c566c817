//! What a tool is, as far as anyone who calls it is concerned.
//!
//! Owns the one description from which prompts, schemas and pages are made. How a tool is run, and whether
//! it may be, belongs to `tools`.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// The name a tool is registered under: `File.Write`, `Plugin:tool`, `workflow:<id>`, a node's full type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolId(String);

impl ToolId {
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Workflows are skills: prompts list them apart from tools.
    pub fn is_workflow(&self) -> bool {
        self.0.starts_with("workflow:")
    }
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ToolId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

/// One description for prompts, validation and pages. Unknown fields survive a load and a save.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    pub id: ToolId,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<ToolId>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub kind: ToolKind,
    /// JSON Schema of an object. `x-verbatim: true` on a property keeps its text as written.
    #[serde(default = "no_parameters")]
    pub parameters: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    #[serde(default)]
    pub execution: Execution,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Shown to the model as few-shot examples, in whatever dialect it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ToolExample>,
    /// Who brought it: a plugin's name, `builtin`, an MCP server.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    #[serde(flatten)]
    pub extra: Map<String, Json>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolKind {
    /// One operation.
    #[default]
    Tool,
    /// A workflow that takes several steps.
    Skill,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Execution {
    pub mode: ExecutionMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Running it twice does no more than running it once.
    pub idempotent: bool,
    /// May run beside other calls of the same reply.
    pub parallel: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionMode {
    #[default]
    Sync,
    Async,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolExample {
    /// Why one would call it so; shown before the call.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub situation: String,
    pub arguments: Map<String, Json>,
}

fn no_parameters() -> Json {
    serde_json::json!({ "type": "object", "properties": {} })
}

impl ToolDefinition {
    pub fn new(id: impl Into<String>, description: impl Into<String>, parameters: Json) -> Self {
        let id = ToolId::new(id);
        Self {
            kind: if id.is_workflow() {
                ToolKind::Skill
            } else {
                ToolKind::Tool
            },
            id,
            aliases: Vec::new(),
            display_name: String::new(),
            description: description.into(),
            parameters,
            output: None,
            execution: Execution::default(),
            permissions: Vec::new(),
            tags: Vec::new(),
            examples: Vec::new(),
            source: String::new(),
            extra: Map::new(),
        }
    }

    /// Declared parameters with their schemas, in the author's order.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.parameters
            .get("properties")
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), schema))
    }

    pub fn is_required(&self, name: &str) -> bool {
        self.parameters
            .get("required")
            .and_then(Json::as_array)
            .is_some_and(|required| required.iter().any(|entry| entry == name))
    }
}
