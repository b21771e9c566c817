use super::*;

/// An event as it was read, and where its words are.
fn learned(before: &str, words: &str, after: &str) -> Stencil<u8> {
    let data = format!("{before}{words}{after}");
    let mut stencil = Stencil::default();
    let words = data.get(before.len()..before.len() + words.len()).unwrap();
    stencil.learn(7, &data, words);
    stencil
}

#[test]
fn only_the_words_may_differ() {
    let stencil = learned(r#"{"a":""#, "x", r#"","b":0}"#);
    for (data, words) in [
        (r#"{"a":"x","b":0}"#, Some("x")),
        (r#"{"a":"other words","b":0}"#, Some("other words")),
        (r#"{"a":"Grüße 🌧 \u007f","b":0}"#, None),
        (
            "{\"a\":\"Grüße 🌧 \u{7f}\u{2028}\",\"b\":0}",
            Some("Grüße 🌧 \u{7f}\u{2028}"),
        ),
        // Nothing said is for whoever knows what that means.
        (r#"{"a":"","b":0}"#, None),
        (r#"{"a":"x","b":1}"#, None),
        (r#"{"b":"x","b":0}"#, None),
        (r#"{"a": "x","b":0}"#, None),
        (r#"{"a":"x","b":0} "#, None),
        (r#"{"a":"x","c":"","b":0}"#, None),
        (r#"{"a":"\"","b":0}"#, None),
        (r#"{"a":"\n","b":0}"#, None),
        (r#"{"a":"\","b":0}"#, None),
        ("{\"a\":\"\n\",\"b\":0}", None),
        ("{\"a\":\"\0\",\"b\":0}", None),
        // The two ends are not the same bytes.
        (r#"{"a":""b":0}"#, None),
        (r#"{"a":","b":0}"#, None),
        ("", None),
    ] {
        assert_eq!(stencil.words(data), words.map(|words| (7, words)), "{data}");
    }
}

#[test]
fn nothing_is_learned_from_what_is_no_text_of_the_event() {
    let (data, copy) = (String::from(r#"{"a":"x"}"#), String::from("x"));
    for words in [&*copy, &data[1..2], &data[5..7], &data[6..8], ""] {
        let mut stencil = learned(r#"{"a":""#, "x", r#""}"#);
        stencil.learn(7, &data, words);
        assert_eq!(stencil.words(&data), None, "{words}");
    }
    let mut stencil = learned(r#"{"a":""#, "x", r#""}"#);
    assert!(stencil.words(&data).is_some());
    stencil.forget();
    assert_eq!(stencil.words(&data), None);
    let blank = " ".repeat(MAX_STENCIL_BYTES - 8);
    let fits = learned(r#"{"a":""#, "x", &format!("\"{blank}}}"));
    assert!(fits.words(&format!("{{\"a\":\"y\"{blank}}}")).is_some());
    let long = learned(r#"{"a":""#, "x", &format!("\" {blank}}}"));
    assert_eq!(long.words(&format!("{{\"a\":\"y\" {blank}}}")), None);
}
