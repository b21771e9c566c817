//! A script as a tree that remembers where everything stood. What the values mean is left to `read`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DuplicateKeyPolicy, Error, Location, NonFiniteFloatPolicy, Spanned};

use super::problem::{Place, ScriptProblem};
use crate::limits::{MAX_SCRIPT_BYTES, MAX_SCRIPT_DEPTH, MAX_SCRIPT_NODES};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) place: Place,
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
    pub(super) place: Place,
    pub(super) value: Node,
}

impl Node {
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

/// Within bounds: no bombs of aliases, no key twice, one document.
pub(super) fn read_yaml(text: &str) -> Result<Node, ScriptProblem> {
    if text.len() > MAX_SCRIPT_BYTES {
        return Err(ScriptProblem::of_file(format!(
            "a script may have {MAX_SCRIPT_BYTES} bytes; split it into several"
        )));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_SCRIPT_DEPTH,
            flow_nesting_limit: MAX_SCRIPT_DEPTH * 2,
            max_nodes: MAX_SCRIPT_NODES,
            max_events: MAX_SCRIPT_NODES * 3,
            max_documents: 1,
            max_total_scalar_bytes: MAX_SCRIPT_BYTES,
            max_recorded_anchor_bytes: MAX_SCRIPT_BYTES,
            max_recorded_anchor_events: MAX_SCRIPT_NODES,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_SCRIPT_NODES },
        duplicate_keys: DuplicateKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options)
        .map(settled)
        .map_err(|error| ScriptProblem {
            place: error.location().map(place),
            field: String::new(),
            message: worded(innermost(&error)),
        })
}

/// Errors found through an alias carry the one that counts inside.
fn innermost(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } =
        error
    {
        error = inner;
    }
    error
}

fn worded(error: &Error) -> String {
    match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("…");
            format!("the key '{key}' stands here twice; give each key once")
        }
        Error::MultipleDocuments { .. }
        | Error::Budget {
            breach: BudgetBreach::Documents { .. },
            ..
        } => "a second document begins here; a script is one document".to_owned(),
        Error::NonFiniteFloat { value, .. } => {
            format!("'{value}' is no number that can be used; write a plain one")
        }
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "this is larger or nests deeper than a script may; make it simpler".to_owned()
        }
        other => {
            // The library adds the place at the end; ours stands in front.
            let text = other.to_string();
            let what = text.split(" at line ").next().unwrap_or(&text);
            let what = what.strip_prefix("error: ").unwrap_or(what);
            format!("this is no valid YAML: {what}")
        }
    }
}

fn place(location: Location) -> Place {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).max(1);
    Place {
        line: number(location.line()),
        column: number(location.column()),
    }
}

fn settled(raw: Spanned<Raw>) -> Node {
    Node {
        place: place(raw.referenced),
        value: raw.value.0,
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
            entries.push(Entry {
                place: place(key.referenced),
                key: key.value,
                value: settled(value),
            });
        }
        Ok(Value::Map(entries))
    }
}
