use serde_json::{Value as Json, json};

use super::*;

fn edited(edit: Json, shown: Json, real: Option<Json>) -> Result<(Json, Vec<String>), String> {
    let real = real.as_ref().and_then(Json::as_object);
    let restored = restored(edit.as_object().unwrap(), &shown, real)?;
    Ok((Json::Object(restored.arguments), restored.unseen))
}

#[test]
fn what_was_left_as_it_was_shown_stays_what_it_is() {
    let long = format!("aaa{}7{}", CUT.0, CUT.1);
    for (edit, shown, real, expected, unseen) in [
        // Nothing hidden.
        (
            json!({"a": 2}),
            json!({"a": 1}),
            json!({"a": 1}),
            json!({"a": 2}),
            vec![],
        ),
        (
            json!({"a": 1, "b": 2}),
            json!({"a": 1}),
            json!({"a": 1}),
            json!({"a": 1, "b": 2}),
            vec![],
        ),
        (
            json!({}),
            json!({"a": 1}),
            json!({"a": 1}),
            json!({}),
            vec![],
        ),
        // A secret, a text that was cut, a secret inside of something that was changed.
        (
            json!({"to": "b", "token": "[redacted]"}),
            json!({"to": "a", "token": "[redacted]"}),
            json!({"to": "a", "token": "s3cret"}),
            json!({"to": "b", "token": "s3cret"}),
            vec!["/token"],
        ),
        (
            json!({"text": long, "n": 2}),
            json!({"text": long, "n": 1}),
            json!({"text": "aaabbbbbbb", "n": 1}),
            json!({"text": "aaabbbbbbb", "n": 2}),
            vec!["/text"],
        ),
        (
            json!({"deep": [{"key": "[secret x]", "n": 2}]}),
            json!({"deep": [{"key": "[secret x]", "n": 1}]}),
            json!({"deep": [{"key": "abcdef", "n": 1}]}),
            json!({"deep": [{"key": "abcdef", "n": 2}]}),
            vec!["/deep/0/key"],
        ),
        // Where a value came from is told beside it.
        (
            json!({"uri_text": "fam://a", "text": "new"}),
            json!({"uri_text": "fam://a", "text": "old"}),
            json!({"text": "old"}),
            json!({"text": "new"}),
            vec![],
        ),
        // A new secret in the place of the old.
        (
            json!({"token": "mine"}),
            json!({"token": "[redacted]"}),
            json!({"token": "s3cret"}),
            json!({"token": "mine"}),
            vec![],
        ),
    ] {
        let whole = edited(edit.clone(), shown.clone(), Some(real)).unwrap();
        assert_eq!(whole.0, expected, "{edit}");
        assert_eq!(whole.1, unseen, "{edit}");
        // Whoever does not know the real ones sees the same places.
        assert_eq!(
            edited(edit.clone(), shown, None).unwrap().1,
            unseen,
            "{edit}"
        );
    }
}

#[test]
fn nothing_hidden_gets_to_another_place() {
    let shown = json!({"to": "a", "token": "[redacted]", "list": ["[secret x]", "b"], "uri_text": "fam://a"});
    let real = json!({"to": "a", "token": "s3cret", "list": ["abcdef", "b"]});
    for edit in [
        json!({"to": "[redacted]", "token": "[redacted]"}),
        json!({"to": "it is [redacted] now"}),
        json!({"token": "[redacted] "}),
        json!({"list": ["b", "[secret x]"]}),
        json!({"new": {"deep": ["[secret x]"]}}),
        json!({"uri_text": "fam://b"}),
        json!({"to": format!("a{}1{}", CUT.0, CUT.1)}),
    ] {
        for real in [Some(real.clone()), None] {
            let refused = edited(edit.clone(), shown.clone(), real);
            assert!(refused.is_err(), "{edit}: {refused:?}");
        }
    }
}

#[test]
fn depth_has_a_bound() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    assert!(!is_deeper(&nested(3), 3));
    assert!(is_deeper(&nested(4), 3));
}
