use super::*;

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
        let source = Source::of("parse", given.map(Path::new), terminal).ok();
        assert_eq!(source, expected, "{given:?} {terminal}");
    }
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
