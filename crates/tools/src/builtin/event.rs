//! `event:Publish`: telling other agents that something happened. How events travel is for whoever implements
//! [`EventPublisher`] ([`crate::workflow::BusPublisher`] does, over the event bus); without one the tool does not exist.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::{Execution, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::Tool;
use super::declare::{arguments, declare, example, words};
use crate::limits::{
    MAX_EVENT_PAYLOAD_BYTES, MAX_EVENT_TARGET_CHARS, MAX_EVENT_TYPE_CHARS, MAX_EVENT_TYPE_PARTS,
};
use crate::{Caller, Executor, Invocation, ToolError};

pub const PUBLISH: &str = "event:Publish";

/// Takes events and gives each an id. Bounds chains of events that cause each other.
#[async_trait]
pub trait EventPublisher: Send + Sync {
    async fn publish(&self, caller: &Caller, event: NewEvent) -> Result<String, ToolError>;
}

/// An event that has been checked and not yet published.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// A dotted name: `npc.anna.greets`.
    pub kind: String,
    pub payload: Json,
    /// One agent that it is meant for; all who listen otherwise.
    pub target: Option<String>,
    pub priority: Priority,
}

impl NewEvent {
    /// For everyone who listens, if that caller may tell it.
    pub fn checked(caller: &Caller, kind: String, payload: Json) -> Result<Self, ToolError> {
        Ok(Self {
            kind: check_type(kind, caller.is_agent())?,
            payload: check_payload(payload)?,
            target: None,
            priority: Priority::default(),
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
    Critical,
}

pub fn tools(publisher: Arc<dyn EventPublisher>) -> Vec<Tool> {
    vec![(definition(), Arc::new(Publish(publisher)))]
}

pub fn definition() -> ToolDefinition {
    ToolDefinition {
        aliases: vec!["PublishEventTool".into()],
        execution: Execution::default(),
        permissions: words(&["event:publish"]),
        tags: words(&["event", "mutating"]),
        examples: example(
            "Tell everyone that the gate has been opened",
            json!({"type": "world.gate.opened", "payload": {"by": "Anna"}}),
        ),
        ..declare(
            PUBLISH,
            "Publish event",
            "Tell other agents of the scene that something happened. Who listens for this type of event gets it.",
            json!({
                "type": "object",
                "properties": {
                    "type": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": MAX_EVENT_TYPE_CHARS,
                        "description": "What kind of event, as words with dots between them: 'npc.anna.greets'"
                    },
                    "payload": {"description": "What there is to tell: any JSON"},
                    "target": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": MAX_EVENT_TARGET_CHARS,
                        "description": "Id of the one agent it is meant for; all who listen if left out"
                    },
                    "priority": {
                        "type": "string",
                        "enum": ["low", "normal", "high", "critical"],
                        "default": "normal",
                        "description": "How urgent it is; normal if left out"
                    }
                },
                "required": ["type"],
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {"id": {"type": "string"}, "type": {"type": "string"}},
                "required": ["id", "type"],
                "additionalProperties": false
            }),
        )
    }
}

/// What a node does that listens for events, in the words of tools: nobody can call it, but reach and rules name it.
pub(crate) fn listening() -> ToolDefinition {
    ToolDefinition {
        permissions: words(&["event:read"]),
        tags: words(&["event"]),
        ..declare(
            "event:Subscribe",
            "Subscribe to events",
            "Hear of the events of the project as they happen.",
            json!({
                "type": "object",
                "properties": {
                    "names": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Types of events; '*' stands for any part"
                    }
                },
                "required": ["names"],
                "additionalProperties": false
            }),
            json!({"type": "null"}),
        )
    }
}

struct Publish(Arc<dyn EventPublisher>);

#[derive(Deserialize)]
struct Arguments {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    payload: Json,
    target: Option<String>,
    #[serde(default)]
    priority: Priority,
}

#[async_trait]
impl Executor for Publish {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let asked: Arguments = arguments(call.arguments)?;
        let event = NewEvent {
            target: asked.target,
            priority: asked.priority,
            ..NewEvent::checked(&call.context.caller, asked.kind, asked.payload)?
        };
        let kind = event.kind.clone();
        let id = self.0.publish(&call.context.caller, event).await?;
        Ok(json!({"id": id, "type": kind}))
    }
}

/// Events of the house itself are not for agents to make up: others trust them.
const RESERVED: &str = "system.";

fn check_type(kind: String, by_agent: bool) -> Result<String, ToolError> {
    let part = |part: &str| {
        let mut characters = part.chars();
        characters.next().is_some_and(char::is_alphanumeric)
            && characters.all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    let short = kind.chars().nth(MAX_EVENT_TYPE_CHARS).is_none();
    let parts = kind.split('.').count();
    if !short || parts > MAX_EVENT_TYPE_PARTS || !kind.split('.').all(part) {
        return Err(ToolError::invalid(format!(
            "'{}' is no type of event: use letters, digits, '_' and '-' in words with dots between them, like 'npc.anna.greets'; at most {MAX_EVENT_TYPE_PARTS} words",
            kind.chars().take(MAX_EVENT_TYPE_CHARS).collect::<String>().escape_debug()
        ))
        .because("event.invalid_type")
        .permanent());
    }
    let folded = kind.to_lowercase();
    if by_agent && (folded.starts_with(RESERVED) || folded == "system") {
        return Err(ToolError::denied(format!(
            "Events of the type '{kind}' come from the system alone; choose a type that does not begin with '{RESERVED}'"
        ))
        .because("event.reserved_type")
        .permanent());
    }
    Ok(kind)
}

fn check_payload(payload: Json) -> Result<Json, ToolError> {
    let size = payload.to_string().len();
    match size > MAX_EVENT_PAYLOAD_BYTES {
        true => Err(ToolError::invalid(format!(
            "The payload has {size} bytes; at most {MAX_EVENT_PAYLOAD_BYTES} can be published. Put it into a file or the world state and name the place"
        ))
        .because("event.too_large")
        .permanent()),
        false => Ok(payload),
    }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
