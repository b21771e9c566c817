use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;

#[test]
fn faults_name_their_place() {
    let rows: &[(&str, usize, &str)] = &[
        ("", 0, "the text ends too early"),
        ("  ", 2, "the text ends too early"),
        ("{\"a\":1", 6, "the text ends too early"),
        ("[1,]", 3, "no comma may stand before the end of a list"),
        (
            "{\"a\":1,}",
            7,
            "no comma may stand before the end of an object",
        ),
        ("{a:1}", 1, "expected a key in double quotes"),
        ("{\"a\" 1}", 5, "expected ':' after a key"),
        ("[1 2]", 3, "expected ',' or ']'"),
        ("{\"a\":1]", 6, "expected ',' or '}'"),
        ("[// no\n]", 1, "JSON has no comments"),
        ("['a']", 1, "a text stands in double quotes"),
        ("[tru]", 1, "expected a value"),
        ("[01]", 2, "a number may not begin with 0"),
        ("[1.]", 3, "expected a digit"),
        ("[-]", 2, "expected a digit"),
        ("\"a\\x\"", 2, "not an escape that JSON knows"),
        (
            "\"\0\"",
            1,
            "a control character inside a text must be written \\u00..",
        ),
        ("{} {}", 3, "something follows after the end"),
    ];
    for &(text, at, why) in rows {
        assert_eq!(scan(text, 9, 99), Err(Fault { at, why }), "{text}");
    }
}

#[test]
fn a_byte_order_mark_and_blank_lines_are_passed_over() {
    let scanned = scan("\u{feff}\r\n {} \r\n", 9, 99).unwrap();
    assert_eq!((scanned.start, scanned.end), (6, 8));
}

#[test]
fn depth_and_number_are_noticed_and_cost_no_stack() {
    assert_eq!(scan("[[[]],[[]]]", 2, 99).unwrap().too_deep, Some(2));
    assert_eq!(scan("[[],[]]", 2, 99).unwrap().too_deep, None);
    let rows = [
        ("[1,{\"a\":2}]", 4, None),
        ("[1,{\"a\":2}]", 3, Some(8)),
        ("[1,[]]", 2, Some(3)),
    ];
    for (text, most, place) in rows {
        assert_eq!(scan(text, 9, most).unwrap().too_many, place, "{text}");
    }
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert_eq!(scan(&deep, 128, 99).unwrap().too_deep, Some(128));
}

proptest! {
    /// What it takes for JSON is what serde_json takes for JSON. (Numbers beyond f64 and half surrogates are a matter
    /// of meaning, and do not arise here.)
    #[test]
    fn agrees_with_serde_json(text in r#"[\[\]{}",:truefalsnl0-9.eE+\- \\nb/]{0,12}"#) {
        let known = serde_json::from_str::<Json>(&text);
        let out_of_range = known.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
        prop_assume!(!out_of_range);
        prop_assert_eq!(scan(&text, 128, 99).is_ok(), known.is_ok(), "{}", text);
    }
}
