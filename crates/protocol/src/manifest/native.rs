//! Declarations in the shape of each provider, with the schema cleaned of what the provider refuses.

use serde_json::{Map, Value as Json, json};

use super::shape::kind_of;
use crate::defuse::capped;
use crate::limits::{
    MAX_CLEANED_SCHEMA_DEPTH, MAX_CLEANED_SCHEMA_NODES, MAX_DESCRIPTION_CHARS, MAX_REFERENCE_HOPS,
};
use crate::reference::resolved;
use crate::{Aliases, Provider, ToolDefinition};

/// Always an array; empty without tools.
pub(super) fn declarations(
    tools: &[&ToolDefinition],
    provider: Provider,
    aliases: &Aliases,
) -> Json {
    let declared: Vec<Json> = tools
        .iter()
        .map(|tool| declaration(tool, provider, aliases))
        .collect();
    match provider {
        Provider::Gemini if !declared.is_empty() => json!([{ "functionDeclarations": declared }]),
        _ => Json::Array(declared),
    }
}

fn declaration(tool: &ToolDefinition, provider: Provider, aliases: &Aliases) -> Json {
    let name = aliases.alias_of(&tool.id);
    let description = capped(&tool.description, MAX_DESCRIPTION_CHARS);
    let renamed = renamed(tool, aliases);
    match provider {
        Provider::OpenAi => json!({
            "type": "function",
            "function": {"name": name, "description": description, "parameters": tidy_root(&renamed)},
        }),
        Provider::Anthropic => json!({
            "name": name, "description": description, "input_schema": tidy_root(&renamed),
        }),
        Provider::Gemini => {
            let mut declared = json!({"name": name, "description": description});
            let parameters = Gemini::new(&renamed).schema(&renamed, 0, 0);
            // An object without properties is refused there: such a function has no `parameters`.
            let empty = parameters.get("properties").and_then(Json::as_object);
            if let (Some(fields), Some(declared)) = (empty, declared.as_object_mut())
                && !fields.is_empty()
            {
                declared.insert("parameters".into(), parameters);
            }
            declared
        }
    }
}

/// The schema with parameters under the names that the provider takes.
fn renamed(tool: &ToolDefinition, aliases: &Aliases) -> Json {
    let mut schema = match &tool.parameters {
        Json::Object(schema) => schema.clone(),
        _ => Map::new(),
    };
    let properties: Map<String, Json> = tool
        .properties()
        .map(|(name, property)| {
            let name = aliases.parameter_alias(&tool.id, name);
            (name.to_owned(), property.clone())
        })
        .collect();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Json::Object(properties));
    for merged in ["$ref", "allOf"] {
        schema.remove(merged);
    }
    let wanted = tool.required();
    let required: Vec<Json> = tool
        .properties()
        .filter(|(name, _)| wanted.contains(name))
        .map(|(name, _)| aliases.parameter_alias(&tool.id, name).into())
        .collect();
    if required.is_empty() {
        schema.remove("required");
    } else {
        schema.insert("required".into(), Json::Array(required));
    }
    Json::Object(schema)
}

/// OpenAI and Anthropic take JSON Schema, but no alternatives at the top.
fn tidy_root(schema: &Json) -> Json {
    let mut schema = tidy(schema, 0);
    if let Some(fields) = schema.as_object_mut() {
        for refused in ["anyOf", "oneOf", "allOf", "not", "enum"] {
            fields.remove(refused);
        }
    }
    schema
}

/// Without the document's own address, and without our own remarks.
fn tidy(schema: &Json, level: usize) -> Json {
    if level > MAX_CLEANED_SCHEMA_DEPTH {
        return json!({});
    }
    let Json::Object(fields) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    for (key, value) in fields {
        let value = match key.as_str() {
            "$schema" | "$id" => continue,
            key if key.starts_with("x-") => continue,
            // Keys below these are names, not keywords: a parameter may be called `$id`.
            "properties" | "$defs" | "definitions" | "patternProperties" => {
                each(value, |schema| tidy(schema, level + 1))
            }
            "default" | "enum" | "const" | "examples" | "required" => value.clone(),
            _ => match value {
                Json::Array(branches) => branches
                    .iter()
                    .map(|branch| tidy(branch, level + 1))
                    .collect(),
                other => tidy(other, level + 1),
            },
        };
        out.insert(key.clone(), value);
    }
    Json::Object(out)
}

fn each(value: &Json, change: impl Fn(&Json) -> Json) -> Json {
    match value {
        Json::Object(fields) => fields
            .iter()
            .map(|(name, schema)| (name.clone(), change(schema)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// Gemini knows a small part of OpenAPI's schema: what is not in it is left out, references are written out,
/// and of alternatives the first that is not `null` is taken.
struct Gemini<'s> {
    root: &'s Json,
    /// A schema that refers to itself would be written out without end.
    nodes_left: usize,
}

impl<'s> Gemini<'s> {
    fn new(root: &'s Json) -> Self {
        Self {
            root,
            nodes_left: MAX_CLEANED_SCHEMA_NODES,
        }
    }

    /// `hops`: references written out on the way here.
    fn schema(&mut self, written: &'s Json, level: usize, hops: usize) -> Json {
        let (schema, null) = self.chosen(written);
        let hops = hops + usize::from(!std::ptr::eq(schema, written));
        self.nodes_left = self.nodes_left.saturating_sub(1);
        if self.nodes_left == 0 || level > MAX_CLEANED_SCHEMA_DEPTH || hops > MAX_REFERENCE_HOPS {
            return json!({"type": "string"});
        }
        let (kind, nullable) = gemini_type(schema);
        let mut out = Map::new();
        out.insert("type".into(), kind.into());
        if let Some(text) = written.get("description").or(schema.get("description")) {
            out.insert("description".into(), text.clone());
        }
        if nullable || null {
            out.insert("nullable".into(), true.into());
        }
        let copied: &[&str] = match kind {
            "string" => &["minLength", "maxLength", "pattern"],
            "integer" | "number" => &["minimum", "maximum"],
            "array" => &["minItems", "maxItems"],
            _ => &[],
        };
        for &field in copied {
            if let Some(value) = schema.get(field) {
                out.insert(field.into(), value.clone());
            }
        }
        match kind {
            "string" => gemini_string(schema, &mut out),
            "array" => {
                let items = schema.get("items").filter(|items| items.is_object());
                let items = match items {
                    Some(items) => self.schema(items, level + 1, hops),
                    None => json!({"type": "string"}),
                };
                out.insert("items".into(), items);
            }
            "object" => self.object(schema, level, hops, &mut out),
            _ => {}
        }
        Json::Object(out)
    }

    fn object(&mut self, schema: &'s Json, level: usize, hops: usize, out: &mut Map<String, Json>) {
        let mut properties = Map::new();
        let declared = schema.get("properties").and_then(Json::as_object);
        for (name, schema) in declared.into_iter().flatten() {
            properties.insert(name.clone(), self.schema(schema, level + 1, hops));
        }
        if properties.is_empty() && level > 0 {
            // An object without known fields is refused; as text it can still be handed over.
            out.insert("type".into(), "string".into());
            return;
        }
        // Only at the top: nested requirements are refused by some versions.
        if level == 0
            && let Some(Json::Array(required)) = schema.get("required")
        {
            let is_known = |name: &&Json| {
                name.as_str()
                    .is_some_and(|name| properties.contains_key(name))
            };
            let known: Vec<_> = required.iter().filter(is_known).cloned().collect();
            if !known.is_empty() {
                out.insert("required".into(), known.into());
            }
        }
        out.insert("properties".into(), Json::Object(properties));
    }

    /// Behind references and alternatives; and whether one of these allows `null`.
    fn chosen(&self, written: &'s Json) -> (&'s Json, bool) {
        let schema = resolved(written, self.root);
        if schema.get("type").is_some() {
            return (schema, false);
        }
        let is_null = |branch: &Json| branch.get("type").is_some_and(|kind| kind == "null");
        for field in ["anyOf", "oneOf", "allOf"] {
            if let Some(branches) = schema.get(field).and_then(Json::as_array)
                && let Some(branch) = branches.iter().find(|branch| !is_null(branch))
            {
                return (resolved(branch, self.root), branches.iter().any(is_null));
            }
        }
        (schema, false)
    }
}

fn gemini_type(schema: &Json) -> (&str, bool) {
    match schema.get("type") {
        Some(Json::String(kind)) if kind != "null" => (kind.as_str(), false),
        Some(Json::Array(kinds)) => {
            let first = kinds
                .iter()
                .filter_map(Json::as_str)
                .find(|kind| *kind != "null");
            let null = kinds.iter().any(|kind| kind == "null");
            (first.unwrap_or("string"), null)
        }
        _ if schema.get("properties").is_some() => ("object", false),
        _ if schema.get("items").is_some() => ("array", false),
        _ => {
            let first = schema.get("enum").and_then(|choices| choices.get(0));
            let kind = first.or(schema.get("const")).map_or("string", kind_of);
            (if kind == "null" { "string" } else { kind }, false)
        }
    }
}

fn gemini_string(schema: &Json, out: &mut Map<String, Json>) {
    // Only strings can be enumerated, and none may be empty.
    let choices = match (schema.get("enum"), schema.get("const")) {
        (Some(Json::Array(choices)), _) => choices.clone(),
        (_, Some(value)) => vec![value.clone()],
        _ => Vec::new(),
    };
    let fits = |choice: &Json| choice.as_str().is_some_and(|text| !text.is_empty());
    if !choices.is_empty() && choices.iter().all(fits) {
        out.insert("enum".into(), choices.into());
    }
    if schema
        .get("format")
        .is_some_and(|format| format == "date-time")
    {
        out.insert("format".into(), "date-time".into());
    }
}
