use super::*;

fn edit(text: &str, search: &str, replace: &str, all: bool) -> Result<String, ToolError> {
    edited("user://x", text, search, replace, all).map(|edited| edited.text)
}

#[test]
fn text_is_replaced_exactly() {
    for (text, search, replace, all, expected) in [
        ("a b c", "b", "x", false, "a x c"),
        ("a b c", " b", "", false, "a c"),
        ("a\nb\nc\n", "a\nb", "x", false, "x\nc\n"),
        ("b b", "b", "bb", true, "bb bb"),
        ("aaa", "aa", "b", true, "ba"),
        ("龙与龙", "与", "和", false, "龙和龙"),
        ("$1 \\n", "$1", "\\0", false, "\\0 \\n"),
        // A file with CR LF stays one, whatever the model writes.
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", false, "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "x\r\ny", false, "x\r\ny\r\n"),
        ("a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n"),
        // A mixed one is taken as it is.
        ("a\r\nb\nc", "b\nc", "x\ny", false, "a\r\nx\ny"),
        ("a\n", "a\n", "x\r\n", false, "x\r\n"),
    ] {
        assert_eq!(
            edit(text, search, replace, all).unwrap(),
            expected,
            "{text:?}"
        );
    }
}

#[test]
fn refusals_help_to_do_it_right() {
    let twelve = "x\n".repeat(12);
    for (text, search, replace, reason, part) in [
        ("a", "", "b", "file.edit_empty_search", "give the text"),
        ("a", "a", "a", "file.edit_no_change", "nothing would change"),
        (
            "x = 1;\nconsole.log( 'old' );\n",
            "console.log('old');",
            "b",
            "file.edit_not_found",
            "the nearest is line 2: console.log( 'old' );",
        ),
        (
            "  if a {\n    b\n  }\n",
            "if a {\n  b\n}",
            "c",
            "file.edit_not_found",
            "its first line is line 1, but blanks or the lines after it differ",
        ),
        ("abc", "xyz", "b", "file.edit_not_found", "read the file"),
        (
            "abc",
            "\n \n",
            "b",
            "file.edit_not_found",
            "consists of blanks",
        ),
        (
            "b\na\nb\n",
            "b",
            "c",
            "file.edit_not_unique",
            "2 times in 'user://x' (lines 1, 3)",
        ),
        (
            &twelve,
            "x",
            "c",
            "file.edit_not_unique",
            "12 times in 'user://x' (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)",
        ),
    ] {
        let error = edit(text, search, replace, false).unwrap_err();
        assert_eq!(error.code, ErrorCode::WorkspacePatchFailed);
        assert_eq!(error.reason.as_deref(), Some(reason));
        assert!(error.message.contains(part), "{}", error.message);
        assert!(!error.may_pass());
    }
}

#[test]
fn a_small_edit_cannot_make_a_giant() {
    let text = "a".repeat(100_000);
    let error = edit(&text, "a", &"b".repeat(100_000), true).unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("file.edit_too_large"));
}

#[test]
fn places_are_counted_in_lines() {
    let edited = edited("p", "a\n\na a\n", "a", "b", true).unwrap();
    assert_eq!((edited.replacements, edited.lines), (3, vec![1, 3, 3]));
}
