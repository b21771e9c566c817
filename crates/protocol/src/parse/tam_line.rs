//! What a line of a TAM block may be: `key:OPEN`, a comment, a fence, layout.

use crate::Span;
use crate::limits::{MAX_KEY_BYTES, MAX_LINE_SEARCH};

/// How much is tolerated in a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Within a value, where a line of code must not be taken for a key.
    Strict = 1,
    /// Between fields, where nothing else is expected.
    Loose = 2,
}

/// The key of the opening mark at `open`, and where what was looked at begins; nothing before `floor`.
pub(super) fn key_before(
    text: &str,
    open: usize,
    floor: usize,
    shape: Shape,
) -> Option<(Span, usize)> {
    let before = text.get(floor..open)?;
    // Most marks are no field's: tell them by one byte (the last of `:`, `：` or of a wide blank).
    if !matches!(
        before.as_bytes().last(),
        Some(b':' | b' ' | b'\t' | 0x9a | 0x80 | 0xa0)
    ) {
        return None;
    }
    let colon = before.trim_end_matches(is_blank);
    let whole = colon
        .strip_suffix(':')
        .or_else(|| colon.strip_suffix('：'))?;
    let (left, named) = key_start(whole, shape);
    if whole.len() - left > MAX_KEY_BYTES {
        return None;
    }
    if !named {
        return None;
    }
    let key = whole.get(left..)?;
    let trimmed = key.trim_start_matches(is_separator);
    let start = floor + left + (key.len() - trimmed.len());
    let end = start + trimmed.trim_end_matches(is_blank).len();
    Some((Span::new(start, end), floor + left))
}

/// Where the key at the end of a text begins, and whether it has a letter or digit in it. Looks no further
/// than a little beyond the longest key.
fn key_start(text: &str, shape: Shape) -> (usize, bool) {
    let bytes = text.as_bytes();
    let floor = text.len().saturating_sub(MAX_KEY_BYTES + 1);
    let mut left = text.len();
    let mut named = false;
    while left > floor {
        let Some(&byte) = bytes.get(left - 1) else {
            break;
        };
        let (c, width) = match ASCII.get(usize::from(byte)) {
            Some(class) => {
                if class & shape as u8 == 0 {
                    break;
                }
                named |= class & NAMED != 0;
                left -= 1;
                continue;
            }
            None => match text.get(..left).and_then(|head| head.chars().next_back()) {
                Some(c) => (c, c.len_utf8()),
                None => break,
            },
        };
        if !belongs_to_key(c, shape) {
            break;
        }
        named = named || c.is_alphanumeric();
        left -= width;
    }
    (left, named)
}

#[allow(
    clippy::indexing_slicing,
    reason = "checked by the compiler, which evaluates it"
)]
/// For each ASCII character the shapes of key it can stand in, and whether it is a letter or digit.
const ASCII: [u8; 128] = {
    let mut classes = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        if belongs_to_key(c as char, Shape::Strict) {
            classes[byte] |= Shape::Strict as u8;
        }
        if belongs_to_key(c as char, Shape::Loose) {
            classes[byte] |= Shape::Loose as u8;
        }
        if c.is_ascii_alphanumeric() {
            classes[byte] |= NAMED;
        }
        byte += 1;
    }
    classes
};
const NAMED: u8 = 4;

/// Whether a character can stand in a key. Marks and line breaks never can.
pub(super) const fn belongs_to_key(c: char, shape: Shape) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | ' ' => true,
        '\n' | '\r' | ':' | '：' | '<' | '>' | '»' | '«' | '「' | '」' => false,
        '\t' | '-' | '.' | '*' | '`' | '"' | '\'' => true,
        c => matches!(shape, Shape::Loose) || !c.is_ascii(),
    }
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{3000}' | '\u{a0}')
}

/// What may stand between two fields without meaning anything.
pub(super) fn is_separator(c: char) -> bool {
    is_blank(c) || matches!(c, ',' | '，' | ';' | '；' | '、' | '\r' | '\u{feff}')
}

/// The last line of a text and what stands before it, if it is not absurdly long.
pub(super) fn last_line(text: &str) -> Option<(&str, &str)> {
    let window = text.len().saturating_sub(MAX_LINE_SEARCH);
    let newline = memchr::memrchr(b'\n', text.as_bytes().get(window..)?)?;
    Some((
        text.get(..window + newline)?,
        text.get(window + newline + 1..)?,
    ))
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |newline| newline + 1)
}

/// Nothing but blanks between the line's beginning and `at`.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let before = before.trim_end_matches(is_blank);
    before.is_empty() || before.ends_with('\n')
}

/// Blank lines, comments and code fences: what may stand between a REQUEST mark and its first key.
pub(super) fn is_layout(gap: &str) -> bool {
    gap.lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || is_fence(line)
    })
}

pub(super) fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}
