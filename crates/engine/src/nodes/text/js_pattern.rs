//! A regular expression as JavaScript writes it, turned into one that the engine here understands and that means the same.
//!
//! What differs is written in docs/nodes.md.

use std::iter::Peekable;
use std::str::Chars;

const DIGIT: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";
const SPACE: &str = r"\t\n\x0B\x0C\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";
const LINE_END: &str = r"\n\r\x{2028}\x{2029}";

/// The letters after a pattern.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// `g`: all matches, not the first alone.
    pub(super) is_global: bool,
    /// `i`
    pub(super) ignores_case: bool,
    /// `m`
    pub(super) is_multi_line: bool,
    /// `s`
    pub(super) dot_matches_all: bool,
    /// `u`
    pub(super) is_unicode: bool,
    /// `y`: each match begins where the last one ended.
    pub(super) is_sticky: bool,
}

impl Flags {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut flags = Self::default();
        for letter in text.chars() {
            let flag = match letter {
                'g' => &mut flags.is_global,
                'i' => &mut flags.ignores_case,
                'm' => &mut flags.is_multi_line,
                's' => &mut flags.dot_matches_all,
                'u' => &mut flags.is_unicode,
                'y' => &mut flags.is_sticky,
                // Indices of the groups: nobody here asks for them.
                'd' => continue,
                other => {
                    return Err(format!(
                        "the flag '{other}' is unknown; there are g, i, m, s, u and y"
                    ));
                }
            };
            if std::mem::replace(flag, true) {
                return Err(format!("the flag '{letter}' is there twice"));
            }
        }
        Ok(flags)
    }
}

/// The pattern in the syntax of `fancy-regex`.
pub(super) fn translated(pattern: &str, flags: Flags) -> Result<String, String> {
    let mut reader = Reader {
        chars: pattern.chars().peekable(),
        out: String::with_capacity(pattern.len() * 2),
        groups: count_groups(pattern),
        has_names: pattern.contains("(?<") && has_names(pattern),
        flags,
    };
    reader.pattern()?;
    Ok(reader.out)
}

/// Groups that capture: a number beyond them is no back reference.
fn count_groups(pattern: &str) -> usize {
    let mut groups = 0;
    walk(pattern, |rest| {
        let is_named =
            rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!");
        groups += usize::from(is_named || (rest.starts_with('(') && !rest.starts_with("(?")));
    });
    groups
}

fn has_names(pattern: &str) -> bool {
    let mut has = false;
    walk(pattern, |rest| {
        has |= rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!");
    });
    has
}

/// Every place that is neither escaped nor inside of a class.
fn walk(pattern: &str, mut see: impl FnMut(&str)) {
    let mut in_class = false;
    let mut chars = pattern.char_indices();
    while let Some((place, char)) = chars.next() {
        match char {
            '\\' => {
                chars.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ if !in_class => see(pattern.get(place..).unwrap_or_default()),
            _ => {}
        }
    }
}

struct Reader<'p> {
    chars: Peekable<Chars<'p>>,
    out: String,
    groups: usize,
    has_names: bool,
    flags: Flags,
}

impl Reader<'_> {
    fn pattern(&mut self) -> Result<(), String> {
        let mut can_repeat = false;
        while let Some(char) = self.chars.next() {
            can_repeat = match char {
                '\\' => self.escape()?,
                '[' => {
                    self.class()?;
                    true
                }
                '(' => {
                    self.group()?;
                    false
                }
                '.' => {
                    match self.flags.dot_matches_all {
                        true => self.out.push_str("(?s:.)"),
                        false => self.out.push_str(&format!("[^{LINE_END}]")),
                    }
                    true
                }
                '^' => {
                    match self.flags.is_multi_line {
                        true => self.out.push_str(&format!(r"(?:\A|(?<=[{LINE_END}]))")),
                        false => self.out.push_str(r"\A"),
                    }
                    false
                }
                '$' => {
                    match self.flags.is_multi_line {
                        true => self.out.push_str(&format!(r"(?=[{LINE_END}]|\z)")),
                        false => self.out.push_str(r"\z"),
                    }
                    false
                }
                '*' | '+' | '?' => {
                    self.repeat(&char.to_string(), can_repeat)?;
                    false
                }
                '{' => match self.counted()? {
                    Some(count) => {
                        self.repeat(&count, can_repeat)?;
                        false
                    }
                    None if self.flags.is_unicode => {
                        return Err("a '{' without a number needs a \\ before it".to_owned());
                    }
                    None => {
                        self.literal('{');
                        true
                    }
                },
                ')' => {
                    self.out.push(')');
                    true
                }
                '|' => {
                    self.out.push('|');
                    false
                }
                other => {
                    self.literal(other);
                    true
                }
            };
        }
        Ok(())
    }

    fn repeat(&mut self, quantifier: &str, can_repeat: bool) -> Result<(), String> {
        if !can_repeat {
            return Err(format!("there is nothing before '{quantifier}' to repeat"));
        }
        self.out.push_str(quantifier);
        if self.chars.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,3}`; anything else is a brace like any other character.
    fn counted(&mut self) -> Result<Option<String>, String> {
        let rest: String = self.chars.clone().take_while(|char| *char != '}').collect();
        let is_closed = self.chars.clone().nth(rest.chars().count()) == Some('}');
        let (low, high) = rest.split_once(',').unwrap_or((&rest, &rest));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_closed || low.is_empty() || !is_number(low) || !is_number(high) {
            return Ok(None);
        }
        let number = |text: &str| match text.parse::<u32>() {
            Ok(number) => Ok(number),
            Err(_) => Err(format!("{{{rest}}} repeats too often")),
        };
        if !high.is_empty() && number(high)? < number(low)? {
            return Err(format!("the numbers of {{{rest}}} are in the wrong order"));
        }
        number(low)?;
        self.chars.nth(rest.len());
        Ok(Some(format!("{{{rest}}}")))
    }

    fn literal(&mut self, char: char) {
        push_literal(&mut self.out, char);
    }

    fn group(&mut self) -> Result<(), String> {
        if self.chars.next_if_eq(&'?').is_none() {
            self.out.push('(');
            return Ok(());
        }
        let mut kind = String::new();
        for char in self.chars.by_ref() {
            kind.push(char);
            match kind.as_str() {
                ":" | "=" | "!" | "<=" | "<!" | "i:" | "-i:" => {
                    self.out.push_str("(?");
                    self.out.push_str(&kind);
                    return Ok(());
                }
                "<" | "i" | "-" | "-i" => {}
                named if named.starts_with('<') => {
                    if char == '>' && named.len() > 2 {
                        self.out.push_str("(?");
                        self.out.push_str(named);
                        return Ok(());
                    }
                    if !(char.is_alphanumeric() || char == '_') {
                        return Err(format!("'{char}' has no place in the name of a group"));
                    }
                }
                _ => break,
            }
        }
        Err(format!("'(?{kind}' begins no group that JavaScript knows"))
    }

    /// After a backslash, outside of a class. Whether what it is can be repeated.
    fn escape(&mut self) -> Result<bool, String> {
        let Some(char) = self.chars.next() else {
            return Err("it ends with a single \\".to_owned());
        };
        match char {
            'b' | 'B' => {
                let (at, not) = (format!("[{WORD}]"), format!("[{WORD}]"));
                self.out.push_str(&match char {
                    'b' => format!("(?:(?<={at})(?!{not})|(?<!{at})(?={not}))"),
                    _ => format!("(?:(?<={at})(?={not})|(?<!{at})(?!{not}))"),
                });
                return Ok(false);
            }
            'd' => self.out.push_str(&format!("[{DIGIT}]")),
            'D' => self.out.push_str(&format!("[^{DIGIT}]")),
            'w' => self.out.push_str(&format!("[{WORD}]")),
            'W' => self.out.push_str(&format!("[^{WORD}]")),
            's' => self.out.push_str(&format!("[{SPACE}]")),
            'S' => self.out.push_str(&format!("[^{SPACE}]")),
            'p' | 'P' if self.flags.is_unicode => {
                let property = self.property(char)?;
                self.out.push_str(&property);
            }
            'k' if self.has_names || self.flags.is_unicode => {
                let mut name = String::new();
                if self.chars.next_if_eq(&'<').is_none() {
                    return Err("\\k needs the name of a group: \\k<name>".to_owned());
                }
                loop {
                    match self.chars.next() {
                        Some('>') => break,
                        Some(char) if char.is_alphanumeric() || char == '_' => name.push(char),
                        _ => return Err("\\k needs the name of a group: \\k<name>".to_owned()),
                    }
                }
                self.out.push_str(&format!(r"(?(<{name}>)\k<{name}>|)"));
            }
            '1'..='9' => self.number(char)?,
            other => {
                let char = self.character(other)?;
                self.literal(char);
            }
        }
        Ok(true)
    }

    /// `\12` is a group if there are as many, else a character.
    fn number(&mut self, first: char) -> Result<(), String> {
        let mut ahead = self.chars.clone();
        let mut digits = String::from(first);
        while let Some(digit) = ahead.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        if digits
            .parse::<usize>()
            .is_ok_and(|number| number <= self.groups)
        {
            self.chars = ahead;
            // A group that took no part matches nothing, and does not fail.
            self.out.push_str(&format!(r"(?({digits})\{digits}|)"));
            return Ok(());
        }
        if self.flags.is_unicode {
            return Err(format!("there is no group {digits}"));
        }
        let char = match first {
            '8' | '9' => first,
            first => self.octal(first),
        };
        self.literal(char);
        Ok(())
    }

    /// The old way to write a character by its number.
    fn octal(&mut self, first: char) -> char {
        let mut code = first.to_digit(8).unwrap_or_default();
        for _ in 0..2 {
            let next = self.chars.peek().and_then(|digit| digit.to_digit(8));
            match next {
                Some(digit) if code * 8 + digit < 256 => code = code * 8 + digit,
                _ => break,
            }
            self.chars.next();
        }
        char::from_u32(code).unwrap_or_default()
    }

    fn property(&mut self, letter: char) -> Result<String, String> {
        let wrong = || format!("\\{letter} needs a name: \\{letter}{{L}}");
        if self.chars.next_if_eq(&'{').is_none() {
            return Err(wrong());
        }
        let mut name = String::new();
        loop {
            match self.chars.next() {
                Some('}') if !name.is_empty() => return Ok(format!("\\{letter}{{{name}}}")),
                Some(char) if char.is_ascii_alphanumeric() || "_=".contains(char) => {
                    name.push(char)
                }
                _ => return Err(wrong()),
            }
        }
    }

    /// The one character that an escape stands for, in a class and outside.
    fn character(&mut self, escaped: char) -> Result<char, String> {
        Ok(match escaped {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{B}',
            'f' => '\u{C}',
            '0'..='7' if !self.flags.is_unicode => self.octal(escaped),
            '0' => '\0',
            'c' => match self.chars.next_if(char::is_ascii_alphabetic) {
                Some(letter) => char::from(u8::try_from(letter).unwrap_or_default() % 32),
                None => return Err("\\c needs a letter".to_owned()),
            },
            'x' => match self.hex(2) {
                Some(code) => char::from_u32(code).unwrap_or_default(),
                None => 'x',
            },
            'u' => self.unicode()?,
            other if self.flags.is_unicode && other.is_alphanumeric() => {
                return Err(format!("\\{other} has no meaning with the flag u"));
            }
            other => other,
        })
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let mut ahead = self.chars.clone();
        let mut code = 0;
        for _ in 0..digits {
            code = code * 16 + ahead.next()?.to_digit(16)?;
        }
        self.chars = ahead;
        Some(code)
    }

    fn unicode(&mut self) -> Result<char, String> {
        let wrong = || "\\u names no character".to_owned();
        if self.flags.is_unicode && self.chars.next_if_eq(&'{').is_some() {
            let mut code = 0u32;
            loop {
                match self.chars.next() {
                    Some('}') => return char::from_u32(code).ok_or_else(wrong),
                    Some(digit) => {
                        let digit = digit.to_digit(16).ok_or_else(wrong)?;
                        code = code.checked_mul(16).ok_or_else(wrong)? + digit;
                    }
                    None => return Err(wrong()),
                }
            }
        }
        let Some(code) = self.hex(4) else {
            return Ok('u');
        };
        if let 0xD800..=0xDBFF = code {
            let mut ahead = self.chars.clone();
            if ahead.next() == Some('\\') && ahead.next() == Some('u') {
                self.chars = ahead;
                if let Some(low @ 0xDC00..=0xDFFF) = self.hex(4) {
                    let code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                    return char::from_u32(code).ok_or_else(wrong);
                }
            }
            return Err("half a surrogate pair names no character".to_owned());
        }
        char::from_u32(code).ok_or_else(wrong)
    }

    /// After `[`.
    fn class(&mut self) -> Result<(), String> {
        let is_not = self.chars.next_if_eq(&'^').is_some();
        if self.chars.next_if_eq(&']').is_some() {
            // `[]` is nothing, `[^]` is anything.
            self.out.push_str(if is_not { "(?s:.)" } else { "(?!)" });
            return Ok(());
        }
        self.out.push_str(if is_not { "[^" } else { "[" });
        loop {
            let Some(char) = self.chars.next() else {
                return Err("a '[' is never closed; write \\[ for the character".to_owned());
            };
            match char {
                ']' => break,
                '\\' => self.class_escape()?,
                '-' => {
                    // Between two characters it makes a range, and the engine here reads it the same.
                    let mut ahead = self.chars.clone();
                    let next = (ahead.next(), ahead.next());
                    let is_edge = self.out.ends_with('[')
                        || self.out.ends_with("[^")
                        || next.0 == Some(']')
                        || matches!(next, (Some('\\'), Some('d' | 'w' | 's' | 'D' | 'W' | 'S')));
                    self.out.push_str(if is_edge { r"\-" } else { "-" });
                }
                other => self.literal(other),
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn class_escape(&mut self) -> Result<(), String> {
        let Some(char) = self.chars.next() else {
            return Err("it ends with a single \\".to_owned());
        };
        match char {
            'd' => self.out.push_str(DIGIT),
            'w' => self.out.push_str(WORD),
            's' => self.out.push_str(SPACE),
            'D' => self.out.push_str(&format!("[^{DIGIT}]")),
            'W' => self.out.push_str(&format!("[^{WORD}]")),
            'S' => self.out.push_str(&format!("[^{SPACE}]")),
            'p' | 'P' if self.flags.is_unicode => {
                let property = self.property(char)?;
                self.out.push_str(&property);
            }
            'b' => self.literal('\u{8}'),
            '-' => self.out.push_str(r"\-"),
            other => {
                let char = self.character(other)?;
                self.literal(char);
            }
        }
        // `[\w-x]` is no range: the line after a set of characters stands for itself.
        if "dwsDWSpP".contains(char) && self.chars.peek() == Some(&'-') {
            self.chars.next();
            self.out.push_str(r"\-");
        }
        Ok(())
    }
}

/// A character that stands for itself, wherever it stands.
fn push_literal(out: &mut String, char: char) {
    match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | ' ' => out.push(char),
        _ if char.is_alphanumeric() => out.push(char),
        _ => out.push_str(&format!(r"\x{{{:X}}}", u32::from(char))),
    }
}

#[cfg(test)]
#[path = "js_pattern_tests.rs"]
mod tests;
