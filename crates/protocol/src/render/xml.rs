//! `<ACTION>` and `<tool_call>`.
//!
//! XML text has no types. Strings, and whatever a schema gives a type to, are written as elements; a list or
//! object that would lose something that way (numbers nobody declared, `null`, nothing at all, keys that are
//! no XML names) is written as JSON text. Where even that could be read as something else (`null` for a
//! parameter that may also be a string), the call is refused.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value as Json;

use super::{
    Named, NamedArgument, RenderError, is_one_clean_line, looks_like_json, only_type, padded,
};
use crate::alias::Rule;
use crate::limits::{MAX_DEPTH, MAX_ELEMENTS};

const INDENT: &str = "    ";

pub(super) fn action(steps: &[Named<'_>]) -> Result<String, RenderError> {
    let mut out = String::from("<ACTION>\n");
    for step in steps {
        let tag = step.tool;
        if step.arguments.is_empty() {
            let _ = writeln!(out, "{INDENT}<{tag}/>");
            continue;
        }
        let _ = writeln!(out, "{INDENT}<{tag}>");
        for argument in &step.arguments {
            let value = argument.value;
            let nested = value.is_array() || value.is_object();
            if nested && reads_back(value, argument.schema) && fits(value) {
                element(&mut out, argument.name, value, 2);
            } else {
                leaf(&mut out, argument.name, &unmistakable(argument)?, 2);
            }
        }
        let _ = writeln!(out, "{INDENT}</{tag}>");
    }
    out.push_str("</ACTION>");
    Ok(out)
}

pub(super) fn tool_calls(steps: &[Named<'_>]) -> Result<String, RenderError> {
    let mut out = String::new();
    for step in steps {
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = write!(out, "<tool_call name=\"{}\"", step.tool);
        if let Some(id) = step.step.call_id {
            if !Rule::Plain.is_legal(id) {
                return Err(RenderError::IllegalName(id.to_owned()));
            }
            let _ = write!(out, " id=\"{id}\"");
        }
        out.push_str(">\n");
        for argument in &step.arguments {
            let text = unmistakable(argument)?;
            let _ = writeln!(
                out,
                "<param name=\"{}\">{}</param>",
                argument.name,
                protected(&text)
            );
        }
        out.push_str("</tool_call>");
    }
    Ok(out)
}

fn element(out: &mut String, tag: &str, value: &Json, level: usize) {
    let indent = INDENT.repeat(level);
    match value {
        Json::Array(items) => {
            let _ = writeln!(out, "{indent}<{tag}>");
            for item in items {
                element(out, "item", item, level + 1);
            }
            let _ = writeln!(out, "{indent}</{tag}>");
        }
        Json::Object(fields) => {
            let _ = writeln!(out, "{indent}<{tag}>");
            for (name, field) in fields {
                element(out, name, field, level + 1);
            }
            let _ = writeln!(out, "{indent}</{tag}>");
        }
        scalar => leaf(out, tag, &as_text(scalar), level),
    }
}

fn leaf(out: &mut String, tag: &str, text: &str, level: usize) {
    let indent = INDENT.repeat(level);
    let _ = writeln!(out, "{indent}<{tag}>{}</{tag}>", protected(text));
}

fn as_text(value: &Json) -> Cow<'_, str> {
    match value {
        Json::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// The value as text, if the schema leaves no doubt what the text stands for.
fn unmistakable<'v>(argument: &NamedArgument<'v>) -> Result<Cow<'v, str>, RenderError> {
    let clear = match (argument.value, argument.schema) {
        (_, None) => true,
        (Json::String(text), schema) => stays_string(text, schema),
        (_, Some(schema)) => takes_no_string(schema),
    };
    match clear {
        true => Ok(as_text(argument.value)),
        false => Err(RenderError::Ambiguous(argument.name.to_owned())),
    }
}

/// Text that looks like a number or a list may be taken for one where the schema allows several types.
fn stays_string(text: &str, schema: Option<&Json>) -> bool {
    let Some(schema) = schema else { return true };
    match schema.get("type") {
        Some(Json::String(kind)) => kind == "string",
        Some(Json::Array(kinds)) => {
            kinds.iter().any(|kind| kind == "string") && !looks_like_json(text)
        }
        _ => !looks_like_json(text),
    }
}

/// Where no string is allowed, text is read as what is.
fn takes_no_string(schema: &Json) -> bool {
    match schema.get("type") {
        Some(Json::String(kind)) => kind != "string",
        Some(Json::Array(kinds)) => kinds.iter().all(|kind| kind != "string"),
        _ => false,
    }
}

/// Whether the value, written as elements, is read as the same value under this schema.
fn reads_back(value: &Json, schema: Option<&Json>) -> bool {
    let kind = only_type(schema);
    match value {
        Json::Null => false,
        Json::String(text) => stays_string(text, schema),
        Json::Bool(_) => kind == Some("boolean"),
        Json::Number(_) => matches!(kind, Some("number" | "integer")),
        Json::Array(items) => {
            let schema = schema.and_then(|schema| schema.get("items"));
            matches!(kind, None | Some("array"))
                && !items.is_empty()
                && items.iter().all(|item| reads_back(item, schema))
        }
        Json::Object(fields) => {
            let properties = schema.and_then(|schema| schema.get("properties"));
            matches!(kind, None | Some("object"))
                && !fields.is_empty()
                // Children that are all `<item>` are a list.
                && !(fields.len() == 1 && fields.contains_key("item"))
                && fields.iter().all(|(name, field)| {
                    let schema = properties.and_then(|all| all.get(name));
                    Rule::Xml.is_legal(name) && reads_back(field, schema)
                })
        }
    }
}

/// The parser's own bounds on XML, with room for the rest of the block.
fn fits(value: &Json) -> bool {
    fn elements(value: &Json) -> usize {
        1 + match value {
            Json::Array(items) => items.iter().map(elements).sum(),
            Json::Object(fields) => fields.values().map(elements).sum(),
            _ => 0,
        }
    }
    super::depth(value) + 4 < MAX_DEPTH && elements(value) < MAX_ELEMENTS / 4
}

/// Element text that is read back exactly.
fn protected(text: &str) -> Cow<'_, str> {
    if is_one_clean_line(text) && !text.contains(['<', '>', '&']) {
        return Cow::Borrowed(text);
    }
    let body = match is_one_clean_line(text) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(padded(text)),
    };
    // A section cannot hold its own end: it is divided between two. No line break stands at that place, so
    // nothing is taken away there.
    Cow::Owned(format!(
        "<![CDATA[{}]]>",
        body.replace("]]>", "]]]]><![CDATA[>")
    ))
}
