//! What the agent's own tools are made with: declarations that look alike, and arguments as they are written.

use innkeeper_protocol::{Execution, ToolDefinition, ToolExample};
use innkeeper_tools::Invocation;
use innkeeper_tools::builtin::SOURCE;
use serde_json::{Map, Value as Json, json};

/// What a tool does to the run, as hosts are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    ReadOnly,
    Mutating,
    /// Ends the run.
    Control,
    /// Speaks to the host.
    ControlMutating,
}

/// All of them are idempotent: what they do is journaled with their end, so one that was cut off has done nothing.
pub(crate) fn declare(
    id: &str,
    display_name: &str,
    description: &str,
    nature: Nature,
    parameters: Json,
    output: Json,
) -> ToolDefinition {
    let mut annotations = Map::new();
    for (name, holds) in [
        ("readOnly", nature == Nature::ReadOnly),
        (
            "control",
            matches!(nature, Nature::Control | Nature::ControlMutating),
        ),
        (
            "mutating",
            matches!(nature, Nature::Mutating | Nature::ControlMutating),
        ),
    ] {
        if holds {
            annotations.insert(name.to_owned(), json!(true));
        }
    }
    let family = id.split('.').next().unwrap_or_default();
    ToolDefinition {
        display_name: display_name.to_owned(),
        output: Some(output),
        execution: Execution {
            idempotent: true,
            parallel: nature == Nature::ReadOnly,
            ..Execution::default()
        },
        tags: vec![family.to_owned()],
        source: SOURCE.to_owned(),
        extra: Map::from_iter([("annotations".to_owned(), Json::Object(annotations))]),
        ..ToolDefinition::new(id, description, parameters)
    }
}

pub(crate) fn examples(all: &[(&str, Json)]) -> Vec<ToolExample> {
    all.iter()
        .map(|(situation, arguments)| ToolExample {
            situation: (*situation).to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
        })
        .collect()
}

pub(crate) fn object(properties: Json, required: &[&str]) -> Json {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

/// An answer: names and kinds, for people; more may stand beside them.
pub(crate) fn answer(fields: &[(&str, &str)]) -> Json {
    let properties: Map<String, Json> = fields
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), json!({"type": kind})))
        .collect();
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "required": required, "properties": properties})
}

pub(crate) fn text<'a>(call: &'a Invocation, name: &str) -> Option<&'a str> {
    call.arguments.get(name).and_then(Json::as_str)
}

/// An integer of a schema may be written as 3.0 too. What no `i64` can hold is as far off as can be.
pub(crate) fn number(value: Option<&Json>) -> Option<i64> {
    let value = value?;
    value.as_i64().or_else(|| {
        let float = value.as_f64()?;
        (float.fract() == 0.0).then_some(float as i64)
    })
}

pub(crate) fn flag(call: &Invocation, name: &str) -> bool {
    call.arguments.get(name).and_then(Json::as_bool) == Some(true)
}
