//! How parameter names are compared when a model may spell them in its own way.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// The form in which keys are compared: `File-Path 1`, `filePath_1` and `File Path_1` are `file_path_1`.
///
/// NFKC; split at lower→Upper and ACRONYM→Word; lower case; every run of anything that is neither letter
/// nor digit is one `_`; no `_` at the ends. A name without any letter or digit gives an empty key.
pub fn normalise(key: &str) -> Cow<'_, str> {
    if is_normal(key) {
        return Cow::Borrowed(key);
    }
    let chars: Vec<char> = key.nfkc().collect();
    let mut out = String::with_capacity(key.len() + 4);
    let mut gap = false;
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() && !is_mark(c) {
            gap = true;
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
        let after = chars.get(at + 1).copied();
        gap |= begins_word(before, c, after);
        if gap && !out.is_empty() {
            out.push('_');
        }
        gap = false;
        out.extend(c.to_lowercase());
    }
    // A letter and its accent may have a composed form in lower case only (`J̌`, `ǰ`).
    if !out.is_ascii() {
        out = out.nfkc().collect();
    }
    Cow::Owned(out)
}

/// `fileP|ath`, `HTTPS|erver`: an upper-case letter that begins a word within a name.
fn begins_word(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    is_capital(c)
        && (before.is_lowercase() || (is_capital(before) && after.is_some_and(char::is_lowercase)))
}

/// Upper case with a lower case: a circled `🅐` counts as upper case, but stays as it is.
fn is_capital(c: char) -> bool {
    c.is_uppercase() && c.to_lowercase().next() != Some(c)
}

/// Combining marks belong to the letter before them (Devanagari vowel signs, a decomposed accent that has
/// no composed form).
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// The fast way out for what models write nearly always.
fn is_normal(key: &str) -> bool {
    let bytes = key.as_bytes();
    let mut previous = b'_';
    for &byte in bytes {
        let fits = byte.is_ascii_lowercase()
            || byte.is_ascii_digit()
            || (byte == b'_' && previous != b'_');
        if !fits {
            return false;
        }
        previous = byte;
    }
    previous != b'_'
}

/// Splits a normalised key into its name and the number at its end: `content_1` and `content1` give
/// `("content", 1)`. No number, or nothing but a number: `None`.
pub fn split_number(key: &str) -> Option<(&str, u32)> {
    let name = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = key.get(name.len()..)?;
    let number = digits.parse().ok()?;
    let name = name.strip_suffix('_').unwrap_or(name);
    (!name.is_empty()).then_some((name, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_in_one_form() {
        for (written, normal) in [
            ("File-Path 1", "file_path_1"),
            ("filePath_1", "file_path_1"),
            ("File Path_1", "file_path_1"),
            ("CONTENT1", "content1"),
            ("  __x__ ", "x"),
            ("HTTPServer", "http_server"),
            ("parseHTTP", "parse_http"),
            ("URL", "url"),
            ("ＦｕｌｌＷｉｄｔｈ１", "full_width1"),
            ("参数", "参数"),
            ("**command**", "command"),
            ("a--b..c", "a_b_c"),
            ("sha256", "sha256"),
            ("", ""),
            ("***", ""),
            ("É", "é"),
            ("J\u{30c}", "\u{1f0}"),
            ("A🅐", "a🅐"),
        ] {
            assert_eq!(normalise(written), normal, "{written:?}");
            assert_eq!(normalise(normal), normal, "{written:?} a second time");
        }
    }

    #[test]
    fn a_number_at_the_end_can_be_split_off() {
        for (key, expected) in [
            ("content_1", Some(("content", 1))),
            ("content1", Some(("content", 1))),
            ("content_01", Some(("content", 1))),
            ("sha256_2", Some(("sha256", 2))),
            ("sha256", Some(("sha", 256))),
            ("content", None),
            ("1", None),
            ("_1", None),
            ("x_99999999999", None),
        ] {
            assert_eq!(split_number(key), expected, "{key:?}");
        }
    }
}
