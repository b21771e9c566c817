//! Ids of profiles: lower-case ASCII letters, digits, `-` and `_`. They are names of files too.

use innkeeper_protocol::event::ProfileId;
use serde_json::Value as Json;

use super::fields::{expected, short};
use super::problem::Findings;
use crate::limits::MAX_PROFILE_ID_CHARS;

/// Why a text is no id: the fine name, and words.
pub(super) fn fault(text: &str) -> Option<(&'static str, String)> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if text.is_empty() {
        let message = "must not be empty: give the profile a short name".to_owned();
        return Some(("agent.profile_id_empty", message));
    }
    if text.chars().nth(MAX_PROFILE_ID_CHARS).is_some() {
        let message = format!("must have at most {MAX_PROFILE_ID_CHARS} characters");
        return Some(("agent.profile_id_too_long", message));
    }
    if !text.chars().all(fits) {
        let message = format!(
            "'{}' is no id: use lower-case ASCII letters, digits, '-' and '_'",
            short(text)
        );
        return Some(("agent.profile_id_invalid", message));
    }
    None
}

pub(super) fn check_id(value: Option<&Json>, path: &str, found: &Findings) -> ProfileId {
    let text = match value {
        Some(Json::String(text)) => text.as_str(),
        None | Some(Json::Null) => "",
        Some(other) => {
            found.error("agent.profile_id_invalid", path, expected("a text", other));
            return ProfileId::new("");
        }
    };
    if let Some((reason, message)) = fault(text) {
        found.error(reason, path, message);
    }
    ProfileId::new(text)
}

/// The nearest text that is an id; empty where there is none.
pub(super) fn adapted(text: &str) -> String {
    let mut id = String::new();
    for c in text.trim().chars() {
        let c = c.to_ascii_lowercase();
        match c {
            'a'..='z' | '0'..='9' | '-' | '_' => id.push(c),
            _ if id.ends_with('-') => {}
            _ => id.push('-'),
        }
    }
    match text == id {
        true => id,
        false => id.trim_matches('-').to_owned(),
    }
}
