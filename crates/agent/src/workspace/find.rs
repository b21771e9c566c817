//! How searches understand a query, weigh a text and show a place in it; for files and for messages alike.
//!
//! Case is folded character by character, and places are counted in the text as it is, not in its folded form: some
//! characters become two when they are folded.

use crate::limits::{MAX_QUERY_PAIRS, MAX_QUERY_TOKENS, MAX_SNIPPET_CHARS, SNIPPET_LEAD_CHARS};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Query {
    /// All of it, folded.
    whole: String,
    tokens: Vec<Token>,
    weight: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    text: String,
    weight: u64,
}

impl Query {
    /// None where there is nothing to look for.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let whole = folded(text.trim());
        if whole.is_empty() {
            return None;
        }
        let mut words: Vec<String> = whole
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        if let [word] = words.as_slice()
            && word.chars().nth(2).is_some()
        {
            words = pairs(word);
        }
        if words.is_empty() {
            words.push(whole.clone());
        }
        let mut tokens: Vec<Token> = Vec::new();
        for text in words {
            if tokens.len() == MAX_QUERY_TOKENS {
                break;
            }
            if tokens.iter().all(|token| token.text != text) {
                let weight = text.chars().take(8).count() as u64;
                tokens.push(Token { text, weight });
            }
        }
        Some(Self {
            weight: tokens.iter().map(|token| token.weight).sum(),
            whole,
            tokens,
        })
    }

    /// From 0 to 1: how much of the query stands in a folded text.
    pub(crate) fn score(&self, folded: &str) -> f64 {
        let found = self
            .tokens
            .iter()
            .filter(|token| folded.contains(&token.text));
        let found: u64 = found.map(|token| token.weight).sum();
        found as f64 / self.weight.max(1) as f64
    }

    /// Where in a text the query, or else the weightiest part of it, first stands; in characters.
    pub(crate) fn place(&self, text: &str) -> usize {
        let mut at = Vec::new();
        let mut folded = String::with_capacity(text.len());
        for (index, character) in text.chars().enumerate() {
            for lower in character.to_lowercase() {
                folded.push(lower);
                at.push(index);
            }
        }
        let mut wanted: Vec<&Token> = self.tokens.iter().collect();
        wanted.sort_by_key(|token| std::cmp::Reverse(token.weight));
        let parts = wanted.iter().map(|token| token.text.as_str());
        let byte = std::iter::once(self.whole.as_str())
            .chain(parts)
            .find_map(|part| folded.find(part));
        let before = byte.and_then(|byte| folded.get(..byte)).unwrap_or_default();
        at.get(before.chars().count()).copied().unwrap_or_default()
    }
}

/// A word as the pairs of its characters: what is written without spaces is found in parts.
fn pairs(word: &str) -> Vec<String> {
    let firsts = word.chars();
    let seconds = word.chars().skip(1);
    firsts
        .zip(seconds)
        .take(MAX_QUERY_PAIRS)
        .map(|(first, second)| String::from_iter([first, second]))
        .collect()
}

pub(crate) fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

const MARK: &str = "...";

/// The text around a place, which is given in characters; with marks where it goes on.
pub(crate) fn snippet(text: &str, place: usize) -> String {
    cut_around(text, place, MAX_SNIPPET_CHARS)
}

pub(crate) fn cut_around(text: &str, place: usize, most: usize) -> String {
    let total = text.chars().count();
    if total <= most {
        return text.to_owned();
    }
    let from = place.saturating_sub(SNIPPET_LEAD_CHARS).min(total);
    let lead = if from > 0 { MARK } else { "" };
    let room = most.saturating_sub(lead.len());
    let rest = total - from;
    let (shown, tail) = match rest <= room {
        true => (rest, ""),
        false => (room.saturating_sub(MARK.len()), MARK),
    };
    let middle: String = text.chars().skip(from).take(shown).collect();
    format!("{lead}{middle}{tail}")
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
