//! Texts with places for what a scene has captured: `{{1}}`, `{{name}}`, `{{name|else}}`, `{{message}}`.

use std::cell::Cell;

use regex::{Captures, Regex};

use crate::limits::MAX_FILLED_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Plain(String),
    /// A group of the scene's `matches`, and what stands there if it is empty.
    Group(usize, String),
    /// The whole message.
    Message(String),
}

/// What there is to fill in, for all texts of one reply.
pub(super) struct Filling<'m> {
    message: &'m str,
    groups: Option<Captures<'m>>,
    /// Bytes that may still be written: a short script can ask for a long message many times.
    room: Cell<usize>,
}

impl<'m> Filling<'m> {
    pub(super) fn new(message: &'m str, pattern: Option<&Regex>) -> Self {
        Self {
            message,
            groups: pattern.and_then(|pattern| pattern.captures(message)),
            room: Cell::new(MAX_FILLED_BYTES),
        }
    }
}

impl Template {
    /// `pattern` is the scene's `matches`. The error names what there is to fill in.
    pub(super) fn read(text: &str, pattern: Option<&Regex>) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            if let Some(before) = before.strip_suffix('\\') {
                plain.push_str(before);
                plain.push_str("{{");
                rest = after;
                continue;
            }
            plain.push_str(before);
            let inside = after.split_once("}}").filter(|(inside, _)| is_name(inside));
            let Some((inside, after)) = inside else {
                // Braces of something else: JSON, code.
                plain.push_str("{{");
                rest = after;
                continue;
            };
            let (name, otherwise) = inside.split_once('|').unwrap_or((inside, ""));
            pieces.push(Piece::Plain(std::mem::take(&mut plain)));
            pieces.push(piece(name.trim(), otherwise.to_owned(), pattern)?);
            rest = after;
        }
        plain.push_str(rest);
        pieces.push(Piece::Plain(plain));
        pieces.retain(|piece| *piece != Piece::Plain(String::new()));
        Ok(Self(pieces))
    }

    pub(super) fn fill(&self, filling: &Filling<'_>) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            let (found, otherwise) = match piece {
                Piece::Plain(text) => (text.as_str(), ""),
                Piece::Message(otherwise) => (filling.message, otherwise.as_str()),
                Piece::Group(group, otherwise) => {
                    let groups = filling.groups.as_ref();
                    let found = groups.and_then(|groups| groups.get(*group));
                    (found.map_or("", |found| found.as_str()), otherwise.as_str())
                }
            };
            let text = if found.is_empty() { otherwise } else { found };
            let fits = text.get(..text.floor_char_boundary(filling.room.get()));
            let fits = fits.unwrap_or_default();
            filling.room.set(filling.room.get() - fits.len());
            out.push_str(fits);
        }
        out
    }
}

/// What may stand between the braces.
fn is_name(inside: &str) -> bool {
    let name = inside.split('|').next().unwrap_or_default().trim();
    !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !inside.contains(['{', '}', '\n'])
}

fn piece(name: &str, otherwise: String, pattern: Option<&Regex>) -> Result<Piece, String> {
    let groups = pattern.map_or(0, Regex::captures_len);
    let by_number = name.parse().ok().filter(|group| *group < groups);
    let by_name = || {
        let mut names = pattern?.capture_names();
        names.position(|known| known == Some(name))
    };
    if let Some(group) = by_number.or_else(by_name) {
        return Ok(Piece::Group(group, otherwise));
    }
    if name == "message" {
        return Ok(Piece::Message(otherwise));
    }
    let mut known = vec!["{{message}}".to_owned()];
    known.extend((0..groups).map(|group| format!("{{{{{group}}}}}")));
    let names = pattern.into_iter().flat_map(Regex::capture_names).flatten();
    known.extend(names.map(|name| format!("{{{{{name}}}}}")));
    Err(format!(
        "'{{{{{name}}}}}' is nothing that `matches` captures: there is {}; write \\{{{{ for the braces themselves",
        known.join(", ")
    ))
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
