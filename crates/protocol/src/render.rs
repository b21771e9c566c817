//! Writing a call the way a model would: for examples in prompts and for replaying a conversation.
//!
//! Law: what is written here is read by the parser as the same call, without a warning. A value that would be
//! misread in one form is written in another (another family of marks, CDATA, JSON with escapes); what a
//! dialect has no words for at all (`retry` in ACTION) is an error, never left out.

mod native;
mod tam;
mod xml;

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use crate::alias::Rule;
use crate::limits::{MAX_CALLS, MAX_JSON_DEPTH, MAX_RETRY};
use crate::reference::resolved;
use crate::{Aliases, OnError, Protocol, ToolId};

/// Calls that are written together and run in order.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    pub steps: Vec<Step<'a>>,
    /// Only TAM has it.
    pub request_id: Option<&'a str>,
}

/// One tool to be called.
#[derive(Debug, Clone)]
pub struct Step<'a> {
    pub tool: &'a ToolId,
    pub arguments: &'a Map<String, Json>,
    /// The tool's parameters. With it numbers and lists are written in their plain form, and a value whose
    /// type XML could not keep is refused. Without it TAM and native calls carry types with them; in XML a
    /// scalar is just its text.
    pub schema: Option<&'a Json>,
    /// For native calls and `<tool_call>`; the other dialects have no place for it.
    pub call_id: Option<&'a str>,
    pub on_error: OnError,
    pub retry: u8,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RenderedCall {
    Text(String),
    /// The assistant's message in the provider's own shape.
    Native(Json),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    #[error("a call needs at least one step and at most {MAX_CALLS}")]
    StepCount,
    #[error("{0:?} cannot be written as a name in this dialect")]
    IllegalName(String),
    #[error("parameter '{0}' is given twice in two spellings")]
    SameName(String),
    #[error("{0:?} cannot be written as a request id")]
    IllegalRequestId(String),
    #[error("parameter '{0}' is nested too deeply")]
    TooDeep(String),
    #[error("the value of parameter '{0}' would be read as another in this dialect")]
    Ambiguous(String),
    #[error("retry is at most {MAX_RETRY}")]
    RetryTooHigh,
    #[error("this dialect has no {0}")]
    Unsupported(&'static str),
}

impl<'a> Call<'a> {
    pub fn one(tool: &'a ToolId, arguments: &'a Map<String, Json>) -> Self {
        Self {
            steps: vec![Step::new(tool, arguments)],
            request_id: None,
        }
    }
}

impl<'a> Step<'a> {
    pub fn new(tool: &'a ToolId, arguments: &'a Map<String, Json>) -> Self {
        Self {
            tool,
            arguments,
            schema: None,
            call_id: None,
            on_error: OnError::Stop,
            retry: 0,
        }
    }

    fn schema_of(&self, parameter: &str) -> Option<&'a Json> {
        let root = self.schema?;
        Some(resolved(root.get("properties")?.get(parameter)?, root))
    }
}

impl RenderedCall {
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Native(_) => None,
        }
    }

    pub fn native(&self) -> Option<&Json> {
        match self {
            Self::Text(_) => None,
            Self::Native(json) => Some(json),
        }
    }
}

/// Writes a call. `aliases` must have been made for the same dialect; with `Aliases::default()` ids and
/// parameter names are written as they are, or refused.
pub fn render_call(
    call: &Call<'_>,
    protocol: Protocol,
    aliases: &Aliases,
) -> Result<RenderedCall, RenderError> {
    if call.steps.is_empty() || call.steps.len() > MAX_CALLS {
        return Err(RenderError::StepCount);
    }
    let steps = call
        .steps
        .iter()
        .map(|step| Named::new(step, protocol, aliases))
        .collect::<Result<Vec<_>, _>>()?;
    if protocol != Protocol::Tam {
        refuse_modifiers(call)?;
    }
    Ok(match protocol {
        Protocol::Tam => RenderedCall::Text(tam::render(&steps, call.request_id)?),
        Protocol::Action => RenderedCall::Text(xml::action(&steps)?),
        Protocol::ToolCall => RenderedCall::Text(xml::tool_calls(&steps)?),
        Protocol::Native(provider) => RenderedCall::Native(native::message(&steps, provider)),
    })
}

fn refuse_modifiers(call: &Call<'_>) -> Result<(), RenderError> {
    if call.request_id.is_some() {
        return Err(RenderError::Unsupported("request_id"));
    }
    for step in &call.steps {
        if step.on_error != OnError::Stop {
            return Err(RenderError::Unsupported("on_error"));
        }
        if step.retry != 0 {
            return Err(RenderError::Unsupported("retry"));
        }
    }
    Ok(())
}

/// A step whose names are known to be legal in the dialect.
struct Named<'s> {
    step: &'s Step<'s>,
    tool: &'s str,
    arguments: Vec<NamedArgument<'s>>,
}

struct NamedArgument<'s> {
    name: &'s str,
    value: &'s Json,
    schema: Option<&'s Json>,
}

impl<'s> Named<'s> {
    fn new(
        step: &'s Step<'s>,
        protocol: Protocol,
        aliases: &'s Aliases,
    ) -> Result<Self, RenderError> {
        if step.retry > MAX_RETRY {
            return Err(RenderError::RetryTooHigh);
        }
        let tool = aliases.alias_of(step.tool);
        legal(tool, Rule::of_tools(protocol))?;
        let rule = Rule::of_parameters(protocol);
        let mut seen = HashSet::new();
        let mut arguments = Vec::with_capacity(step.arguments.len());
        for (declared, value) in step.arguments {
            if depth(value) > MAX_JSON_DEPTH {
                return Err(RenderError::TooDeep(declared.clone()));
            }
            let name = aliases.parameter_alias(step.tool, declared);
            legal(name, rule)?;
            if !seen.insert(rule.compared(name)) {
                return Err(RenderError::SameName(name.to_owned()));
            }
            arguments.push(NamedArgument {
                name,
                value,
                schema: step.schema_of(declared),
            });
        }
        Ok(Self {
            step,
            tool,
            arguments,
        })
    }
}

fn legal(name: &str, rule: Rule) -> Result<(), RenderError> {
    match rule.is_legal(name) {
        true => Ok(()),
        false => Err(RenderError::IllegalName(name.to_owned())),
    }
}

/// Levels of containers; 0 for a scalar. Recursion ends one level beyond what is allowed.
fn depth(value: &Json) -> usize {
    fn below(value: &Json, left: usize) -> usize {
        if left == 0 {
            return 0;
        }
        let deepest = match value {
            Json::Array(items) => items.iter().map(|item| below(item, left - 1)).max(),
            Json::Object(fields) => fields.values().map(|field| below(field, left - 1)).max(),
            _ => return 0,
        };
        1 + deepest.unwrap_or(0)
    }
    below(value, MAX_JSON_DEPTH + 1)
}

/// The one type that a schema allows, if it is one.
fn only_type(schema: Option<&Json>) -> Option<&str> {
    schema?.get("type")?.as_str()
}

/// A string that a reader who knows the type only vaguely could take for a number or a list.
fn looks_like_json(text: &str) -> bool {
    serde_json::from_str::<Json>(text).is_ok()
}

/// `text` between marks, so that it stays whole where one line break is taken away at each end.
fn padded(text: &str) -> String {
    let end = if text.ends_with('\r') { "\r\n" } else { "\n" };
    format!("\n{text}{end}")
}

/// Whether the text needs no protection of its ends or lines.
fn is_one_clean_line(text: &str) -> bool {
    text.trim() == text && !text.contains(['\n', '\r'])
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
