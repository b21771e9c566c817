//! What a tool is, as far as anyone who calls it is concerned.
//!
//! Owns the one description from which prompts, schemas and pages are made. How a tool is run, and whether
//! it may be, belongs to `tools`.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::limits::MAX_SCHEMA_PARTS;
use crate::reference::resolved;

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

    /// Declared parameters with their schemas, in the author's order, those that a `$ref` or `allOf` at the top
    /// adds included.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &Json)> {
        let parts = self.parts();
        let mut properties: Vec<(&str, &Json)> = Vec::new();
        let mut seen = HashSet::new();
        for part in parts {
            let declared = part.get("properties").and_then(Json::as_object);
            for (name, schema) in declared.into_iter().flatten() {
                if seen.insert(name.as_str()) {
                    properties.push((name, schema));
                }
            }
        }
        properties.into_iter()
    }

    /// Names that must be given, each once.
    pub fn required(&self) -> HashSet<&str> {
        self.parts()
            .into_iter()
            .filter_map(|part| part.get("required").and_then(Json::as_array))
            .flatten()
            .filter_map(Json::as_str)
            .collect()
    }

    pub fn is_required(&self, name: &str) -> bool {
        self.parts().into_iter().any(|part| {
            part.get("required")
                .and_then(Json::as_array)
                .is_some_and(|required| required.iter().any(|entry| entry == name))
        })
    }

    /// The parameters' schema and what it is put together from.
    fn parts(&self) -> Vec<&Json> {
        let mut parts = Vec::new();
        let mut open = vec![resolved(&self.parameters, &self.parameters)];
        if self.parameters.get("$ref").is_some() {
            parts.push(&self.parameters);
        }
        while let Some(part) = open.pop() {
            if parts.len() == MAX_SCHEMA_PARTS {
                break;
            }
            parts.push(part);
            let all = part.get("allOf").and_then(Json::as_array);
            let added = all.into_iter().flatten().rev();
            open.extend(added.map(|branch| resolved(branch, &self.parameters)));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_behind_references_are_parameters() {
        for (parameters, names, required) in [
            (
                json!({"properties": {"a": {}, "b": {}}, "required": ["b"]}),
                vec!["a", "b"],
                "b",
            ),
            (
                json!({"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]}),
                vec!["a", "b"],
                "a",
            ),
            (
                json!({"$ref": "#/$defs/p", "$defs": {"p": {"properties": {"a": {}}, "required": ["a"]}}}),
                vec!["a"],
                "a",
            ),
            (
                json!({"properties": {"a": {}}, "allOf": [{"$ref": "#/$defs/p"}],
                       "$defs": {"p": {"properties": {"b": {}}, "required": ["b"]}}}),
                vec!["a", "b"],
                "b",
            ),
            (
                json!({"allOf": [{"$ref": "#"}], "properties": {"a": {}}, "required": ["a"]}),
                vec!["a"],
                "a",
            ),
        ] {
            let tool = ToolDefinition::new("T", "", parameters.clone());
            let have: Vec<_> = tool.properties().map(|(name, _)| name).collect();
            assert_eq!(have, names, "{parameters}");
            assert!(tool.is_required(required), "{parameters}");
            assert_eq!(tool.required(), HashSet::from([required]), "{parameters}");
        }
    }
}
