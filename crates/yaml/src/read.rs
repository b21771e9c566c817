//! YAML into a tree, within bounds: no bombs of aliases, no key twice, one document.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{DuplicateKeyPolicy, Location, NonFiniteFloatPolicy, Spanned};

use crate::{Entry, Fault, Node, Position, Value};

/// How much a text may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Of all its scalars together; how long the text itself may be, its reader decides before.
    pub bytes: usize,
    pub depth: usize,
    /// Values, those that aliases repeat counted each time.
    pub nodes: usize,
}

/// Reads YAML, or says what is wrong with it.
pub fn read(text: &str, bounds: Bounds) -> Result<Node, Fault> {
    let Bounds {
        bytes,
        depth,
        nodes,
    } = bounds;
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: depth,
            flow_nesting_limit: depth * 2,
            max_nodes: nodes,
            max_events: nodes * 3,
            max_documents: 1,
            max_total_scalar_bytes: bytes,
            max_recorded_anchor_bytes: bytes,
            max_recorded_anchor_events: nodes,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: nodes },
        duplicate_keys: DuplicateKeyPolicy::Error,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options)
        .map(settled)
        .map_err(|error| Fault::from(&error))
}

pub(crate) fn position(location: Location) -> Position {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).max(1);
    Position {
        line: number(location.line()),
        column: number(location.column()),
    }
}

fn settled(raw: Spanned<Raw>) -> Node {
    Node {
        position: position(raw.referenced),
        value: raw.value.0,
    }
}

/// A value whose own position is known to whoever holds it.
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
                position: position(key.referenced),
                key: key.value,
                value: settled(value),
            });
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
