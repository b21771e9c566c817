//! How deep a JSON value is nested: serialising and reading recurse, so what is stored must not be deeper than that.

use serde_json::Value as Json;

use crate::limits::MAX_JSON_DEPTH;

pub(crate) fn is_too_deep(value: &Json) -> bool {
    exceeds(value, MAX_JSON_DEPTH)
}

fn exceeds(value: &Json, levels: usize) -> bool {
    let inner: &mut dyn Iterator<Item = &Json> = match value {
        Json::Array(items) => &mut items.iter(),
        Json::Object(fields) => &mut fields.values(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return false,
    };
    match levels.checked_sub(1) {
        Some(levels) => inner.any(|value| exceeds(value, levels)),
        None => true,
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
