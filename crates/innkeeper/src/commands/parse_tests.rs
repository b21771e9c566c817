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
fn a_terminal_without_a_file_is_no_input() {
    let file = |name: &str| Source::File(name.into());
    for (given, terminal, expected) in [
        (None, false, Some(Source::Stdin)),
        (None, true, None),
        (Some("-"), false, Some(Source::Stdin)),
        (Some("-"), true, Some(Source::Stdin)),
        (Some("./-"), true, Some(file("./-"))),
        (Some("a.txt"), true, Some(file("a.txt"))),
        (Some(""), true, Some(file(""))),
    ] {
        let source = Source::of(given.map(Path::new), terminal).ok();
        assert_eq!(source, expected, "{given:?} {terminal}");
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
fn the_limit_of_a_reply_is_exact() {
    let read = |text: &'static str, limit| whole(text.as_bytes(), Place::Stdin, limit);
    assert_eq!(read("12345", 5).unwrap(), "12345");
    assert!(matches!(
        read("123456", 5),
        Err(Failure::TooLarge(Place::Stdin, 5))
    ));
    assert_eq!(read("", 0).unwrap(), "");
}

#[test]
fn the_limit_of_a_line_is_exact_and_counts_no_line_end() {
    // Two quotes and three letters.
    for (input, ok) in [
        ("\"abc\"", true),
        ("\"abc\"\n", true),
        ("\"abc\"\r\n", true),
        ("\"abcd\"", false),
        ("\"abcd\"\n", false),
        ("\"abcdefghijkl\"\n\"x\"\n", false),
    ] {
        let mut out = Vec::new();
        let end = lines(input.as_bytes(), &Place::Stdin, Dialect::Auto, 5, &mut out);
        match end {
            Ok(()) => assert!(ok, "{input:?}"),
            Err(Failure::Line(_, 1, LineProblem::TooLong(5))) => assert!(!ok, "{input:?}"),
            Err(other) => panic!("{input:?}: {other:?}"),
        }
    }
}

#[test]
fn results_before_an_input_error_are_flushed() {
    struct Breaks(bool);
    impl Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(io::Error::other("cable"));
            }
            let line = b"\"a\"\n\"b";
            buffer[..line.len()].copy_from_slice(line);
            Ok(line.len())
        }
    }
    let mut out = BufWriter::new(Vec::new());
    let end = lines(Breaks(false), &Place::Stdin, Dialect::Auto, 100, &mut out);
    assert!(matches!(end, Err(Failure::Unreadable(Place::Stdin, _))));
    assert_eq!(
        out.get_ref().iter().filter(|byte| **byte == b'\n').count(),
        1
    );
}

#[test]
fn only_json_with_a_telling_key_may_be_native() {
    for (text, expected) in [
        (r#"{"tool_calls":[]}"#, true),
        ("\u{feff} \n[{\"type\":\"tool_use\"}]", true),
        (r#"{"candidates":[{"functionCall":{}}]}"#, true),
        (r#"{"type":"function_call"}"#, true),
        (r#"{"tool":"calls"}"#, false),
        (r#"Here: {"tool_calls":[]}"#, false),
        ("", false),
    ] {
        assert_eq!(may_be_native(text), expected, "{text}");
    }
}

#[test]
fn json_that_is_no_response_is_text() {
    for text in [r#"{"tool_calls": oops"#, r#"["tool_calls""#] {
        assert_eq!(understand(text, Dialect::Auto).response_text, text);
    }
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
fn mostly_control_characters_are_no_text() {
    for (bytes, expected) in [
        ("\u{7f}ELF\u{2}\u{1}\u{1}\0\0\0\0\0", Some(0)),
        ("ab\0\0\0\0", Some(2)),
        ("a text with a NUL\0 in it", None),
        ("a\0b", None),
        ("\u{1b}[1mbold\u{1b}[0m", None),
        ("\r\n\t\r\n\t", None),
        ("", None),
    ] {
        assert_eq!(first_binary_byte(bytes.as_bytes()), expected, "{bytes:?}");
    }
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_no_text() {
    let mut out = Vec::new();
    let input = "\u{feff}\"one\"\n\"two\"\n";
    lines(
        input.as_bytes(),
        &Place::Stdin,
        Dialect::Auto,
        100,
        &mut out,
    )
    .unwrap();
    assert_eq!(String::from_utf8(out).unwrap().lines().count(), 2);
}

#[test]
fn a_bare_list_of_native_calls_is_one() {
    let text = r#"[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]"#;
    let reply = understand(text, Dialect::Auto);
    assert_eq!(
        reply.calls().next().map(|call| call.tool.to_string()),
        Some("f".to_owned())
    );
}
