//! Whether a rule applies to a call: yes, no, or it cannot be told, which the caller takes for *deny*.
//!
//! Refusing is done generously and allowing narrowly. *Deny* fits names that look alike. *Deny* and *ask* fit when
//! one element of a list fits, and when a folder above the named place is touched; *allow* needs every element, and
//! exactly the place.

use innkeeper_protocol::key;
use serde_json::Value as Json;

use super::decide::Question;
use super::place::{self, Place};
use super::rule::{Decision, Rule};
use crate::Pattern;
use crate::limits::{MAX_PLACE_CHARS, MAX_RULE_ELEMENTS};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fit {
    Yes,
    No,
    /// Why not.
    Unknown(String),
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Self {
        match fits {
            true => Self::Yes,
            false => Self::No,
        }
    }
}

/// Whether it speaks of that tool and whoever calls, whatever the arguments.
pub(super) fn names(rule: &Rule, question: &Question<'_>) -> bool {
    let named = |pattern: &Option<Pattern>, text: &str| match pattern {
        None => true,
        Some(pattern) if rule.decision == Decision::Deny => pattern.matches_loosely(text),
        Some(pattern) => pattern.matches(text),
    };
    let tool = question.tool;
    let mut names = std::iter::once(&tool.id).chain(&tool.aliases);
    names.any(|name| named(&rule.tool, name.as_str()))
        && named(&rule.source, &tool.source)
        && named(&rule.actor, question.actor)
}

pub(super) fn fit(rule: &Rule, question: &Question<'_>) -> Fit {
    if !names(rule, question) {
        return Fit::No;
    }
    // A single no is enough for no, whatever is unknown.
    let mut unknown = None;
    for (name, pattern) in &rule.arguments {
        match argument(rule.decision, name, pattern, question) {
            Fit::Yes => {}
            Fit::No => return Fit::No,
            Fit::Unknown(why) => unknown = unknown.or(Some(why)),
        }
    }
    unknown.map_or(Fit::Yes, Fit::Unknown)
}

fn argument(decision: Decision, name: &str, pattern: &Pattern, question: &Question<'_>) -> Fit {
    match find(name, question) {
        Found::Value(Json::Array(elements)) => list(decision, name, pattern, elements, question),
        Found::Value(value) => single(decision, name, pattern, value, question),
        Found::Undeclared => Fit::No,
        // The tool will choose a value by itself, and nobody here knows which.
        Found::Absent => match decision {
            Decision::Allow => Fit::No,
            Decision::Ask => Fit::Yes,
            Decision::Deny => Fit::Unknown(format!("the call does not give '{name}': give it")),
        },
    }
}

enum Found<'q> {
    Value(&'q Json),
    /// The tool knows this argument, the call does not give it, and the declaration has no default.
    Absent,
    /// The tool has no such argument.
    Undeclared,
}

fn find<'q>(name: &str, question: &Question<'q>) -> Found<'q> {
    let pointer = name.strip_prefix('/').map(|_| name);
    let (first, rest) = match pointer {
        Some(pointer) => {
            let pointer = pointer.get(1..).unwrap_or_default();
            let (first, _) = pointer.split_once('/').unwrap_or((pointer, ""));
            let rest = pointer.get(first.len()..).unwrap_or_default();
            (first.replace("~1", "/").replace("~0", "~"), rest)
        }
        None => (name.to_owned(), ""),
    };
    // Declared names that are equal in this form cannot stand beside each other in one tool. Others can, where a tool
    // takes any: then the one that is named is meant.
    let wanted = key::normalise(&first);
    let same = |key: &str| *key == *first || key::normalise(key) == wanted;
    let exact = question.arguments.get_key_value(&first);
    let given = exact.or_else(|| question.arguments.iter().find(|(key, _)| same(key)));
    let given = given.filter(|(_, value)| !value.is_null());
    let declared = question.tool.properties().find(|(key, _)| same(key));
    let value = match (given, declared) {
        (Some((_, value)), _) => Some(value),
        (None, Some((_, schema))) => schema.get("default"),
        (None, None) => return Found::Undeclared,
    };
    match value.and_then(|value| within(value, rest)) {
        Some(value) => Found::Value(value),
        None => Found::Absent,
    }
}

/// `null` is what callers write for "not given".
fn within<'q>(value: &'q Json, pointer: &str) -> Option<&'q Json> {
    value.pointer(pointer).filter(|value| !value.is_null())
}

fn list(
    decision: Decision,
    name: &str,
    pattern: &Pattern,
    elements: &[Json],
    question: &Question<'_>,
) -> Fit {
    if elements.len() > MAX_RULE_ELEMENTS {
        return Fit::Unknown(format!(
            "'{name}' has more than {MAX_RULE_ELEMENTS} elements"
        ));
    }
    if elements.is_empty() {
        return Fit::No;
    }
    let all = decision == Decision::Allow;
    let mut unknown = None;
    for element in elements {
        match single(decision, name, pattern, element, question) {
            Fit::Yes if !all => return Fit::Yes,
            Fit::No if all => return Fit::No,
            Fit::Unknown(why) => unknown = unknown.or(Some(why)),
            Fit::Yes | Fit::No => {}
        }
    }
    unknown.map_or(Fit::from(all), Fit::Unknown)
}

fn single(
    decision: Decision,
    name: &str,
    pattern: &Pattern,
    value: &Json,
    question: &Question<'_>,
) -> Fit {
    let text = match value {
        Json::String(text) => text.as_str(),
        Json::Number(number) => return plain(decision, pattern, &number.to_string()),
        Json::Bool(flag) => return plain(decision, pattern, &flag.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => {
            return Fit::Unknown(format!(
                "'{name}' is neither text nor a number nor true or false"
            ));
        }
    };
    let place = place::of_pattern(pattern.as_str());
    if place.is_some() && text.chars().nth(MAX_PLACE_CHARS).is_some() {
        return Fit::Unknown(format!("'{name}' is too long for a place"));
    }
    match place {
        Some(Place::File) => match (question.normalise)(text) {
            Some(uri) if decision == Decision::Allow => pattern.matches(&uri).into(),
            Some(uri) => place::reaches(pattern, &uri).into(),
            None if place::is_web_address(text) => Fit::No,
            None => Fit::Unknown(format!("'{name}' names no file or folder")),
        },
        Some(Place::Web) => {
            match place::fits_web(pattern.as_str(), text, decision == Decision::Allow) {
                Some(fits) => fits.into(),
                None => Fit::Unknown(format!("'{name}' is no web address")),
            }
        }
        None => match plain(decision, pattern, text) {
            Fit::No if decision != Decision::Allow => {
                let roundabout = roundabout_file(text, question);
                roundabout
                    .is_some_and(|uri| pattern.matches_loosely(&uri))
                    .into()
            }
            fit => fit,
        },
    }
}

/// The file that a text names in a roundabout way (`notes/../.env`), which a pattern would miss. A text that is
/// simply the end of the file's URI is as good as any.
fn roundabout_file(text: &str, question: &Question<'_>) -> Option<String> {
    if text.chars().nth(MAX_PLACE_CHARS).is_some() {
        return None;
    }
    let uri = (question.normalise)(text)?;
    let plain = text.trim().trim_start_matches('/');
    (!uri.ends_with(plain)).then_some(uri)
}

fn plain(decision: Decision, pattern: &Pattern, text: &str) -> Fit {
    match decision {
        Decision::Allow => pattern.matches(text).into(),
        Decision::Ask | Decision::Deny => pattern.matches_loosely(text).into(),
    }
}
