//! The arguments of a call as the audit may keep them.

use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::key::normalise;
use serde_json::{Map, Value as Json};

use crate::limits::{MAX_AUDIT_DEPTH, MAX_AUDIT_TEXT_CHARS};

/// What stands in the place of a secret argument.
pub(crate) const REDACTED: &str = "[redacted]";

/// Names, in normalised form, whose values are secret: alone or as the end of a longer name (`github_token`).
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "bearer",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "secret_key",
    "signing_key",
    "encryption_key",
    "authorization",
    "authorisation",
    "credential",
    "credentials",
    "cookie",
];

/// Secret arguments become `[redacted]`, at any depth; long texts are cut, with a note. Secret is what is declared
/// `"x-secret": true`, `"format": "password"` or `"writeOnly": true`, and what is called like a secret.
pub fn redact_arguments(
    definition: &ToolDefinition,
    arguments: &Map<String, Json>,
) -> Map<String, Json> {
    object(
        arguments,
        &[&definition.parameters],
        &definition.parameters,
        0,
    )
}

/// Whether nothing that fits this tool's parameters can be secret by its name or its declaration: then only long texts
/// need a look. True for most tools, and cheap to know beforehand.
pub(crate) fn is_plain(definition: &ToolDefinition) -> bool {
    let root = &definition.parameters;
    let only_properties = root.as_object().is_some_and(|fields| {
        fields.keys().all(|key| {
            matches!(
                key.as_str(),
                "type"
                    | "properties"
                    | "required"
                    | "additionalProperties"
                    | "description"
                    | "title"
            )
        })
    });
    only_properties
        && root.get("additionalProperties") == Some(&Json::Bool(false))
        && definition.properties().all(|(name, schema)| {
            let kind = schema.get("type").and_then(Json::as_str);
            let is_scalar = matches!(kind, Some("string" | "integer" | "number" | "boolean"));
            let is_header = matches!(name, "name" | "key" | "header" | "value");
            is_scalar && !is_header && !is_secret(schema) && !sounds_secret(name)
        })
}

/// The same as [`redact_arguments`] for a tool that is plain.
pub(crate) fn cut_arguments(arguments: &Map<String, Json>) -> Map<String, Json> {
    let one = |(name, value): (&String, &Json)| {
        let value = match value {
            Json::String(text) => Json::String(cut(text)),
            other => other.clone(),
        };
        (name.clone(), value)
    };
    arguments.iter().map(one).collect()
}

/// `schemas` are all that may describe the value: with `anyOf` and the like there can be several.
fn value(value: &Json, schemas: &[&Json], root: &Json, depth: usize) -> Json {
    if depth > MAX_AUDIT_DEPTH {
        return Json::from("[nested too deeply to be kept]");
    }
    match value {
        Json::String(text) => Json::String(cut(text)),
        Json::Array(items) => {
            let inner = under(schemas, root, |schema| {
                let each = ["items", "contains"]
                    .iter()
                    .filter_map(|key| schema.get(key));
                each.chain(list(schema, "prefixItems")).collect()
            });
            let item = |item| self::value(item, &inner, root, depth + 1);
            items.iter().map(item).collect()
        }
        Json::Object(map) => Json::Object(object(map, schemas, root, depth)),
        other => other.clone(),
    }
}

fn object(
    map: &Map<String, Json>,
    schemas: &[&Json],
    root: &Json,
    depth: usize,
) -> Map<String, Json> {
    // `{"name": "Authorization", "value": "…"}`: a header in a list.
    let named_secret = ["name", "key", "header"]
        .iter()
        .filter_map(|key| map.get(*key)?.as_str())
        .any(sounds_secret);
    let one = |(key, inner): (&String, &Json)| {
        let declared = under(schemas, root, |schema| {
            let properties = schema.get("properties").and_then(|all| all.get(key));
            let others = schema.get("additionalProperties");
            properties.or(others).into_iter().collect()
        });
        let hide = sounds_secret(key)
            || (named_secret && key == "value")
            || declared.iter().any(|schema| is_secret(schema));
        let inner = match hide {
            true => Json::from(REDACTED),
            false => value(inner, &declared, root, depth + 1),
        };
        (cut(key), inner)
    };
    map.iter().map(one).collect()
}

fn sounds_secret(name: &str) -> bool {
    let name = normalise(name);
    SECRET_NAMES.iter().any(|secret| {
        name.strip_suffix(secret)
            .is_some_and(|before| before.is_empty() || before.ends_with('_'))
    })
}

fn is_secret(schema: &Json) -> bool {
    schema.get("x-secret") == Some(&Json::Bool(true))
        || schema.get("writeOnly") == Some(&Json::Bool(true))
        || schema.get("format").and_then(Json::as_str) == Some("password")
}

/// The schemas one step further in, each with what it refers to and what it is put together from.
fn under<'s>(
    schemas: &[&'s Json],
    root: &'s Json,
    step: impl Fn(&'s Json) -> Vec<&'s Json>,
) -> Vec<&'s Json> {
    let outer = schemas.iter().flat_map(|schema| spread(schema, root));
    let inner: Vec<_> = outer.flat_map(step).collect();
    inner
        .into_iter()
        .flat_map(|schema| spread(schema, root))
        .take(MAX_PARTS)
        .collect()
}

/// A schema that refers to itself must come to an end.
const MAX_PARTS: usize = 64;

fn spread<'s>(schema: &'s Json, root: &'s Json) -> Vec<&'s Json> {
    let mut parts: Vec<&Json> = Vec::new();
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        if parts.len() == MAX_PARTS {
            break;
        }
        if parts.iter().any(|seen| std::ptr::eq(*seen, part)) {
            continue;
        }
        parts.push(part);
        let target = part.get("$ref").and_then(Json::as_str);
        let target = target.and_then(|text| root.pointer(text.strip_prefix('#')?));
        open.extend(target);
        for key in ["allOf", "anyOf", "oneOf"] {
            open.extend(list(part, key));
        }
        open.extend(["then", "else"].iter().filter_map(|key| part.get(key)));
    }
    parts
}

fn list<'s>(schema: &'s Json, key: &str) -> impl Iterator<Item = &'s Json> {
    let items = schema.get(key).and_then(Json::as_array);
    items.into_iter().flatten()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_AUDIT_TEXT_CHARS) {
        None => text.to_owned(),
        Some((at, _)) => {
            let (kept, rest) = text.split_at(at);
            format!("{kept}… ({} more characters)", rest.chars().count())
        }
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
