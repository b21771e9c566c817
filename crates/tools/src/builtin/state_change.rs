//! Paths into a state, and changes to it. Pure: all changes or none.

use std::fmt;

use serde_json::{Map, Number, Value as Json};

use crate::ToolError;
use crate::limits::{MAX_STATE_BYTES, MAX_STATE_DEPTH, MAX_STATE_PATH_CHARS, MAX_STATE_PATH_PARTS};

/// Where in a state: `mood.level` or `/mood/level`. The empty path is the whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StatePath(Vec<String>);

fn wrong(reason: &str, message: String) -> ToolError {
    ToolError::invalid(message).because(reason).permanent()
}

impl StatePath {
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let invalid =
            |why: &str| wrong("state.invalid_path", format!("'{text}' is no path: {why}"));
        if text.chars().nth(MAX_STATE_PATH_CHARS).is_some() {
            return Err(wrong(
                "state.invalid_path",
                format!("A path has at most {MAX_STATE_PATH_CHARS} characters"),
            ));
        }
        let parts: Vec<String> = match text.trim() {
            "" => Vec::new(),
            text => match text.strip_prefix('/') {
                Some(pointer) => pointer
                    .split('/')
                    .map(unescape)
                    .collect::<Option<_>>()
                    .ok_or_else(|| invalid("in a JSON Pointer '~' must be followed by 0 or 1"))?,
                None => text.split('.').map(str::to_owned).collect(),
            },
        };
        if !text.trim().starts_with('/') && parts.iter().any(|part| part.trim().is_empty()) {
            return Err(invalid("there is nothing between two dots or at an end"));
        }
        match parts.len() > MAX_STATE_PATH_PARTS {
            true => Err(invalid(&format!(
                "it has more than {MAX_STATE_PATH_PARTS} parts"
            ))),
            false => Ok(Self(parts)),
        }
    }

    pub fn parts(&self) -> &[String] {
        &self.0
    }
}

fn unescape(part: &str) -> Option<String> {
    let mut pieces = part.split('~');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (escaped, rest) = match piece.split_at_checked(1)? {
            ("0", rest) => ('~', rest),
            ("1", rest) => ('/', rest),
            _ => return None,
        };
        plain.push(escaped);
        plain.push_str(rest);
    }
    Some(plain)
}

/// As a JSON Pointer, the one form that can write every path.
impl fmt::Display for StatePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            write!(f, "/{}", part.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Objects on the way are made; lists are not.
    Set(StatePath, Json),
    /// What is not there cannot be removed.
    Remove(StatePath),
    /// To a list, which is made if nothing is there.
    Append(StatePath, Json),
    /// Into an object, which is made if nothing is there, and the objects in it; null removes a field.
    Merge(StatePath, Map<String, Json>),
    /// Of a number; from 0 if nothing is there.
    Increment(StatePath, Number),
}

impl Change {
    pub const fn path(&self) -> &StatePath {
        match self {
            Self::Set(path, _)
            | Self::Remove(path)
            | Self::Append(path, _)
            | Self::Merge(path, _)
            | Self::Increment(path, _) => path,
        }
    }
}

/// What stands at a path.
pub fn look_up<'s>(state: &'s Json, path: &StatePath) -> Result<&'s Json, ToolError> {
    let mut here = state;
    for part in path.parts() {
        let next = match here {
            Json::Object(fields) => fields.get(part),
            Json::Array(items) => index(part).and_then(|at| items.get(at)),
            _ => None,
        };
        here = next.ok_or_else(|| missing(path, part, here))?;
    }
    Ok(here)
}

fn index(part: &str) -> Option<usize> {
    let padded = part.len() > 1 && part.starts_with('0');
    let digits = part.bytes().all(|b| b.is_ascii_digit());
    (digits && !padded).then(|| part.parse().ok()).flatten()
}

fn missing(path: &StatePath, part: &str, here: &Json) -> ToolError {
    let there = match here {
        Json::Object(fields) if fields.is_empty() => "an empty object is there".to_owned(),
        Json::Object(fields) => {
            let names: Vec<&str> = fields.keys().map(String::as_str).take(10).collect();
            format!("there are {}", names.join(", "))
        }
        Json::Array(items) => format!("a list of {} is there", items.len()),
        _ => "a single value is there".to_owned(),
    };
    wrong(
        "state.path_not_found",
        format!("The state has no '{part}' at '{path}'; {there}"),
    )
}

/// The state after all changes. The state before them stays as it was if one of them cannot be made.
pub fn apply(state: &Json, changes: &[Change]) -> Result<Json, ToolError> {
    let mut next = state.clone();
    for change in changes {
        check_exact(change)?;
        match change {
            Change::Set(path, value) => *place(&mut next, path)? = value.clone(),
            Change::Remove(path) => remove(&mut next, path)?,
            Change::Append(path, value) => match place(&mut next, path)? {
                Json::Array(items) => items.push(value.clone()),
                empty @ Json::Null => *empty = Json::Array(vec![value.clone()]),
                _ => {
                    return Err(wrong(
                        "state.not_a_list",
                        format!("What stands at '{path}' is no list, so nothing can be appended"),
                    ));
                }
            },
            Change::Merge(path, fields) => match place(&mut next, path)? {
                there @ (Json::Object(_) | Json::Null) => merge(there, fields),
                _ => {
                    return Err(wrong(
                        "state.not_an_object",
                        format!(
                            "What stands at '{path}' is no object, so nothing can be merged into it; set it instead"
                        ),
                    ));
                }
            },
            Change::Increment(path, by) => {
                let there = place(&mut next, path)?;
                *there = sum(there, by, path)?;
            }
        }
    }
    check_size(&next)?;
    Ok(next)
}

fn merge(there: &mut Json, fields: &Map<String, Json>) {
    if !there.is_object() {
        *there = Json::Object(Map::new());
    }
    let Json::Object(own) = there else {
        return;
    };
    for (name, value) in fields {
        match value {
            Json::Null => {
                own.shift_remove(name);
            }
            Json::Object(inner) => merge(own.entry(name.as_str()).or_insert(Json::Null), inner),
            value => {
                own.insert(name.clone(), value.clone());
            }
        }
    }
}

/// From here on not even integers are told apart by a number with a fraction.
const LARGEST: f64 = 18_446_744_073_709_551_616.0;

fn inexact(what: &str) -> ToolError {
    wrong(
        "state.not_exact",
        format!(
            "{what} cannot be kept exactly: integers go from {} to {}; give it as text",
            i64::MIN,
            u64::MAX
        ),
    )
}

/// JSON in a text; nothing where there is none. Digits of integers are never lost: where they would be, it is an error.
pub fn read_json(text: &str) -> Result<Option<Json>, ToolError> {
    let Ok(read) = serde_json::from_str(text) else {
        return Ok(None);
    };
    let mut is_text = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit() || first == '-';
        let length = match first {
            '"' => {
                is_text = !is_text;
                1
            }
            '\\' if is_text => 2,
            _ if is_number && !is_text => {
                let end = rest.find([',', '}', ']', ' ', '\t', '\n', '\r']);
                let number = rest.get(..end.unwrap_or(rest.len())).unwrap_or(rest);
                let is_whole = !number.contains(['.', 'e', 'E']);
                if is_whole && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    let shown: String = number.chars().take(40).collect();
                    return Err(inexact(&format!("The number {shown}")));
                }
                number.len()
            }
            other => other.len_utf8(),
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(Some(read))
}

/// It was written with more digits than are left of it.
fn is_beyond(number: &Number) -> bool {
    number.is_f64() && number.as_f64().is_some_and(|size| size.abs() >= LARGEST)
}

fn check_exact(change: &Change) -> Result<(), ToolError> {
    let mut open: Vec<&Json> = match change {
        Change::Set(_, value) | Change::Append(_, value) => vec![value],
        Change::Merge(_, fields) => fields.values().collect(),
        Change::Remove(_) | Change::Increment(..) => Vec::new(),
    };
    while let Some(value) = open.pop() {
        match value {
            Json::Array(items) => open.extend(items),
            Json::Object(fields) => open.extend(fields.values()),
            Json::Number(number) if is_beyond(number) => {
                return Err(inexact(&format!(
                    "A number in what is to stand at '{}'",
                    change.path()
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

fn whole(number: &Number) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

/// Only where that is the same number.
fn fraction(number: &Number) -> Option<f64> {
    match whole(number) {
        None => number.as_f64(),
        Some(whole) => {
            let near = whole as f64;
            (near as i128 == whole).then_some(near)
        }
    }
}

fn sum(there: &Json, by: &Number, path: &StatePath) -> Result<Json, ToolError> {
    let refused = |reason: &str, why: &str| {
        wrong(
            reason,
            format!("What stands at '{path}' cannot be incremented: {why}"),
        )
    };
    let too_large = || {
        let why = "the sum would be too large to be kept exactly; set it instead, as text";
        refused("state.not_exact", why)
    };
    let zero = Number::from(0);
    let old = match there {
        Json::Null => &zero,
        Json::Number(number) => number,
        _ => {
            let why = "it is no number; set it instead";
            return Err(refused("state.not_a_number", why));
        }
    };
    if let (Some(old), Some(by)) = (whole(old), whole(by)) {
        let sum = old + by;
        let small = i64::try_from(sum).map(Json::from);
        return small
            .or_else(|_| u64::try_from(sum).map(Json::from))
            .map_err(|_| too_large());
    }
    let lost = || {
        let why = "digits would be lost, since the two are of such different size; set it instead";
        refused("state.not_exact", why)
    };
    let (old, by) = fraction(old).zip(fraction(by)).ok_or_else(lost)?;
    let sum = old + by;
    if sum.abs() >= LARGEST {
        return Err(too_large());
    }
    if (sum == old && by != 0.0) || (sum == by && old != 0.0) {
        return Err(lost());
    }
    Number::from_f64(sum)
        .map(Json::Number)
        .ok_or_else(too_large)
}

/// The place to write to; `null` where nothing was.
fn place<'s>(state: &'s mut Json, path: &StatePath) -> Result<&'s mut Json, ToolError> {
    let mut here = state;
    for part in path.parts() {
        if here.is_null() {
            *here = Json::Object(Map::new());
        }
        here = match here {
            Json::Object(fields) => fields.entry(part.as_str()).or_insert(Json::Null),
            Json::Array(items) => {
                let length = items.len();
                index(part).and_then(|at| items.get_mut(at)).ok_or_else(|| {
                    wrong(
                        "state.path_not_found",
                        format!("The list at '{path}' has {length} items and no '{part}'; use append to add one"),
                    )
                })?
            }
            _ => {
                return Err(wrong(
                    "state.path_not_found",
                    format!(
                        "'{part}' of '{path}' would stand inside a single value; set that first"
                    ),
                ));
            }
        };
    }
    Ok(here)
}

fn remove(state: &mut Json, path: &StatePath) -> Result<(), ToolError> {
    look_up(state, path)?;
    let Some((last, parents)) = path.parts().split_last() else {
        *state = Json::Object(Map::new());
        return Ok(());
    };
    match place(state, &StatePath(parents.to_vec()))? {
        Json::Object(fields) => {
            fields.shift_remove(last);
        }
        Json::Array(items) => {
            if let Some(at) = index(last).filter(|at| *at < items.len()) {
                items.remove(at);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether it is as large as a state may be.
pub fn check_size(state: &Json) -> Result<(), ToolError> {
    let mut bytes = 0;
    let mut open = vec![(state, 1)];
    while let Some((value, depth)) = open.pop() {
        bytes += 4;
        match value {
            Json::String(text) => bytes += text.len(),
            Json::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(fields) => {
                for (name, field) in fields {
                    bytes += name.len();
                    open.push((field, depth + 1));
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
        if bytes > MAX_STATE_BYTES || depth > MAX_STATE_DEPTH {
            return Err(wrong(
                "state.too_large",
                format!(
                    "The state would get too large: at most {MAX_STATE_BYTES} bytes and {MAX_STATE_DEPTH} levels"
                ),
            ));
        }
    }
    Ok(())
}
