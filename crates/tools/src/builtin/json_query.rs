//! `Json.Query`: parts of a JSON value, by JSONPath (RFC 9535) or JSON Pointer (RFC 6901).
//!
//! The path library has no limits of its own, and a short query can mean astronomical work. So the work is
//! estimated first (`json_query_cost.rs`), and what would not end soon is refused.

use innkeeper_protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use serde_json_path::JsonPath;

use super::Tool;
use super::declare::{Stop, compute, declare, example, words};
use crate::ToolError;
use crate::limits::{
    MAX_JSON_QUERY_BYTES, MAX_JSON_QUERY_CHARS, MAX_JSON_QUERY_DEPTH, MAX_JSON_QUERY_MATCHES,
    MAX_JSON_QUERY_NODES, MAX_JSON_QUERY_RESULT_BYTES, MAX_JSON_QUERY_WORK,
};

#[path = "json_query_cost.rs"]
mod cost;

pub fn tools() -> Vec<Tool> {
    vec![compute(definition(), query)]
}

pub fn definition() -> ToolDefinition {
    ToolDefinition {
        tags: words(&["json", "read-only"]),
        examples: example(
            "The names of all who are older than 30",
            json!({
                "json": {"people": [{"name": "Ann", "age": 41}, {"name": "Bo", "age": 7}]},
                "query": "$.people[?@.age > 30].name"
            }),
        ),
        ..declare(
            "Json.Query",
            "Query JSON",
            "Pick values out of JSON. Finding nothing is no error: count is then 0.",
            json!({
                "type": "object",
                "properties": {
                    "json": {
                        "description": "The JSON to look into, as a value or as JSON text"
                    },
                    "query": {
                        "type": "string",
                        "maxLength": MAX_JSON_QUERY_CHARS,
                        "description": "A JSONPath like '$.items[0].name', '$..price' or '$.items[?@.age > 30]'; or a JSON Pointer like '/items/0/name'"
                    }
                },
                "required": ["json", "query"],
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "matches": {"type": "array", "description": "The values found, in order"},
                    "count": {"type": "integer", "description": "How many were found"},
                    "truncated": {"type": "boolean", "description": "More were found than are listed"}
                },
                "required": ["matches", "count", "truncated"],
                "additionalProperties": false
            }),
        )
    }
}

#[derive(Deserialize)]
struct Arguments {
    json: Json,
    query: String,
}

fn query(Arguments { json, query }: Arguments, stop: &Stop) -> Result<Json, ToolError> {
    let json = match json {
        Json::String(text) => read(&text)?,
        json => json,
    };
    let size = Size::of(&json)?;
    stop.check()?;
    let found = match query.trim() {
        pointer if pointer.is_empty() || pointer.starts_with('/') => {
            check_pointer(pointer)?;
            json.pointer(pointer).into_iter().collect()
        }
        path => follow(path, &json, size)?,
    };
    let mut matches = Vec::new();
    let mut room = MAX_JSON_QUERY_RESULT_BYTES;
    for &value in found.iter().take(MAX_JSON_QUERY_MATCHES) {
        let Some(left) = room.checked_sub(Size::of(value)?.bytes) else {
            break;
        };
        room = left;
        matches.push(value.clone());
    }
    Ok(json!({
        "count": found.len(),
        "truncated": matches.len() < found.len(),
        "matches": matches,
    }))
}

fn read(text: &str) -> Result<Json, ToolError> {
    if text.len() > MAX_JSON_QUERY_BYTES {
        return Err(too_large());
    }
    serde_json::from_str(text).map_err(|error| {
        ToolError::invalid(format!("'json' is text that is no JSON: {error}"))
            .because("json.invalid")
            .permanent()
    })
}

fn follow<'j>(path: &str, json: &'j Json, size: Size) -> Result<Vec<&'j Json>, ToolError> {
    let wrong = |why: String| {
        ToolError::invalid(format!("'{path}' is no JSONPath: {why}"))
            .because("json.invalid_query")
            .permanent()
    };
    if !path.starts_with('$') {
        let meant = match path.starts_with('[') {
            true => format!("${path}"),
            false => format!("$.{path}"),
        };
        return Err(wrong(format!(
            "at position 1, a path begins with '$'; did you mean '{meant}'?"
        )));
    }
    let work = cost::estimate(path, size.nodes, size.depth).map_err(wrong)?;
    let parsed = JsonPath::parse(path).map_err(|error| {
        wrong(format!(
            "at position {}, {}",
            error.position(),
            error.message()
        ))
    })?;
    if work > MAX_JSON_QUERY_WORK {
        return Err(ToolError::invalid(format!(
            "'{path}' could take too long on this JSON; use fewer '..', '*' and filters within filters, or first pick a smaller part"
        ))
        .because("json.query_too_costly")
        .permanent());
    }
    Ok(parsed.query(json).all())
}

fn check_pointer(pointer: &str) -> Result<(), ToolError> {
    let mut characters = pointer.chars().enumerate();
    while let Some((at, character)) = characters.next() {
        let escaped = character == '~';
        if escaped && !matches!(characters.next(), Some((_, '0' | '1'))) {
            return Err(ToolError::invalid(format!(
                "'{pointer}' is no JSON Pointer: at position {}, '~' must be followed by 0 or 1",
                at + 1
            ))
            .because("json.invalid_query")
            .permanent());
        }
    }
    Ok(())
}

fn too_large() -> ToolError {
    ToolError::invalid(format!(
        "The JSON is too large to look into: at most {MAX_JSON_QUERY_BYTES} bytes, {MAX_JSON_QUERY_NODES} values and {MAX_JSON_QUERY_DEPTH} levels"
    ))
    .because("json.too_large")
    .permanent()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    nodes: usize,
    depth: usize,
    /// About as many as it has written down.
    bytes: usize,
}

impl Size {
    fn of(json: &Json) -> Result<Self, ToolError> {
        let mut size = Self {
            nodes: 0,
            depth: 0,
            bytes: 0,
        };
        let mut open = vec![(json, 1)];
        while let Some((value, depth)) = open.pop() {
            size.nodes += 1;
            size.depth = size.depth.max(depth);
            size.bytes += 4;
            match value {
                Json::String(text) => size.bytes += text.len(),
                Json::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
                Json::Object(fields) => {
                    for (name, field) in fields {
                        size.bytes += name.len() + 4;
                        open.push((field, depth + 1));
                    }
                }
                Json::Null | Json::Bool(_) | Json::Number(_) => {}
            }
            if size.nodes > MAX_JSON_QUERY_NODES
                || size.depth > MAX_JSON_QUERY_DEPTH
                || size.bytes > MAX_JSON_QUERY_BYTES
            {
                return Err(too_large());
            }
        }
        Ok(size)
    }
}

#[cfg(test)]
#[path = "json_query_tests.rs"]
mod tests;
