//! `<tool_call>` blocks, in the three ways models write them: parameters as tags with a name attribute, a
//! JSON object (Hermes), and `<function=…><parameter=…>` (Qwen).

use std::borrow::Cow;

use serde_json::Value as Json;

use super::action::{notes_fault, text_tree};
use super::native;
use super::notes::{Notes, quote};
use super::xml_block::RawXml;
use super::xml_read::{self, Fault};
use super::xml_tree::{Element, unescaped};
use crate::{Argument, Block, Code, Protocol, Span, ToolCallRequest, Value};

/// Tags that hold a parameter, and so cannot be a tool's name.
const PARAMETER_TAGS: [&str; 5] = ["param", "parameter", "arg", "argument", "parameters"];

pub(super) fn block<'t>(text: &'t str, raw: &RawXml, span: Span) -> Block<'t> {
    let mut notes = Notes::default();
    let mut comments = Vec::new();
    let source = text.get(raw.tag.end..raw.body_end).unwrap_or_default();

    let call = if source.trim_start().starts_with('{') {
        if !raw.closed && !raw.whole_json {
            notes.add(
                Code::InvalidJson,
                Span::new(raw.tag.end, raw.body_end),
                "The JSON in the tool_call block is broken or was cut off before its end; send the whole call again.",
            );
            None
        } else {
            if !raw.closed {
                notes.add(
                    Code::MissingEndMarker,
                    Span::new(raw.tag.end, raw.body_end),
                    "The call has no </tool_call>.",
                );
            }
            json_call(source, raw.tag.end, &mut notes)
        }
    } else {
        match xml_call(text, raw, source, &mut notes, &mut comments) {
            Ok(call) => call,
            Err(fault) => {
                notes_fault(&mut notes, text, &fault, "tool_call", raw.closed);
                None
            }
        }
    };
    Block {
        protocol: Protocol::ToolCall,
        request_id: None,
        comments,
        keys: Vec::new(),
        calls: call
            .map(|mut call| {
                call.span = span;
                call
            })
            .into_iter()
            .collect(),
        diagnostics: notes.finish(),
        span,
    }
}

fn json_call<'t>(source: &'t str, offset: usize, notes: &mut Notes) -> Option<ToolCallRequest<'t>> {
    let mut values = serde_json::Deserializer::from_str(source).into_iter::<Json>();
    let value = values.next()?;
    let taken = values.byte_offset();
    match value {
        Ok(value) => {
            let rest = source.get(taken..).unwrap_or_default();
            if !rest.trim().is_empty() {
                let span = Span::new(offset + taken, offset + source.len());
                notes.add_with(Code::UnparsedLine, span, || {
                    format!("'{}' behind the JSON was left out.", quote(rest))
                });
            }
            native::loose_call(
                &value,
                Protocol::ToolCall,
                notes,
                Span::new(offset, offset + taken),
            )
        }
        Err(error) => {
            notes.add_with(
                Code::InvalidJson,
                Span::new(offset, offset + source.len()),
                || format!("The JSON in the tool_call block cannot be read: {error}."),
            );
            None
        }
    }
}

fn xml_call<'t>(
    text: &'t str,
    raw: &RawXml,
    source: &'t str,
    notes: &mut Notes,
    comments: &mut Vec<Cow<'t, str>>,
) -> Result<Option<ToolCallRequest<'t>>, Fault> {
    let body = xml_read::read(source, raw.tag.end, notes)?;
    if !raw.closed {
        return Err(Fault {
            code: Code::MalformedXml,
            at: raw.body_end,
            what: "expected </tool_call>, found the end of the text".into(),
            opened: None,
        });
    }
    comments.extend(body.comments);
    let attributes = text
        .get(raw.tag.attributes..raw.tag.end)
        .unwrap_or_default();
    let mut elements = body.elements;
    let mut tool = attribute(attributes, "name").or_else(|| attribute(attributes, "tool"));
    let is_parameter = |element: &Element<'_>| {
        let name = element.name.to_ascii_lowercase();
        PARAMETER_TAGS.contains(&name.as_str())
    };
    if tool.is_none() && elements.len() == 1 && !elements.iter().any(is_parameter) {
        // `<tool_call><function=NAME>…` and `<tool_call><NAME>…`
        if let Some(only) = elements.pop() {
            let (name, element) = named(only);
            tool = Some(name);
            elements = element.children;
        }
    }
    let Some(tool) = tool.filter(|tool| !tool.trim().is_empty()) else {
        notes.add(
            Code::MissingTool,
            Span::new(raw.tag.end, raw.body_end),
            "The tool_call names no tool; write <tool_call name=\"ToolID\">.",
        );
        return Ok(None);
    };
    if let Some(stray) = body.stray {
        notes.add_with(Code::UnparsedLine, stray, || {
            format!(
                "'{}' belongs to no parameter and was left out.",
                quote(stray.of(text))
            )
        });
    }
    let mut call = ToolCallRequest::new(Protocol::ToolCall, Cow::Owned(tool.trim().to_owned()));
    call.call_id = attribute(attributes, "id");
    for element in elements {
        parameter(&mut call, element, notes);
    }
    Ok(Some(call))
}

fn parameter<'t>(call: &mut ToolCallRequest<'t>, element: Element<'t>, notes: &mut Notes) {
    let span = element.span;
    let (name, mut element) = named(element);
    let value = match element.take_value_attribute() {
        Some(text) => Value::Tree(text_tree(text)),
        None => {
            element.drop_attributes(notes);
            Value::Tree(element.into_tree(notes))
        }
    };
    match call
        .arguments
        .iter_mut()
        .find(|argument| argument.name == name)
    {
        Some(argument) => {
            notes.add_with(Code::DuplicateKey, span, || {
                format!(
                    "'{}' is given more than once; the last value counts.",
                    quote(&name)
                )
            });
            argument.value = value;
        }
        None => call.arguments.push(Argument::exact(name, value, span)),
    }
}

/// The name an element stands for: its `name` attribute, what follows `=` in its tag, or its tag.
fn named<'t>(mut element: Element<'t>) -> (Cow<'t, str>, Element<'t>) {
    if let Some(at) = element
        .attributes
        .iter()
        .position(|(key, _)| key.eq_ignore_ascii_case("name"))
    {
        let (_, name) = element.attributes.swap_remove(at);
        return (name, element);
    }
    let name = match element.name.split_once('=') {
        Some((_, name)) => Cow::Owned(name.trim_matches(['"', '\'']).to_owned()),
        None => element.name.clone(),
    };
    (name, element)
}

/// An attribute of the opening tag, in either kind of quotes or none.
pub(super) fn attribute<'t>(attributes: &str, name: &str) -> Option<Cow<'t, str>> {
    let source = format!("x {}", attributes.trim_end_matches(['>', '/']));
    let found = quick_xml::events::attributes::Attributes::html(&source, 1)
        .with_checks(false)
        .flatten()
        .find(|attribute| attribute.key.as_ref().eq_ignore_ascii_case(name))?;
    Some(Cow::Owned(unescaped(&found.value)))
}
