//! The event that comes again and again with other words in it.
//!
//! A server writes thousands of events that differ in one text. What stands before and after that text is kept of the last
//! one that was read; where the next has the same there, its words are what is between. They must be written as they are,
//! without anything escaped: then both are the same JSON but for this one value, and nothing else need be read.

use crate::limits::MAX_STENCIL_BYTES;

/// What the last such event had around its words, and what it was beside them.
#[derive(Debug)]
pub(super) struct Stencil<T> {
    before: String,
    after: String,
    what: Option<T>,
}

impl<T> Default for Stencil<T> {
    fn default() -> Self {
        Self {
            before: String::new(),
            after: String::new(),
            what: None,
        }
    }
}

impl<T: Copy> Stencil<T> {
    /// The words of an event that differs in nothing else; there is at least one character.
    pub(super) fn words<'a>(&self, data: &'a str) -> Option<(T, &'a str)> {
        #[cfg(test)]
        if super::quick::testing::is_off() {
            return None;
        }
        let what = self.what?;
        let words = data.strip_prefix(&*self.before)?;
        let words = words.strip_suffix(&*self.after)?;
        if words.is_empty() || !words.bytes().all(is_plain) {
            return None;
        }
        #[cfg(test)]
        super::quick::testing::count_compared();
        Some((what, words))
    }

    /// `words` is a text in `data` and lies there as it is.
    pub(super) fn learn(&mut self, what: T, data: &str, words: &str) {
        self.what = None;
        let start = words.as_ptr().addr().checked_sub(data.as_ptr().addr());
        let Some((before, rest)) = start.and_then(|start| data.split_at_checked(start)) else {
            return;
        };
        let Some(after) = rest.strip_prefix(words) else {
            return;
        };
        // A text that is between quotation marks, and not so much around it that comparing is no gain.
        let quoted = before.ends_with('"') && after.starts_with('"');
        if !quoted || before.len() + after.len() > MAX_STENCIL_BYTES {
            return;
        }
        before.clone_into(&mut self.before);
        after.clone_into(&mut self.after);
        self.what = Some(what);
    }

    /// What the last one meant may not be what the next would mean.
    pub(super) fn forget(&mut self) {
        self.what = None;
    }
}

/// Means itself within a text of JSON.
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

#[cfg(test)]
#[path = "stencil_tests.rs"]
mod tests;
