//! Checks arguments against the tool's JSON Schema and says of each fault where it is, what was expected and
//! what came instead. `bind` has seen to names and types; this is about all the other promises of a schema.

use std::borrow::Cow;

use innkeeper_protocol::ParameterProblem;
use innkeeper_protocol::limits::{MAX_LISTED_NAMES, MAX_PROBLEMS, MAX_QUOTE_CHARS};
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value as Json};

/// What is wrong with a value, and how much more beyond the list.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Faults {
    pub(crate) problems: Vec<ParameterProblem>,
    pub(crate) omitted: usize,
}

impl Faults {
    pub(crate) fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    pub(crate) fn push(&mut self, problem: ParameterProblem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.omitted += 1;
        }
    }

    /// The sentences, for an error that is not about parameters.
    pub(crate) fn sentences(&self) -> String {
        let said: Vec<_> = self
            .problems
            .iter()
            .map(|problem| problem.message.as_str())
            .collect();
        match self.omitted {
            0 => said.join("; "),
            more => format!("{}; and {more} more", said.join("; ")),
        }
    }
}

/// All faults of the arguments. The usual case, none, costs one pass and makes nothing.
pub(crate) fn check_arguments(validator: &Validator, arguments: &mut Map<String, Json>) -> Faults {
    // The validator wants a value: the map is lent to it, not copied.
    let instance = Json::Object(std::mem::take(arguments));
    let faults = check(validator, &instance, "Parameter");
    if let Json::Object(back) = instance {
        *arguments = back;
    }
    faults
}

/// `what` begins the sentences: `Parameter 'x' must be …`.
pub(crate) fn check(validator: &Validator, instance: &Json, what: &str) -> Faults {
    let mut faults = Faults::default();
    if validator.is_valid(instance) {
        return faults;
    }
    for error in validator.iter_errors(instance) {
        for problem in problems(&error, what) {
            faults.push(problem);
        }
    }
    faults
}

fn problems(error: &ValidationError<'_>, what: &str) -> Vec<ParameterProblem> {
    let place = error.instance_path().as_str();
    match error.kind() {
        Kind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let path = format!("{place}/{}", escaped(name));
            vec![ParameterProblem {
                code: "missing_parameter".to_owned(),
                expected: Some("a value".to_owned()),
                received: Some("nothing".to_owned()),
                suggestion: None,
                message: format!("Missing required parameter '{}'", words(&path)),
                path,
            }]
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected
                .iter()
                .map(|name| {
                    let path = format!("{place}/{}", escaped(name));
                    ParameterProblem {
                        code: "unknown_parameter".to_owned(),
                        expected: None,
                        received: Some(format!("'{}'", short(name))),
                        suggestion: None,
                        message: format!("Unknown parameter '{}'", words(&path)),
                        path,
                    }
                })
                .collect()
        }
        kind => {
            let (code, expected) = expectation(kind);
            let received = received(kind, error.instance());
            let name = match words(place) {
                Cow::Borrowed("") => "The whole".to_owned(),
                name => format!("{what} '{name}'"),
            };
            vec![ParameterProblem {
                code: code.to_owned(),
                path: place.to_owned(),
                message: format!("{name} must be {expected}, received {received}"),
                expected: Some(expected),
                received: Some(received),
                suggestion: None,
            }]
        }
    }
}

/// The stable name of the fault and what the schema wants instead.
fn expectation(kind: &Kind) -> (&'static str, String) {
    match kind {
        Kind::Type { kind } => ("wrong_type", of_type(kind)),
        Kind::Enum { options } => ("invalid_value", one_of(options)),
        Kind::Constant { expected_value } => ("invalid_value", quote(expected_value)),
        Kind::Minimum { limit } => ("too_small", format!("{limit} or more")),
        Kind::Maximum { limit } => ("too_large", format!("{limit} or less")),
        Kind::ExclusiveMinimum { limit } => ("too_small", format!("more than {limit}")),
        Kind::ExclusiveMaximum { limit } => ("too_large", format!("less than {limit}")),
        Kind::MultipleOf { multiple_of } => {
            ("not_a_multiple", format!("a multiple of {multiple_of}"))
        }
        Kind::MinLength { limit } => ("too_short", count(*limit, "or more", "character")),
        Kind::MaxLength { limit } => ("too_long", count(*limit, "or fewer", "character")),
        Kind::Pattern { pattern } => ("no_match", format!("text that matches {}", short(pattern))),
        Kind::Format { format } => (
            "bad_format",
            format!("text in the format {}", short(format)),
        ),
        Kind::MinItems { limit } => ("too_few_items", count(*limit, "or more", "item")),
        Kind::MaxItems { limit } => ("too_many_items", count(*limit, "or fewer", "item")),
        Kind::AdditionalItems { limit } => {
            ("too_many_items", count(*limit as u64, "or fewer", "item"))
        }
        Kind::UnevaluatedItems { .. } => ("too_many_items", "without further items".to_owned()),
        Kind::UniqueItems => ("repeated_items", "without repeated items".to_owned()),
        Kind::Contains => ("missing_item", "a list with a fitting item".to_owned()),
        Kind::MinProperties { limit } => ("too_few_fields", count(*limit, "or more", "field")),
        Kind::MaxProperties { limit } => ("too_many_fields", count(*limit, "or fewer", "field")),
        Kind::PropertyNames { .. } => ("bad_name", "an object with other field names".to_owned()),
        Kind::FalseSchema => ("forbidden", "left out".to_owned()),
        Kind::Not { .. } => ("forbidden", "something else".to_owned()),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            ("no_alternative", alternatives(context))
        }
        Kind::OneOfMultipleValid { .. } => (
            "several_alternatives",
            "only one of its alternatives".to_owned(),
        ),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => (
            "too_complex",
            "simpler text: its pattern takes too long".to_owned(),
        ),
        Kind::ContentEncoding { content_encoding } => (
            "bad_format",
            format!("text encoded as {}", short(content_encoding)),
        ),
        Kind::ContentMediaType { content_media_type } => (
            "bad_format",
            format!("text of the type {}", short(content_media_type)),
        ),
        other => (
            "invalid_value",
            format!("valid under '{}'", other.keyword()),
        ),
    }
}

fn count(limit: u64, more: &str, unit: &str) -> String {
    match limit {
        1 => format!("1 {unit} {more}"),
        limit => format!("{limit} {unit}s {more}"),
    }
}

fn of_type(kind: &TypeKind) -> String {
    let names: Vec<String> = match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(set) => set.iter().map(|one| one.to_string()).collect(),
    };
    let (nulls, others): (Vec<_>, Vec<_>) = names.iter().partition(|name| *name == "null");
    let words: Vec<_> = others
        .into_iter()
        .chain(nulls)
        .map(|name| with_article(name))
        .collect();
    words.join(" or ")
}

fn with_article(name: &str) -> String {
    match name {
        "null" => "null".to_owned(),
        "integer" | "object" | "array" => format!("an {name}"),
        name => format!("a {name}"),
    }
}

fn one_of(options: &Json) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<_> = options.iter().take(MAX_LISTED_NAMES).map(quote).collect();
    match options.len() - shown.len() {
        0 => format!("one of {}", shown.join(", ")),
        more => format!("one of {} and {more} more", shown.join(", ")),
    }
}

/// What each alternative of a union wanted first, each wording once.
fn alternatives(context: &[Vec<ValidationError<'static>>]) -> String {
    let mut wanted: Vec<String> = Vec::new();
    for branch in context.iter().take(MAX_LISTED_NAMES) {
        let Some(first) = branch.first() else {
            continue;
        };
        let word = match first.kind() {
            Kind::Required { property } => format!("with {property}"),
            kind => expectation(kind).1,
        };
        if !wanted.contains(&word) {
            wanted.push(word);
        }
    }
    match wanted.is_empty() {
        true => "one of its alternatives".to_owned(),
        false => wanted.join(" or "),
    }
}

fn received(kind: &Kind, instance: &Json) -> String {
    match (kind, instance) {
        (Kind::MinLength { .. } | Kind::MaxLength { .. }, Json::String(text)) => {
            counted(text.chars().count(), "character")
        }
        (Kind::MinProperties { .. } | Kind::MaxProperties { .. }, Json::Object(fields)) => {
            counted(fields.len(), "field")
        }
        (
            Kind::MinItems { .. } | Kind::MaxItems { .. } | Kind::AdditionalItems { .. },
            Json::Array(items),
        ) => counted(items.len(), "item"),
        (_, value) => quote(value),
    }
}

fn counted(number: usize, unit: &str) -> String {
    match number {
        1 => format!("1 {unit}"),
        number => format!("{number} {unit}s"),
    }
}

/// A value in a sentence: short, and on one line whatever it holds.
fn quote(value: &Json) -> String {
    match value {
        Json::String(text) if text.is_empty() => "an empty text".to_owned(),
        Json::String(text) => format!("\"{}\"", short(text)),
        Json::Array(_) => "an array".to_owned(),
        Json::Object(_) => "an object".to_owned(),
        scalar => scalar.to_string(),
    }
}

fn short(text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == MAX_QUOTE_CHARS {
            out.push('…');
            break;
        }
        match c {
            c if c.is_control() || matches!(c, '"' | '\\') => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// One segment of a JSON pointer.
fn escaped(name: &str) -> String {
    let name: String = name.chars().take(MAX_QUOTE_CHARS).collect();
    name.replace('~', "~0").replace('/', "~1")
}

/// `/user/tags/0` as a sentence names it: `user.tags[0]`.
fn words(pointer: &str) -> Cow<'_, str> {
    if pointer.is_empty() {
        return Cow::Borrowed("");
    }
    let mut out = String::new();
    for segment in pointer.split('/').skip(1) {
        let is_index = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
        if is_index && !out.is_empty() {
            out.push_str(&format!("[{segment}]"));
            continue;
        }
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(&short(&segment.replace("~1", "/").replace("~0", "~")));
    }
    Cow::Owned(out)
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
