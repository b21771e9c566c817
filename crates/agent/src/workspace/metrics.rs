//! How long a text is, as the whole house counts.

use innkeeper_tools::builtin::text::count;

/// Unicode scalar values.
pub fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}

/// Runs of letters and digits; each CJK, kana or hangul character by itself.
pub fn words(text: &str) -> u64 {
    count(text).words as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_many_scripts() {
        for (text, length, count) in [
            ("", 0, 0),
            ("two words", 9, 2),
            ("it's 3.5", 8, 4),
            ("一二三", 3, 3),
            ("カタカナ and 한글", 11, 7),
            ("a一b", 3, 3),
            ("😀 ok\r\n", 6, 1),
        ] {
            assert_eq!((chars(text), words(text)), (length, count), "{text:?}");
        }
    }
}
