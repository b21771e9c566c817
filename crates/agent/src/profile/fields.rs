//! One object of a profile, read field by field. Everything that does not fit is noted with its place, and reading
//! goes on with the value that stands where a file says nothing.
//!
//! A field is known because it was asked for; what is left over at [`Fields::end`] is unknown.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::{Map, Value as Json};

use super::problem::{CONTRACT, Findings, did_you_mean};
use crate::limits::{MAX_PROFILE_ENTRIES, MAX_PROFILE_NAME_CHARS};

pub(super) struct Fields<'j> {
    map: Option<&'j Map<String, Json>>,
    path: String,
    asked: Vec<&'static str>,
    found: &'j Findings,
}

impl<'j> Fields<'j> {
    /// `None` where there is no object: every field then has its default.
    pub(super) fn new(json: Option<&'j Json>, path: String, found: &'j Findings) -> Self {
        let map = match json {
            Some(Json::Object(map)) => Some(map),
            Some(other) => {
                found.error(CONTRACT, &path, expected("an object", other));
                None
            }
            None => None,
        };
        Self {
            map,
            path,
            asked: Vec::new(),
            found,
        }
    }

    pub(super) fn found(&self) -> &'j Findings {
        self.found
    }

    pub(super) fn at(&self, key: &str) -> String {
        below(&self.path, key)
    }

    pub(super) fn error(&self, reason: &'static str, key: &str, message: impl Into<String>) {
        self.found.error(reason, &self.at(key), message);
    }

    /// Whether there is anything in the field, right or wrong.
    pub(super) fn has(&self, key: &str) -> bool {
        self.map
            .and_then(|map| map.get(key))
            .is_some_and(|value| !value.is_null())
    }

    /// The field as it stands there, null included.
    pub(super) fn raw(&mut self, key: &'static str) -> Option<&'j Json> {
        self.asked.push(key);
        self.map?.get(key)
    }

    /// What is in the field; null counts as nothing.
    fn some(&mut self, key: &'static str) -> Option<&'j Json> {
        self.raw(key).filter(|value| !value.is_null())
    }

    /// A field that cannot be null, or is missing.
    fn given(&mut self, key: &'static str, kind: &str) -> Option<&'j Json> {
        let value = self.raw(key)?;
        if value.is_null() {
            self.error(CONTRACT, key, expected(kind, value));
            return None;
        }
        Some(value)
    }

    pub(super) fn object(&mut self, key: &'static str) -> Fields<'j> {
        let value = self.given(key, "an object");
        Fields::new(value, self.at(key), self.found)
    }

    /// An object that may be null or missing, which is the same.
    pub(super) fn object_if_any(&mut self, key: &'static str) -> Option<Fields<'j>> {
        let value = self.some(key)?;
        Some(Fields::new(Some(value), self.at(key), self.found))
    }

    pub(super) fn flag(&mut self, key: &'static str, default: bool) -> bool {
        match self.given(key, "true or false") {
            Some(Json::Bool(value)) => *value,
            Some(other) => {
                self.error(CONTRACT, key, expected("true or false", other));
                default
            }
            None => default,
        }
    }

    /// A whole number; one that is out of bounds is a problem with a name of its own.
    pub(super) fn whole(
        &mut self,
        key: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
        reason: &'static str,
    ) -> u64 {
        let Some(value) = self.given(key, "a whole number") else {
            return default;
        };
        let path = self.at(key);
        whole(value, range, reason, &path, self.found).unwrap_or(default)
    }

    pub(super) fn whole_if_any(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        let value = self.some(key)?;
        let path = self.at(key);
        whole(value, range, CONTRACT, &path, self.found)
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        default: T,
        reason: &'static str,
        words: &[(&str, T)],
    ) -> T {
        let Some(value) = self.given(key, "a word") else {
            return default;
        };
        let chosen = words.iter().find(|(word, _)| value == word);
        if let Some((_, chosen)) = chosen {
            return *chosen;
        }
        let list: Vec<_> = words.iter().map(|(word, _)| format!("'{word}'")).collect();
        let near = match value.as_str() {
            Some(text) => did_you_mean(text, words.iter().map(|(word, _)| *word)),
            None => String::new(),
        };
        let told = match value {
            Json::String(text) => format!("'{}'", short(text)),
            other => kind(other).to_owned(),
        };
        let message = format!("must be {}, not {told}{near}", list.join(" or "));
        self.error(reason, key, message);
        default
    }

    /// A text; null and missing are the same.
    pub(super) fn text(&mut self, key: &'static str, most: usize) -> Option<String> {
        let value = self.some(key)?;
        let path = self.at(key);
        text(value, most, &path, self.found)
    }

    /// A short text that is not blank; null and missing are the same.
    pub(super) fn name(&mut self, key: &'static str, reason: &'static str) -> Option<String> {
        let name = self.text(key, MAX_PROFILE_NAME_CHARS)?;
        if name.trim().is_empty() {
            self.error(
                reason,
                key,
                "must not be blank: give it a text, or leave it out",
            );
            return None;
        }
        Some(name)
    }

    /// A list of short texts that are not blank.
    pub(super) fn names(&mut self, key: &'static str) -> Option<Vec<String>> {
        let value = self.given(key, "a list")?;
        let path = self.at(key);
        let Json::Array(list) = value else {
            self.error(CONTRACT, key, expected("a list", value));
            return None;
        };
        if list.len() > MAX_PROFILE_ENTRIES {
            self.error(CONTRACT, key, too_many(list.len()));
            return None;
        }
        let entries = list.iter().enumerate().filter_map(|(at, entry)| {
            let path = format!("{path}[{at}]");
            let entry = text(entry, MAX_PROFILE_NAME_CHARS, &path, self.found)?;
            if entry.trim().is_empty() {
                self.found.error(CONTRACT, &path, "must not be blank");
                return None;
            }
            Some(entry)
        });
        Some(entries.collect())
    }

    /// The entries of a list, each with its place.
    pub(super) fn list(&mut self, key: &'static str) -> Vec<(String, &'j Json)> {
        let Some(value) = self.given(key, "a list") else {
            return Vec::new();
        };
        let path = self.at(key);
        match value {
            Json::Array(list) if list.len() > MAX_PROFILE_ENTRIES => {
                self.error(CONTRACT, key, too_many(list.len()));
                Vec::new()
            }
            Json::Array(list) => {
                let places = list.iter().enumerate();
                places
                    .map(|(at, entry)| (format!("{path}[{at}]"), entry))
                    .collect()
            }
            other => {
                self.error(CONTRACT, key, expected("a list", other));
                Vec::new()
            }
        }
    }

    /// An object whose keys are names that people chose. `None` for an entry that is worth nothing.
    pub(super) fn map<T>(
        &mut self,
        key: &'static str,
        reason: &'static str,
        mut read: impl FnMut(&'j Json, &str) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let Some(value) = self.given(key, "an object") else {
            return BTreeMap::new();
        };
        let path = self.at(key);
        let Json::Object(map) = value else {
            self.error(reason, key, expected("an object", value));
            return BTreeMap::new();
        };
        if map.len() > MAX_PROFILE_ENTRIES {
            self.error(CONTRACT, key, too_many(map.len()));
            return BTreeMap::new();
        }
        let entries = map.iter().filter_map(|(name, value)| {
            let path = below(&path, name);
            if name.trim().is_empty() || name.chars().nth(MAX_PROFILE_NAME_CHARS).is_some() {
                self.found.error(
                    CONTRACT,
                    &path,
                    format!("a name must have 1 to {MAX_PROFILE_NAME_CHARS} characters"),
                );
                return None;
            }
            Some((name.clone(), read(value, &path)?))
        });
        entries.collect()
    }

    /// Fields that nobody asked for.
    pub(super) fn unknown(&self) -> impl Iterator<Item = (&'j String, &'j Json)> {
        let map = self.map.into_iter().flatten();
        map.filter(|(key, _)| !self.asked.contains(&key.as_str()))
    }

    /// Names what is unknown.
    pub(super) fn end(self) {
        for (key, _) in self.unknown() {
            let near = did_you_mean(key, self.asked.iter().copied());
            let message = match near.as_str() {
                "" => "unknown field: take it out".to_owned(),
                near => format!("unknown field{near}"),
            };
            self.error(CONTRACT, key, message);
        }
    }
}

pub(super) fn whole(
    value: &Json,
    range: RangeInclusive<u64>,
    reason: &'static str,
    path: &str,
    found: &Findings,
) -> Option<u64> {
    let number = match value {
        Json::Number(number) => number,
        other => {
            found.error(CONTRACT, path, expected("a whole number", other));
            return None;
        }
    };
    // JavaScript writes 80.0 as 80, but other tools do not.
    let exact = number.as_u64().or_else(|| {
        let float = number.as_f64()?;
        let fits = float >= 0.0 && float.fract() == 0.0 && float <= 9e15;
        fits.then_some(float as u64)
    });
    match exact {
        Some(exact) if range.contains(&exact) => Some(exact),
        None if number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
            found.error(
                CONTRACT,
                path,
                format!("must be a whole number, not {number}"),
            );
            None
        }
        _ => {
            let message = format!(
                "must be between {} and {}, not {number}",
                range.start(),
                range.end()
            );
            found.error(reason, path, message);
            None
        }
    }
}

pub(super) fn text(value: &Json, most: usize, path: &str, found: &Findings) -> Option<String> {
    let text = match value {
        Json::String(text) => text,
        other => {
            found.error(CONTRACT, path, expected("a text", other));
            return None;
        }
    };
    if text.chars().nth(most).is_some() {
        let message = format!("is longer than {most} characters: shorten it");
        found.error(CONTRACT, path, message);
        return None;
    }
    Some(text.clone())
}

/// `$.tools.maxRounds`; a key that is no plain word is quoted.
pub(super) fn below(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let word =
        !key.is_empty() && key.chars().all(plain) && !key.starts_with(|c: char| c.is_ascii_digit());
    match word {
        true => format!("{path}.{key}"),
        false => format!("{path}[{}]", Json::from(short(key))),
    }
}

pub(super) fn expected(what: &str, got: &Json) -> String {
    format!("must be {what}, not {}", kind(got))
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

fn too_many(count: usize) -> String {
    format!("has {count} entries, more than {MAX_PROFILE_ENTRIES}: shorten it")
}

/// For messages: foreign text of any length.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
