//! What every part of a workflow file is read with: typed fields, and problems that name their place.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value as Json};

use super::lines::Lines;
use super::piece::{Kind, Parts, Piece};
use crate::limits::{MAX_NAME_CHARS, MAX_PROBLEMS};
use crate::problem::{Problem, Problems, quoted};

/// Objects with fewer members are searched for repeated keys pair by pair.
const FEW: usize = 16;

/// What is being read: problems are told about it.
#[derive(Debug, Clone)]
pub(super) enum Scope<'t> {
    File,
    Node {
        id: String,
    },
    /// An element of a list that has no name of its own.
    Element {
        list: &'static str,
        index: usize,
    },
    Slot {
        side: &'static str,
        key: Cow<'t, str>,
    },
}

pub(super) struct Reader<'t> {
    text: &'t str,
    lines: Option<Lines<'t>>,
    full: bool,
    pub(super) scope: Scope<'t>,
    pub(super) problems: Problems,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            lines: None,
            full: false,
            scope: Scope::File,
            problems: Problems::default(),
        }
    }

    /// Adds a problem of the current scope. `field` is within it, and may be empty.
    pub(super) fn add(&mut self, problem: Problem, field: &str, at: usize) {
        let listed = self.problems.list.len() < MAX_PROBLEMS;
        if self.is_full() || (!listed && !problem.is_error()) {
            // It is only counted: a hostile file must not make us look for 100,000 places.
            self.problems.more += 1;
            return;
        }
        let (line, column) = match at {
            0 => (1, 1),
            at => {
                let lines = self.lines.get_or_insert_with(|| Lines::new(self.text));
                lines.place(at)
            }
        };
        let problem = problem.position(line, column);
        let within = |outer: &dyn fmt::Display| match field {
            "" => outer.to_string(),
            field => format!("{outer}.{field}"),
        };
        let problem = match &self.scope {
            Scope::File if field.is_empty() => problem,
            Scope::File => problem.slot(field),
            Scope::Node { id } if field.is_empty() => problem.at(id),
            Scope::Node { id } => problem.at(id).slot(field),
            Scope::Element { list, index } => {
                problem.slot(within(&format_args!("{list}[{index}]")))
            }
            Scope::Slot { side, key } => {
                let key: String = key.chars().take(MAX_NAME_CHARS).collect();
                problem.slot(within(&format_args!("{side}.{key}")))
            }
        };
        self.problems.add(problem);
    }

    /// Whatever comes now is counted and no more.
    pub(super) fn is_full(&mut self) -> bool {
        let list = &self.problems.list;
        self.full = self.full || (list.len() >= MAX_PROBLEMS && list.iter().all(Problem::is_error));
        self.full
    }

    pub(super) fn wrong_type(&mut self, field: &str, piece: Piece<'t>, wanted: Kind) {
        let message = format!("must be {}, is {}", wanted.words(), piece.kind().words());
        self.add(
            Problem::error("file.wrong_type", message),
            field,
            piece.start,
        );
    }

    /// The members of an object. Keys that stand there twice are reported; the last one counts.
    pub(super) fn object(&mut self, piece: Piece<'t>, field: &str) -> Option<Parts<'t>> {
        let Some(parts) = piece.members() else {
            self.wrong_type(field, piece, Kind::Object);
            return None;
        };
        self.report_repeated(&parts, field);
        Some(parts)
    }

    fn report_repeated(&mut self, parts: &Parts<'t>, field: &str) {
        let few = parts.items.len() <= FEW;
        let mut seen = HashSet::new();
        for (index, item) in parts.items.iter().enumerate() {
            let Some(name) = item.name.as_deref() else {
                continue;
            };
            let repeated = match few {
                true => parts
                    .items
                    .iter()
                    .take(index)
                    .any(|earlier| earlier.name.as_deref() == Some(name)),
                false => !seen.insert(name),
            };
            if repeated {
                let message = format!(
                    "{} stands here more than once; the last one counts",
                    quoted(name)
                );
                let problem = Problem::warning("file.repeated_key", message);
                self.add(problem, field, item.start);
            }
        }
    }

    pub(super) fn object_field(&mut self, parts: &Parts<'t>, field: &str) -> Option<Parts<'t>> {
        let piece = parts.some(field)?;
        self.object(piece, field)
    }

    pub(super) fn list_field(&mut self, parts: &Parts<'t>, field: &str) -> Option<Parts<'t>> {
        let piece = parts.some(field)?;
        let elements = piece.elements();
        if elements.is_none() {
            self.wrong_type(field, piece, Kind::List);
        }
        elements
    }

    /// Any text.
    pub(super) fn text_field(&mut self, parts: &Parts<'t>, field: &str) -> Option<String> {
        let piece = parts.some(field)?;
        self.text(piece, field).map(Cow::into_owned)
    }

    pub(super) fn text(&mut self, piece: Piece<'t>, field: &str) -> Option<Cow<'t, str>> {
        if piece.kind() != Kind::Text {
            self.wrong_type(field, piece, Kind::Text);
            return None;
        }
        let text = piece.string();
        if text.is_none() {
            let problem = Problem::error("file.bad_text", "holds half a surrogate pair");
            self.add(problem, field, piece.start);
        }
        text
    }

    /// A text that things are found by.
    pub(super) fn name_field(&mut self, parts: &Parts<'t>, field: &str) -> Option<String> {
        let piece = parts.some(field)?;
        self.name(piece, field)
    }

    pub(super) fn name(&mut self, piece: Piece<'t>, field: &str) -> Option<String> {
        let name = self.text(piece, field)?;
        match unfit(&name) {
            None => Some(name.into_owned()),
            Some((code, why)) => {
                self.add(Problem::error(code, why), field, piece.start);
                None
            }
        }
    }

    pub(super) fn flag_field(&mut self, parts: &Parts<'t>, field: &str) -> Option<bool> {
        let piece = parts.some(field)?;
        if piece.kind() != Kind::Boolean {
            self.wrong_type(field, piece, Kind::Boolean);
            return None;
        }
        Some(piece.raw() == "true")
    }

    pub(super) fn number_field(&mut self, parts: &Parts<'t>, field: &str) -> Option<f64> {
        let piece = parts.some(field)?;
        if piece.kind() != Kind::Number {
            self.wrong_type(field, piece, Kind::Number);
            return None;
        }
        self.json(piece, field)?.as_f64()
    }

    /// Any value.
    pub(super) fn json(&mut self, piece: Piece<'t>, field: &str) -> Option<Json> {
        match piece.json() {
            Ok(json) => Some(json),
            Err(why) => {
                let message = format!("cannot be taken: {why}");
                self.add(
                    Problem::error("file.bad_value", message),
                    field,
                    piece.start,
                );
                None
            }
        }
    }

    /// An object of any values, each of which may fail alone.
    pub(super) fn values(&mut self, parts: &Parts<'t>, field: &str) -> Map<String, Json> {
        let mut values = Map::new();
        let Some(members) = self.object_field(parts, field) else {
            return values;
        };
        for item in &members.items {
            let Some(name) = item.name.as_deref() else {
                continue;
            };
            match item.value.json() {
                Ok(json) => {
                    values.insert(name.to_owned(), json);
                }
                Err(_) => {
                    // The last one counts, even where it cannot be taken.
                    values.shift_remove(name);
                    let field = format!("{field}.{}", shortened_name(name));
                    self.json(item.value, &field);
                }
            }
        }
        values
    }
}

/// Why a text is no name, with the problem's code.
pub(super) fn unfit(name: &str) -> Option<(&'static str, String)> {
    if name.is_empty() {
        return Some(("name.empty", "is empty".to_owned()));
    }
    if name.len() > MAX_NAME_CHARS && name.chars().nth(MAX_NAME_CHARS).is_some() {
        let why = format!("is longer than {MAX_NAME_CHARS} characters");
        return Some(("name.too_long", why));
    }
    let control = name.chars().find(|character| character.is_control())?;
    let why = format!("holds the control character U+{:04X}", u32::from(control));
    Some(("name.control_character", why))
}

fn shortened_name(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((cut, _)) => Cow::Owned(format!("{}…", name.get(..cut).unwrap_or_default())),
        None => Cow::Borrowed(name),
    }
}
