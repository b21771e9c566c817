//! What a name must look like in each place, and how a name that does not is changed.

use std::borrow::Cow;

use crate::limits::{MAX_ALIAS_BYTES, MAX_FUNCTION_NAME_BYTES};
use crate::{Protocol, key};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// One line of ordinary characters: a `command` value, a `name` attribute.
    Plain,
    /// An XML name without a colon.
    Xml,
    /// `[a-zA-Z_][a-zA-Z0-9_-]{0,63}`: the strictest of the providers.
    Function,
    /// A TAM key that means nothing else; compared in normalised form.
    Key,
    /// `[a-zA-Z0-9_.-]{1,64}`: a property that every provider takes.
    Property,
}

/// Keys of TAM that are not parameters.
const TAM_WORDS: [&str; 5] = ["command", "comment", "request_id", "on_error", "retry"];
const TAM_PREFIXES: [&str; 3] = ["uri_", "common_", "type_hint_"];
/// Elements that the parser looks for.
const XML_WORDS: [&str; 2] = ["action", "tool_call"];

impl Rule {
    pub(crate) const fn of_tools(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Tam | Protocol::ToolCall => Self::Plain,
            Protocol::Action => Self::Xml,
            Protocol::Native(_) => Self::Function,
        }
    }

    pub(crate) const fn of_parameters(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Tam => Self::Key,
            Protocol::ToolCall => Self::Plain,
            Protocol::Action => Self::Xml,
            Protocol::Native(_) => Self::Property,
        }
    }

    pub(crate) fn is_legal(self, name: &str) -> bool {
        let mut chars = name.chars();
        name.len() <= self.max_bytes()
            && chars.next().is_some_and(|c| self.may_begin(c))
            && name.chars().all(|c| self.may_hold(c))
            && !self.means_something(name)
            && (self != Self::Plain || !name.ends_with(' '))
    }

    /// The form in which two names are the same name.
    pub(crate) fn compared(self, name: &str) -> Cow<'_, str> {
        match self {
            Self::Key => key::normalise(name),
            _ => Cow::Borrowed(name),
        }
    }

    /// A legal name that still resembles `name`; not yet unique.
    pub(crate) fn candidate(self, name: &str) -> String {
        let ascii_only = matches!(self, Self::Function | Self::Property);
        if ascii_only && name.chars().any(|c| !c.is_ascii() && c.is_alphanumeric()) {
            return self.opaque(name);
        }
        let mut out = match self {
            Self::Key => key::normalise(name).into_owned(),
            _ => self.replaced(name),
        };
        if !out.chars().any(char::is_alphanumeric) {
            return self.opaque(name);
        }
        if !out.chars().next().is_some_and(|c| self.may_begin(c)) {
            out.insert(0, '_');
        }
        if self.means_something(&out) {
            out.insert_str(0, if self == Self::Key { "param_" } else { "_" });
        }
        if out.len() > self.max_bytes() {
            out = self.with_suffix(&out, name, 0);
        }
        match self.is_legal(&out) {
            true => out,
            false => self.opaque(name),
        }
    }

    /// `stem` with letters made from the whole name; `round` gives another choice.
    pub(crate) fn with_suffix(self, stem: &str, name: &str, round: u32) -> String {
        let letters = letters(name, round);
        let room = self.max_bytes() - letters.len() - 1;
        let end = stem.floor_char_boundary(room.min(stem.len()));
        let stem = stem.get(..end).unwrap_or_default();
        format!("{stem}_{letters}")
    }

    fn opaque(self, name: &str) -> String {
        let kind = match self {
            Self::Plain | Self::Xml | Self::Function => "tool",
            Self::Key | Self::Property => "param",
        };
        self.with_suffix(kind, name, 0)
    }

    fn replaced(self, name: &str) -> String {
        let mut out = String::with_capacity(name.len() + 4);
        for c in name.trim().chars() {
            match c {
                c if self.may_hold(c) => out.push(c),
                ':' => out.push_str("__"),
                _ => out.push('_'),
            }
        }
        out
    }

    fn means_something(self, name: &str) -> bool {
        match self {
            Self::Xml => XML_WORDS.iter().any(|word| name.eq_ignore_ascii_case(word)),
            Self::Key => {
                let name = key::normalise(name);
                let bare = key::split_number(&name).map_or(name.as_ref(), |(bare, _)| bare);
                name.is_empty()
                    || TAM_WORDS.contains(&bare)
                    || TAM_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            }
            Self::Plain | Self::Function | Self::Property => false,
        }
    }

    const fn max_bytes(self) -> usize {
        match self {
            Self::Function | Self::Property => MAX_FUNCTION_NAME_BYTES,
            Self::Plain | Self::Xml | Self::Key => MAX_ALIAS_BYTES,
        }
    }

    fn may_begin(self, c: char) -> bool {
        match self {
            Self::Plain => c != ' ' && self.may_hold(c),
            Self::Xml => is_xml_start(c),
            Self::Function => c.is_ascii_alphabetic() || c == '_',
            Self::Key => c.is_alphanumeric() || c == '_',
            Self::Property => self.may_hold(c),
        }
    }

    fn may_hold(self, c: char) -> bool {
        match self {
            Self::Plain => is_plain(c),
            Self::Xml => is_xml_start(c) || is_xml_rest(c),
            Self::Function => c.is_ascii_alphanumeric() || matches!(c, '_' | '-'),
            Self::Key => c.is_alphanumeric() || matches!(c, '_' | '-' | '.'),
            Self::Property => c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'),
        }
    }
}

/// Visible, on one line, and of no meaning to any dialect or to a prompt's layout.
fn is_plain(c: char) -> bool {
    !c.is_control()
        && (c == ' ' || !c.is_whitespace())
        && !is_invisible(c)
        && !matches!(
            c,
            '<' | '>' | '«' | '»' | '「' | '」' | '|' | '&' | '"' | '\'' | '`' | '\\'
        )
}

/// Characters that show nothing or turn the direction of the text around.
pub(crate) const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// `NameStartChar` of XML 1.0 without the colon.
const fn is_xml_start(c: char) -> bool {
    matches!(c,
        'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{dffff}')
        // TAM's marks are letters to XML; a name made of them would only confuse.
        && !matches!(c, '「' | '」')
        && !is_invisible(c)
}

/// What `NameChar` adds.
const fn is_xml_rest(c: char) -> bool {
    matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Eight letters that depend on the whole name. Letters, because TAM reads a number at the end of a key as
/// a step. FNV-1a: stable across versions and machines, which the hashers of the library do not promise.
fn letters(name: &str, round: u32) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in name.bytes().chain(round.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 32;
    (0..8u32)
        .map(|at| char::from(b'a' + ((hash >> (at * 4)) & 15) as u8))
        .collect()
}
