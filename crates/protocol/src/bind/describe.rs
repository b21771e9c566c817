//! What a schema expects, in words: `an integer`, `an array of strings`, `one of 'a', 'b'`.

use serde_json::Value as Json;

use super::problem::{list, quote_json, quote_name};
use super::schema::{Types, View};
use crate::limits::MAX_LISTED_NAMES;

pub(super) fn describe(view: &View<'_>) -> String {
    describe_to(view, 2)
}

/// Unions within unions are described a few levels deep: it is a sentence, not a schema.
fn describe_to(view: &View<'_>, levels: usize) -> String {
    if let Some(branches) = view.union {
        return match levels.checked_sub(1) {
            Some(levels) => describe_union(view, branches, levels),
            None => "something else".to_owned(),
        };
    }
    if let Some(choices) = view.choices {
        return describe_choices(choices.iter());
    }
    describe_types(view.types(), view.item(0))
}

fn describe_choices<'c>(choices: impl Iterator<Item = &'c Json>) -> String {
    let mut choices: Vec<String> = choices
        .map(|choice| match choice {
            Json::String(text) => quote_name(text),
            other => quote_json(other),
        })
        .collect();
    match choices.len() {
        0 => "nothing".to_owned(),
        1 => choices.remove(0),
        _ => format!("one of {}", list(choices.into_iter())),
    }
}

fn describe_types(types: Types, item: Option<&Json>) -> String {
    if types == Types::ANY {
        return "any value".to_owned();
    }
    let words: Vec<String> = types
        .each()
        .filter_map(|one| match one {
            Types::BOOLEAN => Some("a boolean"),
            Types::INTEGER if types.has(Types::FRACTION) => None,
            Types::INTEGER => Some("an integer"),
            Types::FRACTION => Some("a number"),
            Types::OBJECT => Some("an object"),
            Types::STRING => Some("a string"),
            Types::ARRAY => Some("an array"),
            _ => None,
        })
        .map(|word| match (word, item.and_then(plural)) {
            ("an array", Some(items)) => format!("{word} of {items}"),
            _ => word.to_owned(),
        })
        .chain(types.has(Types::NULL).then(|| "null".to_owned()))
        .collect();
    if words.is_empty() {
        return "left out".to_owned();
    }
    words.join(" or ")
}

fn plural(item: &Json) -> Option<&'static str> {
    match item.get("type")?.as_str()? {
        "boolean" => Some("booleans"),
        "integer" => Some("integers"),
        "number" => Some("numbers"),
        "string" => Some("strings"),
        "object" => Some("objects"),
        "array" => Some("arrays"),
        _ => None,
    }
}

/// Branches that are all single values read like an `enum`; others are joined, each wording once.
fn describe_union<'s>(view: &View<'s>, branches: &'s [Json], levels: usize) -> String {
    if branches.iter().all(|branch| branch.get("const").is_some()) {
        return describe_choices(branches.iter().filter_map(|branch| branch.get("const")));
    }
    let mut words: Vec<String> = Vec::new();
    for branch in branches.iter().take(MAX_LISTED_NAMES) {
        let word = describe_to(&View::read(view.root, branch), levels);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(" or ")
}
