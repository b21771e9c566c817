//! Rules for ACTION: an element for each call, and elements in it for parameters, fields and items.
//!
//! The layout is the one in which calls are always written. Values that elements cannot hold (names that are no
//! XML names, objects without declared names) are JSON in the parameter's element.

use std::rc::Rc;

use innkeeper_protocol::{Aliases, Call, Protocol, Step, ToolDefinition, ToolId, render_call};
use serde_json::{Map, Value as Json, json};

use super::json::{self, Place};
use super::rules::{Rules, literal, one_of};
use super::shape::{Field, Shape};

const INDENT: &str = "    ";

pub(super) fn reply(call: &str, max_calls: usize) -> String {
    let (open, close) = (literal("<ACTION>\n"), literal("</ACTION>"));
    match max_calls {
        1 => format!("{open} {call} {close}"),
        more => format!("{open} {call}{{1,{more}}} {close}"),
    }
}

/// The element that calls one tool.
pub(super) fn call(
    rules: &mut Rules,
    tool: &ToolDefinition,
    fields: &[Field<'_>],
    aliases: &Aliases,
) -> String {
    let tag = aliases.alias_of(&tool.id);
    let empty = literal(&format!("{INDENT}<{tag}/>\n"));
    if fields.is_empty() {
        return rules.add("tool", empty);
    }
    let mut body = literal(&format!("{INDENT}<{tag}>\n"));
    for field in fields {
        let name = aliases.parameter_alias(&tool.id, field.name);
        body.push(' ');
        body.push_str(&element(rules, name, field, 2));
    }
    body.push(' ');
    body.push_str(&literal(&format!("{INDENT}</{tag}>\n")));
    if fields.iter().all(|field| !field.required) {
        body = format!("{empty} | {body}");
    }
    rules.add("tool", body)
}

fn element(rules: &mut Rules, name: &str, field: &Field<'_>, level: usize) -> String {
    let content = content(rules, &field.shape, level);
    let rule = rules.add("field", tagged(name, &content, level));
    match field.required {
        true => rule,
        false => format!("{rule}?"),
    }
}

fn tagged(name: &str, content: &str, level: usize) -> String {
    let indent = INDENT.repeat(level);
    let open = literal(&format!("{indent}<{name}>"));
    let close = literal(&format!("</{name}>\n"));
    format!("{open} {content} {close}")
}

/// What stands between the tags of a value.
fn content(rules: &mut Rules, shape: &Rc<Shape<'_>>, level: usize) -> String {
    let key = (Rc::as_ptr(shape).cast::<()>() as usize, "element", level);
    if let Some(known) = rules.known(key) {
        return known;
    }
    let mut each = Vec::new();
    forms(rules, shape, level, &mut each);
    let written = match each.as_slice() {
        [only] => only.clone(),
        several => rules.add("content", several.join(" | ")),
    };
    rules.remember(key, &written);
    written
}

fn forms(rules: &mut Rules, shape: &Rc<Shape<'_>>, level: usize, each: &mut Vec<String>) {
    let form = match &**shape {
        Shape::Never => return,
        Shape::Any => text(rules, false),
        Shape::Text { filled } => text(rules, *filled),
        Shape::Integer { negative } => json::integer(rules, *negative),
        Shape::Number { negative } => json::number(rules, *negative),
        Shape::Boolean => json::boolean(rules),
        Shape::Null => literal("null"),
        Shape::Choices(choices) => {
            let choices: Vec<_> = choices.iter().map(listed).collect();
            rules.add("choice", choices.join(" | "))
        }
        Shape::OneOf(shapes) => {
            // Where a text is allowed, `null` would be one.
            let is_text =
                |shape: &Rc<Shape<'_>>| matches!(**shape, Shape::Text { .. } | Shape::Any);
            let texts = shapes.iter().any(is_text);
            for shape in shapes {
                if !(texts && **shape == Shape::Null) {
                    forms(rules, shape, level, each);
                }
            }
            return;
        }
        _ if !has_elements(shape) => json::value(rules, shape, Place::Xml),
        Shape::Array { item, min, max } => {
            let inner = content(rules, item, level + 1);
            let item = rules.add("item", tagged("item", &inner, level + 1));
            if *min == 0 {
                push(each, literal("[]"));
            }
            match max {
                0 => return,
                max => {
                    let items = format!("{item}{{{},{max}}}", (*min).max(1));
                    rules.add("items", lines(&items, level))
                }
            }
        }
        Shape::Tuple(items) if items.is_empty() => literal("[]"),
        Shape::Tuple(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| {
                    let inner = content(rules, item, level + 1);
                    rules.add("item", tagged("item", &inner, level + 1))
                })
                .collect();
            rules.add("items", lines(&items.join(" "), level))
        }
        Shape::Object(fields) if fields.is_empty() => literal("{}"),
        Shape::Object(fields) => {
            if fields.iter().all(|field| !field.required) {
                push(each, literal("{}"));
            }
            let fields = at_least_one(rules, fields, level + 1);
            rules.add("fields", lines(&fields, level))
        }
        Shape::Map(_) => json::value(rules, shape, Place::Xml),
    };
    push(each, form);
}

/// The fields in their order. An element without any would not say that it is an object.
fn at_least_one(rules: &mut Rules, fields: &[Field<'_>], level: usize) -> String {
    let written: Vec<_> = fields
        .iter()
        .map(|field| element(rules, field.name, field, level))
        .collect();
    if fields.iter().any(|field| field.required) {
        return written.join(" ");
    }
    let mut firsts = Vec::with_capacity(written.len());
    let mut tail = String::new();
    for field in written.iter().rev() {
        let first = field.trim_end_matches('?');
        firsts.push(format!("{first}{tail}"));
        tail = format!(" {}", rules.add("rest", format!("{field}{tail}")));
    }
    firsts.reverse();
    one_of(&firsts)
}

fn push(each: &mut Vec<String>, form: String) {
    if !each.contains(&form) {
        each.push(form);
    }
}

fn lines(inner: &str, level: usize) -> String {
    let indent = literal(&INDENT.repeat(level));
    format!("\"\\n\" {inner} {indent}")
}

/// Whether elements can hold every value of the shape.
fn has_elements(shape: &Shape<'_>) -> bool {
    match shape {
        Shape::Never | Shape::Map(_) => false,
        Shape::Array { item, .. } => has_elements(item),
        Shape::Tuple(items) => items.iter().all(|item| has_elements(item)),
        Shape::OneOf(shapes) => shapes.iter().all(|shape| has_elements(shape)),
        // Children that are all `<item>` would be a list.
        Shape::Object(fields) => fields
            .iter()
            .all(|field| field.name != "item" && is_tag(field.name) && has_elements(&field.shape)),
        Shape::Any
        | Shape::Text { .. }
        | Shape::Integer { .. }
        | Shape::Number { .. }
        | Shape::Boolean
        | Shape::Null
        | Shape::Choices(_) => true,
    }
}

/// A name that needs no alias in this dialect is one that a tag can have.
fn is_tag(name: &str) -> bool {
    let schema = json!({"properties": Map::from_iter([(name.to_owned(), json!({}))])});
    let tool = ToolDefinition::new("t", "", schema);
    Aliases::new([&tool], Protocol::Action).parameter_alias(&tool.id, name) == name
}

/// A listed value as it is always written in an element.
fn listed(value: &Json) -> String {
    let kind = match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    let written = || {
        let tool = ToolId::new("t");
        let arguments = Map::from_iter([("p".to_owned(), value.clone())]);
        // Lists and objects are compared by their JSON, so their items must keep their types.
        let schema = match value.is_array() || value.is_object() {
            true => return None,
            false => json!({"properties": {"p": {"type": kind}}}),
        };
        let call = Call {
            steps: vec![Step {
                schema: Some(&schema),
                ..Step::new(&tool, &arguments)
            }],
            request_id: None,
        };
        let rendered = render_call(&call, Protocol::Action, &Aliases::default()).ok()?;
        let (_, inner) = rendered.text()?.split_once("<p>")?;
        let (inner, _) = inner.rsplit_once("</p>")?;
        Some(literal(inner))
    };
    written().unwrap_or_else(|| Place::Xml.written(value))
}

/// A line of text, or anything at all in a CDATA section.
fn text(rules: &mut Rules, filled: bool) -> String {
    const CONTROL: &str = "\\x00-\\x08\\x0B-\\x1F\\x7F";
    const SPACE: &str =
        " \\t\\n\\u0085\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000";
    // Everything but `]]>`, by the brackets that came last.
    rules.fixed(
        "cdata",
        &format!("([^\\]{CONTROL}] cdata | \"]\" cdata-one)?"),
    );
    rules.fixed(
        "cdata-one",
        &format!("([^\\]{CONTROL}] cdata | \"]\" cdata-two)?"),
    );
    rules.fixed(
        "cdata-two",
        &format!("([^\\]>{CONTROL}] cdata | \"]\" cdata-two)?"),
    );
    match filled {
        true => rules.fixed(
            "line-filled",
            &format!(
                "[^<>&{SPACE}{CONTROL}] [^<>&\\n{CONTROL}]* | {} \"\\n\"? [^\\]{SPACE}{CONTROL}] cdata {}",
                literal("<![CDATA["),
                literal("]]>")
            ),
        ),
        false => rules.fixed(
            "line",
            &format!(
                "[^<>&\\n{CONTROL}]* | {} cdata {}",
                literal("<![CDATA["),
                literal("]]>")
            ),
        ),
    }
}
