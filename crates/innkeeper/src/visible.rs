//! Text that somebody decides by: what cannot be seen in it, or is taken for something else, is shown by its number.
//!
//! Everything else that is printed may hold such characters (a family of emoji is held together by some); here nobody may
//! be told `rm notes` and get something else.

use std::fmt::Write as _;

use serde::Serialize;

/// Whether nobody who reads a text can tell that the character is there, or which it is: whatever is not printed (control,
/// format and bidirectional marks, tags, private and unassigned characters, every space but the plain one, separators),
/// and letters and marks that are blank.
pub(crate) fn is_hidden(character: char) -> bool {
    match character {
        ' '..='~' => false,
        character => !is_printed(character) || is_blank(character),
    }
}

/// By its general category: `Debug` writes what is none of Cc, Cf, Cs, Co, Cn, Zl, Zp and Zs as it is. Marks that belong
/// to the letter before them are letters here, so they need one.
fn is_printed(character: char) -> bool {
    let text = String::from_iter(['a', character]);
    text.escape_debug().nth(1) != Some('\\')
}

/// Printed, and yet nothing is seen: what Unicode lets a program leave out (`Default_Ignorable_Code_Point`), variation
/// selectors among it, and signs without ink.
fn is_blank(character: char) -> bool {
    matches!(
        character,
        '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{1d159}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A text in lines: `\u{200b}` for what is hidden in it.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match is_hidden(character) {
            true => out.extend(character.escape_unicode()),
            false => out.push(character),
        }
    }
    out
}

/// The same as JSON in lines: it says what the value is, and can be given back as it stands.
pub(crate) fn json(value: &impl Serialize) -> String {
    escaped(&serde_json::to_string_pretty(value).unwrap_or_default())
}

/// The same in one line, of as many characters as that: what is left out is said.
pub(crate) fn json_beginning(value: &impl Serialize, most: usize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    let beginning: String = text.chars().take(most).collect();
    let mut shown = escaped(&beginning);
    if beginning.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// A value in one word where it can be taken for nothing else; otherwise in quotes.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |character: char| {
        !is_hidden(character) && !matches!(character, ' ' | '=' | '"' | '\\' | '…')
    };
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    match !text.is_empty() && text.chars().all(is_plain) && !is_json {
        true => text.to_owned(),
        false => escaped(&serde_json::to_string(text).unwrap_or_default()),
    }
}

/// Outside of its texts, JSON has no character that is hidden but the ends of lines.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '\n' => out.push(character),
            character if is_hidden(character) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Into a text, so it cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            character => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One or more of each kind, with what is next to it where that is seen.
    #[test]
    fn what_cannot_be_seen_is_hidden_whatever_its_kind() {
        for (kind, hidden) in [
            ("control", "\u{0}\u{7}\u{1b}\u{7f}\u{85}\u{9b}"),
            ("zero width", "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}"),
            (
                "format",
                "\u{ad}\u{61c}\u{70f}\u{180e}\u{2061}\u{2064}\u{fff9}\u{1bca0}\u{1d173}",
            ),
            (
                "direction",
                "\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}",
            ),
            ("lines", "\u{2028}\u{2029}"),
            (
                "spaces",
                "\u{a0}\u{1680}\u{2000}\u{2003}\u{2009}\u{200a}\u{202f}\u{205f}\u{3000}",
            ),
            ("tags", "\u{e0001}\u{e0020}\u{e0061}\u{e007f}"),
            (
                "variations",
                "\u{fe00}\u{fe0f}\u{e0100}\u{e01ef}\u{180b}\u{180d}\u{180f}",
            ),
            (
                "fillers",
                "\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{2800}\u{3164}\u{ffa0}",
            ),
            ("private", "\u{e000}\u{f8ff}\u{f0000}\u{10fffd}"),
            ("unassigned", "\u{378}\u{fdd0}\u{ffff}\u{10ffff}"),
        ] {
            for character in hidden.chars() {
                assert!(is_hidden(character), "{kind}: {character:?}");
            }
        }
        // Marks over letters, and letters of all scripts, are seen.
        for seen in [
            "az AZ 09 ~!\"'\\",
            "äéß e\u{301}",
            "客栈，「好」。ｱ",
            "हिन्दी",
            "ไทย",
            "עברית العربية",
            "😀§→",
        ] {
            assert_eq!(visible(seen), seen);
        }
    }

    #[test]
    fn what_is_shown_says_what_it_is() {
        assert_eq!(visible("a\u{200b}b"), "a\\u{200b}b");
        let value = serde_json::json!({"p\u{202e}": "a\u{200b}b\n\\u200b\u{e0041}"});
        let shown = json(&value);
        assert_eq!(
            shown,
            "{\n  \"p\\u202e\": \"a\\u200bb\\n\\\\u200b\\udb40\\udc41\"\n}"
        );
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, value, "it can be given back");
    }

    #[test]
    fn the_beginning_of_a_value_hides_nothing() {
        for (value, most, shown) in [
            ("a\u{200b}", 9, "\"a\\u200b\""),
            ("\u{202e}abc", 3, "\"\\u202ea…"),
            ("客栈", 9, "\"客栈\""),
        ] {
            assert_eq!(json_beginning(&value, most), shown);
        }
    }

    #[test]
    fn a_word_is_taken_for_nothing_else() {
        for (text, shown) in [
            ("notes/a.md", "notes/a.md"),
            ("客栈", "客栈"),
            ("", "\"\""),
            ("5", "\"5\""),
            ("true", "\"true\""),
            ("a b", "\"a b\""),
            ("x to=y", "\"x to=y\""),
            ("a\nb", "\"a\\nb\""),
            ("a\u{200b}b", "\"a\\u200bb\""),
            ("a ", "\"a \""),
        ] {
            assert_eq!(word(text), shown, "{text:?}");
        }
    }
}
