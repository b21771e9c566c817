//! The marks: what they look like, and whether one stands at a given place.
//!
//! Every test here looks at a bounded number of bytes and can say *not yet decided* when the text may go on,
//! which is what lets the same code read a stream.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::limits::{MAX_BLANKS, MAX_TAG_BYTES};

/// The answer to "does it stand here?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen<T> {
    Yes(T),
    No,
    /// The text ends before it can be told.
    Unclear,
}

impl<T> Seen<T> {
    pub(super) fn map<U>(self, with: impl FnOnce(T) -> U) -> Seen<U> {
        match self {
            Self::Yes(value) => Seen::Yes(with(value)),
            Self::No => Seen::No,
            Self::Unclear => Seen::Unclear,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TamMark {
    Request,
    End,
}

/// A family of value marks: what opens and what closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Guillemets,
    Corners,
    Angles,
    /// `「始ESCAPE」`, as VCP writes a value that holds the plain marks.
    EscapedCorners,
}

/// How many there are.
pub(super) const FAMILIES: usize = 4;

impl Family {
    pub(super) const ALL: [Self; FAMILIES] = [
        Self::Guillemets,
        Self::Corners,
        Self::Angles,
        Self::EscapedCorners,
    ];

    /// The family it counts as: the two kinds of corners may stand in one block.
    pub(super) const fn kin(self) -> Self {
        match self {
            Self::EscapedCorners => Self::Corners,
            family => family,
        }
    }

    pub(super) const fn open(self) -> &'static str {
        match self {
            Self::Guillemets => "»»»",
            Self::Corners => "「始」",
            Self::Angles => ">>>",
            Self::EscapedCorners => "「始ESCAPE」",
        }
    }

    pub(super) const fn close(self) -> &'static str {
        match self {
            Self::Guillemets => "«««",
            Self::Corners => "「末」",
            Self::Angles => "<<<",
            Self::EscapedCorners => "「末ESCAPE」",
        }
    }

    /// The character whose repetition makes the mark, where it is one: `«««« ` is a run, not two marks.
    const fn repeated_close(self) -> Option<&'static str> {
        match self {
            Self::Guillemets => Some("«"),
            Self::Corners | Self::EscapedCorners => None,
            Self::Angles => Some("<"),
        }
    }

    const fn repeated_open(self) -> Option<&'static str> {
        match self {
            Self::Guillemets => Some("»"),
            Self::Corners | Self::EscapedCorners => None,
            Self::Angles => Some(">"),
        }
    }

    /// Where the run of closing characters ends in which `known` already stands behind a whole mark.
    pub(super) fn close_run_end(self, text: &str, known: usize) -> usize {
        run_end(text, known, self.repeated_close())
    }

    pub(super) fn open_run_end(self, text: &str, at: usize) -> usize {
        run_end(text, at + self.open().len(), self.repeated_open())
    }
}

fn run_end(text: &str, from: usize, repeated: Option<&str>) -> usize {
    let (Some(one), Some(rest)) = (repeated, text.as_bytes().get(from..)) else {
        return from;
    };
    let whole = rest
        .chunks_exact(one.len())
        .take_while(|chunk| *chunk == one.as_bytes())
        .count();
    from + whole * one.len()
}

pub(super) struct Finders {
    pub(super) open: [Finder<'static>; FAMILIES],
    pub(super) close: [Finder<'static>; FAMILIES],
    pub(super) cdata_end: Finder<'static>,
    pub(super) comment_end: Finder<'static>,
    pub(super) fence: Finder<'static>,
}

/// Search tables, built once.
pub(super) static FINDERS: LazyLock<Finders> = LazyLock::new(|| Finders {
    open: Family::ALL.map(|family| Finder::new(family.open())),
    close: Family::ALL.map(|family| Finder::new(family.close())),
    cdata_end: Finder::new("]]>"),
    comment_end: Finder::new("-->"),
    fence: Finder::new("```"),
});

/// The next `<` at or after `from`.
pub(super) fn next_less(bytes: &[u8], from: usize) -> Option<usize> {
    next_byte(bytes, from, b'<')
}

/// The next such byte at or after `from`. Where they stand close together a look costs less than a search.
pub(super) fn next_byte(bytes: &[u8], from: usize, byte: u8) -> Option<usize> {
    const NEAR: usize = 4;
    let rest = bytes.get(from..)?;
    let near = rest.iter().take(NEAR).position(|&have| have == byte);
    near.or_else(|| memchr::memchr(byte, rest.get(NEAR..)?).map(|offset| NEAR + offset))
        .map(|offset| from + offset)
}

pub(super) fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .take(MAX_BLANKS)
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

/// A literal in any letter case. `Yes` holds the position after it.
fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Seen<usize> {
    let rest = bytes.get(at..).unwrap_or_default();
    if let Some(head) = rest.get(..word.len()) {
        return if head.eq_ignore_ascii_case(word) {
            Seen::Yes(at + word.len())
        } else {
            Seen::No
        };
    }
    let common = rest
        .iter()
        .zip(word)
        .take_while(|(have, want)| have.eq_ignore_ascii_case(want))
        .count();
    if common == rest.len() {
        Seen::Unclear
    } else {
        Seen::No
    }
}

macro_rules! need {
    ($seen:expr) => {
        match $seen {
            Seen::Yes(value) => value,
            Seen::No => return Seen::No,
            Seen::Unclear => return Seen::Unclear,
        }
    };
}

/// `<|[REQUEST_TOOL]|>` or `<|[END_TOOL]|>` at `at`, in any letter case, with blanks inside. `Yes` holds the
/// mark and the position after it.
pub(super) fn tam_mark(bytes: &[u8], at: usize) -> Seen<(TamMark, usize)> {
    let mut next = need!(literal(bytes, at, b"<"));
    for part in [b"|", b"["] {
        next = need!(literal(bytes, skip_blanks(bytes, next), part));
    }
    next = skip_blanks(bytes, next);
    let mark;
    (mark, next) = match literal(bytes, next, b"REQUEST") {
        Seen::Yes(after) => (TamMark::Request, after),
        Seen::Unclear => return Seen::Unclear,
        Seen::No => (TamMark::End, need!(literal(bytes, next, b"END"))),
    };
    let word_end = next;
    next = skip_blanks(bytes, next);
    if let Some(b'_' | b'-') = bytes.get(next) {
        next = skip_blanks(bytes, next + 1);
    }
    if next == word_end {
        return if bytes.len() == next {
            Seen::Unclear
        } else {
            Seen::No
        };
    }
    next = need!(literal(bytes, next, b"TOOL"));
    for part in [b"]", b"|", b">"] {
        next = need!(literal(bytes, skip_blanks(bytes, next), part));
    }
    Seen::Yes((mark, next))
}

/// An opening tag of the given name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpenTag {
    /// Where the attribute part begins.
    pub(super) attributes: usize,
    /// Behind the `>`.
    pub(super) end: usize,
    /// `<x/>`
    pub(super) empty: bool,
    /// The name was written exactly as given.
    pub(super) canonical: bool,
}

/// `<NAME …>` at `at`, in any letter case, with blanks inside.
pub(super) fn open_tag(bytes: &[u8], at: usize, name: &[u8]) -> Seen<OpenTag> {
    let next = need!(literal(bytes, at, b"<"));
    let next = skip_blanks(bytes, next);
    let after = need!(literal(bytes, next, name));
    let canonical = bytes.get(next..after) == Some(name);
    match bytes.get(after) {
        None => return Seen::Unclear,
        Some(b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r') => {}
        Some(_) => return Seen::No,
    }
    let rest = bytes.get(after..).unwrap_or_default();
    let mut quote = None;
    for (offset, &byte) in rest.iter().take(MAX_TAG_BYTES).enumerate() {
        match (byte, quote) {
            (b'<', _) => return Seen::No,
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            (b'>', None) => {
                let empty = offset
                    .checked_sub(1)
                    .and_then(|before| rest.get(before))
                    .is_some_and(|&before| before == b'/');
                return Seen::Yes(OpenTag {
                    attributes: after,
                    end: after + offset + 1,
                    empty,
                    canonical,
                });
            }
            _ => {}
        }
    }
    if rest.len() < MAX_TAG_BYTES {
        Seen::Unclear
    } else {
        Seen::No
    }
}

/// `</NAME>` at `at`, in any letter case, with blanks inside. `Yes` holds the position after it.
pub(super) fn close_tag(bytes: &[u8], at: usize, name: &[u8]) -> Seen<usize> {
    let next = need!(literal(bytes, at, b"<"));
    let next = need!(literal(bytes, skip_blanks(bytes, next), b"/"));
    let next = need!(literal(bytes, skip_blanks(bytes, next), name));
    literal(bytes, skip_blanks(bytes, next), b">")
}

/// A literal at `at`, exactly.
pub(super) fn exactly(bytes: &[u8], at: usize, word: &[u8]) -> Seen<usize> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(word) {
        Seen::Yes(at + word.len())
    } else if word.starts_with(rest) {
        Seen::Unclear
    } else {
        Seen::No
    }
}

/// Whether a mark at `start..end` is quoted on its own in inline code, and so only mentioned.
pub(super) fn is_quoted(bytes: &[u8], start: usize, end: usize) -> Seen<()> {
    let before = bytes.get(..start).unwrap_or_default();
    let ticks = before
        .iter()
        .rev()
        .take(3)
        .take_while(|&&byte| byte == b'`')
        .count();
    if ticks == 0 || ticks == 3 {
        return Seen::No;
    }
    match bytes.get(end) {
        Some(b'`') => Seen::Yes(()),
        Some(_) => Seen::No,
        None => Seen::Unclear,
    }
}
