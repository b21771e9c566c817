//! `@{…}`: what the platform fills in before a call is bound. Once, never again in what was filled in.
//!
//! Known are the keys of the block (`@{common_output_dir}`), `@{timestamp}`, `@{request_id}`, and results of
//! earlier steps (`@{step_1.result.path.to.field}`). Any other name stays as it is, and is mentioned.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use innkeeper_protocol::{Block, Node, ToolCallRequest, TypeHint, Value, key};
use serde_json::Value as Json;

use crate::limits::{MAX_FILLED_BYTES, MAX_REFERENCE_BYTES};

/// What became of an earlier step, as far as a later one may ask.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepResult {
    Done(Json),
    /// There is nothing to refer to, and why.
    Nothing(String),
}

/// Everything that references of one block can name.
pub(crate) struct Values {
    keys: HashMap<String, String>,
    timestamp: String,
    /// Numbers of all steps, and what is known of those that have run.
    steps: HashMap<u32, Option<StepResult>>,
}

/// A reference without a value: the step cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unresolved(pub(crate) String);

impl Values {
    pub(crate) fn of(block: &Block<'_>, timestamp: String) -> Self {
        let mut keys = HashMap::new();
        for call in &block.calls {
            for argument in call.arguments.iter().chain(&call.modifiers) {
                let value = match argument.to_json() {
                    Json::String(text) => text,
                    other => other.to_string(),
                };
                keys.entry(key::normalise(&argument.written).into_owned())
                    .or_insert(value);
            }
        }
        // Also what no step takes. Of a key that is given twice, the last counts.
        for (key, text) in block.keys.iter().rev() {
            if !keys.contains_key(key.as_ref()) {
                keys.insert(key.to_string(), text.trimmed().into_owned());
            }
        }
        if let Some(id) = &block.request_id {
            keys.insert("request_id".to_owned(), id.to_string());
        }
        Self {
            keys,
            timestamp,
            steps: block.calls.iter().map(|call| (call.index, None)).collect(),
        }
    }

    pub(crate) fn finish_step(&mut self, index: u32, result: StepResult) {
        self.steps.insert(index, Some(result));
    }

    /// `None`: nobody knows that name.
    fn value_of(&self, name: &str) -> Result<Option<Cow<'_, Json>>, Unresolved> {
        let trimmed = name.trim();
        if let Some((step, path)) = step_reference(trimmed)
            && let Some(result) = self.steps.get(&step)
        {
            return match result {
                Some(StepResult::Done(result)) => match walk(result, path) {
                    Some(value) => Ok(Some(Cow::Borrowed(value))),
                    None => Err(Unresolved(format!(
                        "the result of step {step} has no '{path}', which @{{{trimmed}}} asks for"
                    ))),
                },
                Some(StepResult::Nothing(why)) => Err(Unresolved(format!(
                    "@{{{trimmed}}} has no value: step {step} {why}"
                ))),
                None => Err(Unresolved(format!(
                    "@{{{trimmed}}} has no value: step {step} has not run before this one"
                ))),
            };
        }
        let text = match trimmed {
            "timestamp" => Some(&self.timestamp),
            name => self.keys.get(key::normalise(name).as_ref()),
        };
        Ok(text.map(|text| Cow::Owned(Json::String(text.clone()))))
    }
}

/// Whether there is anything to fill in.
pub(crate) fn mentions(call: &ToolCallRequest<'_>) -> bool {
    let mut any = false;
    for argument in &call.arguments {
        each_text(&argument.value, &mut |text| any |= text.contains("@{"));
    }
    any
}

/// The steps whose results a call refers to.
pub(crate) fn steps_named(call: &ToolCallRequest<'_>) -> BTreeSet<u32> {
    let mut steps = BTreeSet::new();
    for argument in &call.arguments {
        each_text(&argument.value, &mut |text| {
            steps.extend(
                references(text)
                    .filter_map(|reference| step_reference(reference.name.trim()))
                    .map(|(step, _)| step),
            );
        });
    }
    steps
}

/// The keys of the block that its calls refer to, with what was written there.
pub(crate) fn keys_named<'b>(block: &'b Block<'_>) -> BTreeMap<&'b str, Cow<'b, str>> {
    let mut names = HashSet::new();
    for argument in block.calls.iter().flat_map(|call| &call.arguments) {
        each_text(&argument.value, &mut |text| {
            names.extend(references(text).map(|it| key::normalise(it.name.trim()).into_owned()));
        });
    }
    block
        .keys
        .iter()
        .filter(|(key, _)| names.contains(key.as_ref()))
        .map(|(key, text)| (key.as_ref(), text.trimmed()))
        .collect()
}

/// Fills in a call. Gives the names that nobody knows.
pub(crate) fn fill(
    call: &mut ToolCallRequest<'_>,
    values: &Values,
) -> Result<BTreeSet<String>, Unresolved> {
    let mut unknown = BTreeSet::new();
    let mut failed = None;
    let mut room = MAX_FILLED_BYTES;
    for argument in &mut call.arguments {
        let is_json = argument.hint == Some(TypeHint::Json);
        argument.value.map_text(&mut |text| {
            if failed.is_some() {
                return None;
            }
            match fill_text(text, values, is_json, &mut unknown) {
                Ok(filled) => {
                    room = room.saturating_sub(filled.as_ref().map_or(0, String::len));
                    if room == 0 {
                        failed = Some(Unresolved(format!(
                            "filling in @{{…}} makes the call larger than {MAX_FILLED_BYTES} bytes; \
                             refer to large data by URI"
                        )));
                    }
                    filled
                }
                Err(error) => {
                    failed = Some(error);
                    None
                }
            }
        });
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(unknown),
    }
}

/// `None`: there was nothing to fill in.
fn fill_text(
    text: &str,
    values: &Values,
    is_json: bool,
    unknown: &mut BTreeSet<String>,
) -> Result<Option<String>, Unresolved> {
    let mut out: Option<String> = None;
    let mut done = 0;
    let mut quotes = Quotes::default();
    for reference in references(text) {
        let Some(value) = values.value_of(reference.name)? else {
            unknown.insert(reference.name.trim().to_owned());
            continue;
        };
        let before = text.get(done..reference.start).unwrap_or_default();
        let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
        out.push_str(before);
        quotes.read(before);
        match is_json {
            false => out.push_str(&plain(&value)),
            true if quotes.open => out.push_str(&escaped(&plain(&value))),
            true => out.push_str(&value.to_string()),
        }
        if out.len() > MAX_FILLED_BYTES {
            return Err(Unresolved(format!(
                "filling in @{{…}} makes a value larger than {MAX_FILLED_BYTES} bytes; refer to large data by URI"
            )));
        }
        done = reference.end;
    }
    if let Some(out) = &mut out {
        out.push_str(text.get(done..).unwrap_or_default());
    }
    Ok(out)
}

/// A text bare, anything else as JSON.
fn plain(value: &Json) -> Cow<'_, str> {
    match value {
        Json::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// The inside of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Json::from(text).to_string();
    quoted
        .get(1..quoted.len().saturating_sub(1))
        .unwrap_or_default()
        .to_owned()
}

/// Whether a place in JSON text lies inside a string.
#[derive(Default)]
struct Quotes {
    open: bool,
    escape: bool,
}

impl Quotes {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.escape => self.escape = false,
                b'\\' if self.open => self.escape = true,
                b'"' => self.open = !self.open,
                _ => {}
            }
        }
    }
}

struct Reference<'t> {
    name: &'t str,
    start: usize,
    end: usize,
}

/// Every `@{name}` of a text, in order. A name has no brace and no line break in it.
fn references(text: &str) -> impl Iterator<Item = Reference<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text.get(from..)?.find("@{")?;
            let inner = text.get(start + 2..)?;
            from = start + 2;
            let window = inner
                .as_bytes()
                .iter()
                .take(MAX_REFERENCE_BYTES)
                .position(|byte| matches!(byte, b'}' | b'{' | b'\n'));
            let Some(end) = window else {
                continue;
            };
            if inner.as_bytes().get(end) != Some(&b'}') {
                continue;
            }
            let name = inner.get(..end)?;
            if name.trim().is_empty() {
                continue;
            }
            from = start + 2 + end + 1;
            return Some(Reference {
                name,
                start,
                end: from,
            });
        }
    })
}

/// `step_1.result.path` → 1 and `path`.
fn step_reference(name: &str) -> Option<(u32, &str)> {
    let (head, rest) = match name.split_once('.') {
        Some((head, rest)) => (head, rest),
        None => return None,
    };
    let number = strip_prefix_loosely(head.trim(), "step")?;
    let number = number.trim_start_matches(['_', '-', ' ']);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let step = number.parse().ok()?;
    let (word, path) = match rest.find(['.', '[']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let path = path.strip_prefix('.').unwrap_or(path);
    word.trim()
        .eq_ignore_ascii_case("result")
        .then_some((step, path.trim()))
}

fn strip_prefix_loosely<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| text.get(prefix.len()..))
        .flatten()
}

/// `items[0].name`, `items.0.name`: fields by name, items by number.
fn walk<'v>(value: &'v Json, path: &str) -> Option<&'v Json> {
    let mut at = value;
    for part in path.split(['.', '[']).filter(|part| !part.is_empty()) {
        let part = part.strip_suffix(']').unwrap_or(part).trim();
        at = match at {
            Json::Object(fields) => fields.get(part)?,
            Json::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(at)
}

fn each_text(value: &Value<'_>, see: &mut dyn FnMut(&str)) {
    match value {
        Value::Text(text) => see(text.raw()),
        Value::Tree(tree) => each_node(&tree.node, see),
        Value::Json(json) => each_string(json, see),
    }
}

fn each_node(node: &Node<'_>, see: &mut dyn FnMut(&str)) {
    match node {
        Node::Text(text) => see(text),
        Node::Array(items) => items.iter().for_each(|item| each_node(&item.node, see)),
        Node::Object(fields) => fields
            .iter()
            .for_each(|(_, field)| each_node(&field.node, see)),
    }
}

fn each_string(json: &Json, see: &mut dyn FnMut(&str)) {
    match json {
        Json::String(text) => see(text),
        Json::Array(items) => items.iter().for_each(|item| each_string(item, see)),
        Json::Object(fields) => fields.values().for_each(|field| each_string(field, see)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
#[path = "substitute_tests.rs"]
mod tests;
