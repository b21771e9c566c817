//! A value inside a text that is known to be JSON: its members and elements with their places, split one level at a
//! time, so that a file costs time by what is looked at and memory by what is understood.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::scan::Scanner;

#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'t> {
    text: &'t str,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    Text,
    List,
    Object,
}

impl Kind {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "true or false",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

/// An object or a list, taken apart.
#[derive(Debug, Clone)]
pub(super) struct Parts<'t> {
    pub(super) whole: Piece<'t>,
    pub(super) items: Vec<Item<'t>>,
}

/// A member or an element: `lead`, `key`, `:`, `value`, `trail`, and then a comma or the end.
#[derive(Debug, Clone)]
pub(super) struct Item<'t> {
    /// Of a member. `None` also where a key is half a surrogate pair: no name that anyone asks for.
    pub(super) name: Option<Cow<'t, str>>,
    /// Where the white space before it begins.
    pub(super) lead: usize,
    /// Where it begins itself.
    pub(super) start: usize,
    pub(super) value: Piece<'t>,
    /// Where the white space after it ends.
    pub(super) trail: usize,
}

impl<'t> Piece<'t> {
    pub(super) fn new(text: &'t str, start: usize, end: usize) -> Self {
        Self { text, start, end }
    }

    pub(super) fn raw(self) -> &'t str {
        self.slice(self.start, self.end)
    }

    /// Any part of the text that it stands in.
    pub(super) fn slice(self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn kind(self) -> Kind {
        match self.raw().as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::List,
            Some(b'"') => Kind::Text,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Null,
        }
    }

    /// What it means, or why it means nothing: a number that is too large, half a surrogate pair, nested too deep.
    pub(super) fn json(self) -> Result<Json, String> {
        serde_json::from_str(self.raw()).map_err(|error| {
            let words = error.to_string();
            let cause = words.split(" at line").next();
            cause.unwrap_or_default().to_owned()
        })
    }

    /// The text it holds, if it is one.
    pub(super) fn string(self) -> Option<Cow<'t, str>> {
        let inner = self.raw().strip_prefix('"')?.strip_suffix('"')?;
        match inner.contains('\\') {
            false => Some(Cow::Borrowed(inner)),
            true => serde_json::from_str(self.raw()).ok().map(Cow::Owned),
        }
    }

    pub(super) fn members(self) -> Option<Parts<'t>> {
        (self.kind() == Kind::Object).then(|| self.parts())
    }

    pub(super) fn elements(self) -> Option<Parts<'t>> {
        (self.kind() == Kind::List).then(|| self.parts())
    }

    fn parts(self) -> Parts<'t> {
        let keyed = self.kind() == Kind::Object;
        let mut items = Vec::new();
        let mut scanner = Scanner::new(self.text, self.start + 1);
        // The text was gone through before, so that nothing is left to go wrong but this end.
        while let Some(item) = self.item(&mut scanner, keyed) {
            items.push(item);
            if !scanner.take(b',') {
                break;
            }
        }
        Parts { whole: self, items }
    }

    fn item(self, scanner: &mut Scanner<'t>, keyed: bool) -> Option<Item<'t>> {
        let lead = scanner.at;
        scanner.blank();
        let start = scanner.at;
        if start + 1 >= self.end {
            return None;
        }
        let mut name = None;
        if keyed {
            scanner.key().ok()?;
            let key = self.slice(start, scanner.at).trim_end_matches(':');
            let key = key.trim_end_matches([' ', '\n', '\r', '\t']);
            name = Self::new(self.text, start, start + key.len()).string();
            scanner.blank();
        }
        let value = scanner.at;
        scanner.value().ok()?;
        let value = Self::new(self.text, value, scanner.at);
        scanner.blank();
        Some(Item {
            name,
            lead,
            start,
            value,
            trail: scanner.at,
        })
    }
}

impl<'t> Parts<'t> {
    /// The last member of this name: the one that counts.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.items
            .iter()
            .rposition(|item| item.name.as_deref() == Some(name))
    }

    pub(super) fn get(&self, name: &str) -> Option<Piece<'t>> {
        let item = self.items.get(self.position(name)?)?;
        Some(item.value)
    }

    /// The same; null is as good as nothing.
    pub(super) fn some(&self, name: &str) -> Option<Piece<'t>> {
        self.get(name).filter(|piece| piece.kind() != Kind::Null)
    }

    /// Which of several spellings stands here; the first where none does.
    pub(super) fn spelling(&self, names: &[&'static str]) -> &'static str {
        let used = names.iter().find(|name| self.some(name).is_some());
        let used = used.or_else(|| names.iter().find(|name| self.get(name).is_some()));
        used.or(names.first()).copied().unwrap_or_default()
    }
}

impl<'t> Item<'t> {
    /// The white space before it.
    pub(super) fn lead_text(&self) -> &'t str {
        self.value.slice(self.lead, self.start)
    }
}
