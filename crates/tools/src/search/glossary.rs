//! Words that mean nearly the same, in two languages: whoever asks for 天气 finds a tool that says *forecast*, and the other
//! way round. It stands in for what an embedding knows, for the words that tools are asked for with.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::words::each_term;

const TEXT: &str = include_str!("glossary.txt");

/// Terms that stand for one thing.
pub(super) struct Meaning {
    pub(super) english: Vec<Box<str>>,
    pub(super) chinese: Vec<Box<str>>,
}

struct Glossary {
    meanings: Vec<Meaning>,
    /// Which meanings an English term has.
    english: HashMap<Box<str>, Vec<usize>>,
    /// Chinese words, as they stand in a text. None only if they could not be put together, which a test sees.
    chinese: Option<AhoCorasick>,
    /// The meaning of each of them.
    behind: Vec<usize>,
}

static GLOSSARY: LazyLock<Glossary> = LazyLock::new(|| {
    let mut glossary = Glossary {
        meanings: Vec::new(),
        english: HashMap::new(),
        chinese: None,
        behind: Vec::new(),
    };
    let mut words = Vec::new();
    let lines = TEXT.lines().filter(|line| !line.starts_with('#'));
    for (at, line) in lines.enumerate() {
        let (english, chinese) = line.split_once('|').unwrap_or((line, ""));
        let mut meaning = Meaning {
            english: Vec::new(),
            chinese: Vec::new(),
        };
        each_term(english, |term| {
            let of = glossary.english.entry(term.into()).or_default();
            of.push(at);
            meaning.english.push(term.into());
        });
        for word in chinese.split_whitespace() {
            words.push(word);
            glossary.behind.push(at);
            each_term(word, |term| meaning.chinese.push(term.into()));
        }
        glossary.meanings.push(meaning);
    }
    let mut automaton = AhoCorasick::builder();
    automaton.match_kind(MatchKind::LeftmostLongest);
    glossary.chinese = automaton.build(words).ok();
    glossary
});

/// The meanings of an English term.
pub(super) fn of_term(term: &str) -> &'static [usize] {
    GLOSSARY.english.get(term).map_or(&[], Vec::as_slice)
}

/// Chinese words of a text: where each stands, and its meaning.
pub(super) fn in_text(text: &str) -> impl Iterator<Item = (Range<usize>, usize)> {
    let words = GLOSSARY.chinese.iter();
    words
        .flat_map(move |chinese| chinese.find_iter(text))
        .filter_map(|word| {
            let at = GLOSSARY.behind.get(word.pattern().as_usize())?;
            Some((word.range(), *at))
        })
}

pub(super) fn meaning(at: usize) -> Option<&'static Meaning> {
    GLOSSARY.meanings.get(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_lead_to_each_other() {
        let of = |text: &str| {
            let mut all: Vec<usize> = in_text(text).map(|(_, at)| at).collect();
            each_term(text, |term| all.extend(of_term(term)));
            let meanings = all.into_iter().filter_map(meaning);
            let terms = meanings.flat_map(|meaning| meaning.english.iter().chain(&meaning.chinese));
            terms.map(ToString::to_string).collect::<Vec<_>>()
        };
        for (text, term) in [
            ("明天的天气", "forecast"),
            ("forecasts", "天气"),
            ("remove it", "delet"),
            ("删掉它", "delet"),
        ] {
            assert!(of(text).iter().any(|found| found == term), "{text}");
        }
        assert!(of("xyzzy 鱻").is_empty());
    }

    #[test]
    fn every_line_has_words_of_both_languages() {
        assert!(GLOSSARY.chinese.is_some());
        for (line, meaning) in TEXT
            .lines()
            .filter(|line| !line.starts_with('#'))
            .zip(&GLOSSARY.meanings)
        {
            let both = !meaning.english.is_empty() && !meaning.chinese.is_empty();
            assert!(both && line.contains(" | "), "{line}");
        }
    }
}
