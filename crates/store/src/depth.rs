//! How deep a JSON value is nested: serialising and reading recurse, so what is stored must not be deeper than that.

use serde_json::Value as Json;

use crate::limits::MAX_JSON_DEPTH;

pub(crate) fn is_too_deep(value: &Json) -> bool {
    exceeds(value, MAX_JSON_DEPTH)
}

fn exceeds(value: &Json, levels: usize) -> bool {
    let below = |value: &Json| match levels.checked_sub(1) {
        Some(levels) => exceeds(value, levels),
        None => true,
    };
    match value {
        Json::Array(items) => levels == 0 || items.iter().any(below),
        Json::Object(fields) => levels == 0 || fields.values().any(below),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

#[cfg(test)]
pub(crate) fn nested(levels: usize) -> Json {
    (0..levels).fold(Json::Null, |inner, _| Json::Array(vec![inner]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_counted_in_levels() {
        assert!(!is_too_deep(&nested(MAX_JSON_DEPTH)));
        assert!(is_too_deep(&nested(MAX_JSON_DEPTH + 1)));
    }
}
