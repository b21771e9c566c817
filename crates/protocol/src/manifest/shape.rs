//! A JSON Schema as far as a reader of a prompt needs it: type, limits, what is inside.

use serde_json::Value as Json;

use super::words::Words;
use crate::defuse::one_line;
use crate::limits::{MAX_SHOWN_ENUM, MAX_SHOWN_VALUE_CHARS};
use crate::reference::resolved;

pub(super) struct Shape<'s> {
    schema: &'s Json,
    root: &'s Json,
    /// A description beside a `$ref` belongs to the place, not to what is referred to.
    described: &'s str,
}

impl<'s> Shape<'s> {
    pub(super) fn of(schema: &'s Json, root: &'s Json) -> Self {
        let described = text_of(schema, "description");
        let schema = resolved(schema, root);
        let described = match described {
            "" => text_of(schema, "description"),
            text => text,
        };
        Self {
            schema,
            root,
            described,
        }
    }

    pub(super) fn schema(&self) -> &'s Json {
        self.schema
    }

    pub(super) fn description(&self) -> &'s str {
        self.described
    }

    /// `string`, `array of integer`, `string | null`, `any`.
    pub(super) fn kind_name(&self, words: &Words) -> String {
        let kinds = kinds(self.schema, self.root, 0);
        let name = match kinds.is_empty() {
            true => "any".to_owned(),
            false => kinds.join(" | "),
        };
        match self.items() {
            Some(items) if name == "array" => {
                let inner = kinds_of_items(items, self.root);
                match inner.is_empty() {
                    true => name,
                    false => words.array_of(&inner),
                }
            }
            _ => name,
        }
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&'s str, &'s Json)> + use<'s> {
        let schema = self.schema;
        schema
            .get("properties")
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), schema))
    }

    pub(super) fn items(&self) -> Option<&'s Json> {
        self.schema.get("items").filter(|items| items.is_object())
    }

    pub(super) fn has_more_than_a_type(&self) -> bool {
        !self.described.is_empty()
            || self.fields().next().is_some()
            || self.items().is_some()
            || self.schema.get("enum").is_some()
    }

    /// Sentences about values: choices, default, range, length, form.
    pub(super) fn details(&self, words: &Words) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(choices) = self.schema.get("enum").and_then(Json::as_array) {
            let mut shown: Vec<_> = choices.iter().take(MAX_SHOWN_ENUM).map(shown).collect();
            if let Some(more @ 1..) = choices.len().checked_sub(MAX_SHOWN_ENUM) {
                shown.push(words.more(more));
            }
            out.push(words.one_of(&shown));
        }
        if let Some(value) = self.schema.get("const") {
            out.push(words.always(&shown(value)));
        }
        let pairs = [
            ("minimum", "maximum", words.range),
            ("minLength", "maxLength", words.characters),
            ("minItems", "maxItems", words.entries),
        ];
        for (low, high, forms) in pairs {
            let low = self.schema.get(low).filter(|value| value.is_number());
            let high = self.schema.get(high).filter(|value| value.is_number());
            out.extend(forms.say(low, high));
        }
        if let Some(form) = self.schema.get("format").and_then(Json::as_str) {
            out.push(words.format(&one_line(form, MAX_SHOWN_VALUE_CHARS)));
        }
        if let Some(pattern) = self.schema.get("pattern").and_then(Json::as_str) {
            out.push(words.pattern(&one_line(pattern, MAX_SHOWN_VALUE_CHARS)));
        }
        if let Some(value) = self.schema.get("default") {
            out.push(words.default(&shown(value)));
        }
        if self.schema.get("x-verbatim").is_some_and(|yes| yes == true) {
            out.push(words.verbatim.to_owned());
        }
        out
    }
}

pub(super) fn is_required(schema: &Json, name: &str) -> bool {
    schema
        .get("required")
        .and_then(Json::as_array)
        .is_some_and(|required| required.iter().any(|entry| entry == name))
}

fn text_of<'s>(schema: &'s Json, field: &str) -> &'s str {
    schema.get(field).and_then(Json::as_str).unwrap_or_default()
}

fn kinds_of_items(items: &Json, root: &Json) -> String {
    kinds(resolved(items, root), root, 0).join(" | ")
}

/// The types a schema allows, each once.
fn kinds(schema: &Json, root: &Json, level: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut add = |kind: String| {
        if !out.contains(&kind) {
            out.push(kind);
        }
    };
    match schema.get("type") {
        Some(Json::String(kind)) => add(one_line(kind, 20)),
        Some(Json::Array(kinds)) => kinds
            .iter()
            .filter_map(Json::as_str)
            .take(8)
            .for_each(|kind| add(one_line(kind, 20))),
        _ => {
            for field in ["anyOf", "oneOf"] {
                let branches = schema.get(field).and_then(Json::as_array);
                for branch in branches.into_iter().flatten().take(8) {
                    if level < 2 {
                        let branch = resolved(branch, root);
                        kinds(branch, root, level + 1)
                            .into_iter()
                            .for_each(&mut add);
                    }
                }
            }
            if schema.get("properties").is_some() {
                add("object".to_owned());
            }
            let values = schema.get("enum").and_then(Json::as_array);
            for value in values.into_iter().flatten().chain(schema.get("const")) {
                add(kind_of(value).to_owned());
            }
        }
    }
    out
}

pub(super) fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// A value on one line. Quoted, so that it cannot run into the sentence.
fn shown(value: &Json) -> String {
    one_line(&value.to_string(), MAX_SHOWN_VALUE_CHARS)
}
