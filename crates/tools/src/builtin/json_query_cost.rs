//! How much work a JSONPath can be, before it is done.
//!
//! Reads the shape of a query (segments, selectors, filters), not its meaning: what is no path here is refused by
//! the real parser. The bound: each value has one parent and at most `depth` ancestors, so a child segment copies a
//! value at most once per selector, and `..` once per ancestor too.

use std::iter::Peekable;
use std::str::Chars;

use crate::limits::{
    JSON_QUERY_HEAVY_PATTERN_WORK, JSON_QUERY_PATTERN_WORK, MAX_JSON_QUERY_CHARS,
    MAX_JSON_QUERY_NESTING,
};

/// Upper bound of the values visited. An error is a sentence about the query.
pub(super) fn estimate(path: &str, nodes: usize, depth: usize) -> Result<f64, String> {
    if path.chars().nth(MAX_JSON_QUERY_CHARS).is_some() {
        return Err(format!(
            "it has more than {MAX_JSON_QUERY_CHARS} characters"
        ));
    }
    let mut reader = Reader {
        text: path.chars().peekable(),
        nodes: nodes as f64,
        depth: depth as f64,
        nesting: 0,
    };
    reader.text.next();
    reader.path(reader.nodes)
}

struct Reader<'q> {
    text: Peekable<Chars<'q>>,
    nodes: f64,
    depth: f64,
    nesting: usize,
}

/// The values that a path has reached so far.
struct Reached {
    /// How many, copies included.
    values: f64,
    /// How often the same one at most.
    copies: f64,
    /// Not more than one.
    single: bool,
}

/// What stands between brackets.
#[derive(Default)]
struct Selectors {
    /// Names and indexes.
    plain: f64,
    /// `*`, slices and filters: each goes through all children.
    wide: f64,
    /// Work per child for filters.
    filter: f64,
}

impl Reader<'_> {
    /// From behind `$` or `@` to the end of the path. `below` bounds the values under its start.
    fn path(&mut self, below: f64) -> Result<f64, String> {
        let mut work = 1.0;
        let mut reached = Reached {
            values: 1.0,
            copies: 1.0,
            single: true,
        };
        loop {
            self.blanks();
            let mut descends = false;
            let selectors = match self.text.peek() {
                Some('[') => self.brackets()?,
                Some('.') => {
                    self.text.next();
                    descends = self.take('.');
                    match self.text.peek() {
                        Some('[') => self.brackets()?,
                        _ => self.shorthand(),
                    }
                }
                _ => return Ok(work),
            };
            if descends {
                if reached.single {
                    reached.values = below;
                } else {
                    reached.copies *= self.depth;
                    reached.values = reached.copies * below;
                }
                reached.single = false;
            }
            let children = if reached.single {
                below
            } else {
                reached.copies * below
            };
            work += reached.values * (1.0 + selectors.plain)
                + children * (selectors.wide + selectors.filter);
            reached.values = reached.values * selectors.plain + children * selectors.wide;
            reached.copies *= selectors.plain + selectors.wide;
            reached.single &= selectors.wide == 0.0 && selectors.plain <= 1.0;
            if descends {
                // Results are handed up from level to level.
                work += reached.values * self.depth;
            }
        }
    }

    fn shorthand(&mut self) -> Selectors {
        if self.take('*') {
            return Selectors {
                wide: 1.0,
                ..Selectors::default()
            };
        }
        let name = |c: &char| c.is_alphanumeric() || *c == '_' || !c.is_ascii();
        while self.text.next_if(name).is_some() {}
        Selectors {
            plain: 1.0,
            ..Selectors::default()
        }
    }

    fn brackets(&mut self) -> Result<Selectors, String> {
        self.text.next();
        self.deeper()?;
        let mut all = Selectors::default();
        let mut wide = false;
        loop {
            match self.text.next() {
                Some('?') => {
                    all.filter += self.filter()?;
                    wide = true;
                }
                Some('*' | ':') => wide = true,
                Some(quote @ ('\'' | '"')) => {
                    self.quoted(quote);
                }
                Some(end @ (',' | ']')) => {
                    match wide {
                        true => all.wide += 1.0,
                        false => all.plain += 1.0,
                    }
                    wide = false;
                    if end == ']' {
                        break;
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
        self.nesting -= 1;
        Ok(all)
    }

    /// Work for one child, up to the comma or bracket that ends the filter.
    fn filter(&mut self) -> Result<f64, String> {
        let mut work = 1.0;
        let mut open: usize = 0;
        let mut word = String::new();
        let mut literals = 0_usize;
        let mut heavy = false;
        let mut patterns = 0.0;
        loop {
            match self.text.peek().copied() {
                None | Some(']') => break,
                Some(',') if open == 0 => break,
                Some('(') => {
                    self.text.next();
                    self.deeper()?;
                    open += 1;
                    if matches!(word.as_str(), "match" | "search") {
                        patterns += 1.0;
                    }
                }
                Some(')') => {
                    self.text.next();
                    if open > 0 {
                        open -= 1;
                        self.nesting -= 1;
                    }
                }
                Some(quote @ ('\'' | '"')) => {
                    self.text.next();
                    literals += 1;
                    heavy |= self.quoted(quote);
                }
                Some('$') => {
                    self.text.next();
                    work += self.path(self.nodes)?;
                }
                Some('@') => {
                    self.text.next();
                    // All the values below all the values there are: each counts once per ancestor.
                    work += self.path(self.depth)?;
                }
                Some(character) => {
                    self.text.next();
                    if character.is_ascii_lowercase() {
                        word.push(character);
                        continue;
                    }
                }
            }
            word.clear();
        }
        self.nesting -= open;
        // A pattern is compiled for each child. One that stands in the JSON may be any pattern.
        let each = match heavy || literals == 0 {
            true => JSON_QUERY_HEAVY_PATTERN_WORK,
            false => JSON_QUERY_PATTERN_WORK,
        };
        Ok(work + patterns * each)
    }

    /// Whether a pattern in it would count repetitions.
    fn quoted(&mut self, quote: char) -> bool {
        let mut counts = false;
        while let Some(character) = self.text.next() {
            match character {
                '\\' => {
                    self.text.next();
                }
                '{' => counts |= self.text.peek().is_some_and(char::is_ascii_digit),
                character if character == quote => break,
                _ => {}
            }
        }
        counts
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.nesting += 1;
        match self.nesting > MAX_JSON_QUERY_NESTING {
            true => Err(format!(
                "brackets may stand inside each other {MAX_JSON_QUERY_NESTING} times at most"
            )),
            false => Ok(()),
        }
    }

    fn take(&mut self, character: char) -> bool {
        self.text.next_if_eq(&character).is_some()
    }

    fn blanks(&mut self) {
        while self
            .text
            .next_if(|c| matches!(c, ' ' | '\t' | '\r' | '\n'))
            .is_some()
        {}
    }
}
