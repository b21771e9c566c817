//! The part of OpenAPI that every Gemini takes in `parameters`.

use serde_json::{Map, Value as Json, json};

use super::flat::{Flat, Walk};

const KINDS: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];
/// Said of what cannot be put into words there.
const ANYTHING: &str = "any JSON value, written as text";
const AN_OBJECT: &str = "a JSON object, written as text";

/// `None` where the tool takes nothing: an object without properties is refused.
pub(in crate::wire) fn gemini_parameters(schema: &Json) -> Option<Json> {
    let mut walk = Walk::new(schema);
    let flat = walk.root();
    let Json::Object(out) = of_kind(&mut walk, &flat, "object", 0) else {
        return None;
    };
    out.contains_key("properties").then_some(Json::Object(out))
}

fn clean<'s>(walk: &mut Walk<'s>, schema: &'s Json, depth: usize) -> Json {
    let opened = walk.opened();
    let out = match walk.enter(schema, depth) {
        Some(flat) => fields(walk, &flat, depth),
        None => json!({"type": "string", "description": ANYTHING}),
    };
    walk.close(opened);
    out
}

fn fields<'s>(walk: &mut Walk<'s>, flat: &Flat<'s>, depth: usize) -> Json {
    if let Some(chosen) = choice(walk, flat, depth) {
        return chosen;
    }
    let (kinds, nullable) = kinds(flat);
    let mut cleaned: Vec<Json> = kinds
        .iter()
        .map(|kind| of_kind(walk, flat, kind, depth))
        .collect();
    let mut out = match cleaned.len() {
        1 => cleaned.pop().unwrap_or_default(),
        _ => json!({"anyOf": cleaned}),
    };
    if nullable {
        make_nullable(&mut out);
    }
    out
}

/// `anyOf` and `oneOf`, where nothing beside them says what it is: `anyOf` must stand alone.
fn choice<'s>(walk: &mut Walk<'s>, flat: &Flat<'s>, depth: usize) -> Option<Json> {
    if flat.get("type").is_some() || !flat.properties.is_empty() {
        return None;
    }
    let branches = flat.get("anyOf").or(flat.get("oneOf"))?.as_array()?;
    let is_null = |branch: &&Json| branch.get("type").is_some_and(|kind| kind == "null");
    let nullable = branches.iter().any(|branch| is_null(&branch));
    let mut cleaned: Vec<Json> = branches
        .iter()
        .filter(|branch| !is_null(branch))
        .map(|branch| clean(walk, branch, depth + 1))
        .collect();
    if let Some(description) = flat.get("description") {
        let only = cleaned.len() == 1;
        for branch in cleaned.iter_mut().filter_map(Json::as_object_mut) {
            // Of two that are left, each is told apart by its own.
            if only || !branch.contains_key("description") {
                branch.insert("description".into(), description.clone());
            }
        }
    }
    let mut out = match cleaned.len() {
        0 => return None,
        1 => cleaned.pop()?,
        _ => json!({"anyOf": cleaned}),
    };
    if nullable {
        make_nullable(&mut out);
    }
    Some(out)
}

fn make_nullable(schema: &mut Json) {
    match schema.get_mut("anyOf").and_then(Json::as_array_mut) {
        Some(branches) => branches.iter_mut().for_each(make_nullable),
        None => {
            if let Some(fields) = schema.as_object_mut() {
                fields.insert("nullable".into(), json!(true));
            }
        }
    }
}

/// What it may be, and whether `null` too. At least one.
fn kinds(flat: &Flat<'_>) -> (Vec<&'static str>, bool) {
    let named: Vec<&str> = match flat.get("type") {
        Some(Json::String(kind)) => vec![kind],
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    let nullable = named.contains(&"null") || flat.get("nullable") == Some(&json!(true));
    let mut kinds: Vec<&'static str> = KINDS
        .into_iter()
        .filter(|kind| named.iter().any(|named| named.eq_ignore_ascii_case(kind)))
        .collect();
    if kinds.is_empty() {
        let has = |keys: &[&str]| keys.iter().any(|key| flat.get(key).is_some());
        kinds.push(match () {
            () if !flat.properties.is_empty() || flat.cut => "object",
            () if has(&["additionalProperties", "patternProperties"]) => "object",
            () if has(&["items", "prefixItems", "minItems", "maxItems"]) => "array",
            () if has(&["minimum", "maximum", "multipleOf"]) => "number",
            () => match flat.get("const").or_else(|| flat.get("enum")?.get(0)) {
                Some(Json::Bool(_)) => "boolean",
                Some(Json::Number(number)) if number.is_f64() => "number",
                Some(Json::Number(_)) => "integer",
                _ => "string",
            },
        });
    }
    (kinds, nullable)
}

fn of_kind<'s>(walk: &mut Walk<'s>, flat: &Flat<'s>, kind: &str, depth: usize) -> Json {
    let mut out = Map::new();
    out.insert("type".into(), json!(kind));
    let mut notes = Vec::new();
    match kind {
        "object" if flat.properties.is_empty() => {
            out.insert("type".into(), json!("string"));
            notes.push(AN_OBJECT.to_owned());
        }
        "object" => object(walk, flat, depth, &mut out),
        "array" => {
            let items = flat.get("items").filter(|items| items.is_object());
            let items = items.or_else(|| flat.get("prefixItems")?.get(0));
            let items = match items {
                Some(items) => clean(walk, items, depth + 1),
                None => json!({"type": "string", "description": ANYTHING}),
            };
            out.insert("items".into(), items);
            keep(flat, &["minItems", "maxItems"], Json::is_u64, &mut out);
        }
        "string" => {
            keep(flat, &["minLength", "maxLength"], Json::is_u64, &mut out);
            keep(flat, &["pattern"], Json::is_string, &mut out);
            keep(flat, &["format"], |format| format == "date-time", &mut out);
        }
        "integer" | "number" => {
            let known = |format: &Json| {
                matches!(
                    format.as_str(),
                    Some("float" | "double" | "int32" | "int64")
                )
            };
            keep(flat, &["format"], known, &mut out);
            keep(flat, &["minimum", "maximum"], Json::is_number, &mut out);
        }
        _ => {}
    }
    values(flat, kind, &mut out, &mut notes);
    describe(flat, notes, &mut out);
    Json::Object(out)
}

fn object<'s>(walk: &mut Walk<'s>, flat: &Flat<'s>, depth: usize, out: &mut Map<String, Json>) {
    let properties: Map<String, Json> = flat
        .properties
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), clean(walk, schema, depth + 1)))
        .collect();
    // A name that is required but not there is refused.
    let required: Vec<&str> = flat
        .required
        .iter()
        .copied()
        .filter(|name| properties.contains_key(*name))
        .collect();
    out.insert("properties".into(), Json::Object(properties));
    if !required.is_empty() {
        out.insert("required".into(), json!(required));
    }
}

fn keep(flat: &Flat<'_>, keys: &[&str], fits: impl Fn(&Json) -> bool, out: &mut Map<String, Json>) {
    for key in keys {
        if let Some(value) = flat.get(key).filter(|value| fits(value)) {
            out.insert((*key).to_owned(), value.clone());
        }
    }
}

/// `enum` and `const`: texts are held, everything else is only told.
fn values(flat: &Flat<'_>, kind: &str, out: &mut Map<String, Json>, notes: &mut Vec<String>) {
    let values: Vec<&Json> = match (flat.get("const"), flat.get("enum")) {
        (Some(value), _) => vec![value],
        (None, Some(Json::Array(values))) => {
            values.iter().filter(|value| !value.is_null()).collect()
        }
        _ => return,
    };
    let plain = |value: &&Json| value.as_str().is_some_and(|text| !text.is_empty());
    if kind == "string" && !values.is_empty() && values.iter().all(plain) {
        out.insert("enum".into(), json!(values));
    } else if !values.is_empty() {
        let values: Vec<String> = values.iter().map(|value| value.to_string()).collect();
        notes.push(format!("one of {}", values.join(", ")));
    }
}

fn describe(flat: &Flat<'_>, mut notes: Vec<String>, out: &mut Map<String, Json>) {
    if flat.cut {
        notes.push("of the same shape as what it is in".to_owned());
    }
    let description = flat.get("description").and_then(Json::as_str);
    let said = match (description.unwrap_or_default(), notes.join("; ")) {
        ("", notes) => notes,
        (description, notes) if notes.is_empty() => description.to_owned(),
        (description, notes) => format!("{description} ({notes})"),
    };
    if !said.is_empty() {
        out.insert("description".into(), json!(said));
    }
}
