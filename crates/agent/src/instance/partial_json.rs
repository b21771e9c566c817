//! The texts of a JSON object while it is being written: what stands in which field, as far as it has come.
//!
//! For showing only: of nested values nothing is told, and what is not JSON tells nothing more.

/// Fed piece by piece, however the pieces are cut.
#[derive(Debug, Default)]
pub(crate) struct PartialJson {
    state: State,
    depth: u32,
    key: String,
    /// The unfinished escape, with its backslash.
    escape: String,
    /// The first half of a character that is written as two.
    high: Option<u32>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum State {
    #[default]
    Outside,
    Key,
    AfterKey,
    Value,
    Text,
    /// A text inside something that is not told.
    Hidden,
    Other,
}

impl PartialJson {
    pub(crate) fn feed(&mut self, piece: &str, on: &mut dyn FnMut(&str, &str)) {
        let mut told = String::new();
        for c in piece.chars() {
            self.take(c, &mut told, on);
        }
        self.flush(&mut told, on);
    }

    fn flush(&self, told: &mut String, on: &mut dyn FnMut(&str, &str)) {
        if !told.is_empty() {
            on(&self.key, told);
            told.clear();
        }
    }

    fn take(&mut self, c: char, told: &mut String, on: &mut dyn FnMut(&str, &str)) {
        match self.state {
            State::Outside => match c {
                '{' if self.depth == 0 => self.depth = 1,
                '"' if self.depth == 1 => {
                    self.key.clear();
                    self.state = State::Key;
                }
                _ => {}
            },
            State::Key | State::Text | State::Hidden => self.text(c, told, on),
            State::AfterKey => {
                if c == ':' {
                    self.state = State::Value;
                }
            }
            State::Value => match c {
                '"' => self.state = State::Text,
                c if c.is_whitespace() => {}
                c => {
                    self.state = State::Other;
                    self.other(c);
                }
            },
            State::Other => self.other(c),
        }
    }

    fn other(&mut self, c: char) {
        match c {
            '"' => self.state = State::Hidden,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth <= 1 {
                    self.state = State::Outside;
                }
            }
            ',' if self.depth == 1 => self.state = State::Outside,
            _ => {}
        }
    }

    fn text(&mut self, c: char, told: &mut String, on: &mut dyn FnMut(&str, &str)) {
        if !self.escape.is_empty() {
            self.escape.push(c);
            if let Some(read) = self.unescaped() {
                self.escape.clear();
                if let Some(c) = read {
                    self.push(c, told);
                }
            }
            return;
        }
        match c {
            '\\' => self.escape.push(c),
            '"' => {
                self.flush(told, on);
                self.high = None;
                self.state = match self.state {
                    State::Key => State::AfterKey,
                    State::Hidden => State::Other,
                    _ => State::Outside,
                };
            }
            c => self.push(c, told),
        }
    }

    fn push(&mut self, c: char, told: &mut String) {
        match self.state {
            State::Key => self.key.push(c),
            State::Text => told.push(c),
            _ => {}
        }
    }

    /// Nothing while it goes on; nothing within where it says nothing by itself.
    fn unescaped(&mut self) -> Option<Option<char>> {
        let mut rest = self.escape.chars().skip(1);
        let c = match rest.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let digits: String = rest.collect();
                if digits.len() < 4 {
                    return None;
                }
                return Some(self.unit(u32::from_str_radix(&digits, 16).unwrap_or(0xfffd)));
            }
            c => c,
        };
        Some(Some(c))
    }

    fn unit(&mut self, unit: u32) -> Option<char> {
        match (self.high.take(), unit) {
            (_, 0xd800..=0xdbff) => {
                self.high = Some(unit);
                None
            }
            (Some(high), 0xdc00..=0xdfff) => {
                char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00))
            }
            (_, unit) => Some(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }
}

#[cfg(test)]
#[path = "partial_json_tests.rs"]
mod tests;
