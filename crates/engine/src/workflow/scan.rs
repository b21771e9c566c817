//! The grammar of JSON, one pass and no recursion: where a value ends, and where a text stops being JSON.
//!
//! What values mean is left to serde_json; this is for knowing their places.

/// Where a text is no JSON, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) why: &'static str,
}

/// A whole text that is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Where its one value begins and ends.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The first bracket that is nested deeper than asked for.
    pub(super) too_deep: Option<usize>,
    /// The first value that is more than asked for.
    pub(super) too_many: Option<usize>,
}

/// Goes through a whole text, a byte order mark included.
pub(super) fn scan(text: &str, max_depth: usize, max_values: usize) -> Result<Scanned, Fault> {
    let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut scanner = Scanner::new(text, mark);
    scanner.max_depth = max_depth;
    scanner.values_left = max_values;
    scanner.blank();
    let start = scanner.at;
    scanner.value()?;
    let end = scanner.at;
    scanner.blank();
    match scanner.peek() {
        None => Ok(Scanned {
            start,
            end,
            too_deep: scanner.too_deep,
            too_many: scanner.too_many,
        }),
        Some(_) => scanner.fault("something follows after the end"),
    }
}

pub(super) struct Scanner<'t> {
    bytes: &'t [u8],
    pub(super) at: usize,
    max_depth: usize,
    too_deep: Option<usize>,
    values_left: usize,
    too_many: Option<usize>,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, at: usize) -> Self {
        Self {
            bytes: text.as_bytes(),
            at,
            max_depth: usize::MAX,
            too_deep: None,
            values_left: usize::MAX,
            too_many: None,
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes over white space.
    pub(super) fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Passes over a byte if it is this one.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    /// Passes over one value that begins here.
    pub(super) fn value(&mut self) -> Result<(), Fault> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.blank();
            if self.values_left == 0 && self.too_many.is_none() {
                self.too_many = Some(self.at);
            }
            self.values_left = self.values_left.saturating_sub(1);
            let closer = match self.peek() {
                Some(b'{') => Some(b'}'),
                Some(b'[') => Some(b']'),
                _ => None,
            };
            match closer {
                None => self.scalar()?,
                Some(closer) => {
                    if open.len() == self.max_depth && self.too_deep.is_none() {
                        self.too_deep = Some(self.at);
                    }
                    self.at += 1;
                    open.push(closer);
                    self.blank();
                    if self.peek() != Some(closer) {
                        if closer == b'}' {
                            self.key()?;
                        }
                        continue;
                    }
                }
            }
            if self.close(&mut open)? {
                return Ok(());
            }
        }
    }

    /// After a value: closes what ends here. `true` when nothing is open any more.
    fn close(&mut self, open: &mut Vec<u8>) -> Result<bool, Fault> {
        while let Some(&closer) = open.last() {
            self.blank();
            if self.take(closer) {
                open.pop();
            } else if self.take(b',') {
                self.blank();
                if closer == b'}' {
                    self.key()?;
                } else if self.peek() == Some(b']') {
                    return self.fault("no comma may stand before the end of a list");
                }
                return Ok(false);
            } else if closer == b'}' {
                return self.fault("expected ',' or '}'");
            } else {
                return self.fault("expected ',' or ']'");
            }
        }
        Ok(true)
    }

    /// A key and its colon.
    pub(super) fn key(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'}') => return self.fault("no comma may stand before the end of an object"),
            _ => return self.fault("expected a key in double quotes"),
        }
        self.blank();
        match self.take(b':') {
            true => Ok(()),
            false => self.fault("expected ':' after a key"),
        }
    }

    fn scalar(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'/') => self.fault("JSON has no comments"),
            Some(b'\'') => self.fault("a text stands in double quotes"),
            _ => self.fault("expected a value"),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return self.fault("expected a value");
        }
        self.at += word.len();
        Ok(())
    }

    fn string(&mut self) -> Result<(), Fault> {
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
            self.at += plain.unwrap_or(rest.len());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => {
                    return self.fault("a control character inside a text must be written \\u00..");
                }
            }
        }
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        let long = match rest {
            [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|c| c.is_ascii_hexdigit()) => 6,
            _ => return self.fault("not an escape that JSON knows"),
        };
        self.at += long;
        Ok(())
    }

    fn number(&mut self) -> Result<(), Fault> {
        self.take(b'-');
        if self.take(b'0') {
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.fault("a number may not begin with 0");
            }
        } else {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => self.fault("expected a digit"),
        }
    }

    fn fault<T>(&self, why: &'static str) -> Result<T, Fault> {
        let why = match self.peek() {
            Some(_) => why,
            None => "the text ends too early",
        };
        Err(Fault { at: self.at, why })
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
