//! How an expectation of a vector is compared with a result.
//!
//! Objects match by the keys they name, arrays by length and order, everything else exactly. Special forms:
//!
//! | form | matches |
//! |---|---|
//! | `{"$any": true}` | anything |
//! | `{"$exactly": x}` | only what is equal to `x`, all keys included |
//! | `{"$startsWith": "…"}` | a string that begins so |
//! | `{"$words": "…"}` | a string of the same words, whatever the white space between them |
//! | `{"$contains": "…"}` | a string that holds this one |
//! | `{"$contains": […]}` | an array that holds a match for each of these |
//! | `{"$notContains": x}` | a string without this one, an array without a match for it |
//! | `{"$unordered": […]}` | an array that matches these in some order |
//! | `{"$length": n}` | an array of that length |

use serde_json::Value as Json;

/// Says where and how `actual` is not what was expected; nothing where it is.
pub(crate) fn differences(expected: &Json, actual: &Json) -> Vec<String> {
    let mut found = Vec::new();
    compare("", expected, actual, &mut found);
    found
}

fn compare(path: &str, expected: &Json, actual: &Json, found: &mut Vec<String>) {
    match expected {
        Json::Object(fields) => {
            if let Some((form, operand)) = special(fields) {
                if !holds(form, operand, actual) {
                    found.push(format!("{}: wanted {expected}, got {actual}", shown(path)));
                }
                return;
            }
            let Some(object) = actual.as_object() else {
                found.push(format!("{}: wanted an object, got {actual}", shown(path)));
                return;
            };
            for (key, expected) in fields {
                match object.get(key) {
                    Some(actual) => compare(&format!("{path}.{key}"), expected, actual, found),
                    None => found.push(format!("{path}.{key}: wanted {expected}, got nothing")),
                }
            }
        }
        Json::Array(items) => match actual.as_array() {
            Some(list) if list.len() == items.len() => {
                for (at, (expected, actual)) in items.iter().zip(list).enumerate() {
                    compare(&format!("{path}[{at}]"), expected, actual, found);
                }
            }
            Some(list) => found.push(format!(
                "{}: wanted {} elements {expected}, got {} {actual}",
                shown(path),
                items.len(),
                list.len()
            )),
            None => found.push(format!("{}: wanted an array, got {actual}", shown(path))),
        },
        scalar if scalar == actual => {}
        scalar => found.push(format!("{}: wanted {scalar}, got {actual}", shown(path))),
    }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "result" } else { path }
}

fn special(fields: &serde_json::Map<String, Json>) -> Option<(&str, &Json)> {
    let (form, operand) = fields.iter().next()?;
    (fields.len() == 1 && form.starts_with('$')).then_some((form, operand))
}

fn matches(expected: &Json, actual: &Json) -> bool {
    differences(expected, actual).is_empty()
}

fn holds(form: &str, operand: &Json, actual: &Json) -> bool {
    match (form, operand, actual) {
        ("$any", _, _) => true,
        ("$exactly", wanted, actual) => wanted == actual,
        ("$startsWith", Json::String(wanted), Json::String(text)) => text.starts_with(wanted),
        ("$words", Json::String(wanted), Json::String(text)) => {
            text.split_whitespace().eq(wanted.split_whitespace())
        }
        ("$contains", Json::String(wanted), Json::String(text)) => text.contains(wanted),
        ("$contains", Json::Array(wanted), Json::Array(list)) => wanted
            .iter()
            .all(|wanted| list.iter().any(|actual| matches(wanted, actual))),
        ("$notContains", Json::String(wanted), Json::String(text)) => !text.contains(wanted),
        ("$notContains", wanted, Json::Array(list)) => {
            !list.iter().any(|actual| matches(wanted, actual))
        }
        ("$unordered", Json::Array(wanted), Json::Array(list)) => {
            wanted.len() == list.len() && pairs_up(wanted, list)
        }
        ("$length", Json::Number(wanted), Json::Array(list)) => {
            wanted.as_u64() == u64::try_from(list.len()).ok()
        }
        (
            "$startsWith" | "$words" | "$contains" | "$notContains" | "$unordered" | "$length",
            ..,
        ) => false,
        (unknown, ..) => panic!("no such form in a vector: {unknown}"),
    }
}

/// Whether each wanted element finds a partner of its own. Lists in vectors are short.
fn pairs_up(wanted: &[Json], list: &[Json]) -> bool {
    let Some((first, rest)) = wanted.split_first() else {
        return true;
    };
    (0..list.len()).any(|at| {
        let mut others = list.to_vec();
        matches(first, &others.remove(at)) && pairs_up(rest, &others)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_form_accepts_and_refuses() {
        for (expected, good, bad) in [
            (json!({"a": 1}), json!({"a": 1, "b": 2}), json!({"b": 2})),
            (json!([1, 2]), json!([1, 2]), json!([1, 2, 3])),
            (json!([1, 2]), json!([1, 2]), json!([2, 1])),
            (
                json!({"$exactly": {"a": 1}}),
                json!({"a": 1}),
                json!({"a": 1, "b": 2}),
            ),
            (json!({"$startsWith": "ab"}), json!("abc"), json!("cab")),
            (json!({"$words": "a b"}), json!("a\n\nb"), json!("a c b")),
            (json!({"$contains": "b"}), json!("abc"), json!("ac")),
            (
                json!({"$contains": [{"x": 1}]}),
                json!([{"x": 2}, {"x": 1}]),
                json!([{"x": 2}]),
            ),
            (json!({"$notContains": "b"}), json!("ac"), json!("abc")),
            (
                json!({"$notContains": {"x": 1}}),
                json!([{"x": 2}]),
                json!([{"x": 1, "y": 1}]),
            ),
            (
                json!({"$unordered": ["a", "b"]}),
                json!(["b", "a"]),
                json!(["b", "b"]),
            ),
            (json!({"$length": 2}), json!([1, 2]), json!([1])),
            (json!({"a": null}), json!({"a": null}), json!({})),
            (json!("a"), json!("a"), json!("b")),
        ] {
            assert!(matches(&expected, &good), "{expected} should match {good}");
            assert!(
                !matches(&expected, &bad),
                "{expected} should not match {bad}"
            );
        }
    }

    #[test]
    fn a_difference_names_its_place() {
        let found = differences(
            &json!({"blocks": [{"toolId": "A"}]}),
            &json!({"blocks": [{"toolId": "B"}]}),
        );
        assert_eq!(found, [r#".blocks[0].toolId: wanted "A", got "B""#]);
    }
}
