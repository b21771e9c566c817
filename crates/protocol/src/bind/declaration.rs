//! What is asked of a tool's declaration before it may be called.

use serde_json::Value as Json;

use super::names::Declared;
use super::schema::{Types, View};
use crate::{ToolDefinition, ToolId};

/// Why a tool cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeclarationError {
    #[error("Tool {tool}: its parameters must be the JSON Schema of an object")]
    NotAnObjectSchema { tool: ToolId },
    #[error("Tool {tool}: the schema of parameter '{name}' is neither an object nor a boolean")]
    InvalidSchema { tool: ToolId, name: String },
    #[error("Tool {tool}: the parameter name '{name}' has neither letter nor digit")]
    UnusableName { tool: ToolId, name: String },
    #[error("Tool {tool}: the parameter names '{first}' and '{second}' are both read as '{form}'")]
    NameCollision {
        tool: ToolId,
        first: String,
        second: String,
        form: String,
    },
}

impl DeclarationError {
    /// Stable name. It never changes once released.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotAnObjectSchema { .. } => "tool.not_an_object_schema",
            Self::InvalidSchema { .. } => "tool.invalid_schema",
            Self::UnusableName { .. } => "tool.unusable_name",
            Self::NameCollision { .. } => "tool.name_collision",
        }
    }
}

/// Refuses a declaration that no call could be bound to without guessing. For the registry.
pub fn check_declaration(definition: &ToolDefinition) -> Result<(), DeclarationError> {
    let tool = || definition.id.clone();
    let parameters = &definition.parameters;
    let view = View::read(parameters, parameters);
    let has_object = view.types().has(Types::OBJECT);
    let properties = parameters.get("properties");
    if !parameters.is_object() || !has_object || properties.is_some_and(|list| !list.is_object()) {
        return Err(DeclarationError::NotAnObjectSchema { tool: tool() });
    }
    let declared = Declared::read(parameters);
    for (name, schema) in &declared.entries {
        if !matches!(schema, Json::Object(_) | Json::Bool(_)) {
            return Err(DeclarationError::InvalidSchema {
                tool: tool(),
                name: (*name).to_owned(),
            });
        }
    }
    // The first in the author's order, so that the same file always gives the same error.
    let first = declared
        .shared_forms()
        .min_by_key(|(_, entries)| entries.first().copied());
    let Some((form, entries)) = first else {
        return Ok(());
    };
    let name = |at: usize| {
        let index = entries.get(at).copied().unwrap_or_default();
        declared.name(index).to_owned()
    };
    Err(if form.is_empty() {
        DeclarationError::UnusableName {
            tool: tool(),
            name: name(0),
        }
    } else {
        DeclarationError::NameCollision {
            tool: tool(),
            first: name(0),
            second: name(1),
            form: form.to_owned(),
        }
    })
}
