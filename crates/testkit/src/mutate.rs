//! Breaking good texts in small ways, and making a broken one as small as it can be.

use crate::Rng;
use crate::soup::FRAGMENTS;

/// Changes texts at random, always into valid UTF-8.
#[derive(Debug, Clone)]
pub struct Mutator {
    rng: Rng,
    longest: usize,
}

impl Mutator {
    /// Texts longer than `longest` characters are cut.
    pub fn new(seed: u64, longest: usize) -> Self {
        Self {
            rng: Rng::new(seed),
            longest,
        }
    }

    /// One to four changes to a text of the corpus: cut, duplicate, splice, flip, insert.
    pub fn next(&mut self, corpus: &[String]) -> String {
        let mut chars: Vec<char> = self.text_of(corpus);
        for _ in 0..=self.rng.below(4) {
            chars = self.change(chars, corpus);
        }
        chars.truncate(self.longest);
        chars.into_iter().collect()
    }

    fn text_of(&mut self, corpus: &[String]) -> Vec<char> {
        let text = self
            .rng
            .pick(corpus)
            .map(String::as_str)
            .unwrap_or_default();
        text.chars().take(self.longest).collect()
    }

    fn change(&mut self, mut chars: Vec<char>, corpus: &[String]) -> Vec<char> {
        let (from, to) = self.range(chars.len());
        match self.rng.below(7) {
            // Cut a piece out, or the end off.
            0 => drop(chars.drain(from..to)),
            1 => chars.truncate(from),
            // Say it twice.
            2 => {
                let again: Vec<char> = chars.get(from..to).unwrap_or_default().to_vec();
                chars.splice(to..to, again);
            }
            // The head of this one, the tail of another.
            3 => {
                let other = self.text_of(corpus);
                let at = self.rng.below(other.len() + 1);
                chars.truncate(from);
                chars.extend_from_slice(other.get(at..).unwrap_or_default());
            }
            // Another letter case, or another neighbour.
            4 => {
                for c in chars.get_mut(from..to).unwrap_or_default() {
                    *c = if c.is_ascii_lowercase() {
                        c.to_ascii_uppercase()
                    } else {
                        c.to_ascii_lowercase()
                    };
                }
            }
            5 if !chars.is_empty() => {
                let (a, b) = (self.rng.below(chars.len()), self.rng.below(chars.len()));
                chars.swap(a, b);
            }
            _ => {
                let piece = self.rng.pick(FRAGMENTS).copied().unwrap_or_default();
                chars.splice(from..from, piece.chars());
            }
        }
        chars
    }

    fn range(&mut self, len: usize) -> (usize, usize) {
        let (a, b) = (self.rng.below(len + 1), self.rng.below(len + 1));
        // Mostly short pieces: a mark or two, not half the text.
        let end = if self.rng.below(3) == 0 {
            b
        } else {
            a + b % 12
        };
        (a.min(end).min(len), a.max(end).min(len))
    }
}

/// The smallest text found, by leaving pieces out, for which `fails` still holds.
pub fn shrink(text: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let mut size = chars.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < chars.len() {
            let mut shorter = chars.clone();
            shorter.drain(at..(at + size).min(chars.len()));
            let candidate: String = shorter.iter().collect();
            if fails(&candidate) {
                chars = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    chars.into_iter().collect()
}
