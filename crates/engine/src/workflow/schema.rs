//! What a workflow takes and gives, as JSON Schema: so it can be called as a tool.

use serde_json::{Map, Value as Json, json};

use super::{InterfaceSlot, Workflow};
use crate::DataFlowType;
use crate::limits::MAX_CHOICES;

/// The category of slots whose suggestions are all there is.
const CHOICE: &str = "ComboOption";

impl Workflow {
    /// The arguments: an object with one property for each input of the interface.
    pub fn parameters_schema(&self) -> Json {
        let mut schema = object_of(&self.inputs);
        let missing = |slot: &&InterfaceSlot| slot.required && default(&slot.config).is_none();
        let required = self.inputs.iter().filter(missing);
        let required: Vec<_> = required.map(|slot| slot.key.as_str()).collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema.insert("additionalProperties".to_owned(), Json::Bool(false));
        Json::Object(schema)
    }

    /// The result: the value itself where there is one output, otherwise an object of them.
    pub fn result_schema(&self) -> Json {
        match self.outputs.as_slice() {
            [only] => interface_schema(only),
            outputs => Json::Object(object_of(outputs)),
        }
    }
}

fn object_of(slots: &[InterfaceSlot]) -> Map<String, Json> {
    let properties = slots
        .iter()
        .map(|slot| (slot.key.clone(), interface_schema(slot)));
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    let properties = Json::Object(properties.collect());
    schema.insert("properties".to_owned(), properties);
    schema
}

fn interface_schema(slot: &InterfaceSlot) -> Json {
    let description = slot.description.as_deref().filter(|text| !text.is_empty());
    let description = description.or(slot.display_name.as_deref());
    let mut config = slot.config.clone();
    for (name, bound) in [("min", slot.min), ("max", slot.max)] {
        if let Some(bound) = bound {
            config.insert(name.to_owned(), super::write::number(bound));
        }
    }
    slot_schema(
        slot.flow,
        slot.multi,
        description,
        &slot.match_categories,
        &config,
    )
}

/// The schema of one slot, of a workflow's interface or of a node.
pub fn slot_schema(
    flow: DataFlowType,
    multi: bool,
    description: Option<&str>,
    match_categories: &[String],
    config: &Map<String, Json>,
) -> Json {
    let mut one = Map::new();
    if let Some(name) = type_name(flow) {
        one.insert("type".to_owned(), json!(name));
    }
    let choices = choices(match_categories, config);
    if !choices.is_empty() {
        one.insert("enum".to_owned(), Json::Array(choices));
    }
    if matches!(flow, DataFlowType::Integer | DataFlowType::Float) {
        for (name, keyword) in [("min", "minimum"), ("max", "maximum")] {
            if let Some(bound) = config.get(name).filter(|bound| bound.is_number()) {
                one.insert(keyword.to_owned(), bound.clone());
            }
        }
    }
    let mut schema = match multi {
        false => one,
        true => {
            let mut list = Map::new();
            list.insert("type".to_owned(), json!("array"));
            list.insert("items".to_owned(), Json::Object(one));
            list
        }
    };
    if let Some(description) = description.filter(|text| !text.is_empty()) {
        schema.insert("description".to_owned(), json!(description));
    }
    let fits = |value: &&Json| match multi {
        true => value.is_array(),
        false => flow.accepts(value),
    };
    if let Some(value) = default(config).filter(fits) {
        schema.insert("default".to_owned(), value.clone());
    }
    Json::Object(schema)
}

fn type_name(flow: DataFlowType) -> Option<&'static str> {
    match flow {
        DataFlowType::String | DataFlowType::Binary => Some("string"),
        DataFlowType::Integer => Some("integer"),
        DataFlowType::Float => Some("number"),
        DataFlowType::Boolean => Some("boolean"),
        DataFlowType::Object => Some("object"),
        DataFlowType::Array => Some("array"),
        DataFlowType::Wildcard | DataFlowType::ConvertibleAny => None,
    }
}

fn default(config: &Map<String, Json>) -> Option<&Json> {
    config.get("default").filter(|value| !value.is_null())
}

/// Each once, as the schema wants it: suggestions are values, or objects with a value and a label.
fn choices(match_categories: &[String], config: &Map<String, Json>) -> Vec<Json> {
    let mut choices: Vec<Json> = Vec::new();
    if !match_categories.iter().any(|category| category == CHOICE) {
        return choices;
    }
    let suggestions = config.get("suggestions").and_then(Json::as_array);
    // With so many of them, a model is better off with none.
    let suggestions = suggestions.filter(|all| all.len() <= MAX_CHOICES);
    for suggestion in suggestions.into_iter().flatten() {
        let value = suggestion.get("value").unwrap_or(suggestion);
        if !choices.contains(value) {
            choices.push(value.clone());
        }
    }
    choices
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
