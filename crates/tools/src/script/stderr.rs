//! The end of what a program prints to stderr, and its lines while it prints them.

use super::{Line, StderrLines};
use crate::limits::MAX_SCRIPT_LINE_BYTES;

pub(super) struct Stderr {
    lines: StderrLines,
    /// What came since the last line end.
    open: Vec<u8>,
    /// The beginning of this line has been kept already: it is no line to be read.
    too_long: bool,
    kept: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl Stderr {
    pub(super) fn new(lines: StderrLines, limit: usize) -> Self {
        Self {
            lines,
            open: Vec::new(),
            too_long: false,
            kept: Vec::new(),
            limit,
            truncated: false,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.open.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line();
            } else if self.open.len() > MAX_SCRIPT_LINE_BYTES {
                self.too_long = true;
                self.keep();
            }
        }
    }

    /// The end of it, and whether that is not all.
    pub(super) fn finish(&mut self) -> (Vec<u8>, bool) {
        self.end_line();
        self.trim(self.limit);
        (std::mem::take(&mut self.kept), self.truncated)
    }

    fn end_line(&mut self) {
        let too_long =
            std::mem::take(&mut self.too_long) || self.open.len() > MAX_SCRIPT_LINE_BYTES;
        let line = String::from_utf8_lossy(&self.open);
        match too_long || line.is_empty() {
            false if self.lines.read(line.trim_end()) == Line::Taken => self.open.clear(),
            _ => self.keep(),
        }
    }

    fn keep(&mut self) {
        self.kept.append(&mut self.open);
        // Cutting at twice the limit moves each byte only once.
        if self.kept.len() > self.limit.saturating_mul(2) {
            self.trim(self.limit);
        }
    }

    fn trim(&mut self, to: usize) {
        if let Some(excess) = self.kept.len().checked_sub(to).filter(|excess| *excess > 0) {
            self.kept.drain(..excess);
            self.truncated = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn read(pieces: &[&str], limit: usize) -> (String, bool, Vec<String>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let seeing = Arc::clone(&seen);
        let lines = StderrLines::to(move |line| {
            seeing.lock().unwrap().push(line.to_owned());
            match line.starts_with('@') {
                true => Line::Taken,
                false => Line::Keep,
            }
        });
        let mut stderr = Stderr::new(lines, limit);
        for piece in pieces {
            stderr.take(piece.as_bytes());
        }
        let (kept, truncated) = stderr.finish();
        let seen = seen.lock().unwrap().clone();
        (String::from_utf8(kept).unwrap(), truncated, seen)
    }

    #[test]
    fn lines_are_read_and_the_end_is_kept() {
        for (pieces, limit, kept, truncated, seen) in [
            (&[][..], 10, "", false, &[][..]),
            (&["a\nb"], 10, "a\nb", false, &["a", "b"]),
            (
                &["a", "b\r\n@c", "d\ne\n"],
                10,
                "ab\r\ne\n",
                false,
                &["ab", "@cd", "e"],
            ),
            (&["@only"], 10, "", false, &["@only"]),
            (
                &["12345\n", "67890\n"],
                8,
                "5\n67890\n",
                true,
                &["12345", "67890"],
            ),
        ] {
            let seen: Vec<_> = seen.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(
                read(pieces, limit),
                (kept.to_owned(), truncated, seen),
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn a_line_without_end_is_no_line_and_not_hoarded() {
        let long = "@".repeat(MAX_SCRIPT_LINE_BYTES + 1);
        let (kept, truncated, seen) = read(&[&long, "end\n@next"], 8);
        assert_eq!((kept.as_str(), truncated), ("@@@@end\n", true));
        assert_eq!(seen, ["@next"]);
        let (_, _, seen) = read(&[&format!("{long}\n")], 8);
        assert!(seen.is_empty());
    }
}
