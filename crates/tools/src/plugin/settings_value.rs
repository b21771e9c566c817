//! What a value of an option may be, in words and as a check. Pure.

use serde_json::Value as Json;

use super::{ConfigKind, ConfigOption};
use crate::limits::MAX_SETTING_BYTES;

/// Why a value does not fit, as the end of the sentence "'port' …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{key}' {why}")]
pub struct UnfitValue {
    pub key: String,
    pub why: String,
}

/// The option that `key` names: relative (`api_key`) or in full (`extensions.<plugin>.api_key`).
pub fn find_option<'o>(
    options: &'o [ConfigOption],
    plugin: &str,
    key: &str,
) -> Option<&'o ConfigOption> {
    let relative = relative_key(plugin, key);
    options.iter().find(|option| option.key == relative)
}

pub(super) fn relative_key<'k>(plugin: &str, key: &'k str) -> &'k str {
    key.strip_prefix("extensions.")
        .and_then(|rest| rest.strip_prefix(plugin)?.strip_prefix('.'))
        .unwrap_or(key)
}

/// Text as typed on a command line, as the value of the option's type.
pub fn parse_text(option: &ConfigOption, text: &str) -> Result<Json, UnfitValue> {
    let trimmed = text.trim();
    let value = match option.kind {
        ConfigKind::String | ConfigKind::Textarea | ConfigKind::Avatar => Json::from(text),
        ConfigKind::Number | ConfigKind::Slider => number(trimmed).unwrap_or(Json::from(text)),
        ConfigKind::Boolean => match trimmed.to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Json::Bool(true),
            "false" | "no" | "off" | "0" => Json::Bool(false),
            _ => Json::from(text),
        },
        ConfigKind::Select | ConfigKind::ButtonGroup => choice(option, trimmed),
        ConfigKind::Secret | ConfigKind::ActionButton => Json::from(text),
    };
    check(option, &value)?;
    Ok(value)
}

fn number(text: &str) -> Option<Json> {
    match text.parse::<i64>() {
        Ok(whole) => Some(Json::from(whole)),
        Err(_) => text
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(Json::from),
    }
}

/// By value, else by label if only one choice is called that.
fn choice(option: &ConfigOption, text: &str) -> Json {
    let by_value = |choice: &&super::ConfigChoice| as_text(&choice.value) == text;
    if let Some(choice) = option.options.iter().find(by_value) {
        return choice.value.clone();
    }
    let label = text.to_lowercase();
    let mut called = option
        .options
        .iter()
        .filter(|choice| choice.label.to_lowercase() == label);
    match (called.next(), called.next()) {
        (Some(choice), None) => choice.value.clone(),
        _ => Json::from(text),
    }
}

/// Whether the option can have this value.
pub(super) fn check(option: &ConfigOption, value: &Json) -> Result<(), UnfitValue> {
    let fits = match option.kind {
        ConfigKind::String | ConfigKind::Textarea | ConfigKind::Avatar => value
            .as_str()
            .is_some_and(|text| text.len() <= MAX_SETTING_BYTES && !text.contains('\0')),
        ConfigKind::Number | ConfigKind::Slider => value.as_f64().is_some_and(|number| {
            option.min.is_none_or(|min| number >= min) && option.max.is_none_or(|max| number <= max)
        }),
        ConfigKind::Boolean => value.is_boolean(),
        ConfigKind::Select | ConfigKind::ButtonGroup => option
            .options
            .iter()
            .any(|choice| same(&choice.value, value)),
        ConfigKind::Secret | ConfigKind::ActionButton => false,
    };
    match fits {
        true => Ok(()),
        false => Err(UnfitValue {
            key: option.key.clone(),
            why: match option.kind {
                ConfigKind::Secret | ConfigKind::ActionButton => allowed(option),
                _ => format!("{}; this is {}", allowed(option), shown(value)),
            },
        }),
    }
}

/// `1` and `1.0` are one choice.
fn same(a: &Json, b: &Json) -> bool {
    a == b || (a.is_number() && a.as_f64() == b.as_f64())
}

fn allowed(option: &ConfigOption) -> String {
    match option.kind {
        ConfigKind::String | ConfigKind::Textarea | ConfigKind::Avatar => {
            format!("must be text of at most {MAX_SETTING_BYTES} bytes, without NUL characters")
        }
        ConfigKind::Number | ConfigKind::Slider => match (option.min, option.max) {
            (Some(min), Some(max)) => format!("must be a number from {min} to {max}"),
            (Some(min), None) => format!("must be a number of at least {min}"),
            (None, Some(max)) => format!("must be a number of at most {max}"),
            (None, None) => "must be a number".to_owned(),
        },
        ConfigKind::Boolean => "must be true or false".to_owned(),
        ConfigKind::Select | ConfigKind::ButtonGroup => {
            let choices: Vec<_> = option
                .options
                .iter()
                .map(|choice| as_text(&choice.value))
                .collect();
            format!("must be one of {}", choices.join(", "))
        }
        ConfigKind::Secret => "is a secret and is not kept among the other settings".to_owned(),
        ConfigKind::ActionButton => "is a button and has no value".to_owned(),
    }
}

fn shown(value: &Json) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        None => text,
        Some((at, _)) => format!("{}…", text.split_at(at).0),
    }
}

/// As an environment variable has it.
pub(super) fn as_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}
