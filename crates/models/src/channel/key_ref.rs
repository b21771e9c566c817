//! Where keys come from: references in the settings, and what they stand for.
//!
//! The settings never hold a key itself. Nothing here repeats a text that might be one, not even in an error.

use std::collections::BTreeMap;

use innkeeper_protocol::Secret;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

use crate::limits::{MAX_CHANNEL_HEADERS, MAX_KEYS, MAX_QUOTED_CHARS};
use crate::names::{looks_secret, quoted};

/// Names a key without being one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRef {
    /// `${NAME}`: an environment variable.
    Env(String),
    /// `secret:models.openai`: a dotted name in `secrets.toml`.
    Secret(String),
}

/// The value of a header: as it stands, or with a key in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderText {
    Plain(String),
    /// `Bearer ${NAME}`, `secret:name`.
    WithKey {
        before: String,
        key: KeyRef,
        after: String,
    },
}

/// Holds secrets by name.
pub trait KeySource: Send + Sync {
    /// `None` if there is none of that name; an error says why it cannot be told.
    fn secret(&self, name: &str) -> Result<Option<Secret>, String>;
}

/// The two places where keys are.
#[derive(Clone, Copy)]
pub struct KeyLookup<'k> {
    pub secrets: &'k dyn KeySource,
    pub env: &'k dyn Fn(&str) -> Option<String>,
}

impl KeyRef {
    /// `None` for what is no reference.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(name) = text.strip_prefix("${").and_then(|t| t.strip_suffix('}')) {
            return is_env_name(name).then(|| Self::Env(name.to_owned()));
        }
        let name = text.strip_prefix("secret:")?.trim();
        is_secret_name(name).then(|| Self::Secret(name.to_owned()))
    }

    /// The key; or why there is none, and what to do about it.
    pub(super) fn resolve(&self, lookup: &KeyLookup<'_>) -> Result<Secret, String> {
        match self {
            Self::Env(name) => match (lookup.env)(name).map(Secret::new) {
                Some(key) if !key.expose().trim().is_empty() => Ok(trimmed(&key)),
                _ => Err(format!("the environment variable {name} is not set")),
            },
            Self::Secret(name) => match lookup.secrets.secret(name)? {
                Some(key) if !key.expose().trim().is_empty() => Ok(trimmed(&key)),
                _ => Err(format!("secrets.toml has no `{name}`")),
            },
        }
    }
}

/// Files and shells like to add an end of line.
fn trimmed(key: &Secret) -> Secret {
    Secret::new(key.expose().trim())
}

impl HeaderText {
    fn read(text: &str) -> Option<Self> {
        if let Some(key) = KeyRef::read(text) {
            return Some(Self::WithKey {
                before: String::new(),
                key,
                after: String::new(),
            });
        }
        let Some((before, rest)) = text.split_once("${") else {
            return Some(Self::Plain(text.to_owned()));
        };
        let (name, after) = rest.split_once('}')?;
        // One key in one header is what there is; a second mark is a typing error.
        (is_env_name(name) && !after.contains("${")).then(|| Self::WithKey {
            before: before.to_owned(),
            key: KeyRef::Env(name.to_owned()),
            after: after.to_owned(),
        })
    }

    /// The value, and the key in it if there is one.
    pub(super) fn resolve(
        &self,
        lookup: &KeyLookup<'_>,
    ) -> Result<(Secret, Option<Secret>), String> {
        match self {
            Self::Plain(text) => Ok((Secret::new(text), None)),
            Self::WithKey { before, key, after } => {
                let key = key.resolve(lookup)?;
                let value = Secret::new(format!("{before}{}{after}", key.expose()));
                Ok((value, Some(key)))
            }
        }
    }
}

fn is_env_name(name: &str) -> bool {
    name.len() <= MAX_QUOTED_CHARS
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_secret_name(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    name.len() <= MAX_QUOTED_CHARS && name.split('.').all(part)
}

const NO_REFERENCE: &str = "`keys` names where a key is and never holds one: put it into an environment variable and \
                            write \"${NAME}\", or into secrets.toml and write \"secret:models.name\"";

impl<'de> Deserialize<'de> for KeyRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Json::deserialize(deserializer)?;
        let found = read.as_str().and_then(Self::read);
        found.ok_or_else(|| D::Error::custom(NO_REFERENCE))
    }
}

/// One reference or a list of them. Read by hand because serde repeats a value of the wrong kind in its message, and
/// here that may be a key.
pub(super) fn read_keys<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<KeyRef>, D::Error> {
    let written = match Json::deserialize(reader)? {
        Json::Array(list) => list,
        one => vec![one],
    };
    if written.len() > MAX_KEYS {
        let why = format!("`keys` has more than {MAX_KEYS} entries");
        return Err(D::Error::custom(why));
    }
    written
        .iter()
        .map(|key| key.as_str().and_then(KeyRef::read))
        .collect::<Option<_>>()
        .ok_or_else(|| D::Error::custom(NO_REFERENCE))
}

pub(super) fn read_headers<'de, D: Deserializer<'de>>(
    reader: D,
) -> Result<BTreeMap<String, HeaderText>, D::Error> {
    let Json::Object(written) = Json::deserialize(reader)? else {
        return Err(D::Error::custom("`headers` is a table of names and texts"));
    };
    if written.len() > MAX_CHANNEL_HEADERS {
        let why = format!("`headers` has more than {MAX_CHANNEL_HEADERS} entries");
        return Err(D::Error::custom(why));
    }
    let read = |(name, value): (String, Json)| {
        let shown = quoted(&name);
        let text = value.as_str().and_then(HeaderText::read).ok_or_else(|| {
            D::Error::custom(format!(
                "the header `{shown}` is a text, perhaps with one \"${{NAME}}\" in it, or \"secret:name\""
            ))
        })?;
        match text {
            HeaderText::Plain(_) if looks_secret(&name) => Err(D::Error::custom(format!(
                "the header `{shown}` looks like a secret, and the settings hold none: put it into an environment \
                 variable and write \"${{NAME}}\", or into secrets.toml and write \"secret:models.name\""
            ))),
            text => Ok((name, text)),
        }
    };
    written.into_iter().map(read).collect()
}

#[cfg(test)]
#[path = "key_ref_tests.rs"]
mod tests;
