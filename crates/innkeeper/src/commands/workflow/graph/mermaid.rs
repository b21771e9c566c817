//! A drawing as a Mermaid flowchart.

use std::fmt::Write as _;

use super::drawing::{Box, Drawing, Kind};
use crate::failure::is_unprintable;

/// Longest label, in characters.
const MAX_LABEL: usize = 80;

pub(super) fn text(drawing: &Drawing) -> String {
    let mut out = String::new();
    if !drawing.title.is_empty() {
        let title = front_matter(&drawing.title);
        let _ = writeln!(out, "---\ntitle: {title}\n---");
    }
    out.push_str("flowchart LR\n");
    for child in drawing.children(None) {
        draw(drawing, child, 1, &mut out);
    }
    let mut streams = Vec::new();
    for (number, wire) in drawing.wires.iter().enumerate() {
        let label = match wire.from_slot == wire.to_slot {
            true => label(&wire.from_slot),
            false => format!("{} → {}", label(&wire.from_slot), label(&wire.to_slot)),
        };
        let arrow = match wire.is_stream {
            true => {
                streams.push(number.to_string());
                "==>"
            }
            false => "-->",
        };
        let _ = match label.is_empty() {
            true => writeln!(out, "  n{} {arrow} n{}", wire.from, wire.to),
            false => writeln!(out, "  n{} {arrow}|\"{label}\"| n{}", wire.from, wire.to),
        };
    }
    classes(drawing, &mut out);
    if !streams.is_empty() {
        let _ = writeln!(out, "  linkStyle {} stroke:#0ea5e9", streams.join(","));
    }
    out
}

fn draw(drawing: &Drawing, at: usize, depth: usize, out: &mut String) {
    let Some(one) = drawing.boxes.get(at) else {
        return;
    };
    let indent = "  ".repeat(depth);
    let children: Vec<usize> = drawing.children(Some(at)).collect();
    if one.kind.holds_others() && !children.is_empty() {
        let _ = writeln!(out, "{indent}subgraph n{at}[\"{}\"]", heading(one));
        for child in children {
            draw(drawing, child, depth + 1, out);
        }
        let _ = writeln!(out, "{indent}end");
        return;
    }
    let (open, close) = match one.kind {
        Kind::End => ("([", "])"),
        Kind::Group | Kind::OpenGroup => ("[[", "]]"),
        Kind::Loop => ("{{", "}}"),
        Kind::Node | Kind::Frame => ("[", "]"),
    };
    let _ = writeln!(out, "{indent}n{at}{open}\"{}\"{close}", heading(one));
}

fn heading(one: &Box) -> String {
    let title = label(&one.title);
    match one.kind {
        Kind::Frame => title,
        _ if one.full_type.is_empty() => title,
        _ => format!("{title}<br/><small>{}</small>", label(&one.full_type)),
    }
}

fn classes(drawing: &Drawing, out: &mut String) {
    type Rule<'r> = (&'r str, &'r str, fn(&Box) -> bool);
    let rules: [Rule<'_>; 4] = [
        ("bypassed", "stroke-dasharray:4 3,opacity:0.6", |one| {
            one.bypassed
        }),
        ("unknown", "stroke:#dc2626,stroke-width:2px", |one| {
            one.unknown
        }),
        ("loop", "stroke:#8b5cf6,stroke-width:2px", |one| {
            one.kind == Kind::Loop
        }),
        ("group", "stroke:#0ea5e9", |one| {
            matches!(one.kind, Kind::OpenGroup | Kind::Group)
        }),
    ];
    for (name, style, is_so) in rules {
        let boxes = drawing.boxes.iter().enumerate();
        let named: Vec<String> = boxes
            .filter(|(_, one)| is_so(one))
            .map(|(at, _)| format!("n{at}"))
            .collect();
        if !named.is_empty() {
            let _ = writeln!(out, "  classDef {name} {style}");
            let _ = writeln!(out, "  class {} {name}", named.join(","));
        }
    }
}

/// Fit for a label in quotes: nothing in it is Mermaid, Markdown or HTML.
fn label(text: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    let mut count = 0;
    while let Some(c) = chars.next() {
        if count == MAX_LABEL {
            out.push('…');
            break;
        }
        count += 1;
        let after = chars.peek().copied().unwrap_or(' ');
        let is_markup = match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '*' | '\\' | '|' | ';' | '~' => true,
            // Within a word it is a letter like any other.
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            // At the beginning, these would make a list.
            '-' | '+' | '.' | ')' => count <= 4 && after == ' ',
            _ => false,
        };
        match c {
            c if is_unprintable(c) => out.push(' '),
            c if is_markup => drop(write!(out, "#{};", u32::from(c))),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// A text in quotes, as YAML takes it.
fn front_matter(text: &str) -> String {
    let clean: String = text
        .chars()
        .take(MAX_LABEL)
        .map(|c| if is_unprintable(c) { ' ' } else { c })
        .collect();
    format!("\"{}\"", clean.replace('\\', "\\\\").replace('"', "\\\""))
}
