//! Lines of a text: where they begin, and how they are shown.

use std::fmt::Write as _;
use std::ops::Range;

/// A line break at the end does not begin another line. Numbers begin at 1.
pub(crate) struct Lines {
    /// Byte at which each line begins.
    starts: Vec<usize>,
    end: usize,
}

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut starts: Vec<usize> = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        if starts.last() == Some(&text.len()) {
            starts.pop();
        }
        Self {
            starts,
            end: text.len(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// The bytes of `count` lines from `first` on, with their line breaks.
    pub(crate) fn bytes(&self, first: usize, count: usize) -> Range<usize> {
        let start = |line: usize| self.starts.get(line - 1).copied().unwrap_or(self.end);
        let first = first.max(1);
        start(first)..start(first.saturating_add(count))
    }

    /// The number of the line that a byte lies in.
    pub(crate) fn number_at(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).max(1)
    }
}

/// Every line ends with CR LF, and there is at least one.
pub(crate) fn ends_with_crlf(text: &str) -> bool {
    let mut ends = text.match_indices('\n').peekable();
    ends.peek().is_some()
        && ends.all(|(at, _)| text.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\r'))
}

/// `  7 | text`, for a piece that begins in line `first` and ends in line `last`.
pub(crate) fn numbered(text: &str, first: usize, last: usize) -> String {
    let width = last.max(first).to_string().len();
    let mut out =
        String::with_capacity(text.len() + (last + 1).saturating_sub(first) * (width + 4));
    for (ahead, line) in text.lines().enumerate() {
        if ahead > 0 {
            out.push('\n');
        }
        // Writing to a text cannot fail.
        let _ = write!(out, "{:>width$} | {line}", first + ahead);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_where_they_are() {
        for (text, count) in [
            ("", 0),
            ("a", 1),
            ("a\n", 1),
            ("a\nb", 2),
            ("\n\n", 2),
            ("a\r\nb\r\n", 2),
        ] {
            assert_eq!(Lines::of(text).count(), count, "{text:?}");
            assert_eq!(text.lines().count(), count, "{text:?}");
        }
        let text = "一\n二😀\n\nfour";
        let lines = Lines::of(text);
        assert_eq!(&text[lines.bytes(2, 1)], "二😀\n");
        assert_eq!(&text[lines.bytes(2, 2)], "二😀\n\n");
        assert_eq!(&text[lines.bytes(4, 9)], "four");
        assert_eq!(&text[lines.bytes(9, 9)], "");
        assert_eq!(&text[lines.bytes(1, usize::MAX)], text);
        let at = |piece: &str| lines.number_at(text.find(piece).unwrap());
        assert_eq!((at("一"), at("😀"), at("four")), (1, 2, 4));
    }

    #[test]
    fn numbers_stand_in_a_column() {
        assert_eq!(numbered("a\nb\n", 9, 10), " 9 | a\n10 | b");
        assert_eq!(numbered("a\r\n\r\n", 1, 2), "1 | a\n2 | ");
        assert_eq!(numbered("", 1, 0), "");
    }

    #[test]
    fn line_ends() {
        for (text, crlf) in [
            ("a\r\nb\r\n", true),
            ("a\r\nb", true),
            ("a\nb\r\n", false),
            ("a", false),
            ("\n", false),
        ] {
            assert_eq!(ends_with_crlf(text), crlf, "{text:?}");
        }
    }
}
