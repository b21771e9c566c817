//! Text to JSON, within bounds: how much, how deep, and no key twice in one object.
//!
//! The last of two keys would win in silence, and what a profile forbids must not be lost that way.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use crate::limits::{MAX_PROFILE_BYTES, MAX_PROFILE_DEPTH};

/// Why a text is no JSON that could be read, in words.
pub(super) fn parse(text: &str) -> Result<Json, String> {
    if text.len() > MAX_PROFILE_BYTES {
        return Err(format!("the file is larger than {MAX_PROFILE_BYTES} bytes"));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut source = serde_json::Deserializer::from_str(text);
    let read = Below(MAX_PROFILE_DEPTH)
        .deserialize(&mut source)
        .and_then(|json| source.end().map(|()| json));
    read.map_err(|error| error.to_string())
}

/// Whether a value that did not come from a text is within the bounds that a text would be held to.
pub(super) fn fits(json: &Json) -> bool {
    let mut open = vec![(json, 0)];
    let mut bytes = 0_usize;
    while let Some((value, depth)) = open.pop() {
        let own = match value {
            Json::String(text) => text.len(),
            Json::Object(map) => map.keys().map(String::len).sum(),
            _ => 0,
        };
        bytes = bytes.saturating_add(own).saturating_add(2);
        if bytes > MAX_PROFILE_BYTES || depth > MAX_PROFILE_DEPTH {
            return false;
        }
        match value {
            Json::Array(list) => open.extend(list.iter().map(|entry| (entry, depth + 1))),
            Json::Object(map) => open.extend(map.values().map(|entry| (entry, depth + 1))),
            _ => {}
        }
    }
    true
}

/// How many more levels there may be.
struct Below(usize);

impl<'de> DeserializeSeed<'de> for Below {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Json, D::Error> {
        source.deserialize_any(self)
    }
}

impl Below {
    fn inner<E: serde::de::Error>(&self) -> Result<usize, E> {
        let deeper = || {
            E::custom(format!(
                "more than {MAX_PROFILE_DEPTH} levels in each other"
            ))
        };
        self.0.checked_sub(1).ok_or_else(deeper)
    }
}

impl<'de> Visitor<'de> for Below {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let inner = self.inner()?;
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(Below(inner))? {
            values.push(value);
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json, A::Error> {
        let inner = self.inner()?;
        let mut map = Map::new();
        while let Some(key) = fields.next_key_seed(std::marker::PhantomData::<String>)? {
            if map.contains_key(&key) {
                let key: String = key.chars().take(100).collect();
                return Err(A::Error::custom(format!(
                    "the key '{key}' stands twice in one object"
                )));
            }
            map.insert(key, fields.next_value_seed(Below(inner))?);
        }
        Ok(Json::Object(map))
    }
}
