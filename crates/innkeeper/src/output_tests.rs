use innkeeper_protocol::{Dialect, parse_with};

use super::*;

fn global(json: bool) -> Global {
    Global {
        home: None,
        json,
        quiet: false,
        lang: None,
    }
}

#[test]
fn pretty_only_for_a_person() {
    for (json, terminal, expected) in [
        (false, true, Layout::Pretty),
        (true, true, Layout::Compact),
        (false, false, Layout::Compact),
        (true, false, Layout::Compact),
    ] {
        assert_eq!(Layout::of(&global(json), terminal), expected);
    }
}

#[test]
fn both_layouts_are_the_same_document() {
    let reply = parse_with("Good evening.", Dialect::Auto);
    let printed = |layout| {
        let mut out = Vec::new();
        print(&reply, layout, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let (pretty, compact) = (printed(Layout::Pretty), printed(Layout::Compact));
    assert_eq!(compact.lines().count(), 1);
    assert!(pretty.lines().count() > 1);
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(&pretty), json(&compact));
}

#[test]
fn a_result_is_one_line_for_every_reader() {
    let text = "next\u{85}line \u{2028} and \u{2029}.";
    let mut out = Vec::new();
    print(&parse_with(text, Dialect::Auto), Layout::Compact, &mut out).unwrap();
    let printed = String::from_utf8(out).unwrap();
    assert!(
        !printed.contains(['\u{85}', '\u{2028}', '\u{2029}']),
        "{printed}"
    );
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(json["responseText"], text);
}

#[test]
fn a_terminal_is_never_rewritten() {
    for (text, expected) in [
        ("a\n\tb", "a\n\tb"),
        ("\u{1b}[2J", "\\u{1b}[2J"),
        ("a\rb", "a\\u{d}b"),
        ("\u{202e}x", "\\u{202e}x"),
        ("晚安", "晚安"),
    ] {
        assert_eq!(printable(text), expected);
    }
}
