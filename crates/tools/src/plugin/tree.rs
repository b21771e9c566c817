//! YAML and JSON as one tree that remembers where everything stood.
//!
//! `yaml.rs` and `json.rs` make it; what the values mean is left to the readers.

use serde_json::{Map, Number, Value as Json};

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
    /// Nothing but a place, for messages.
    pub(super) fn mark(line: usize, column: usize) -> Self {
        Self {
            value: Value::Null,
            line,
            column,
        }
    }

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

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
