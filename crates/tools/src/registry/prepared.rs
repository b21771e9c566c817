//! A declaration made ready: checked once, its schemas compiled.

use innkeeper_protocol::limits::MAX_FUNCTION_NAME_BYTES;
use innkeeper_protocol::{DeclarationError, ToolDefinition, ToolId, check_declaration};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value as Json;

use std::sync::Arc;

use crate::builtin::SOURCE;
use crate::limits::{MAX_ALIASES, MAX_PATTERN_STEPS, MAX_TOOL_ID_CHARS};
use crate::pipeline::validate::check;
use crate::redact::is_plain;

/// Why a tool, or a whole source, cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    #[error(
        "'{0}' is no id for a tool: use 1 to {MAX_TOOL_ID_CHARS} characters without blanks and control characters"
    )]
    BadId(String),
    #[error("Tool {tool}: more than {MAX_ALIASES} aliases")]
    TooManyAliases { tool: ToolId },
    #[error(transparent)]
    Declaration(#[from] DeclarationError),
    #[error("Tool {tool}: its {part} are no JSON Schema: {cause}")]
    Schema {
        tool: ToolId,
        part: &'static str,
        cause: String,
    },
    #[error(
        "The name '{name}' of tool {tool} is already taken by tool {other} of {source_name} (letter case, '.' and ':' make no difference); choose another"
    )]
    Taken {
        name: String,
        tool: ToolId,
        other: ToolId,
        source_name: String,
    },
    #[error(
        "The service '{name}' is already provided by {source_name}; replacing it needs the permission services.override: [{name}]"
    )]
    Service { name: String, source_name: String },
}

impl RegisterError {
    /// The tool that it is about.
    pub const fn tool(&self) -> Option<&ToolId> {
        match self {
            Self::TooManyAliases { tool }
            | Self::Schema { tool, .. }
            | Self::Taken { tool, .. } => Some(tool),
            Self::BadId(_) | Self::Declaration(_) | Self::Service { .. } => None,
        }
    }

    /// Stable name. It never changes once released.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadId(_) => "tool.bad_id",
            Self::TooManyAliases { .. } => "tool.too_many_aliases",
            Self::Declaration(error) => error.code(),
            Self::Schema { .. } => "tool.invalid_schema",
            Self::Taken { .. } => "tool.id_taken",
            Self::Service { .. } => "tool.service_taken",
        }
    }
}

/// A tool as far as it depends on its own declaration alone.
pub struct Prepared {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) parameters: Validator,
    pub(crate) output: Option<Validator>,
    /// Some parameter is taught to models under another name.
    pub(crate) has_odd_names: bool,
    /// It may change something that outlives the process, or is not ours to know.
    pub(crate) has_effects: bool,
    /// No argument of it can be secret.
    pub(crate) is_plain: bool,
}

impl Prepared {
    pub fn new(definition: ToolDefinition) -> Result<Self, RegisterError> {
        let ids = std::iter::once(&definition.id).chain(&definition.aliases);
        if let Some(bad) = ids.map(ToolId::as_str).find(|id| !is_id(id)) {
            return Err(RegisterError::BadId(bad.to_owned()));
        }
        if definition.aliases.len() > MAX_ALIASES {
            return Err(RegisterError::TooManyAliases {
                tool: definition.id,
            });
        }
        check_declaration(&definition)?;
        let compiled = |part, schema: &Json| {
            compile(schema).map_err(|cause| RegisterError::Schema {
                tool: definition.id.clone(),
                part,
                cause,
            })
        };
        let has_odd_names = definition.properties().any(|(name, _)| is_odd(name));
        Ok(Self {
            has_odd_names,
            is_plain: is_plain(&definition),
            has_effects: has_effects(&definition),
            parameters: compiled("parameters", &definition.parameters)?,
            output: definition
                .output
                .as_ref()
                .map(|schema| compiled("results", schema))
                .transpose()?,
            definition: Arc::new(definition),
        })
    }
}

impl Prepared {
    /// Whether an object of arguments fits the declared parameters.
    pub fn accepts(&self, arguments: &Json) -> bool {
        self.parameters.is_valid(arguments)
    }

    /// What keeps them from fitting, in sentences.
    pub fn faults(&self, arguments: &Json) -> Option<String> {
        let faults = check(&self.parameters, arguments, "Parameter");
        (!faults.is_empty()).then(|| faults.sentences())
    }
}

/// Tools that come with the house say by their permissions what they touch; of others nobody knows.
fn has_effects(definition: &ToolDefinition) -> bool {
    let only_reads = |permission: &String| permission.ends_with(":read");
    definition.source != SOURCE || !definition.permissions.iter().all(only_reads)
}

/// A name that some dialect could not carry as it is.
fn is_odd(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.chars().all(plain)
        || name.starts_with(|c: char| c.is_ascii_digit())
        || name.len() > MAX_FUNCTION_NAME_BYTES
}

fn is_id(id: &str) -> bool {
    !id.is_empty()
        && id.chars().nth(MAX_TOOL_ID_CHARS).is_none()
        && !id.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// Draft 2020-12 unless the schema says otherwise; nothing is fetched; a pattern cannot run for ever.
fn compile(schema: &Json) -> Result<Validator, String> {
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MAX_PATTERN_STEPS))
        .build(schema)
        .map_err(|error| {
            let place = error.instance_path().as_str();
            let said = error.masked().to_string();
            match place {
                "" => said,
                place => format!("at {place}: {said}"),
            }
        })
}
