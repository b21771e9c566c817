use fancy_regex::Regex;

use super::{Flags, translated};

fn is_match(pattern: &str, flags: &str, text: &str) -> Result<bool, String> {
    let flags = Flags::read(flags)?;
    let pattern = translated(pattern, flags)?;
    let regex = Regex::new(&pattern).map_err(|error| format!("{pattern}: {error}"))?;
    regex.is_match(text).map_err(|error| error.to_string())
}

#[test]
fn patterns_mean_what_they_mean_in_javascript() {
    for (pattern, flags, yes, no) in [
        (r"^\/$", "", "/", "\\"),
        (r"^[^]$", "", "\n", ""),
        (r"^a{$", "", "a{", "a"),
        (r"^a{,2}$", "", "a{,2}", "aa"),
        (r"^a{2}$", "", "aa", "a"),
        (r"^a{2,}$", "", "aaa", "a"),
        (r"^[[]$", "", "[", "x"),
        (r"^[a&&b]+$", "", "a&&b", "c"),
        (r"^[a--b]$", "", "a", "c"),
        (r"^[\w-]+$", "", "a-b", "a b"),
        (r"^[\w-z]+$", "", "a-z", "a.z"),
        (r"^[a-\d]+$", "", "a-1", "b"),
        (r"^[-a]+$", "", "a-", "b"),
        (r"^[\b]$", "", "\u{8}", "b"),
        (r"^\u4f60\x41$", "", "你A", "你B"),
        (r"^\u{1F600}$", "u", "😀", "u"),
        (r"^\uD83D\uDE00$", "", "😀", "u"),
        (r"^\p{L}$", "u", "你", "1"),
        (r"^\p{Script=Han}$", "u", "你", "a"),
        (r"^\p{L}$", "", "p{L}", "你"),
        (r"^(a)\1$", "", "aa", "ab"),
        (r"^(a)\10$", "", "a\u{8}", "aa0"),
        (r"^\101\8$", "", "A8", "101"),
        (r"^(?<x>a)\k<x>$", "", "aa", "ab"),
        (r"^\k$", "", "k", "a"),
        (r"^\A\z$", "", "Az", ""),
        (r"^\cJ$", "", "\n", "J"),
        (r"^\0$", "", "\0", "0"),
        (r"^.$", "", "x", "\r"),
        (r"^.$", "s", "\r", ""),
        (r"^(?<=^)a$", "", "a", "b"),
        (r"(?<!b)a", "", "ca", "ba"),
        (r"(?<=b+)a", "", "bba", "ca"),
        (r"a(?!b)", "", "ac", "ab"),
        (r"^(?i:a)b$", "", "Ab", "AB"),
        (r"^\B", "", "-", "a"),
        (r"a\b", "", "a你", "ab"),
        (r"^[\s\S]$", "", "\n", ""),
        (r"^#x y$", "", "#x y", "#xy"),
        (r"^a+?$", "", "aa", "b"),
        (r"^a$", "", "a", "a\n"),
        (r"^[^\d]$", "", "a", "1"),
        (r"^\-\.\$$", "", "-.$", "-a$"),
        (r"^]}$", "", "]}", "x"),
        (r"^(?:(b)|a)\1$", "", "bb", "ab"),
        (r"^(?:(b)|a)\1$", "", "a", "b"),
        (r"^(?:(?<g>b)|a)\k<g>$", "", "a", "b"),
        (r"^\1(a)$", "", "a", "aa"),
        (r"^(a)\1{2}$", "", "aaa", "aa"),
    ] {
        assert_eq!(
            is_match(pattern, flags, yes),
            Ok(true),
            "/{pattern}/{flags} {yes:?}"
        );
        assert_eq!(
            is_match(pattern, flags, no),
            Ok(false),
            "/{pattern}/{flags} {no:?}"
        );
    }
    assert_eq!(is_match("[]", "", "a"), Ok(false));
}

#[test]
fn what_javascript_refuses_is_refused() {
    for (pattern, flags) in [
        ("*", ""),
        ("a**", ""),
        ("a++", ""),
        ("(?>a)", ""),
        ("(?P<n>a)", ""),
        ("(?#c)", ""),
        ("(?<>a)", ""),
        ("(?<n-m>a)", ""),
        ("[a", ""),
        ("\\", ""),
        ("[\\", ""),
        ("(", ""),
        (")", ""),
        ("a{", "u"),
        (r"\p", "u"),
        (r"\p{", "u"),
        (r"\q", "u"),
        (r"\u{110000}", "u"),
        (r"\u{FFFFFFFFFFFF}", "u"),
        (r"\uD83D", ""),
        (r"\k<x>", "u"),
        ("[z-a]", ""),
        // JavaScript takes it without u; docs/nodes.md says so.
        ("(?=a)?", ""),
        ("a{3,2}", ""),
        ("a{99999999999}", ""),
        (r"(a)\2", "u"),
        ("a", "v"),
    ] {
        assert!(is_match(pattern, flags, "a").is_err(), "/{pattern}/{flags}");
    }
}

proptest::proptest! {
    #[test]
    fn nothing_panics(pattern in r"[\\\[\]()?*+{},:=!<>^$.|a-c0-9\-ukpxw&~你]{0,24}", text in "[a-c0-9 你\n]{0,8}") {
        for flags in ["", "imsu"] {
            let _ = is_match(&pattern, flags, &text);
        }
    }
}
