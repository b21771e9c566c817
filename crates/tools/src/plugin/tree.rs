//! YAML and JSON as one tree that remembers where everything stood.
//!
//! Owns turning text into that tree, within bounds. What the values mean is left to the readers.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};
use serde_saphyr::{
    DuplicateKeyPolicy, Error as YamlError, Location, NonFiniteFloatPolicy, Spanned,
};

use super::problem::{Code, Report};
use crate::limits::{MAX_MANIFEST_BYTES, MAX_YAML_DEPTH, MAX_YAML_NODES};

/// A value and where it began, counted from 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) value: Node,
}

impl Node {
    pub(super) fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(value) => Json::Number(value.clone()),
            Value::Text(value) => Json::String(value.clone()),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(entries) => {
                let entries = entries.iter();
                let pairs = entries.map(|entry| (entry.key.clone(), entry.value.to_json()));
                Json::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Map(entries) => entries
                .iter()
                .find(|entry| entry.key == key)
                .map(|entry| &entry.value),
            _ => None,
        }
    }

    /// With its article, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

/// Reads YAML, or says what is wrong with it.
pub(super) fn read_yaml(text: &str, report: &mut Report) -> Option<Node> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_YAML_DEPTH,
            flow_nesting_limit: MAX_YAML_DEPTH,
            max_nodes: MAX_YAML_NODES,
            max_events: MAX_YAML_NODES * 3,
            max_documents: 1,
            max_total_scalar_bytes: MAX_MANIFEST_BYTES,
            max_recorded_anchor_bytes: MAX_MANIFEST_BYTES,
            max_recorded_anchor_events: MAX_YAML_NODES,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_YAML_NODES },
        duplicate_keys: DuplicateKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        strict_booleans: true,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options) {
        Ok(raw) => Some(settled(raw)),
        Err(error) => {
            let error = error.without_snippet();
            let place = error.location().map(position);
            let code = match error {
                YamlError::DuplicateMappingKey { .. } => Code::DuplicateKey,
                _ => Code::BadYaml,
            };
            report.about_file(code, place, yaml_message(error));
            None
        }
    }
}

/// The library adds the place at the end; ours stands in front.
fn yaml_message(error: &YamlError) -> String {
    let text = error.to_string();
    let end = text
        .find(" at line ")
        .filter(|_| error.location().is_some())
        .unwrap_or(text.len());
    let what = text.get(..end).unwrap_or(&text);
    let what = what.strip_prefix("error: ").unwrap_or(what);
    match error {
        YamlError::DuplicateMappingKey { .. } => format!("{what}; give each key once"),
        YamlError::Budget { .. }
        | YamlError::AliasReplayLimitExceeded { .. }
        | YamlError::AliasExpansionLimitExceeded { .. }
        | YamlError::AliasReplayStackDepthExceeded { .. } => {
            format!("this is larger or deeper than a manifest may be ({what})")
        }
        _ => format!("this is no valid YAML: {what}"),
    }
}

fn position(location: Location) -> (usize, usize) {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).max(1);
    (number(location.line()), number(location.column()))
}

fn settled(raw: Spanned<Raw>) -> Node {
    let (line, column) = position(raw.referenced);
    Node {
        value: raw.value.0,
        line,
        column,
    }
}

/// A value whose own place is known to whoever holds it.
struct Raw(Value);

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor).map(Self)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("this number has no end"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Spanned<Raw>>()? {
            items.push(settled(item));
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<Raw>>()? {
            let (line, column) = position(key.referenced);
            entries.push(Entry {
                key: key.value,
                line,
                column,
                value: settled(value),
            });
        }
        Ok(Value::Map(entries))
    }
}

/// Reads JSON, or says what is wrong with it.
pub(super) fn read_json(text: &str, report: &mut Report) -> Option<Node> {
    if let Err(error) = serde_json::from_str::<Json>(text) {
        let place = (error.line().max(1), error.column().max(1));
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or(&what);
        report.about_file(
            Code::BadJson,
            Some(place),
            format!("this is no valid JSON: {what}"),
        );
        return None;
    }
    let before = report.count();
    let mut scan = Scan {
        rest: text,
        line: 1,
        column: 1,
    };
    let node = scan.value(report);
    node.filter(|_| report.count() == before)
}

/// Goes once more over JSON that is known to be sound, this time for the places. The depth is bounded by the
/// reader that went first.
struct Scan<'t> {
    rest: &'t str,
    line: usize,
    column: usize,
}

impl<'t> Scan<'t> {
    fn value(&mut self, report: &mut Report) -> Option<Node> {
        self.blanks();
        let (line, column) = (self.line, self.column);
        let value = match self.rest.chars().next()? {
            '{' => self.map(report)?,
            '[' => self.list(report)?,
            _ => scalar(self.token()?)?,
        };
        Some(Node {
            value,
            line,
            column,
        })
    }

    fn list(&mut self, report: &mut Report) -> Option<Value> {
        let mut items = Vec::new();
        self.take(1)?;
        loop {
            self.blanks();
            match self.rest.chars().next()? {
                ']' => break,
                ',' => {
                    self.take(1)?;
                }
                _ => items.push(self.value(report)?),
            }
        }
        self.take(1)?;
        Some(Value::List(items))
    }

    fn map(&mut self, report: &mut Report) -> Option<Value> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        self.take(1)?;
        loop {
            self.blanks();
            match self.rest.chars().next()? {
                '}' => break,
                ',' | ':' => {
                    self.take(1)?;
                }
                _ => {
                    let (line, column) = (self.line, self.column);
                    let key = serde_json::from_str::<String>(self.token()?).ok()?;
                    self.blanks();
                    self.take(1)?;
                    let value = self.value(report)?;
                    if !seen.insert(key.clone()) {
                        report.about_file(
                            Code::DuplicateKey,
                            Some((line, column)),
                            format!("the key '{key}' stands here twice; give each key once"),
                        );
                    }
                    entries.push(Entry {
                        key,
                        line,
                        column,
                        value,
                    });
                }
            }
        }
        self.take(1)?;
        Some(Value::Map(entries))
    }

    /// A text with its quotes, a number, or a word.
    fn token(&mut self) -> Option<&'t str> {
        let length = if self.rest.starts_with('"') {
            let mut escaped = false;
            let end = self.rest.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            end.map(|(at, _)| at + 1)?
        } else {
            let ends = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}' | ':');
            self.rest.find(ends).unwrap_or(self.rest.len())
        };
        self.take(length)
    }

    fn blanks(&mut self) {
        let length = self.rest.len() - self.rest.trim_ascii_start().len();
        self.take(length);
    }

    fn take(&mut self, length: usize) -> Option<&'t str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        for c in taken.chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        Some(taken)
    }
}

fn scalar(token: &str) -> Option<Value> {
    Some(match serde_json::from_str::<Json>(token).ok()? {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(value) => Value::Number(value),
        Json::String(value) => Value::Text(value),
        Json::Array(_) | Json::Object(_) => return None,
    })
}
