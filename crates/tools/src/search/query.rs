//! What is looked for: one text or several of different weight, as words with what else stands for them.
//!
//! A word and those that mean nearly the same are one: a tool that bears three of them fits no better than one that bears
//! the word itself.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::glossary;
use super::words::each_term;
use crate::limits::{MAX_SEARCH_QUERY_CHARS, MAX_SEARCH_TERMS, SEARCH_QUERY_FIRST_CHARS};

/// What a word of the same language counts that only means nearly the same.
const NEARLY: f32 = 0.6;
/// What the same in the other language counts: a tool that is described in it has no other.
const TRANSLATED: f32 = 0.9;

/// Shorter words are no names of tools.
const LEAST_NAME_CHARS: usize = 3;

/// A question, ready to be held against tools.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// In the words of whoever asks: for judges that read more than words.
    text: String,
    words: Vec<Word>,
    /// Where the word for a meaning, or of a term without one, stands among them.
    known: HashMap<Key, usize>,
    /// Terms of all words.
    count: usize,
    /// Names as they may stand in the text, in small letters.
    names: Vec<Box<str>>,
    /// How many texts it is made of.
    texts: usize,
}

/// Terms that stand for one word, with what each counts. In order: sums of floats depend on it.
pub(super) type Word = BTreeMap<Box<str>, f32>;

/// Where a text says what is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    First,
    Last,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Term(Box<str>),
    Meaning(usize),
}

impl Query {
    pub fn new(text: &str) -> Self {
        Self::default().and(text, 1.0)
    }

    /// With another text, whose words count so much. Of what is longer than the bound its beginning and its end are looked at:
    /// what is wanted stands before a long material, or behind it.
    #[must_use]
    pub fn and(mut self, text: &str, weight: f32) -> Self {
        let weight = weight.clamp(0.0, 1.0);
        self.texts += 1;
        match ends(text) {
            None => self.put_text(text, weight, MAX_SEARCH_TERMS, Side::First),
            Some((first, last)) => {
                // The beginning leaves room for the end.
                let room = MAX_SEARCH_TERMS.saturating_sub(self.count);
                self.put_text(first, weight, self.count + room / 2, Side::First);
                self.put_text(last, weight, MAX_SEARCH_TERMS, Side::Last);
            }
        }
        self
    }

    /// `most`: how many terms there may be then. Where they are too many, those of one side count.
    fn put_text(&mut self, text: &str, weight: f32, most: usize, side: Side) {
        let mut meant: HashSet<Box<str>> = HashSet::new();
        for (place, meaning) in glossary::in_text(text) {
            each_term(text.get(place).unwrap_or_default(), |term| {
                self.put(term, weight, &[meaning], most);
                meant.insert(term.into());
            });
        }
        let mut terms: Vec<Box<str>> = Vec::new();
        each_term(text, |term| {
            if !meant.contains(term) {
                terms.push(term.into());
            }
        });
        if side == Side::Last {
            terms.reverse();
        }
        for term in &terms {
            self.put(term, weight, glossary::of_term(term), most);
        }
        self.put_names(text);
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    fn put(&mut self, term: &str, weight: f32, meanings: &[usize], most: usize) {
        let keys: Vec<Key> = match meanings {
            [] => vec![Key::Term(term.into())],
            meanings => meanings.iter().map(|at| Key::Meaning(*at)).collect(),
        };
        let known = keys.iter().find_map(|key| self.known.get(key)).copied();
        let at = known.unwrap_or(self.words.len());
        if at == self.words.len() {
            self.words.push(Word::new());
        }
        for key in keys {
            self.known.entry(key).or_insert(at);
        }
        let Some(word) = self.words.get_mut(at) else {
            return;
        };
        let before = word.len();
        let mut add = |term: &str, weight: f32| {
            let has_room = self.count + word.len() - before < most;
            match word.get_mut(term) {
                Some(known) => *known = known.max(weight),
                None if has_room => {
                    word.insert(term.into(), weight);
                }
                None => {}
            }
        };
        add(term, weight);
        let is_english = term.is_ascii();
        for meaning in meanings.iter().filter_map(|at| glossary::meaning(*at)) {
            for (terms, same) in [
                (&meaning.english, is_english),
                (&meaning.chinese, !is_english),
            ] {
                let near = if same { NEARLY } else { TRANSLATED };
                terms.iter().for_each(|term| add(term, weight * near));
            }
        }
        self.count += word.len() - before;
    }

    fn put_names(&mut self, text: &str) {
        let between =
            |c: char| c.is_whitespace() || "`'\"“”‘’，。、！？；（）()[]{}<>,;!?".contains(c);
        let names = text.split(between);
        let names = names.map(|name| name.trim_matches(['.', ':']).to_lowercase());
        let names = names.filter(|name| name.chars().nth(LEAST_NAME_CHARS - 1).is_some());
        let room = MAX_SEARCH_TERMS.saturating_sub(self.names.len());
        self.names
            .extend(names.take(room).map(String::into_boxed_str));
    }

    /// Whether there is nothing in it to look for.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    /// Whether nothing but one name was asked for.
    pub(super) fn is_one_word(&self) -> bool {
        self.texts == 1 && self.text.split_whitespace().count() == 1
    }

    pub(super) fn names(&self) -> HashSet<&str> {
        self.names.iter().map(|name| &**name).collect()
    }
}

/// The beginning and the end of a text that is too long.
fn ends(text: &str) -> Option<(&str, &str)> {
    let over = text.chars().count().checked_sub(MAX_SEARCH_QUERY_CHARS)?;
    if over == 0 {
        return None;
    }
    let (end, _) = text.char_indices().nth(SEARCH_QUERY_FIRST_CHARS)?;
    let (start, _) = text.char_indices().nth(SEARCH_QUERY_FIRST_CHARS + over)?;
    Some((text.get(..end)?, text.get(start..)?))
}
