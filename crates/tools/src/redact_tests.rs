use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn redactor(secrets: &[(&str, &str)]) -> Redactor {
    let secrets: Vec<_> = secrets
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Secret::new(*value)))
        .collect();
    Redactor::new(secrets.iter().map(|(name, secret)| (name.clone(), secret)))
}

#[test]
fn secrets_are_cut_out_of_text() {
    let redactor = redactor(&[
        ("A", "hunter22"),
        ("B", "hunter22-and-more"),
        ("C", "more of it"),
        ("D", "p\"w/é \\"),
        ("E", "abc"),
        ("F", "pasted key\n"),
        (
            "G",
            "-----BEGIN KEY-----\nMIIBVwIBADANBgkq\nhkiG9w0\n-----END KEY-----\n",
        ),
    ]);
    for (text, expected) in [
        ("nothing here", "nothing here"),
        ("", ""),
        ("x hunter22 y hunter22", "x [secret A] y [secret A]"),
        ("hunter22hunter22", "[secret A][secret A]"),
        ("hunter22-and-more", "[secret B]"),
        ("hunter22-and-mor", "[secret A]-and-mor"),
        // The end of one is the beginning of the other: neither shows.
        ("hunter22-and-more of it!", "[secret B]!"),
        ("raw p\"w/é \\.", "raw [secret D]."),
        (r#"{"k":"p\"w/é \\"}"#, r#"{"k":"[secret D]"}"#),
        (r#"{"k":"p\"w\/\u00e9 \\"}"#, r#"{"k":"[secret D]"}"#),
        ("?k=p%22w%2F%C3%A9%20%5C&", "?k=[secret D]&"),
        ("?k=p%22w%2f%c3%a9%20%5c&", "?k=[secret D]&"),
        ("?k=p%22w%2F%C3%A9+%5C&", "?k=[secret D]&"),
        ("?k=p%22w/%C3%A9%20%5C&", "?k=[secret D]&"),
        ("abc", "abc"),
        ("a pasted key.", "a [secret F]."),
        ("> MIIBVwIBADANBgkq", "> [secret G]"),
        ("-----BEGIN KEY-----", "-----BEGIN KEY-----"),
        ("hkiG9w0", "hkiG9w0"),
    ] {
        assert_eq!(redactor.redact_text(text), expected, "{text}");
    }
    assert!(matches!(redactor.redact_text("nothing"), Cow::Borrowed(_)));
    assert!(!format!("{redactor:?}").contains("hunter"));
}

#[test]
fn without_secrets_nothing_changes() {
    assert_eq!(Redactor::default().redact_text("text"), "text");
    assert_eq!(redactor(&[("E", "abc")]).redact_text("abc"), "abc");
}

#[test]
fn what_cannot_be_searched_is_not_shown() {
    let redactor = Redactor {
        finder: Finder::HideAll,
        names: vec!["A".into()],
    };
    let mut value = json!({"k": ["text"]});
    redactor.redact_json(&mut value);
    assert_eq!(value, json!({"[secret A]": ["[secret A]"]}));
}

#[test]
fn json_is_redacted_keys_and_numbers_included() {
    let redactor = redactor(&[("A", "hunter22"), ("N", "12345678")]);
    let mut value = json!({
        "hunter22": 1,
        "[secret A]": 2,
        "list": ["hunter22", {"deep": "x hunter22"}],
        "number": 12345678,
        "other": 87654321,
        "flag": true,
    });
    redactor.redact_json(&mut value);
    assert_eq!(
        value,
        json!({
            "[secret A]": 1,
            "[secret A] (2)": 2,
            "list": ["[secret A]", {"deep": "x [secret A]"}],
            "number": "[secret N]",
            "other": 87654321,
            "flag": true,
        })
    );
}

#[test]
fn depth_does_not_matter() {
    let mut value = json!("hunter22");
    for _ in 0..10_000 {
        value = Json::Array(vec![value]);
    }
    redactor(&[("A", "hunter22")]).redact_json(&mut value);
    // Unwrapped by hand: comparing and dropping would recurse.
    while let Json::Array(mut items) = value {
        value = items.pop().unwrap();
    }
    assert_eq!(value, "[secret A]");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn base64_is_seen_through(
        before in proptest::collection::vec(any::<u8>(), 0..7),
        secret in "[ -~é王]{4,24}",
        after in proptest::collection::vec(any::<u8>(), 0..7),
    ) {
        let bytes = [&before, secret.as_bytes(), &after].concat();
        let redactor = redactor(&[("A", &secret)]);
        for encoded in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
            let redacted = redactor.redact_text(&encoded);
            prop_assert!(redacted.contains("[secret A]"), "{encoded} {redacted}");
        }
    }

    #[test]
    fn no_secret_is_left(
        secret in "[a-c]{4,6}",
        other in "[a-c]{4,6}",
        text in "[a-d]{0,60}",
    ) {
        let redacted = redactor(&[("1", &secret), ("2", &other)]).redact_text(&text).into_owned();
        prop_assert!(!redacted.contains(&secret) && !redacted.contains(&other), "{redacted}");
    }
}
