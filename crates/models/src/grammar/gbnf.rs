//! A reader of GBNF for tests: says whether a text is of a grammar, and makes texts that are.
//!
//! It reads what llama.cpp and xgrammar (vLLM) read alike, and panics at the rest.
//!
//! The grammar is flattened into rules of alternatives of characters and names, as llama.cpp does, and texts are
//! followed by sets of stacks.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::iter::Peekable;
use std::str::Chars;

#[derive(Debug, Clone, PartialEq)]
enum Symbol {
    Class(Class),
    Rule(usize),
}

#[derive(Debug, Clone, PartialEq)]
struct Class {
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl Class {
    fn holds(&self, c: char) -> bool {
        let listed = self.ranges.iter().any(|&(from, to)| from <= c && c <= to);
        listed != self.negated
    }

    fn pick(&self, random: &mut Random) -> char {
        // Characters that mean something to one of the dialects come first.
        const NASTY: &str = "<>|«»「始」末:： \n#`\"\\&]/[{}-,;'@$=!?aAtTz09.eE_中文é🙂\t";
        let most = self.ranges.iter().any(|(_, to)| *to == char::MAX);
        if !self.negated && !most {
            let (from, to) = self.ranges[random.below(self.ranges.len())];
            let span = u32::from(to) - u32::from(from) + 1;
            let at = u32::from(from) + random.below(span as usize) as u32;
            return char::from_u32(at).unwrap_or(from);
        }
        let nasty: Vec<char> = NASTY.chars().filter(|&c| self.holds(c)).collect();
        nasty[random.below(nasty.len())]
    }
}

/// Splitmix, so that a derivation is told by one number.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

#[derive(Debug, Default)]
pub(super) struct Gbnf {
    names: HashMap<String, usize>,
    rules: Vec<Vec<Vec<Symbol>>>,
    /// Fewest characters of each rule.
    least: Vec<usize>,
}

impl Gbnf {
    /// Panics where one of the servers would refuse the grammar, or read it in another way than the other.
    pub(super) fn read(text: &str) -> Self {
        let mut grammar = Self::default();
        let mut defined = HashSet::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (name, body) = line.split_once(" ::= ").expect(line);
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
            assert!(name.chars().all(legal), "{name}");
            assert!(!["true", "false"].contains(&name), "{name} is a value");
            assert!(defined.insert(name.to_owned()), "{name} is defined twice");
            let rule = grammar.named(name);
            let mut chars = body.chars().peekable();
            let alternatives = grammar.alternatives(&mut chars);
            assert_eq!(chars.next(), None, "rest of {line}");
            grammar.rules[rule] = alternatives;
        }
        for name in grammar.names.keys() {
            assert!(defined.contains(name), "{name} is not defined");
        }
        grammar.measure();
        grammar
    }

    fn named(&mut self, name: &str) -> usize {
        if let Some(at) = self.names.get(name) {
            return *at;
        }
        let at = self.fresh(Vec::new());
        self.names.insert(name.to_owned(), at);
        at
    }

    fn fresh(&mut self, alternatives: Vec<Vec<Symbol>>) -> usize {
        self.rules.push(alternatives);
        self.rules.len() - 1
    }

    fn alternatives(&mut self, chars: &mut Peekable<Chars<'_>>) -> Vec<Vec<Symbol>> {
        let mut all = vec![self.sequence(chars)];
        while chars.next_if_eq(&'|').is_some() {
            all.push(self.sequence(chars));
        }
        all
    }

    fn sequence(&mut self, chars: &mut Peekable<Chars<'_>>) -> Vec<Symbol> {
        let mut out: Vec<Symbol> = Vec::new();
        let mut last = 0;
        while let Some(&c) = chars.peek() {
            match c {
                ' ' => {
                    chars.next();
                }
                '|' | ')' => break,
                '"' => {
                    chars.next();
                    last = out.len();
                    while chars.next_if_eq(&'"').is_none() {
                        let c = character(chars);
                        out.push(Symbol::Class(Class {
                            negated: false,
                            ranges: vec![(c, c)],
                        }));
                    }
                }
                '[' => {
                    chars.next();
                    last = out.len();
                    out.push(Symbol::Class(class(chars)));
                }
                '(' => {
                    chars.next();
                    last = out.len();
                    let inner = self.alternatives(chars);
                    assert_eq!(chars.next(), Some(')'));
                    out.push(Symbol::Rule(self.fresh(inner)));
                }
                '*' | '+' | '?' | '{' => {
                    let (min, max) = bounds(chars);
                    let repeated = out.split_off(last);
                    let symbol = self.repeat(repeated, min, max);
                    out.push(symbol);
                }
                c if c.is_ascii_alphanumeric() => {
                    let mut name = String::new();
                    while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
                        name.push(c);
                    }
                    last = out.len();
                    out.push(Symbol::Rule(self.named(&name)));
                }
                other => panic!("{other:?} in a rule"),
            }
        }
        out
    }

    fn repeat(&mut self, body: Vec<Symbol>, min: usize, max: Option<usize>) -> Symbol {
        // Nested, as `(x (x (x)?)?)?`; without an end, a rule that names itself.
        let mut rest = match max {
            None => {
                let again = self.fresh(Vec::new());
                let mut once = body.clone();
                once.push(Symbol::Rule(again));
                self.rules[again] = vec![once, Vec::new()];
                vec![Symbol::Rule(again)]
            }
            Some(max) => {
                let mut rest: Vec<Symbol> = Vec::new();
                for _ in min..max {
                    let mut once = body.clone();
                    once.extend(rest);
                    rest = vec![Symbol::Rule(self.fresh(vec![once, Vec::new()]))];
                }
                rest
            }
        };
        let mut all: Vec<Symbol> = Vec::new();
        for _ in 0..min {
            all.extend(body.iter().cloned());
        }
        all.append(&mut rest);
        Symbol::Rule(self.fresh(vec![all]))
    }

    fn measure(&mut self) {
        self.least = vec![usize::MAX; self.rules.len()];
        loop {
            let mut changed = false;
            for rule in 0..self.rules.len() {
                let least = self.rules[rule]
                    .iter()
                    .map(|alternative| self.cost(alternative));
                let least = least.min().unwrap_or(usize::MAX);
                if least < self.least[rule] {
                    self.least[rule] = least;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        assert!(
            self.least.iter().all(|least| *least < usize::MAX),
            "a rule never ends"
        );
    }

    fn cost(&self, symbols: &[Symbol]) -> usize {
        symbols.iter().fold(0, |sum: usize, symbol| {
            sum.saturating_add(match symbol {
                Symbol::Class(_) => 1,
                Symbol::Rule(rule) => self.least[*rule],
            })
        })
    }

    /// A text of the grammar, of about `length` characters or as few more as it takes.
    pub(super) fn derive(&self, random: &mut Random, length: usize) -> String {
        let mut out = String::new();
        let mut open = vec![Symbol::Rule(self.names["root"])];
        let mut steps = 0;
        while let Some(symbol) = open.pop() {
            steps += 1;
            match symbol {
                Symbol::Class(class) => out.push(class.pick(random)),
                Symbol::Rule(rule) => {
                    let alternatives = &self.rules[rule];
                    let short = out.len() >= length || steps > length * 20;
                    let chosen = match short {
                        true => alternatives
                            .iter()
                            .min_by_key(|alternative| self.cost(alternative))
                            .unwrap(),
                        false => &alternatives[random.below(alternatives.len())],
                    };
                    open.extend(chosen.iter().rev().cloned());
                }
            }
        }
        out
    }

    /// Whether the text is of the grammar.
    pub(super) fn accepts(&self, text: &str) -> bool {
        self.follow(text).is_ok()
    }

    /// `Err` with what could be read.
    pub(super) fn follow<'t>(&self, text: &'t str) -> Result<(), &'t str> {
        let mut stacks = BTreeSet::new();
        let mut seen = HashSet::new();
        self.open(
            vec![(self.names["root"], usize::MAX, 0)],
            &mut stacks,
            &mut seen,
        );
        for (at, c) in text.char_indices() {
            let mut next = BTreeSet::new();
            let mut seen = HashSet::new();
            for stack in &stacks {
                let Some((&(rule, alternative, place), below)) = stack.split_last() else {
                    continue;
                };
                let Symbol::Class(class) = &self.rules[rule][alternative][place] else {
                    unreachable!("stacks wait at characters")
                };
                if class.holds(c) {
                    let mut stack = below.to_vec();
                    stack.push((rule, alternative, place + 1));
                    self.open(stack, &mut next, &mut seen);
                }
            }
            if next.is_empty() {
                return Err(&text[..at]);
            }
            stacks = next;
        }
        match stacks.contains(&Vec::new()) {
            true => Ok(()),
            false => Err(text),
        }
    }

    /// Follows names until a character is due. `usize::MAX` stands for "any alternative".
    fn open(
        &self,
        mut stack: Vec<(usize, usize, usize)>,
        out: &mut BTreeSet<Vec<(usize, usize, usize)>>,
        seen: &mut HashSet<Vec<(usize, usize, usize)>>,
    ) {
        if !seen.insert(stack.clone()) {
            return;
        }
        let Some((rule, alternative, place)) = stack.pop() else {
            out.insert(Vec::new());
            return;
        };
        if alternative == usize::MAX {
            for alternative in 0..self.rules[rule].len() {
                let mut stack = stack.clone();
                stack.push((rule, alternative, 0));
                self.open(stack, out, seen);
            }
            return;
        }
        let symbols = &self.rules[rule][alternative];
        match symbols.get(place) {
            None => self.open(stack, out, seen),
            Some(Symbol::Class(_)) => {
                stack.push((rule, alternative, place));
                out.insert(stack);
            }
            Some(Symbol::Rule(inner)) => {
                // The last name of a rule takes its place, or a long text would make a high stack.
                if place + 1 < symbols.len() {
                    stack.push((rule, alternative, place + 1));
                }
                stack.push((*inner, usize::MAX, 0));
                self.open(stack, out, seen);
            }
        }
    }
}

fn character(chars: &mut Peekable<Chars<'_>>) -> char {
    let c = chars.next().expect("a character");
    if c != '\\' {
        return c;
    }
    match chars.next().expect("an escape") {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'x' => {
            let c = escape(chars, 2);
            // xgrammar takes as many digits as there are.
            assert!(!chars.peek().is_some_and(char::is_ascii_hexdigit), "{c:?}");
            c
        }
        'u' => escape(chars, 4),
        'U' => escape(chars, 8),
        c @ ('"' | '\\' | '[' | ']') => c,
        other => panic!("\\{other} is no escape"),
    }
}

fn escape(chars: &mut Peekable<Chars<'_>>, digits: usize) -> char {
    let code: String = chars.by_ref().take(digits).collect();
    char::from_u32(u32::from_str_radix(&code, 16).expect(&code)).expect(&code)
}

fn class(chars: &mut Peekable<Chars<'_>>) -> Class {
    let negated = chars.next_if_eq(&'^').is_some();
    let begin = chars.clone();
    let mut ranges = Vec::new();
    while chars.next_if_eq(&']').is_none() {
        let from = character(chars);
        let mut ahead = chars.clone();
        let to = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(end)) if end != ']' => {
                chars.next();
                character(chars)
            }
            _ => from,
        };
        ranges.push((from, to));
    }
    // xgrammar 0.2.0 and older ones do not see them there.
    let unseen = negated && ranges.iter().any(|(_, to)| !to.is_ascii());
    assert!(!unseen, "[^{}", begin.collect::<String>());
    Class { negated, ranges }
}

fn bounds(chars: &mut Peekable<Chars<'_>>) -> (usize, Option<usize>) {
    match chars.next() {
        Some('*') => (0, None),
        Some('+') => (1, None),
        Some('?') => (0, Some(1)),
        _ => {
            let inside: String = chars.by_ref().take_while(|c| *c != '}').collect();
            let (min, max) = inside.split_once(',').unwrap_or((&inside, &inside));
            let number = |text: &str| text.parse().expect(text);
            (number(min), Some(number(max)))
        }
    }
}
