//! Walking a tree by field names, with a word for everything that is not as it should be.
//!
//! Owns access and the wording of type errors; which fields there are is up to the readers.

use innkeeper_yaml::{Entry, Node, Value};

use super::problem::{Code, Report};
use crate::limits::MAX_PLUGIN_LIST;

/// A value and the way to it.
#[derive(Clone)]
pub(super) struct Place<'n> {
    pub(super) node: &'n Node,
    /// `permissions.hooks[1]`
    pub(super) path: String,
}

impl<'n> Place<'n> {
    pub(super) fn root(node: &'n Node) -> Self {
        Self {
            node,
            path: String::new(),
        }
    }

    /// A field that is there and not null.
    pub(super) fn field(&self, name: &str) -> Option<Self> {
        let node = self.node.get(name)?;
        (node.value != Value::Null).then(|| Self {
            node,
            path: self.below(name),
        })
    }

    fn below(&self, name: &str) -> String {
        match self.path.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.path),
        }
    }

    fn item(&self, index: usize, node: &'n Node) -> Self {
        Self {
            node,
            path: format!("{}[{index}]", self.path),
        }
    }

    /// Says so if it is not there.
    pub(super) fn required(&self, name: &str, report: &mut Report) -> Option<Self> {
        let field = self.field(name);
        if field.is_none() {
            self.missing(name, "add it", report);
        }
        field
    }

    pub(super) fn missing(&self, name: &str, remedy: &str, report: &mut Report) {
        let place = Self {
            node: self.node,
            path: self.below(name),
        };
        report.problem(
            &place,
            Code::MissingField,
            format!("the field is missing; {remedy}"),
        );
    }

    fn wrong(&self, expected: &str, report: &mut Report) {
        let found = self.node.kind();
        report.problem(
            self,
            Code::WrongType,
            format!("expected {expected}, found {found}"),
        );
    }

    /// Whether it has fields at all.
    pub(super) fn expect_map(&self, report: &mut Report) -> bool {
        let is_map = matches!(self.node.value, Value::Map(_));
        if !is_map {
            self.wrong("a map of fields", report);
        }
        is_map
    }

    /// A field that is a map.
    pub(super) fn map(&self, name: &str, report: &mut Report) -> Option<Self> {
        self.field(name).filter(|field| field.expect_map(report))
    }

    pub(super) fn as_text(&self, report: &mut Report) -> Option<&'n str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            Value::Number(_) | Value::Bool(_) => {
                self.wrong("a text (put it in quotes)", report);
                None
            }
            _ => {
                self.wrong("a text", report);
                None
            }
        }
    }

    pub(super) fn text(&self, name: &str, report: &mut Report) -> Option<&'n str> {
        self.field(name)?.as_text(report)
    }

    pub(super) fn boolean(&self, name: &str, report: &mut Report) -> Option<bool> {
        let field = self.field(name)?;
        match field.node.value {
            Value::Bool(value) => Some(value),
            _ => {
                field.wrong("true or false", report);
                None
            }
        }
    }

    pub(super) fn number(&self, name: &str, report: &mut Report) -> Option<f64> {
        let field = self.field(name)?;
        match &field.node.value {
            Value::Number(value) => value.as_f64(),
            _ => {
                field.wrong("a number", report);
                None
            }
        }
    }

    /// A whole number between two bounds.
    pub(super) fn whole(&self, name: &str, from: i64, to: i64, report: &mut Report) -> Option<i64> {
        let field = self.field(name)?;
        let Value::Number(value) = &field.node.value else {
            field.wrong("a whole number", report);
            return None;
        };
        let value = value.as_i64().filter(|value| (from..=to).contains(value));
        if value.is_none() {
            report.problem(
                &field,
                Code::BadValue,
                format!("it must be a whole number from {from} to {to}"),
            );
        }
        value
    }

    /// The items of a list.
    pub(super) fn items(&self, name: &str, report: &mut Report) -> Vec<Self> {
        self.field(name)
            .map(|field| field.as_items(report))
            .unwrap_or_default()
    }

    pub(super) fn as_items(&self, report: &mut Report) -> Vec<Self> {
        let Value::List(items) = &self.node.value else {
            self.wrong("a list", report);
            return Vec::new();
        };
        if items.len() > MAX_PLUGIN_LIST {
            report.problem(
                self,
                Code::TooMany,
                format!(
                    "the list has {} entries; at most {MAX_PLUGIN_LIST} are read",
                    items.len()
                ),
            );
            return Vec::new();
        }
        let items = items.iter().enumerate();
        items.map(|(index, node)| self.item(index, node)).collect()
    }

    /// The items of a list of texts, each with its place.
    pub(super) fn texts(&self, name: &str, report: &mut Report) -> Vec<(Self, &'n str)> {
        let items = self.items(name, report);
        items
            .into_iter()
            .filter_map(|item| item.as_text(report).map(|text| (item, text)))
            .collect()
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[(&str, T)],
        report: &mut Report,
    ) -> Option<T> {
        let field = self.field(name)?;
        let text = field.as_text(report)?;
        let found = choices.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
            let hint = did_you_mean(text, words.iter().copied());
            report.problem(
                &field,
                Code::BadValue,
                format!("'{text}' is none of {}{hint}", words.join(", ")),
            );
        }
        found.map(|(_, value)| *value)
    }

    /// Warns of fields that nobody reads.
    pub(super) fn known(&self, names: &[&str], report: &mut Report) {
        self.strangers(
            names,
            |hint| Some(format!("this field is not known and is ignored{hint}")),
            report,
        );
    }

    /// Warns only of fields that look like one of these.
    pub(super) fn misspelt(&self, names: &[&str], report: &mut Report) {
        self.strangers(
            names,
            |hint| (!hint.is_empty()).then(|| format!("this field is not known{hint}")),
            report,
        );
    }

    fn strangers(
        &self,
        names: &[&str],
        words: impl Fn(String) -> Option<String>,
        report: &mut Report,
    ) {
        let Value::Map(entries) = &self.node.value else {
            return;
        };
        for entry in entries {
            if names.contains(&entry.key.as_str()) {
                continue;
            }
            let Some(message) = words(did_you_mean(&entry.key, names.iter().copied())) else {
                continue;
            };
            let key = Node::mark(entry.position);
            let place = Place {
                node: &key,
                path: self.below(&entry.key),
            };
            report.warning(&place, Code::UnknownKey, message);
        }
    }

    pub(super) fn children(&self) -> Vec<Self> {
        match &self.node.value {
            Value::List(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, node)| self.item(index, node)).collect()
            }
            Value::Map(_) => self.entries().into_iter().map(|(_, place)| place).collect(),
            _ => Vec::new(),
        }
    }

    /// The keys and values of a map, those without a value included.
    pub(super) fn entries(&self) -> Vec<(&'n str, Self)> {
        let Value::Map(entries) = &self.node.value else {
            return Vec::new();
        };
        let entry = |entry: &'n Entry| {
            let place = Self {
                node: &entry.value,
                path: self.below(&entry.key),
            };
            (entry.key.as_str(), place)
        };
        entries.iter().map(entry).collect()
    }

    /// The place that a JSON Pointer leads to, or the last one on the way that exists.
    pub(super) fn pointer(&self, pointer: &str) -> Self {
        let mut place = self.clone();
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match &place.node.value {
                Value::List(items) => step
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| items.get(index).map(|node| place.item(index, node))),
                _ => place.node.get(&step).map(|node| Self {
                    node,
                    path: place.below(&step),
                }),
            };
            match next {
                Some(next) => place = next,
                None => break,
            }
        }
        place
    }
}

/// `, did you mean 'x'?`, or nothing where nothing is near.
pub(super) fn did_you_mean<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> String {
    // The distance takes time in the square of the length; nothing that long is a slip of the pen.
    if word.len() > 100 {
        return String::new();
    }
    let lower = word.to_lowercase();
    let nearest = candidates
        .map(|candidate| {
            let distance = strsim::osa_distance(&lower, &candidate.to_lowercase());
            (distance, candidate)
        })
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((distance, candidate)) if distance <= (word.chars().count() / 3).max(1) => {
            format!(", did you mean '{candidate}'?")
        }
        _ => String::new(),
    }
}
