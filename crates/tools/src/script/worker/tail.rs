//! The end of what a worker said beside its answers: stderr, log lines, stray prints.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::MAX_SCRIPT_STDERR_BYTES;

/// Clones are the same tail.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    /// Something before it is gone.
    cut: bool,
}

/// What a worker said last. May hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastWords(String);

impl LastWords {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Tail {
    /// As it comes from a pipe.
    pub(super) fn take(&self, bytes: &[u8]) {
        self.lock().push(bytes);
    }

    /// A line of its own. A long one is not cut here: its end could be half a secret, which nobody would recognise.
    pub(super) fn line(&self, text: &str) {
        let mut kept = self.lock();
        if !kept.bytes.is_empty() && !kept.bytes.ends_with(b"\n") {
            kept.push(b"\n");
        }
        kept.push(text.as_bytes());
        kept.push(b"\n");
    }

    pub(super) fn last_words(&self) -> LastWords {
        let mut kept = self.lock();
        kept.trim();
        let text = String::from_utf8_lossy(&kept.bytes);
        // The first line of a cut text may begin in the middle of a secret, which nobody would recognise.
        let whole = match kept.cut {
            true => text.split_once('\n').map_or("", |(_, rest)| rest),
            false => &text,
        };
        LastWords(whole.trim().to_owned())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Cutting at twice the limit moves each byte only once.
        if self.bytes.len() > 2 * MAX_SCRIPT_STDERR_BYTES {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let excess = self.bytes.len().saturating_sub(MAX_SCRIPT_STDERR_BYTES);
        if excess > 0 {
            self.bytes.drain(..excess);
            self.cut = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_pieces_are_kept_in_order() {
        let tail = Tail::default();
        tail.take(b"half");
        tail.line("stray");
        tail.take(b"rest\n");
        assert_eq!(tail.last_words().as_str(), "half\nstray\nrest");
    }

    #[test]
    fn the_end_is_kept_and_begins_with_a_whole_line() {
        let tail = Tail::default();
        for number in 0..10_000 {
            tail.line(&format!("line {number}"));
        }
        let text = tail.last_words();
        assert!(text.as_str().len() <= MAX_SCRIPT_STDERR_BYTES);
        assert!(text.as_str().starts_with("line "));
        assert!(text.as_str().ends_with("line 9999"));
        tail.take(&vec![b'x'; 3 * MAX_SCRIPT_STDERR_BYTES]);
        assert_eq!(tail.last_words().as_str(), "");
    }

    #[test]
    fn a_secret_in_a_line_is_kept_whole_or_not_at_all() {
        for before in [
            0,
            4_090,
            MAX_SCRIPT_STDERR_BYTES - 12,
            MAX_SCRIPT_STDERR_BYTES - 4,
            40_000,
        ] {
            let tail = Tail::default();
            tail.line(&format!("{}hunter22-----", "x".repeat(before)));
            tail.line("end");
            let text = tail.last_words();
            let text = text.as_str().replace("hunter22", "");
            assert!(
                !text.contains("hunt") && !text.contains("22"),
                "{before}: {text}"
            );
            assert!(text.ends_with("end"));
        }
    }
}
