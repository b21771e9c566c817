//! `core:ReadPrivateState`, `core:UpdatePrivateState`, `world:ReadState`, `world:RequestStateUpdate`: what an agent
//! keeps for itself, and what all agents of a scene share.
//!
//! Owns the tools, their paths and their changes. Where a state lives is for whoever implements [`StateHome`];
//! without one its tools do not exist. [`apply`] is there for implementations: all changes, or none.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::{Execution, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::Tool;
use super::declare::{arguments, declare, example, words};
use crate::limits::{MAX_STATE_CHANGES, MAX_STATE_PATH_CHARS};
use crate::{Executor, Invocation, ToolError};

#[path = "state_change.rs"]
mod change;

pub use change::{Change, StatePath, apply, check_size, look_up, read_json};

/// Where a state lives: that of one agent, which nobody else sees, or that of all agents of a scene.
#[async_trait]
pub trait StateHome: Send + Sync {
    /// All of it.
    async fn read(&self, call: &Invocation) -> Result<Versioned, ToolError>;

    /// All changes or none of them; none if the state is no longer at `expected`. The same call that is made again
    /// after it was cut off changes nothing more and is given the same answer.
    async fn update(
        &self,
        call: &Invocation,
        changes: &[Change],
        expected: Option<u64>,
    ) -> Result<Updated, ToolError>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct Versioned {
    pub value: Arc<Json>,
    /// 0 for one that nobody has changed.
    pub version: u64,
}

/// What a tool answers to an update.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Updated {
    /// As before where nothing is different.
    pub version: u64,
    /// JSON Pointers.
    pub paths: Vec<String>,
    /// What stands there now: of one path its value, of several an object by path. Nothing where that is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}

/// Which of the two is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateScope {
    Private,
    World,
}

impl StateScope {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::World => "world",
        }
    }
}

/// The error of a state that has moved on. `changed`: which paths, as far as that is known.
pub fn version_conflict(
    scope: StateScope,
    expected: u64,
    actual: u64,
    changed: &[String],
) -> ToolError {
    const NAMED: usize = 10;
    let named: Vec<&str> = changed.iter().map(String::as_str).take(NAMED).collect();
    let since = match (named.is_empty(), changed.len() > NAMED) {
        (true, _) => String::new(),
        (false, false) => format!("; since then {} changed", named.join(", ")),
        (false, true) => format!("; since then {} and others changed", named.join(", ")),
    };
    let whose = scope.as_str();
    ToolError::failed(format!(
        "The {whose} state is at version {actual}, not {expected}{since}: read it again and decide anew"
    ))
    .because("state.version_conflict")
    .permanent()
}

/// `core:ReadPrivateState` and `core:UpdatePrivateState`.
pub fn private_tools(state: Arc<dyn StateHome>) -> Vec<Tool> {
    vec![
        (
            read_definition(
                "core:ReadPrivateState",
                &["ReadPrivateStateTool"],
                "Read private state",
                StateScope::Private,
                "Read what you have noted in your private state, with its version. Nobody else sees it.",
            ),
            Arc::new(Read(Arc::clone(&state))),
        ),
        (
            update_definition(
                "core:UpdatePrivateState",
                &["UpdatePrivateStateTool"],
                "Update private state",
                StateScope::Private,
                "Change your private state: set, merge, append, increment or remove values. Either all changes are made or none. It is kept for your next turns and for later runs of this chat.",
            ),
            Arc::new(Update(state)),
        ),
    ]
}

/// `world:ReadState` and `world:RequestStateUpdate`.
pub fn world_tools(state: Arc<dyn StateHome>) -> Vec<Tool> {
    vec![
        (
            read_definition(
                "world:ReadState",
                &["ReadWorldStateTool", "core:ReadWorldState"],
                "Read world state",
                StateScope::World,
                "Read the state of the world that all agents of the scene share, with its version.",
            ),
            Arc::new(Read(Arc::clone(&state))),
        ),
        (
            update_definition(
                "world:RequestStateUpdate",
                &[
                    "RequestWorldStateUpdateTool",
                    "world:UpdateState",
                    "UpdateWorldStateTool",
                    "core:UpdateWorldState",
                ],
                "Update world state",
                StateScope::World,
                "Ask for changes to the state of the world that all agents share: set, merge, append, increment or remove values. Either all are made or none; give 'expected_version' so as not to overwrite what others have done since you read it.",
            ),
            Arc::new(Update(state)),
        ),
    ]
}

const PATH: &str =
    "Where: names with dots like 'mood.level' or 'items.0', or a JSON Pointer like '/mood/level'";

fn aliases(names: &[&str]) -> Vec<innkeeper_protocol::ToolId> {
    names.iter().map(|&name| name.into()).collect()
}

fn read_definition(
    id: &str,
    names: &[&str],
    name: &str,
    scope: StateScope,
    description: &str,
) -> ToolDefinition {
    ToolDefinition {
        aliases: aliases(names),
        permissions: vec![format!("state:{}:read", scope.as_str())],
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
                    },
                    "default_value": {"description": "What to answer where nothing stands at 'path': any JSON"}
                },
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "value": {"description": "What stands there"},
                    "version": {"type": "integer", "description": "Of the whole state"},
                    "missing": {"type": "boolean", "description": "Nothing stands there: this is the default"}
                },
                "required": ["value", "version"],
                "additionalProperties": false
            }),
        )
    }
}

const OPERATIONS: [&str; 5] = ["set", "merge", "append", "increment", "remove"];
const OPERATION: &str = "set a value, merge an object into the one that is there (null removes a field), append to a list, increment a number (by 1 without a value), remove what is there";

fn update_definition(
    id: &str,
    names: &[&str],
    name: &str,
    scope: StateScope,
    description: &str,
) -> ToolDefinition {
    let path = json!({"type": "string", "maxLength": MAX_STATE_PATH_CHARS, "description": PATH});
    let key = json!({
        "type": "string",
        "maxLength": MAX_STATE_PATH_CHARS,
        "description": "Another name for 'path'"
    });
    let op = json!({"type": "string", "enum": OPERATIONS, "description": OPERATION});
    let value = json!({"description": "The new value, what is merged or appended, or the number to add: any JSON"});
    let parameters = json!({
        "type": "object",
        "properties": {
            "path": path,
            "key": key,
            "op": {"type": "string", "enum": OPERATIONS, "description": format!("What to do at 'path'; set if left out: {OPERATION}")},
            "value": value,
            "operations": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_STATE_CHANGES,
                "description": "Several changes in order, instead of 'path', 'op' and 'value'",
                "items": {
                    "type": "object",
                    "properties": {"op": op, "path": path, "value": value},
                    "required": ["op", "path"],
                    "additionalProperties": false
                }
            },
            "expected_version": {
                "type": "integer",
                "minimum": 0,
                "description": "Make the changes only if the state is still at this version"
            }
        },
        "additionalProperties": false
    });
    ToolDefinition {
        aliases: aliases(names),
        // Whoever keeps the state knows a call that is made again. The order of changes matters.
        execution: Execution {
            idempotent: true,
            ..Execution::default()
        },
        permissions: vec![format!("state:{}:write", scope.as_str())],
        tags: words(&["state", "mutating"]),
        examples: example(
            "The mood gets better",
            json!({"path": "mood.level", "value": 7}),
        ),
        ..declare(
            id,
            name,
            description,
            parameters,
            json!({
                "type": "object",
                "properties": {
                    "version": {"type": "integer", "description": "Of the state after it; the same as before where nothing is different"},
                    "paths": {"type": "array", "items": {"type": "string"}, "description": "What is different now, as JSON Pointers"},
                    "value": {"description": "What stands there now: of one path its value, of several an object by path"}
                },
                "required": ["version", "paths"],
                "additionalProperties": false
            }),
        )
    }
}

#[derive(Deserialize)]
struct ReadArguments {
    path: Option<String>,
    #[serde(default, deserialize_with = "given")]
    default_value: Option<Json>,
}

#[derive(Deserialize)]
struct UpdateArguments {
    path: Option<String>,
    key: Option<String>,
    op: Option<String>,
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
        let unclear = |message: &str| {
            ToolError::invalid(message)
                .because("state.invalid_change")
                .permanent()
        };
        let path = match (self.path, self.key) {
            (Some(_), Some(_)) => {
                return Err(unclear(
                    "Give 'path' or 'key', not both: they mean the same",
                ));
            }
            (path, key) => path.or(key),
        };
        match (path, self.operations) {
            (Some(path), None) if self.op.is_some() || self.value.is_some() => {
                let operation = Operation {
                    op: self.op.unwrap_or_else(|| "set".to_owned()),
                    path,
                    value: self.value,
                };
                Ok(vec![operation.try_into()?])
            }
            (None, Some(operations)) if operations.len() > MAX_STATE_CHANGES => {
                Err(ToolError::invalid(format!(
                    "At most {MAX_STATE_CHANGES} changes can be made at once"
                )))
            }
            (None, Some(operations))
                if !operations.is_empty() && self.op.is_none() && self.value.is_none() =>
            {
                operations.into_iter().map(Change::try_from).collect()
            }
            _ => Err(unclear(
                "Give either 'path' and 'value', or 'operations' with at least one change",
            )),
        }
    }
}

impl Change {
    /// `op`: set, merge, append, increment or remove, as a model names them.
    pub fn new(op: &str, path: &str, value: Option<Json>) -> Result<Self, ToolError> {
        Self::try_from(Operation {
            op: op.to_owned(),
            path: path.to_owned(),
            value,
        })
    }
}

impl TryFrom<Operation> for Change {
    type Error = ToolError;

    fn try_from(operation: Operation) -> Result<Self, ToolError> {
        let Operation {
            op,
            path: at,
            value,
        } = operation;
        let path = StatePath::parse(&at)?;
        let wrong = |why: &str| {
            let message = format!("The operation '{op}' on '{at}' {why}");
            ToolError::invalid(message)
                .because("state.invalid_change")
                .permanent()
        };
        match (op.as_str(), value) {
            ("set", Some(value)) => Ok(Self::Set(path, value)),
            ("append", Some(value)) => Ok(Self::Append(path, value)),
            ("merge", Some(value)) => match fields(value)? {
                Some(fields) => Ok(Self::Merge(path, fields)),
                None => Err(wrong("needs an object as its value")),
            },
            ("increment", None) => Ok(Self::Increment(path, 1.into())),
            ("increment", Some(value)) => match number(value)? {
                Some(number) => Ok(Self::Increment(path, number)),
                None => Err(wrong("needs a number as its value")),
            },
            ("remove", None) => Ok(Self::Remove(path)),
            ("set" | "append" | "merge", None) => Err(wrong("needs a value")),
            _ => Err(wrong("has no use for a value")),
        }
    }
}

/// Texts of models that write no JSON are read as it.
fn read_text(value: Json) -> Result<Json, ToolError> {
    match value {
        Json::String(text) => Ok(read_json(text.trim())?.unwrap_or_default()),
        value => Ok(value),
    }
}

fn fields(value: Json) -> Result<Option<Map<String, Json>>, ToolError> {
    Ok(match read_text(value)? {
        Json::Object(fields) => Some(fields),
        _ => None,
    })
}

fn number(value: Json) -> Result<Option<serde_json::Number>, ToolError> {
    Ok(match read_text(value)? {
        Json::Number(number) => Some(number),
        _ => None,
    })
}

struct Read(Arc<dyn StateHome>);

#[async_trait]
impl Executor for Read {
    async fn execute(&self, mut call: Invocation) -> Result<Json, ToolError> {
        let asked: ReadArguments = arguments(std::mem::take(&mut call.arguments))?;
        let path = StatePath::parse(asked.path.as_deref().unwrap_or_default())?;
        let Versioned { value, version } = self.0.read(&call).await?;
        match (look_up(&value, &path), asked.default_value) {
            (Ok(value), _) => Ok(json!({"value": value, "version": version})),
            (Err(_), Some(default)) => {
                Ok(json!({"value": default, "version": version, "missing": true}))
            }
            (Err(error), None) => Err(error),
        }
    }
}

struct Update(Arc<dyn StateHome>);

#[async_trait]
impl Executor for Update {
    async fn execute(&self, mut call: Invocation) -> Result<Json, ToolError> {
        let asked: UpdateArguments = arguments(std::mem::take(&mut call.arguments))?;
        let expected = asked.expected_version;
        let changes = asked.changes()?;
        Ok(json!(self.0.update(&call, &changes, expected).await?))
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
