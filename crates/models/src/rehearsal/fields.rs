//! Reading values of a script one at a time, each with what is said if it is something else.

use std::ops::RangeInclusive;
use std::time::Duration;

use innkeeper_yaml::{Entry, Node, Value};
use regex::{Regex, RegexBuilder};

use super::problem::Problems;
use super::script::TextTest;
use crate::limits::{MAX_PATTERN_BYTES, MAX_SCRIPT_LIST};
use crate::names::quoted;

pub(super) struct Reader<'p> {
    problems: &'p mut Problems,
}

/// A map.
#[derive(Clone, Copy)]
pub(super) struct Fields<'n> {
    node: &'n Node,
    entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    /// Of something that is no map and needs none.
    pub(super) const fn none(node: &'n Node) -> Self {
        Self { node, entries: &[] }
    }

    /// A key without a value counts as left out.
    pub(super) fn optional(self, key: &str) -> Option<&'n Node> {
        self.entries
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.value)
            .filter(|node| node.value != Value::Null)
    }
}

impl<'p> Reader<'p> {
    pub(super) fn new(problems: &'p mut Problems) -> Self {
        Self { problems }
    }

    pub(super) fn wrong(&mut self, node: &Node, at: &str, message: impl Into<String>) {
        self.problems.add(node.position, at, message);
    }

    pub(super) fn map<'n>(
        &mut self,
        node: &'n Node,
        at: &str,
        known: &[&str],
    ) -> Option<Fields<'n>> {
        let Value::Map(entries) = &node.value else {
            let said = format!(
                "{} stands where a map belongs; write `key: value` with {}",
                node.kind(),
                known.join(", ")
            );
            self.wrong(node, at, said);
            return None;
        };
        for entry in entries {
            if !known.contains(&entry.key.as_str()) {
                let said = format!(
                    "the key '{}' means nothing here; there is {}",
                    quoted(&entry.key),
                    known.join(", ")
                );
                self.problems.add(entry.position, at, said);
            }
        }
        Some(Fields { node, entries })
    }

    pub(super) fn required<'n>(
        &mut self,
        fields: Fields<'n>,
        at: &str,
        key: &str,
    ) -> Option<&'n Node> {
        let found = fields.optional(key);
        if found.is_none() {
            self.wrong(fields.node, at, format!("`{key}` is missing; add it"));
        }
        found
    }

    /// The items, each with its own path.
    pub(super) fn list<'n>(
        &mut self,
        node: Option<&'n Node>,
        at: &str,
        max: usize,
    ) -> Vec<(String, &'n Node)> {
        let Some(node) = node else {
            return Vec::new();
        };
        match &node.value {
            Value::List(items) if items.len() > max => {
                let said = format!("{} items are more than {max}; take some out", items.len());
                self.wrong(node, at, said);
                Vec::new()
            }
            Value::List(items) => (0..)
                .zip(items)
                .map(|(n, item): (usize, _)| (format!("{at}[{n}]"), item))
                .collect(),
            _ => {
                let said = format!(
                    "{} stands where a list belongs; begin each item with a dash",
                    node.kind()
                );
                self.wrong(node, at, said);
                Vec::new()
            }
        }
    }

    pub(super) fn text<'n>(&mut self, node: Option<&'n Node>, at: &str) -> Option<&'n str> {
        let node = node?;
        match &node.value {
            Value::Text(text) => Some(text),
            _ => {
                let said = format!(
                    "{} stands where a text belongs; put it in quotes",
                    node.kind()
                );
                self.wrong(node, at, said);
                None
            }
        }
    }

    pub(super) fn number(
        &mut self,
        node: Option<&Node>,
        at: &str,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let node = node?;
        let number = match &node.value {
            Value::Number(number) => number.as_u64(),
            _ => None,
        };
        let fits = number.filter(|number| range.contains(number));
        if fits.is_none() {
            let said = match *range.end() {
                u64::MAX => format!("write a whole number, {} or more", range.start()),
                end => format!("write a whole number from {} to {end}", range.start()),
            };
            self.wrong(node, at, said);
        }
        fits
    }

    pub(super) fn millis(
        &mut self,
        node: Option<&Node>,
        at: &str,
        max: Duration,
    ) -> Option<Duration> {
        let max = u64::try_from(max.as_millis()).unwrap_or(u64::MAX);
        self.number(node, at, 0..=max).map(Duration::from_millis)
    }

    /// One of the words in the table.
    pub(super) fn choice<T: Copy>(
        &mut self,
        node: Option<&Node>,
        at: &str,
        table: &[(&str, T)],
    ) -> Option<T> {
        let word = self.text(node, at)?;
        let found = table.iter().find(|(known, _)| *known == word);
        if let (None, Some(node)) = (found, node) {
            let known: Vec<&str> = table.iter().map(|(known, _)| *known).collect();
            let said = format!(
                "'{}' is not known here; write {}",
                quoted(word),
                known.join(", ")
            );
            self.wrong(node, at, said);
        }
        found.map(|(_, value)| *value)
    }

    /// `contains`, `equals` and `matches` of a map.
    pub(super) fn text_test(&mut self, fields: Fields<'_>, at: &str) -> TextTest {
        let mut test = match fields.optional("contains") {
            Some(node) => self.contains(node, &format!("{at}.contains")),
            None => TextTest::default(),
        };
        let equals = self.text(fields.optional("equals"), &format!("{at}.equals"));
        test.equals = equals.map(|text| text.trim().to_lowercase());
        if let Some(node) = fields.optional("matches") {
            test.matches = self.pattern(node, &format!("{at}.matches"));
        }
        test
    }

    /// A text, or a list of which one is enough.
    pub(super) fn contains(&mut self, node: &Node, at: &str) -> TextTest {
        let empty = "every message contains an empty text; write what to look for";
        let texts = self.texts(node, at, empty);
        TextTest {
            contains: texts.into_iter().map(str::to_lowercase).collect(),
            ..TextTest::default()
        }
    }

    /// A text or a list of texts. `empty` is what is wrong with an empty one.
    pub(super) fn texts<'n>(&mut self, node: &'n Node, at: &str, empty: &str) -> Vec<&'n str> {
        let nodes = match node.value {
            Value::List(_) => self.list(Some(node), at, MAX_SCRIPT_LIST),
            _ => vec![(at.to_owned(), node)],
        };
        let mut texts = Vec::with_capacity(nodes.len());
        for (at, node) in nodes {
            match self.text(Some(node), &at) {
                Some("") => self.wrong(node, &at, empty),
                text => texts.extend(text),
            }
        }
        texts
    }

    fn pattern(&mut self, node: &Node, at: &str) -> Option<Regex> {
        let text = self.text(Some(node), at)?;
        let built = RegexBuilder::new(text)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        built
            .map_err(|error| {
                // The library draws a picture over several lines; its last line says what is wrong.
                let error = error.to_string();
                let why = error.lines().last().unwrap_or_default();
                let why = why.trim().trim_start_matches("error: ");
                let said = format!(
                    "this is no regular expression: {why}; in YAML, put it in single quotes"
                );
                self.wrong(node, at, said);
            })
            .ok()
    }
}
