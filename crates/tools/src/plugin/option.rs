//! Config options: what a plugin lets people set, and the variables in which its scripts find it.
//!
//! Owns reading and checking the declarations; values are kept elsewhere.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::place::Place;
use super::problem::{Code, Report};
use super::variable::{is_reserved, variable_of};
use super::{ConfigChoice, ConfigKind, ConfigOption, ConfigScope};
use crate::limits::{MAX_OPTION_KEY_CHARS, MAX_PLUGIN_LABEL_CHARS};

const KINDS: &[(&str, ConfigKind)] = &[
    ("string", ConfigKind::String),
    ("number", ConfigKind::Number),
    ("boolean", ConfigKind::Boolean),
    ("select", ConfigKind::Select),
    ("textarea", ConfigKind::Textarea),
    ("slider", ConfigKind::Slider),
    ("avatar", ConfigKind::Avatar),
    ("button-group", ConfigKind::ButtonGroup),
    ("action-button", ConfigKind::ActionButton),
    ("secret", ConfigKind::Secret),
];

const FIELDS: &[&str] = &[
    "key",
    "type",
    "label",
    "description",
    "defaultValue",
    "scope",
    "options",
    "min",
    "max",
    "step",
    "required",
    // Of the page alone.
    "category",
    "categoryKey",
    "storeName",
    "onSave",
    "buttonText",
    "onClick",
    "disabled",
    "placeholder",
];

/// Keys and variables that are already taken, with the place that took them.
#[derive(Default, Clone)]
pub(super) struct Taken(HashMap<String, String>);

/// Reads the list under `field` of `owner`.
pub(super) fn read_options(
    owner: &Place<'_>,
    field: &str,
    plugin: &str,
    taken: &mut Taken,
    report: &mut Report,
) -> Vec<ConfigOption> {
    let mut options = Vec::new();
    for place in owner.items(field, report) {
        if !place.expect_map(report) {
            continue;
        }
        let before = report.count();
        let option = read_option(&place, plugin, report);
        let Some(option) = option.filter(|_| report.count() == before) else {
            continue;
        };
        let here = format!("{} of {}", place.path, report.file());
        match taken.0.get(&option.variable) {
            Some(there) => report.problem(
                &place.field("key").unwrap_or(place),
                Code::DuplicateOption,
                format!(
                    "scripts would find '{}' in {}, which is already the variable of {there}; choose another key",
                    option.key, option.variable
                ),
            ),
            None => {
                taken.0.insert(option.variable.clone(), here);
                options.push(option);
            }
        }
    }
    options
}

fn read_option(place: &Place<'_>, plugin: &str, report: &mut Report) -> Option<ConfigOption> {
    let before = report.count();
    place.known(FIELDS, report);
    let key = read_key(place, plugin, report);
    if place.field("type").is_none() {
        place.missing("type", "such as 'type: string'", report);
    }
    let kind = place.choice("type", KINDS, report);
    let scopes = [
        ("user", ConfigScope::User),
        ("instance", ConfigScope::Instance),
    ];
    let scope = place.choice("scope", &scopes, report).unwrap_or_default();
    let label = place.text("label", report);
    if label.is_some_and(|label| label.chars().count() > MAX_PLUGIN_LABEL_CHARS) {
        let message = format!("the label is longer than {MAX_PLUGIN_LABEL_CHARS} characters");
        report.problem(place, Code::BadValue, message);
    }
    let description = place.text("description", report).unwrap_or_default();
    let options = read_choices(place, report);
    let (min, max, step) = (
        place.number("min", report),
        place.number("max", report),
        place.number("step", report),
    );
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        report.problem(
            place,
            Code::BadValue,
            format!("min ({min}) is larger than max ({max})"),
        );
    }
    if step.is_some_and(|step| step <= 0.0) {
        report.problem(place, Code::BadValue, "step must be larger than 0");
    }
    let required = place.boolean("required", report).unwrap_or_default();
    let (key, variable) = key?;
    let option = ConfigOption {
        label: label.unwrap_or(&key).to_owned(),
        key,
        kind: kind?,
        description: description.to_owned(),
        default: place
            .field("defaultValue")
            .map(|value| value.node.to_json()),
        scope,
        options,
        min,
        max,
        step,
        required,
        variable,
    };
    if report.count() == before {
        check_shape(place, &option, report);
    }
    Some(option)
}

/// The relative key and its variable.
fn read_key(place: &Place<'_>, plugin: &str, report: &mut Report) -> Option<(String, String)> {
    let field = place.required("key", report)?;
    let text = field.as_text(report)?;
    let key = match text.strip_prefix("extensions.") {
        None => text,
        Some(rest) => match rest
            .strip_prefix(plugin)
            .and_then(|rest| rest.strip_prefix('.'))
        {
            Some(key) => key,
            None => {
                report.problem(
                    &field,
                    Code::BadOptionKey,
                    format!(
                        "'{text}' is a key of another plugin; it must begin with 'extensions.{plugin}.', or be given \
                         without 'extensions.'"
                    ),
                );
                return None;
            }
        },
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts || key.len() > MAX_OPTION_KEY_CHARS || !key.chars().all(fits) {
        report.problem(
            &field,
            Code::BadOptionKey,
            format!(
                "'{key}' is no key; use a letter, then letters, digits, '_', '-' and '.', \
                 {MAX_OPTION_KEY_CHARS} characters at most"
            ),
        );
        return None;
    }
    let variable = variable_of(key);
    if is_reserved(&variable) {
        report.problem(
            &field,
            Code::ReservedVariable,
            format!("scripts would find '{key}' in {variable}, which changes how programs run; choose another key"),
        );
        return None;
    }
    Some((key.to_owned(), variable))
}

/// `[a, b]` or `[{label: A, value: a}]`
fn read_choices(place: &Place<'_>, report: &mut Report) -> Vec<ConfigChoice> {
    let mut choices: Vec<ConfigChoice> = Vec::new();
    for item in place.items("options", report) {
        let value = match item.node.get("value") {
            Some(value) => value.to_json(),
            None => item.node.to_json(),
        };
        let plain = match &value {
            Json::String(text) => text.clone(),
            Json::Number(_) | Json::Bool(_) => value.to_string(),
            _ => {
                let message = "a choice is a plain value, or a map with label and value";
                report.problem(&item, Code::WrongType, message);
                continue;
            }
        };
        if choices.iter().any(|choice| choice.value == value) {
            report.problem(
                &item,
                Code::BadValue,
                format!("the choice {value} is there twice"),
            );
        }
        let label = item.text("label", report).map_or(plain, str::to_owned);
        choices.push(ConfigChoice { label, value });
    }
    choices
}

/// Whether type, bounds, choices and default go together.
fn check_shape(place: &Place<'_>, option: &ConfigOption, report: &mut Report) {
    let chooses = matches!(option.kind, ConfigKind::Select | ConfigKind::ButtonGroup);
    if chooses && option.options.is_empty() {
        place.missing("options", "list at least one choice", report);
        return;
    }
    if option.kind == ConfigKind::Slider && (option.min.is_none() || option.max.is_none()) {
        report.problem(place, Code::MissingField, "a slider needs min and max");
        return;
    }
    let (Some(value), Some(at)) = (&option.default, place.field("defaultValue")) else {
        return;
    };
    let message = match option.kind {
        ConfigKind::Secret => {
            let message = "a secret has no default: everybody could read it here; remove it";
            report.problem(&at, Code::SecretDefault, message);
            return;
        }
        ConfigKind::ActionButton => "a button has no value; remove the default".to_owned(),
        ConfigKind::String | ConfigKind::Textarea | ConfigKind::Avatar => match value {
            Json::String(_) => return,
            other => format!("{other} is no text; put it in quotes"),
        },
        ConfigKind::Boolean => match value {
            Json::Bool(_) => return,
            other => format!("{other} is neither true nor false"),
        },
        ConfigKind::Number | ConfigKind::Slider => match value.as_f64() {
            None => format!("{value} is no number"),
            Some(number) if option.min.is_some_and(|min| number < min) => {
                format!("{value} is below min")
            }
            Some(number) if option.max.is_some_and(|max| number > max) => {
                format!("{value} is above max")
            }
            Some(_) => return,
        },
        ConfigKind::Select | ConfigKind::ButtonGroup => {
            if option.options.iter().any(|choice| choice.value == *value) {
                return;
            }
            format!("{value} is none of the options")
        }
    };
    report.problem(&at, Code::BadDefault, message);
}

#[cfg(test)]
#[path = "option_tests.rs"]
mod tests;
