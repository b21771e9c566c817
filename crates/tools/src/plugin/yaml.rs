//! YAML into a tree, within bounds: no bombs of aliases, no key twice, one document.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{DuplicateKeyPolicy, Error, Location, NonFiniteFloatPolicy, Spanned};

use super::problem::{Code, Report};
use super::tree::{Entry, Node, Value};
use crate::limits::{MAX_MANIFEST_BYTES, MAX_YAML_DEPTH, MAX_YAML_NODES};

/// Reads YAML, or says what is wrong with it.
pub(super) fn read_yaml(text: &str, report: &mut Report) -> Option<Node> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_YAML_DEPTH,
            flow_nesting_limit: MAX_YAML_DEPTH * 2,
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
            let place = error.location().map(position);
            let (code, message) = worded(innermost(&error));
            report.about_file(code, place, message);
            None
        }
    }
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

fn worded(error: &Error) -> (Code, String) {
    let message = match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("…");
            let message = format!("the key '{key}' stands here twice; give each key once");
            return (Code::DuplicateKey, message);
        }
        Error::MultipleDocuments { .. }
        | Error::Budget {
            breach: BudgetBreach::Documents { .. },
            ..
        } => "a second document begins here; a manifest is one document".to_owned(),
        Error::NonFiniteFloat { value, .. } => format!("'{value}' is no number that can be used"),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => {
            "this is larger or nests deeper than a manifest may".to_owned()
        }
        other => {
            // The library adds the place at the end; ours stands in front.
            let text = other.to_string();
            let what = text.split(" at line ").next().unwrap_or(&text);
            let what = what.strip_prefix("error: ").unwrap_or(what);
            format!("this is no valid YAML: {what}")
        }
    };
    (Code::BadYaml, message)
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
