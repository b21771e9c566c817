//! JSON Schema as far as a provider understands it.
//!
//! What it does not understand is left out, and told in a description where the model can use it. The platform checks
//! arguments against the whole schema anyway; this is only what the model is shown. The order of properties is kept.

mod flat;
mod gemini;

use serde_json::{Map, Value as Json, json};

use self::flat::{Flat, Walk};
pub(super) use self::gemini::gemini_parameters;

/// Formats of a text that Anthropic holds an answer to.
const HELD_FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// The `input_schema` of a tool. Anthropic reads nearly all of JSON Schema, except that the outermost must plainly be
/// an object.
pub(super) fn anthropic_input(schema: &Json) -> Json {
    let Some(fields) = schema.as_object() else {
        return json!({"type": "object", "properties": {}});
    };
    let chooses = ["$ref", "allOf", "anyOf", "oneOf"];
    let flat = match chooses.iter().any(|key| fields.contains_key(*key)) {
        true => Walk::new(schema).root(),
        false => Flat::of(fields),
    };
    let mut out = Map::new();
    out.insert("type".into(), json!("object"));
    for (key, value) in &flat.fields {
        if !matches!(*key, "type" | "$schema" | "$id" | "anyOf" | "oneOf") {
            out.insert((*key).to_owned(), (*value).clone());
        }
    }
    let properties: Map<String, Json> = flat
        .properties
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), (*schema).clone()))
        .collect();
    out.insert("properties".into(), Json::Object(properties));
    if !flat.required.is_empty() {
        out.insert("required".into(), json!(flat.required));
    }
    Json::Object(out)
}

/// The schema that Anthropic holds a whole answer to: `$ref`s written out, every object closed, no bounds on numbers,
/// lengths and counts.
pub(super) fn anthropic_output(schema: &Json) -> Json {
    held(&mut Walk::new(schema), schema, 0)
}

fn held<'s>(walk: &mut Walk<'s>, schema: &'s Json, depth: usize) -> Json {
    let opened = walk.opened();
    let out = match walk.enter(schema, depth) {
        Some(flat) => held_fields(walk, &flat, depth),
        None => json!({"type": "object", "properties": {}, "additionalProperties": false}),
    };
    walk.close(opened);
    out
}

fn held_fields<'s>(walk: &mut Walk<'s>, flat: &Flat<'s>, depth: usize) -> Json {
    let mut out = Map::new();
    for (key, value) in &flat.fields {
        let value = match (*key, *value) {
            ("type" | "title" | "description" | "enum" | "const" | "default", value) => {
                value.clone()
            }
            ("format", Json::String(format)) if HELD_FORMATS.contains(&format.as_str()) => {
                json!(format)
            }
            ("minItems", value) if value.as_u64().is_some_and(|count| count <= 1) => value.clone(),
            ("items", value @ Json::Object(_)) => held(walk, value, depth + 1),
            ("anyOf" | "oneOf", Json::Array(branches)) => {
                let branches = branches.iter().map(|branch| held(walk, branch, depth + 1));
                out.insert("anyOf".into(), branches.collect());
                continue;
            }
            _ => continue,
        };
        out.insert((*key).to_owned(), value);
    }
    let object = json!("object");
    let is_object = match out.get("type") {
        Some(Json::Array(kinds)) => kinds.contains(&object),
        Some(kind) => *kind == object,
        None => !flat.properties.is_empty() || flat.cut,
    };
    if is_object {
        out.entry("type").or_insert(object);
        let properties: Map<String, Json> = flat
            .properties
            .iter()
            .map(|(name, schema)| ((*name).to_owned(), held(walk, schema, depth + 1)))
            .collect();
        out.insert("properties".into(), Json::Object(properties));
        if !flat.required.is_empty() {
            out.insert("required".into(), json!(flat.required));
        }
        out.insert("additionalProperties".into(), json!(false));
    }
    Json::Object(out)
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
