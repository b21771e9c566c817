//! Messages that are written as they lie. Nearly all are such, and a conversation is sent anew with every turn; the others
//! take the way over a tree of JSON, which comes to the same.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;

use super::messages::{OF_CALL, OF_MESSAGE};
use crate::provider::{CallIds, Quirks};
use crate::{Message, Part, Role, ToolCall, ToolResult};

/// A message of a request.
#[derive(Debug)]
pub(super) enum Sent<'m> {
    Plain(Plain<'m>),
    Tree(Json),
}

/// What there is nothing to change about.
#[derive(Debug)]
pub(super) enum Plain<'m> {
    Said {
        role: Role,
        name: Option<&'m str>,
        text: &'m str,
    },
    /// Words of the assistant, if there are any, and then its calls, of which there is at least one.
    Called {
        name: Option<&'m str>,
        text: Option<&'m str>,
        calls: &'m [Part],
    },
    Result(&'m ToolResult),
}

/// Whether this provider takes the usual fields as they are.
pub(super) fn takes_plain(quirks: &Quirks) -> bool {
    let is_usual = |name: &String| {
        let name = name.as_str();
        OF_MESSAGE.contains(&name) || OF_CALL.contains(&name)
    };
    quirks.call_ids == CallIds::Any && !quirks.not_sent.iter().any(is_usual)
}

impl<'m> Plain<'m> {
    pub(super) fn of(message: &'m Message, quirks: &Quirks) -> Option<Self> {
        let name = message.name.as_deref();
        match (message.role, message.parts.as_slice()) {
            (Role::Tool, [Part::ToolResult(result)]) => Some(Self::Result(result)),
            (Role::Tool, _) => None,
            (Role::Developer, _) if !quirks.developer_role => None,
            (role, [Part::Text { text }]) => Some(Self::Said { role, name, text }),
            (Role::Assistant, [Part::Text { text }, calls @ ..]) if are_calls(calls) => {
                Some(Self::Called {
                    name,
                    text: Some(text),
                    calls,
                })
            }
            (Role::Assistant, calls) if are_calls(calls) => Some(Self::Called {
                name,
                text: None,
                calls,
            }),
            _ => None,
        }
    }
}

fn are_calls(parts: &[Part]) -> bool {
    let is_call = |part: &Part| matches!(part, Part::ToolCall(_));
    !parts.is_empty() && parts.iter().all(is_call)
}

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(message) => message.serialize(serializer),
            Self::Tree(message) => message.serialize(serializer),
        }
    }
}

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        let (role, name) = match self {
            Self::Said { role, name, .. } => (*role, *name),
            Self::Called { name, .. } => (Role::Assistant, *name),
            Self::Result(result) => (Role::Tool, result.name.as_deref()),
        };
        fields.serialize_entry("role", role.as_str())?;
        if let Self::Result(result) = self {
            fields.serialize_entry("tool_call_id", &result.call_id)?;
        }
        if let Some(name) = name {
            fields.serialize_entry("name", name)?;
        }
        match self {
            Self::Said { text, .. } => fields.serialize_entry("content", text)?,
            Self::Called { text, calls, .. } => {
                fields.serialize_entry("content", text)?;
                fields.serialize_entry("tool_calls", &Calls(calls))?;
            }
            Self::Result(result) => fields.serialize_entry("content", &result.content)?,
        }
        fields.end()
    }
}

struct Calls<'m>(&'m [Part]);

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let calls = self.0.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(Call(call)),
            _ => None,
        });
        serializer.collect_seq(calls)
    }
}

struct Call<'m>(&'m ToolCall);

impl Serialize for Call<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(3))?;
        fields.serialize_entry("id", &self.0.id)?;
        fields.serialize_entry("type", "function")?;
        fields.serialize_entry("function", &Function(self.0))?;
        fields.end()
    }
}

struct Function<'m>(&'m ToolCall);

impl Serialize for Function<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Chat templates read arguments as JSON and fall over nothing at all.
        let arguments = match self.0.arguments.trim().is_empty() {
            true => "{}",
            false => &self.0.arguments,
        };
        let mut fields = serializer.serialize_map(Some(2))?;
        fields.serialize_entry("name", &self.0.name)?;
        fields.serialize_entry("arguments", arguments)?;
        fields.end()
    }
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;
