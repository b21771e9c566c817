//! Texts and lists that a model wrote, held to their lengths. Lengths are characters, so that every script has the same room.

use innkeeper_tools::ToolError;
use serde_json::{Map, Value as Json};

type Fields = Map<String, Json>;

/// A text that says something.
pub(super) fn required(
    fields: &Fields,
    of: &str,
    name: &str,
    most: usize,
) -> Result<String, ToolError> {
    match optional(fields, of, name, most)? {
        Some(text) => Ok(text),
        None => Err(invalid(format!(
            "{of}.{name} says nothing: write it in a few words"
        ))),
    }
}

pub(super) fn optional(
    fields: &Fields,
    of: &str,
    name: &str,
    most: usize,
) -> Result<Option<String>, ToolError> {
    let text = match fields.get(name) {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::String(text)) => text.trim(),
        Some(_) => return Err(invalid(format!("{of}.{name} is no text"))),
    };
    held(&format!("{of}.{name}"), text, most)?;
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// A list of texts; empty ones are left out.
pub(super) fn texts(
    fields: &Fields,
    of: &str,
    name: &str,
    entries: usize,
    most: usize,
) -> Result<Vec<String>, ToolError> {
    let mut all = Vec::new();
    for (at, entry) in list(fields, of, name, entries)?.iter().enumerate() {
        let place = format!("{of}.{name}[{at}]");
        let Json::String(text) = entry else {
            return Err(invalid(format!("{place} is no text")));
        };
        held(&place, text.trim(), most)?;
        if !text.trim().is_empty() {
            all.push(text.trim().to_owned());
        }
    }
    Ok(all)
}

pub(super) fn list<'f>(
    fields: &'f Fields,
    of: &str,
    name: &str,
    entries: usize,
) -> Result<&'f [Json], ToolError> {
    let list = match fields.get(name) {
        None | Some(Json::Null) => return Ok(&[]),
        Some(Json::Array(list)) => list,
        Some(_) => return Err(invalid(format!("{of}.{name} is no list"))),
    };
    match list.len() > entries {
        true => Err(invalid(format!(
            "{of}.{name} has {} entries, at most {entries} are taken: name the most important ones",
            list.len()
        ))),
        false => Ok(list),
    }
}

pub(super) fn held(place: &str, text: &str, most: usize) -> Result<(), ToolError> {
    match text.chars().nth(most) {
        None => Ok(()),
        Some(_) => Err(invalid(format!(
            "{place} is longer than {most} characters: say it shorter, or leave the rest in a file and name it"
        ))),
    }
}

pub(super) fn invalid(message: String) -> ToolError {
    ToolError::invalid(message).permanent()
}
