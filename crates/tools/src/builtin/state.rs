//! `core:ReadPrivateState`, `core:UpdatePrivateState`, `world:ReadState`, `world:RequestStateUpdate`: what an agent
//! keeps for itself, and what all agents of a scene share.
//!
//! Owns the tools, their paths and their changes. Where a state lives is for whoever implements [`PrivateState`]
//! and [`WorldState`]; without one of them its tools do not exist. [`apply`] is there for implementations: all
//! changes, or none.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::{Execution, ToolDefinition};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::Tool;
use super::declare::{arguments, declare, example, words};
use crate::limits::{MAX_STATE_CHANGES, MAX_STATE_PATH_CHARS};
use crate::{Caller, Executor, Invocation, ToolError};

#[path = "state_change.rs"]
mod change;

pub use change::{Change, StatePath, apply, look_up};

/// The state of one agent, which nobody else sees.
#[async_trait]
pub trait PrivateState: Send + Sync {
    async fn read(&self, caller: &Caller, path: &StatePath) -> Result<Json, ToolError>;

    /// All changes or none of them.
    async fn update(&self, caller: &Caller, changes: &[Change]) -> Result<(), ToolError>;
}

/// The state that the agents of a scene share.
#[async_trait]
pub trait WorldState: Send + Sync {
    async fn read(&self, caller: &Caller, path: &StatePath) -> Result<Versioned, ToolError>;

    /// All changes or none of them; none if the state is no longer at `expected`. Gives the new version.
    async fn request_update(
        &self,
        caller: &Caller,
        changes: &[Change],
        expected: Option<u64>,
    ) -> Result<u64, ToolError>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct Versioned {
    pub value: Json,
    pub version: u64,
}

/// The error of a [`WorldState`] that has moved on.
pub fn version_conflict(expected: u64, actual: u64) -> ToolError {
    ToolError::failed(format!(
        "The world state is at version {actual}, not {expected}: read it again and decide anew"
    ))
    .because("state.version_conflict")
    .permanent()
}

pub fn private_tools(state: Arc<dyn PrivateState>) -> Vec<Tool> {
    vec![
        (
            read_definition(
                "core:ReadPrivateState",
                "ReadPrivateStateTool",
                "Read private state",
                "private",
                "Read what you have noted in your private state. Nobody else sees it.",
            ),
            Arc::new(ReadPrivate(Arc::clone(&state))),
        ),
        (
            update_definition(
                "core:UpdatePrivateState",
                "UpdatePrivateStateTool",
                "Update private state",
                "private",
                "Change your private state: set, remove or append values. Either all changes are made or none.",
            ),
            Arc::new(UpdatePrivate(state)),
        ),
    ]
}

pub fn world_tools(state: Arc<dyn WorldState>) -> Vec<Tool> {
    vec![
        (
            read_definition(
                "world:ReadState",
                "ReadWorldStateTool",
                "Read world state",
                "world",
                "Read the state of the world that all agents of the scene share, with its version.",
            ),
            Arc::new(ReadWorld(Arc::clone(&state))),
        ),
        (
            update_definition(
                "world:RequestStateUpdate",
                "RequestWorldStateUpdateTool",
                "Update world state",
                "world",
                "Ask for changes to the state of the world that all agents share. Either all are made or none; give 'expected_version' so as not to overwrite what others have done since you read it.",
            ),
            Arc::new(UpdateWorld(state)),
        ),
    ]
}

const PATH: &str =
    "Where: names with dots like 'mood.level' or 'items.0', or a JSON Pointer like '/mood/level'";

fn read_definition(
    id: &str,
    alias: &str,
    name: &str,
    whose: &str,
    description: &str,
) -> ToolDefinition {
    let mut output = json!({
        "type": "object",
        "properties": {"value": {"description": "What stands there"}},
        "required": ["value"],
        "additionalProperties": false
    });
    if whose == "world" {
        output["properties"]["version"] = json!({"type": "integer"});
        output["required"] = json!(["value", "version"]);
    }
    ToolDefinition {
        aliases: vec![alias.into()],
        permissions: vec![format!("state:{whose}:read")],
        tags: words(&["state", "read-only"]),
        examples: example("How the mood is", json!({"path": "mood.level"})),
        ..declare(
            id,
            name,
            description,
            json!({
                "type": "object",
                "properties": {
                    "path": {
                        "type": "string",
                        "maxLength": MAX_STATE_PATH_CHARS,
                        "description": format!("{PATH}. Everything if left out")
                    }
                },
                "additionalProperties": false
            }),
            output,
        )
    }
}

fn update_definition(
    id: &str,
    alias: &str,
    name: &str,
    whose: &str,
    description: &str,
) -> ToolDefinition {
    let path = json!({"type": "string", "maxLength": MAX_STATE_PATH_CHARS, "description": PATH});
    let mut parameters = json!({
        "type": "object",
        "properties": {
            "path": path,
            "value": {"description": "The new value at 'path': any JSON"},
            "operations": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_STATE_CHANGES,
                "description": "Several changes in order, instead of 'path' and 'value'",
                "items": {
                    "type": "object",
                    "properties": {
                        "op": {
                            "type": "string",
                            "enum": ["set", "remove", "append"],
                            "description": "set a value, remove it, or append it to a list"
                        },
                        "path": path,
                        "value": {"description": "For set and append: any JSON"}
                    },
                    "required": ["op", "path"],
                    "additionalProperties": false
                }
            }
        },
        "additionalProperties": false
    });
    let mut output = json!({
        "type": "object",
        "properties": {"changed": {"type": "integer", "description": "How many changes were made"}},
        "required": ["changed"],
        "additionalProperties": false
    });
    if whose == "world" {
        parameters["properties"]["expected_version"] = json!({
            "type": "integer",
            "minimum": 0,
            "description": "Make the changes only if the state is still at this version"
        });
        output["properties"]["version"] = json!({"type": "integer"});
        output["required"] = json!(["changed", "version"]);
    }
    ToolDefinition {
        aliases: vec![alias.into()],
        // Appending twice is more than appending once, and the order of changes matters.
        execution: Execution::default(),
        permissions: vec![format!("state:{whose}:write")],
        tags: words(&["state", "mutating"]),
        examples: example(
            "The mood gets better",
            json!({"path": "mood.level", "value": 7}),
        ),
        ..declare(id, name, description, parameters, output)
    }
}

#[derive(Deserialize)]
struct ReadArguments {
    path: Option<String>,
}

impl ReadArguments {
    fn path(&self) -> Result<StatePath, ToolError> {
        StatePath::parse(self.path.as_deref().unwrap_or_default())
    }
}

#[derive(Deserialize)]
struct UpdateArguments {
    path: Option<String>,
    #[serde(default, deserialize_with = "given")]
    value: Option<Json>,
    operations: Option<Vec<Operation>>,
    expected_version: Option<u64>,
}

#[derive(Deserialize)]
struct Operation {
    op: String,
    path: String,
    #[serde(default, deserialize_with = "given")]
    value: Option<Json>,
}

/// Keeps `null` apart from nothing.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(value).map(Some)
}

impl UpdateArguments {
    fn changes(self) -> Result<Vec<Change>, ToolError> {
        match (self.path, self.value, self.operations) {
            (Some(path), Some(value), None) => {
                Ok(vec![Change::Set(StatePath::parse(&path)?, value)])
            }
            (None, None, Some(operations)) if operations.len() > MAX_STATE_CHANGES => {
                Err(ToolError::invalid(format!(
                    "At most {MAX_STATE_CHANGES} changes can be made at once"
                )))
            }
            (None, None, Some(operations)) if !operations.is_empty() => {
                operations.into_iter().map(Change::try_from).collect()
            }
            _ => Err(ToolError::invalid(
                "Give either 'path' and 'value', or 'operations' with at least one change",
            )
            .because("state.invalid_change")
            .permanent()),
        }
    }
}

impl TryFrom<Operation> for Change {
    type Error = ToolError;

    fn try_from(operation: Operation) -> Result<Self, ToolError> {
        let path = StatePath::parse(&operation.path)?;
        match (operation.op.as_str(), operation.value) {
            ("set", Some(value)) => Ok(Self::Set(path, value)),
            ("append", Some(value)) => Ok(Self::Append(path, value)),
            ("remove", None) => Ok(Self::Remove(path)),
            (op, value) => Err(ToolError::invalid(format!(
                "The operation '{op}' on '{}' {}",
                operation.path,
                match value {
                    Some(_) => "has no use for a value",
                    None => "needs a value",
                }
            ))
            .because("state.invalid_change")
            .permanent()),
        }
    }
}

struct ReadPrivate(Arc<dyn PrivateState>);

#[async_trait]
impl Executor for ReadPrivate {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let path = arguments::<ReadArguments>(call.arguments)?.path()?;
        Ok(json!({"value": self.0.read(&call.context.caller, &path).await?}))
    }
}

struct UpdatePrivate(Arc<dyn PrivateState>);

#[async_trait]
impl Executor for UpdatePrivate {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let changes = arguments::<UpdateArguments>(call.arguments)?.changes()?;
        self.0.update(&call.context.caller, &changes).await?;
        Ok(json!({"changed": changes.len()}))
    }
}

struct ReadWorld(Arc<dyn WorldState>);

#[async_trait]
impl Executor for ReadWorld {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let path = arguments::<ReadArguments>(call.arguments)?.path()?;
        let Versioned { value, version } = self.0.read(&call.context.caller, &path).await?;
        Ok(json!({"value": value, "version": version}))
    }
}

struct UpdateWorld(Arc<dyn WorldState>);

#[async_trait]
impl Executor for UpdateWorld {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let asked: UpdateArguments = arguments(call.arguments)?;
        let expected = asked.expected_version;
        let changes = asked.changes()?;
        let version = self
            .0
            .request_update(&call.context.caller, &changes, expected)
            .await?;
        Ok(json!({"changed": changes.len(), "version": version}))
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
