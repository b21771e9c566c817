//! `<ACTION>` blocks: each element in the block is a call, its children are the parameters.

use std::borrow::Cow;

use super::notes::{Notes, quote};
use super::xml_block::RawXml;
use super::xml_read::{self, Fault, column_of, line_column};
use super::xml_tree::{Element, group};
use crate::limits::MAX_CALLS;
use crate::{Argument, Block, Code, Node, Protocol, Span, ToolCallRequest, Tree, Value};

pub(super) fn block<'t>(text: &'t str, raw: &RawXml, span: Span) -> Block<'t> {
    let mut notes = Notes::default();
    let mut comments = Vec::new();
    let mut calls = Vec::new();
    let offset = raw.tag.end;
    let source = text.get(offset..raw.body_end).unwrap_or_default();

    match xml_read::read(source, offset, &mut notes) {
        Err(fault) => notes_fault(&mut notes, text, &fault, "ACTION", raw.closed),
        Ok(_) if !raw.closed => {
            let fault = Fault {
                code: Code::MalformedXml,
                at: raw.body_end,
                what: "expected </ACTION>, found the end of the text".into(),
                opened: Some(span.start),
            };
            notes_fault(&mut notes, text, &fault, "ACTION", true);
        }
        Ok(body) => {
            comments = body.comments;
            if let Some(stray) = body.stray.filter(|_| !body.elements.is_empty()) {
                notes.add_with(Code::UnparsedLine, stray, || {
                    format!(
                        "'{}' stands outside any tool and was left out.",
                        quote(stray.of(text))
                    )
                });
            }
            if body.elements.is_empty() {
                notes_empty(&mut notes, text, body.stray, span);
            }
            calls = read_calls(body.elements, &mut notes);
        }
    }
    Block {
        protocol: Protocol::Action,
        request_id: None,
        comments,
        keys: Vec::new(),
        calls,
        diagnostics: notes.finish(),
        span,
    }
}

/// One sentence with the place, the cause and the remedy.
pub(super) fn notes_fault(notes: &mut Notes, text: &str, fault: &Fault, block: &str, closed: bool) {
    let at = fault.at.min(text.len());
    let cut = if closed {
        ""
    } else {
        " The block was cut off before its end."
    };
    notes.add_with(fault.code, Span::new(at, at), || {
        let (line, column) = line_column(text, at);
        let opened = fault.opened.map_or(String::new(), |opened| {
            // Only the lines between the two places are counted again.
            let between = text.get(opened..at).unwrap_or_default();
            let line = line - memchr::memchr_iter(b'\n', between.as_bytes()).count();
            format!(" (opened at line {line}, column {})", column_of(text, opened))
        });
        format!(
            "Malformed XML in {block} block: line {line}, column {column}: {}{opened}.{cut} Close every tag, and put \
             values that hold < or & into <![CDATA[…]]>.",
            fault.what
        )
    });
}

fn notes_empty(notes: &mut Notes, text: &str, stray: Option<Span>, span: Span) {
    match stray {
        Some(stray) => {
            let fault = Fault {
                code: Code::MalformedXml,
                at: stray.start,
                what: format!(
                    "expected a tool as a tag, found '{}'",
                    quote(stray.of(text))
                )
                .into(),
                opened: None,
            };
            notes_fault(notes, text, &fault, "ACTION", true);
        }
        None => notes.add(
            Code::MissingTool,
            span,
            "The ACTION block names no tool; put the tool's ID as a tag into it.",
        ),
    }
}

fn read_calls<'t>(elements: Vec<Element<'t>>, notes: &mut Notes) -> Vec<ToolCallRequest<'t>> {
    if let Some(extra) = elements.get(MAX_CALLS) {
        notes.add_with(Code::TooManyCalls, extra.span, || {
            format!("The block has more than {MAX_CALLS} calls; send fewer at a time.")
        });
    }
    (1..)
        .zip(elements.into_iter().take(MAX_CALLS))
        .map(|(index, element)| read_call(index, element, notes))
        .collect()
}

fn read_call<'t>(index: u32, element: Element<'t>, notes: &mut Notes) -> ToolCallRequest<'t> {
    let mut call = ToolCallRequest::new(Protocol::Action, element.name.clone());
    call.index = index;
    call.span = element.span;
    if element.children.is_empty() && element.has_words() {
        notes.add_with(Code::UnparsedLine, element.span, || {
            format!(
                "The text in <{}> belongs to no parameter and was left out; put it into a parameter's tag.",
                quote(&element.name)
            )
        });
    } else if element.has_words() {
        notes.add_with(Code::UnparsedLine, element.span, || {
            format!(
                "Text between the parameters of <{}> was left out.",
                quote(&element.name)
            )
        });
    }
    let span = element.span;
    call.arguments = group(element.children, notes)
        .into_iter()
        .map(|(name, tree)| Argument::exact(name, Value::Tree(tree), span))
        .collect();
    for (name, value) in element.attributes {
        if !call.arguments.iter().any(|argument| argument.name == name) {
            let tree = text_tree(value);
            call.arguments
                .push(Argument::exact(name, Value::Tree(tree), span));
        }
    }
    call
}

pub(super) fn text_tree(text: Cow<'_, str>) -> Tree<'_> {
    Tree {
        node: Node::Text(text.clone()),
        inner: text,
    }
}
