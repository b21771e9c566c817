//! A node in the words of tools: its inputs and settings are the parameters.

use innkeeper_engine::{NodeDefinition, NodeInput, NodeShape, NodeType, slot_schema};
use innkeeper_protocol::ToolDefinition;
use serde_json::{Map, Value as Json, json};

use crate::builtin;
use crate::registry::Hidden;
use crate::{ToolError, limits::WORKFLOW_TIMEOUT};

/// Whether it does something by itself.
pub(super) fn is_callable(kind: &NodeType) -> bool {
    kind.structure().is_none() && !kind.definition.is_ui
}

pub(crate) fn definition(node: &NodeDefinition) -> ToolDefinition {
    let full_type = node.full_type();
    let alias = format!("{}{full_type}", Hidden::PREFIX);
    ToolDefinition {
        aliases: vec![alias.as_str().into()],
        display_name: node.display_name.clone(),
        tags: vec!["node".to_owned()],
        source: source(node),
        execution: super::catalogue::execution(),
        ..ToolDefinition::new(full_type, &node.description, parameters(node))
    }
}

/// What a node of the house does, it does by calling tools, which have rules of their own.
pub(super) fn source(node: &NodeDefinition) -> String {
    match node.namespace.as_str() {
        "core" => builtin::SOURCE.to_owned(),
        plugin => format!("plugin:{plugin}"),
    }
}

/// Every input and setting of every mode. Whether they go together is for the node to say.
pub(super) fn parameters(node: &NodeDefinition) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let modes = node.modes.iter().map(|mode| &mode.shape);
    let shapes: Vec<&NodeShape> = match node.modes.is_empty() {
        true => vec![&node.shape],
        false => std::iter::once(&node.shape).chain(modes).collect(),
    };
    for input in shapes.iter().flat_map(|shape| &shape.inputs) {
        // Where a node has modes, only the chosen one knows what it cannot do without.
        if input.required && node.modes.is_empty() && default(input).is_none() {
            required.push(input.slot.key.clone());
        }
        add(&mut properties, input);
    }
    for setting in shapes.iter().flat_map(|shape| &shape.config) {
        add(&mut properties, setting);
    }
    if let Some(key) = &node.mode_key
        && !node.modes.is_empty()
    {
        let ids: Vec<&str> = node.modes.iter().map(|mode| mode.id.as_str()).collect();
        let mut schema = json!({ "type": "string", "enum": ids });
        let usual = node.config_values.get(key).and_then(Json::as_str);
        if let Some(usual) = usual.or(node.default_mode.as_deref()) {
            schema["default"] = usual.into();
        }
        properties.insert(key.clone(), schema);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema["additionalProperties"] = node.dynamic_slots.into();
    schema
}

fn default(input: &NodeInput) -> Option<&Json> {
    input.config.get("default").filter(|value| !value.is_null())
}

fn add(properties: &mut Map<String, Json>, input: &NodeInput) {
    let slot = &input.slot;
    if properties.contains_key(&slot.key) {
        return;
    }
    let description = slot.description.as_deref();
    let schema = slot_schema(
        slot.flow,
        input.multi,
        description.or(slot.display_name.as_deref()),
        &slot.match_categories,
        &input.config,
    );
    properties.insert(slot.key.clone(), schema);
}

/// What a node is given for one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    pub(crate) config: Map<String, Json>,
    pub(crate) inputs: Map<String, Json>,
}

/// Arguments as settings and inputs of the node.
pub(super) fn split(kind: &NodeType, arguments: Map<String, Json>) -> Result<Given, ToolError> {
    if !is_callable(kind) {
        let message = format!(
            "the node {} does nothing by itself; put it into a workflow",
            kind.full_type()
        );
        return Err(ToolError::invalid(message)
            .because("node.not_callable")
            .permanent());
    }
    Ok(sorted(&kind.definition, arguments))
}

/// The same for one that is at work already.
pub(crate) fn sorted(node: &NodeDefinition, arguments: Map<String, Json>) -> Given {
    let mut given = Given::default();
    for (key, value) in arguments {
        match is_setting(node, &key) {
            true => given.config.insert(key, value),
            false => given.inputs.insert(key, value),
        };
    }
    given
}

/// A setting of some mode, and an input of none.
pub(crate) fn is_setting(node: &NodeDefinition, key: &str) -> bool {
    let shapes = || std::iter::once(&node.shape).chain(node.modes.iter().map(|mode| &mode.shape));
    let has = |list: &[NodeInput]| list.iter().any(|input| input.slot.key == key);
    let is_input = shapes().any(|shape| has(&shape.inputs));
    let is_known = node.mode_key.as_deref() == Some(key)
        || node.config_values.contains_key(key)
        || shapes().any(|shape| has(&shape.config));
    is_known && !is_input
}

/// How long a tool of the engine may take, in milliseconds.
pub(super) fn time() -> Option<u64> {
    u64::try_from(WORKFLOW_TIMEOUT.as_millis()).ok()
}
