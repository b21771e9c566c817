//! JSON Schema as far as a provider understands it.
//!
//! What it does not understand is left out, and told in a description where the model can use it. The platform checks
//! arguments against the whole schema anyway; this is only what the model is shown. The order of properties is kept.

mod flat;
mod gemini;
mod strict;

use serde_json::{Map, Value as Json, json};

use self::flat::{Flat, Walk};
pub(super) use self::gemini::gemini_parameters;
pub(super) use self::strict::is_strict;

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
/// lengths and counts. An object that lives of names it does not tell would be closed to `{}`: the error is its place.
pub(super) fn anthropic_output(schema: &Json) -> Result<Json, String> {
    held(&mut Walk::new(schema), schema, 0).map_err(|place| format!("${place}"))
}

fn held<'s>(walk: &mut Walk<'s>, schema: &'s Json, depth: usize) -> Result<Json, String> {
    let opened = walk.opened();
    let out = match walk.enter(schema, depth) {
        Some(flat) => held_fields(walk, &flat, depth)?,
        None if !schema.is_object() && depth == 0 => return Err(String::new()),
        None if !schema.is_object() => json!({}),
        None => json!({"type": "object", "properties": {}, "additionalProperties": false}),
    };
    walk.close(opened);
    Ok(out)
}

fn held_fields<'s>(walk: &mut Walk<'s>, flat: &Flat<'s>, depth: usize) -> Result<Json, String> {
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
            ("items", value @ Json::Object(_)) => {
                held(walk, value, depth + 1).map_err(|place| format!(".items{place}"))?
            }
            (key @ ("anyOf" | "oneOf"), Json::Array(branches)) => {
                let branch = |(at, branch): (usize, &'s Json)| {
                    held(walk, branch, depth + 1).map_err(|place| format!(".{key}[{at}]{place}"))
                };
                let branches = branches.iter().enumerate().map(branch);
                out.insert("anyOf".into(), branches.collect::<Result<_, _>>()?);
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
        if is_open(flat) {
            return Err(String::new());
        }
        out.entry("type").or_insert(object);
        let mut properties = Map::new();
        for (name, schema) in &flat.properties {
            let schema = held(walk, schema, depth + 1);
            let schema = schema.map_err(|place| format!(".{name}{place}"))?;
            properties.insert((*name).to_owned(), schema);
        }
        out.insert("properties".into(), Json::Object(properties));
        if !flat.required.is_empty() {
            out.insert("required".into(), json!(flat.required));
        }
        out.insert("additionalProperties".into(), json!(false));
    }
    Ok(Json::Object(out))
}

/// One that merely allows more than it names can be closed: what is written still fits.
fn is_open(flat: &Flat<'_>) -> bool {
    let more = flat.get("additionalProperties");
    let is_map = more
        .and_then(Json::as_object)
        .is_some_and(|more| !more.is_empty())
        || flat.get("patternProperties").is_some();
    let chooses = flat.get("anyOf").or(flat.get("oneOf")).is_some();
    let names_nothing = flat.properties.is_empty() && !chooses && !flat.cut;
    is_map || (names_nothing && more != Some(&Json::Bool(false)))
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
