//! Whether OpenAI can hold an answer to a schema to the letter.

use serde_json::{Map, Value as Json};

use crate::limits::MAX_SCHEMA_DEPTH;

/// What its strict form does not take, wherever it stands.
const NOT_TAKEN: [&str; 11] = [
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
];

/// `strict` is refused for a schema that does not fit it: the outermost is an object, every object is closed, and all
/// that it names is required.
pub(in crate::wire) fn is_strict(schema: &Json) -> bool {
    let Some(fields) = schema.as_object() else {
        return false;
    };
    fields.get("type").is_some_and(|kind| kind == "object")
        && !fields.contains_key("anyOf")
        && fits(schema, 0)
}

fn fits(schema: &Json, depth: usize) -> bool {
    let Some(fields) = schema.as_object().filter(|_| depth <= MAX_SCHEMA_DEPTH) else {
        return false;
    };
    let all = |value: &Json| match value {
        Json::Object(named) => named.values().all(|schema| fits(schema, depth + 1)),
        Json::Array(list) => list.iter().all(|schema| fits(schema, depth + 1)),
        _ => false,
    };
    // It must know what stands there.
    let says = ["type", "$ref", "anyOf", "enum", "const"];
    says.iter().any(|name| fields.contains_key(*name))
        && !NOT_TAKEN.iter().any(|name| fields.contains_key(*name))
        && (!is_object(fields) || is_closed(fields))
        && fields.iter().all(|(name, value)| match name.as_str() {
            "properties" | "$defs" | "definitions" | "anyOf" => all(value),
            "items" => fits(value, depth + 1),
            _ => true,
        })
}

fn is_object(fields: &Map<String, Json>) -> bool {
    let named = |kind: &Json| kind == "object";
    let by_type = match fields.get("type") {
        Some(Json::Array(kinds)) => kinds.iter().any(named),
        Some(kind) => named(kind),
        None => false,
    };
    by_type || fields.contains_key("properties")
}

fn is_closed(fields: &Map<String, Json>) -> bool {
    let required = fields.get("required").and_then(Json::as_array);
    let is_required = |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = fields.get("properties").and_then(Json::as_object);
    fields.get("additionalProperties") == Some(&Json::Bool(false))
        && properties.is_some_and(|properties| properties.keys().all(is_required))
}
