//! Bytes in whatever pieces they come, lines out, and never more than a line in memory.

use std::borrow::Cow;

pub(super) struct Lines {
    /// What came since the last line end.
    open: Vec<u8>,
    limit: usize,
}

/// The lines that a piece has completed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Fed<'b> {
    pub(super) lines: Vec<Cow<'b, [u8]>>,
    /// Behind them stands a line that is longer than allowed; nothing after it is read.
    pub(super) too_long: bool,
}

impl Lines {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            open: Vec::new(),
            limit,
        }
    }

    pub(super) fn feed<'b>(&mut self, bytes: &'b [u8]) -> Fed<'b> {
        let mut fed = Fed::default();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            if self.open.len() + text.len() > self.limit {
                self.open = Vec::new();
                fed.too_long = true;
                return fed;
            }
            match (ends, self.open.is_empty()) {
                (true, true) => push(&mut fed, Cow::Borrowed(text)),
                (true, false) => {
                    self.open.extend_from_slice(text);
                    push(&mut fed, Cow::Owned(std::mem::take(&mut self.open)));
                }
                (false, _) => self.open.extend_from_slice(text),
            }
        }
        fed
    }

    /// The last line, if nothing ended it.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.open);
        (!rest.trim_ascii().is_empty()).then_some(rest)
    }
}

fn push<'b>(fed: &mut Fed<'b>, line: Cow<'b, [u8]>) {
    if !line.trim_ascii().is_empty() {
        fed.lines.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lines, and whether one was too long.
    fn read(pieces: &[&str], limit: usize) -> (Vec<String>, bool) {
        let mut lines = Lines::new(limit);
        let mut all = Vec::new();
        for piece in pieces {
            let fed = lines.feed(piece.as_bytes());
            let texts = fed.lines.iter();
            all.extend(texts.map(|line| String::from_utf8(line.to_vec()).unwrap()));
            if fed.too_long {
                return (all, true);
            }
        }
        let rest = lines.finish().map(|line| String::from_utf8(line).unwrap());
        all.extend(rest);
        (all, false)
    }

    #[test]
    fn lines_do_not_depend_on_how_they_were_cut() {
        for (pieces, limit, lines, too_long) in [
            (&[][..], 4, &[][..], false),
            (&["a\nbc\n"], 4, &["a", "bc"], false),
            (
                &["a", "b", "\nc\n\n", "\n", "d"],
                4,
                &["ab", "c", "d"],
                false,
            ),
            (&["a\r\nb"], 4, &["a\r", "b"], false),
            (&["abcd\n"], 4, &["abcd"], false),
            (&["abcde\n"], 4, &[], true),
            (&["a\nabc", "de"], 4, &["a"], true),
            (&["  \n\t"], 4, &[], false),
        ] {
            let (found, stopped) = read(pieces, limit);
            assert_eq!(
                (found.as_slice(), stopped),
                (to_strings(lines).as_slice(), too_long)
            );
        }
    }

    fn to_strings(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }
}
