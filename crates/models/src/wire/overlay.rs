//! Fields that only a provider knows, laid over the body of a request.

use serde_json::{Map, Value as Json};

use crate::limits::MAX_EXTRAS_DEPTH;

/// What is not theirs to change. Who is asked was settled by the route, the price and the window go by it and by what
/// is said, whoever sent the request waits for one of the two forms, and of several answers only one would be read.
const SETTLED: [&str; 8] = [
    "model",
    "messages",
    "contents",
    "system",
    "systemInstruction",
    "system_instruction",
    "stream",
    "n",
];
/// Gemini's word for `n`, and where it stands; it takes both spellings.
const ANSWERS: [(&str, &str); 2] = [
    ("generationConfig", "candidateCount"),
    ("generation_config", "candidate_count"),
];

/// Objects are joined, everything else is replaced, and `null` removes.
pub(super) fn lay_over(body: &mut Map<String, Json>, extras: &Map<String, Json>) {
    let theirs = |name: &str| !SETTLED.contains(&name);
    for (name, value) in extras.iter().filter(|(name, _)| theirs(name)) {
        lay(body, name, value, 0);
    }
    for (place, _) in ANSWERS {
        if let Some(Json::Object(config)) = body.get_mut(place) {
            for (_, count) in ANSWERS {
                config.shift_remove(count);
            }
        }
    }
}

fn lay(fields: &mut Map<String, Json>, name: &str, value: &Json, depth: usize) {
    match value {
        Json::Null => {
            // `shift_remove` keeps the order of the others.
            fields.shift_remove(name);
        }
        Json::Object(inner) if depth < MAX_EXTRAS_DEPTH => {
            let at = fields.entry(name).or_insert(Json::Null);
            if !at.is_object() {
                *at = Json::Object(Map::new());
            }
            if let Json::Object(at) = at {
                for (name, value) in inner {
                    lay(at, name, value, depth + 1);
                }
            }
        }
        value => {
            fields.insert(name.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn extras_are_laid_over_the_body() {
        let rows = [
            (
                json!({"b": 2}),
                json!({"a": {"x": 1}, "stream": true, "b": 2}),
            ),
            (
                json!({"a": {"y": 2}}),
                json!({"a": {"x": 1, "y": 2}, "stream": true}),
            ),
            (json!({"a": {"x": null}}), json!({"a": {}, "stream": true})),
            (json!({"a": null, "none": null}), json!({"stream": true})),
            (json!({"a": [1]}), json!({"a": [1], "stream": true})),
            (
                json!({"stream": {"y": 1}}),
                json!({"a": {"x": 1}, "stream": true}),
            ),
            (
                json!({"stream": null}),
                json!({"a": {"x": 1}, "stream": true}),
            ),
            (
                json!({"model": "x", "messages": [], "contents": [], "system": "x", "systemInstruction": {}, "n": 2}),
                json!({"a": {"x": 1}, "stream": true}),
            ),
            (
                json!({"generationConfig": {"candidateCount": 3, "topK": 1}}),
                json!({"a": {"x": 1}, "stream": true, "generationConfig": {"topK": 1}}),
            ),
            (
                json!({"new": {"deep": {"v": 1, "gone": null}}}),
                json!({"a": {"x": 1}, "stream": true, "new": {"deep": {"v": 1}}}),
            ),
        ];
        for (extras, expected) in rows {
            let mut body = json!({"a": {"x": 1}, "stream": true});
            lay_over(body.as_object_mut().unwrap(), extras.as_object().unwrap());
            assert_eq!(body, expected, "{extras}");
        }
    }

    #[test]
    fn what_is_too_deep_is_taken_as_it_is() {
        let mut extras = json!({"gone": null});
        for _ in 0..=MAX_EXTRAS_DEPTH {
            extras = json!({"in": extras});
        }
        let mut body = Map::new();
        lay_over(&mut body, extras.as_object().unwrap());
        assert_eq!(Json::Object(body), extras);
    }
}
