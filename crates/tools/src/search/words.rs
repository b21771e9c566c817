//! What a text is cut into, so that a question and a tool's own words meet: words of letters and digits without their
//! endings, and pairs of characters where a script writes no blanks.
//!
//! Names are cut where people see a seam: `File.ApplyEdit`, `workspace.apply_patch` and `applyEdit` share words.

use super::stem::stem;

/// Goes through all terms of a text, in order. Words that say nothing by themselves are left out.
pub(super) fn each_term(text: &str, mut found: impl FnMut(&str)) {
    let mut word = String::new();
    let mut pairs = Pairs::default();
    let mut before = Kind::Other;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let kind = Kind::of(c);
        let next = chars.peek().copied().map_or(Kind::Other, Kind::of);
        if kind != Kind::Dense {
            pairs.end(&mut found);
        }
        // A capital begins a word after a small letter (`getTime`), and before one after capitals (`HTTPServer`).
        let is_seam = kind == Kind::Upper
            && (before == Kind::Lower || (before == Kind::Upper && next == Kind::Lower));
        if is_seam || matches!(kind, Kind::Other | Kind::Dense) {
            end_word(&mut word, &mut found);
        }
        match kind {
            Kind::Dense => pairs.next(c, &mut found),
            Kind::Other => {}
            Kind::Lower | Kind::Upper | Kind::Digit => word.extend(c.to_lowercase()),
        }
        before = kind;
    }
    pairs.end(&mut found);
    end_word(&mut word, &mut found);
}

fn end_word(word: &mut String, found: &mut impl FnMut(&str)) {
    if !word.is_empty() && STOP.binary_search(&word.as_str()).is_err() {
        stem(word);
        found(word);
    }
    word.clear();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    /// Of a script that is written without blanks.
    Dense,
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            _ if c.is_ascii() => Self::Other,
            _ if is_dense(c) => Self::Dense,
            _ if c.is_uppercase() => Self::Upper,
            _ if c.is_alphabetic() => Self::Lower,
            _ if c.is_numeric() => Self::Digit,
            _ => Self::Other,
        }
    }
}

/// Han, kana and hangul.
fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

/// Neighbours two by two; a character that stands alone is a term of its own.
#[derive(Default)]
struct Pairs {
    last: Option<char>,
    is_alone: bool,
}

impl Pairs {
    fn next(&mut self, c: char, found: &mut impl FnMut(&str)) {
        if let Some(last) = self.last {
            let mut pair = String::with_capacity(8);
            pair.push(last);
            pair.push(c);
            found(&pair);
        }
        self.is_alone = self.last.is_none();
        self.last = Some(c);
    }

    fn end(&mut self, found: &mut impl FnMut(&str)) {
        if let Some(last) = self.last.take().filter(|_| self.is_alone) {
            found(last.encode_utf8(&mut [0; 4]));
        }
    }
}

/// Words of questions and of descriptions alike that name no tool.
const STOP: [&str; 82] = [
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "been", "but", "by", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have",
    "hello", "hi", "how", "i", "if", "in", "into", "is", "it", "its", "let", "like", "may", "me",
    "my", "need", "new", "no", "not", "of", "on", "one", "or", "our", "please", "s", "should",
    "so", "some", "t", "tell", "tells", "than", "that", "the", "their", "them", "then", "there",
    "these", "this", "those", "to", "us", "use", "want", "was", "we", "were", "what", "which",
    "will", "with", "would", "you", "your",
];

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
