//! The rules of one grammar: names, bodies, and how literals are written in GBNF.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::classes::listed;
use crate::limits::MAX_GRAMMAR_BYTES;

/// A shape's address, the kind of place where it stands, and how deep there.
pub(super) type Key = (usize, &'static str, usize);

/// Rules in the order in which they were made. Equal bodies share one rule.
#[derive(Default)]
pub(super) struct Rules {
    bodies: Vec<(String, String)>,
    by_body: HashMap<String, String>,
    names: HashSet<String>,
    /// What was written for a shape in one place, so that what is shared is written once.
    written: HashMap<Key, String>,
    bytes: usize,
}

impl Rules {
    /// A rule of this body, under `hint` or a name like it; what to write where it is used.
    pub(super) fn add(&mut self, hint: &str, body: String) -> String {
        if let Some(name) = self.by_body.get(&body) {
            return name.clone();
        }
        let name = match self.names.contains(hint) {
            false => hint.to_owned(),
            true => format!("{hint}-{}", self.bodies.len()),
        };
        self.put(name.clone(), body);
        name
    }

    /// One of the rules that every grammar shares; they may name each other in any order.
    pub(super) fn fixed(&mut self, name: &str, body: &str) -> String {
        if !self.names.contains(name) {
            self.put(name.to_owned(), body.to_owned());
        }
        name.to_owned()
    }

    /// Shapes are known by their address, so this holds while the shapes of one tool live.
    pub(super) fn known(&self, key: Key) -> Option<String> {
        self.written.get(&key).cloned()
    }

    pub(super) fn remember(&mut self, key: Key, written: &str) {
        self.written.insert(key, written.to_owned());
    }

    /// Forgets what was written for the shapes of one tool.
    pub(super) fn next_tool(&mut self) {
        self.written.clear();
    }

    fn put(&mut self, name: String, body: String) {
        let written = listed(&body);
        self.bytes += name.len() + written.len() + " ::= \n".len();
        // Beyond the bound nothing is kept: the grammar is refused anyway.
        if self.is_overfull() {
            return;
        }
        self.names.insert(name.clone());
        self.by_body.insert(body, name.clone());
        self.bodies.push((name, written));
    }

    pub(super) fn is_overfull(&self) -> bool {
        self.bytes > MAX_GRAMMAR_BYTES
    }

    /// The whole grammar; `None` if it is too large.
    pub(super) fn finish(mut self, root: &str) -> Option<String> {
        self.bytes += root.len();
        if self.is_overfull() {
            return None;
        }
        let mut out = format!("root ::= {root}\n");
        for (name, body) in &self.bodies {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{name} ::= {body}");
        }
        Some(out)
    }
}

/// Text as a GBNF literal.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Alternatives as one expression that can stand in a sequence.
pub(super) fn one_of(alternatives: &[String]) -> String {
    match alternatives {
        [only] => only.clone(),
        several => format!("({})", several.join(" | ")),
    }
}
