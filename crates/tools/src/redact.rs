//! Keeps secrets out of what is shown, logged, sent to a model or kept.
//!
//! [`Redactor`] finds the values of known secrets, whatever they were wrapped in. [`redact_arguments`] hides what
//! its name or its schema says is secret, known or not.

use std::borrow::Cow;
use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use innkeeper_protocol::Outcome;
use serde_json::{Map, Value as Json};

use crate::Secret;
use crate::limits::{MIN_SECRET_CHARS, MIN_SECRET_LINE_BYTES};

mod arguments;
pub use arguments::redact_arguments;
pub(crate) use arguments::{REDACTED, cut_arguments, is_plain};

/// Replaces every occurrence of a secret's value by `[secret NAME]`.
#[derive(Clone, Default)]
pub struct Redactor {
    finder: Finder,
    /// The name for each pattern of the finder.
    names: Vec<String>,
}

#[derive(Clone, Default)]
enum Finder {
    #[default]
    NothingToFind,
    Search(AhoCorasick),
    /// No search could be built from the secrets: whatever cannot be searched is not shown.
    HideAll,
}

impl std::fmt::Debug for Redactor {
    /// The finder's patterns are the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} patterns)", self.names.len())
    }
}

impl Redactor {
    /// Secrets of fewer than [`MIN_SECRET_CHARS`] characters are not looked for.
    pub fn new<'s>(secrets: impl Iterator<Item = (String, &'s Secret)>) -> Self {
        let mut patterns = Vec::new();
        let mut names = Vec::new();
        for (name, secret) in secrets {
            for form in forms(secret.expose()) {
                patterns.push(form);
                names.push(name.clone());
            }
        }
        let finder = match patterns.is_empty() {
            true => Finder::NothingToFind,
            false => AhoCorasick::new(&patterns).map_or(Finder::HideAll, Finder::Search),
        };
        Self { finder, names }
    }

    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for span in spans {
            out.push_str(text.get(done..span.start).unwrap_or_default());
            out.push_str("[secret ");
            out.push_str(self.names.get(span.pattern).map_or("", String::as_str));
            out.push(']');
            done = span.end;
        }
        out.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Texts, keys, and numbers that spell a secret.
    pub fn redact_json(&self, value: &mut Json) {
        if matches!(self.finder, Finder::NothingToFind) {
            return;
        }
        // A list of what is left to do instead of recursion: depth is not ours to choose.
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Json::String(text) => {
                    if let Cow::Owned(redacted) = self.redact_text(text) {
                        *text = redacted;
                    }
                }
                Json::Number(number) => {
                    if let Cow::Owned(redacted) = self.redact_text(&number.to_string()) {
                        *value = Json::String(redacted);
                    }
                }
                Json::Array(items) => open.extend(items),
                Json::Object(map) => {
                    self.redact_keys(map);
                    open.extend(map.values_mut());
                }
                Json::Null | Json::Bool(_) => {}
            }
        }
    }

    /// What is told of a call that gave no result.
    pub(crate) fn redact_failure(&self, outcome: &mut Outcome) {
        let redact = |text: &mut String| {
            if let Cow::Owned(redacted) = self.redact_text(text) {
                *text = redacted;
            }
        };
        match outcome {
            Outcome::Error(failure) => {
                redact(&mut failure.message);
                for problem in &mut failure.problems {
                    redact(&mut problem.message);
                    problem.received.iter_mut().for_each(redact);
                }
            }
            Outcome::Denied { reason } | Outcome::Cancelled { reason } => redact(reason),
            Outcome::OutcomeUnknown { message } => redact(message),
            Outcome::Success { .. } | Outcome::AsyncStarted { .. } | Outcome::Notice { .. } => {}
        }
    }

    fn redact_keys(&self, map: &mut Map<String, Json>) {
        if !map.keys().any(|key| !self.spans(key).is_empty()) {
            return;
        }
        for (key, value) in std::mem::take(map) {
            let redacted = self.redact_text(&key).into_owned();
            let mut name = redacted.clone();
            let mut number = 2;
            while map.contains_key(&name) {
                name = format!("{redacted} ({number})");
                number += 1;
            }
            map.insert(name, value);
        }
    }

    /// What to cut out, in order. Occurrences that overlap are one, named after the longest: cutting only the
    /// first would show the rest of the second.
    fn spans(&self, text: &str) -> Vec<Span> {
        let finder = match &self.finder {
            Finder::NothingToFind => return Vec::new(),
            Finder::Search(finder) => finder,
            Finder::HideAll => {
                return vec![Span {
                    start: 0,
                    end: text.len(),
                    pattern: 0,
                    length: text.len(),
                }];
            }
        };
        let mut found: Vec<Span> = finder
            .find_overlapping_iter(text)
            .map(|found| Span {
                start: found.start(),
                end: found.end(),
                pattern: found.pattern().as_usize(),
                length: found.len(),
            })
            .collect();
        found.sort_by_key(|span| (span.start, usize::MAX - span.end));
        let mut spans: Vec<Span> = Vec::new();
        for next in found {
            match spans.last_mut() {
                Some(last) if next.start < last.end => {
                    last.end = last.end.max(next.end);
                    if next.length > last.length {
                        last.length = next.length;
                        last.pattern = next.pattern;
                    }
                }
                _ => spans.push(next),
            }
        }
        spans
    }
}

struct Span {
    start: usize,
    end: usize,
    pattern: usize,
    /// Of the longest occurrence in it.
    length: usize,
}

/// Every spelling of a secret that programs are likely to print.
fn forms(secret: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    // A key that was pasted with a line end is used, and printed, without it; of one with many lines, a message may
    // quote just one. The frame around a key in PEM is the same for everybody and no secret.
    let lines = secret.lines().map(str::trim);
    let telling =
        lines.filter(|line| line.len() >= MIN_SECRET_LINE_BYTES && !line.starts_with("---"));
    for value in [secret, secret.trim()].into_iter().chain(telling) {
        forms.insert(value.to_owned());
        forms.extend(json_forms(value));
        forms.extend(percent_forms(value));
        forms.extend(base64_forms(value.as_bytes()));
    }
    forms.retain(|form| form.chars().nth(MIN_SECRET_CHARS - 1).is_some());
    forms
}

/// As JSON has it, with letters beyond ASCII as they are and as `\u…`, with `/` as it is and as `\/`.
fn json_forms(value: &str) -> Vec<String> {
    let quoted = Json::from(value).to_string();
    let inner = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let plain = inner.unwrap_or(value).to_owned();
    let mut ascii = String::new();
    for c in plain.chars() {
        match c.is_ascii() {
            true => ascii.push(c),
            false => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    ascii.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    let slashed = [plain.replace('/', "\\/"), ascii.replace('/', "\\/")];
    [plain, ascii].into_iter().chain(slashed).collect()
}

/// What is left as it is differs: by RFC 3986, in JavaScript, in Python, in forms.
fn percent_forms(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for kept in ["-._~", "-._~!'()*", "-._~/", "-._*"] {
        for upper in [true, false] {
            let encoded = percent(value, kept, upper);
            forms.push(encoded.replace("%20", "+"));
            forms.push(encoded);
        }
    }
    forms
}

fn percent(value: &str, kept: &str, upper: bool) -> String {
    let mut out = String::new();
    for byte in value.bytes() {
        let c = char::from(byte);
        match (c.is_ascii_alphanumeric() || kept.contains(c), upper) {
            (true, _) => out.push(c),
            (false, true) => out.push_str(&format!("%{byte:02X}")),
            (false, false) => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

/// The part of the encoding that is the same whatever stands before and after, for each of the three places at
/// which a secret can begin within a group of three bytes.
fn base64_forms(value: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for (before, mixed) in [(0, 0), (1, 2), (2, 3)] {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(value);
        let whole = bytes.len() * 8 / 6;
        for encoded in [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            forms.extend(encoded.get(mixed..whole).map(str::to_owned));
        }
    }
    forms
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
