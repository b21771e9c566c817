//! Keys in what a model says: a server that repeats what it was sent makes none of them known.
//!
//! Owns the search in a reply that comes in pieces. Messages about failures are `trouble::Mask`. Pure.
//!
//! An ordinary piece passes as it is. Only an end that agrees with at least [`HOLD_FROM`] bytes of a key waits for the next
//! piece; what waits is shorter than the key.

use std::collections::BTreeMap;

use innkeeper_protocol::Secret;
use serde_json::Value as Json;

use crate::ModelEvent;
use crate::limits::{HOLD_FROM, SHORTEST_HIDDEN};
use crate::trouble::spellings;

const MARK: &str = "[key]";

/// One reply, and the keys of its request.
pub(super) struct Veil {
    keys: Keys,
    text: Tail,
    reasoning: Tail,
    calls: BTreeMap<u32, Tail>,
    /// Whose piece came last. Nobody else has anything waiting.
    last: Line,
}

/// What belongs together, piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Other,
    Text,
    Reasoning,
    Call(u32),
}

/// An end that may be the beginning of a key.
#[derive(Default)]
struct Tail {
    text: String,
    /// Bytes of it that went out already.
    shown: usize,
}

struct Keys {
    /// In every spelling.
    all: Vec<Secret>,
    /// Bytes that one of them begins with, in large and small letters.
    begins: [bool; 256],
}

enum Hit {
    Whole { at: usize, end: usize },
    Begun { at: usize },
}

impl Veil {
    /// Nothing where there is nothing to hide.
    pub(super) fn new<'k>(keys: impl IntoIterator<Item = &'k Secret>) -> Option<Box<Self>> {
        let keys = keys.into_iter().map(|key| key.expose().trim());
        // What is not ASCII is never sent, and what is short stands in ordinary words.
        let keys = keys.filter(|key| key.len() >= SHORTEST_HIDDEN && key.is_ascii());
        let all: Vec<Secret> = keys.flat_map(spellings).collect();
        let mut begins = [false; 256];
        for first in all.iter().filter_map(|key| key.expose().bytes().next()) {
            for byte in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
                if let Some(begins) = begins.get_mut(usize::from(byte)) {
                    *begins = true;
                }
            }
        }
        (!all.is_empty()).then(|| {
            Box::new(Self {
                keys: Keys { all, begins },
                text: Tail::default(),
                reasoning: Tail::default(),
                calls: BTreeMap::new(),
                last: Line::Other,
            })
        })
    }

    /// Whether it is more of what came last and can go out as it is, like nearly all that a model says.
    pub(super) fn is_clear(&self, event: &ModelEvent) -> bool {
        let (line, tail, piece) = match event {
            ModelEvent::Text(piece) => (Line::Text, &self.text, piece),
            ModelEvent::Reasoning(piece) => (Line::Reasoning, &self.reasoning, piece),
            _ => return false,
        };
        line == self.last && tail.text.is_empty() && self.keys.find(piece, 0).is_none()
    }

    /// What waited and goes out before, and the event itself unless all of it waits now.
    pub(super) fn pass(&mut self, event: ModelEvent) -> (Option<ModelEvent>, Option<ModelEvent>) {
        let line = match &event {
            // They stand for themselves wherever they come, with some servers after every piece.
            ModelEvent::Usage(_) | ModelEvent::Started { .. } => return (None, Some(event)),
            ModelEvent::Text(_) => Line::Text,
            ModelEvent::Reasoning(_) => Line::Reasoning,
            ModelEvent::ToolCall { index, .. } => Line::Call(*index),
            _ => Line::Other,
        };
        let before = match line == self.last {
            true => None,
            false => self.flush(),
        };
        self.last = line;
        (before, self.hidden(event))
    }

    /// What still waits. A beginning that is long enough to tell something is hidden.
    pub(super) fn flush(&mut self) -> Option<ModelEvent> {
        let last = self.last;
        let tail = self.tail(last)?;
        let waits = tail
            .text
            .get(tail.shown..)
            .filter(|rest| !rest.is_empty())?;
        let said = match tail.text.len() >= SHORTEST_HIDDEN {
            true => MARK.to_owned(),
            false => waits.to_owned(),
        };
        // It is still known how it began: the rest may come after a piece of somebody else.
        tail.shown = tail.text.len();
        Some(match last {
            Line::Reasoning => ModelEvent::Reasoning(said),
            Line::Call(index) => ModelEvent::ToolCall {
                index,
                id: None,
                name: None,
                arguments_delta: said,
            },
            Line::Text | Line::Other => ModelEvent::Text(said),
        })
    }

    fn tail(&mut self, line: Line) -> Option<&mut Tail> {
        match line {
            Line::Other => None,
            Line::Text => Some(&mut self.text),
            Line::Reasoning => Some(&mut self.reasoning),
            Line::Call(index) => self.calls.get_mut(&index),
        }
    }

    fn hidden(&mut self, event: ModelEvent) -> Option<ModelEvent> {
        let keys = &self.keys;
        match event {
            ModelEvent::Text(piece) => self.text.pass(keys, piece).map(ModelEvent::Text),
            ModelEvent::Reasoning(piece) => {
                self.reasoning.pass(keys, piece).map(ModelEvent::Reasoning)
            }
            ModelEvent::ToolCall {
                index,
                id,
                name,
                arguments_delta,
            } => {
                let tail = self.calls.entry(index).or_default();
                let arguments = tail.pass(keys, arguments_delta);
                if arguments.is_none() && id.is_none() && name.is_none() {
                    return None;
                }
                Some(ModelEvent::ToolCall {
                    index,
                    id: id.map(|id| keys.out_of(id)),
                    name: name.map(|name| keys.out_of(name)),
                    arguments_delta: arguments.unwrap_or_default(),
                })
            }
            ModelEvent::Opaque {
                provider,
                mut value,
            } => {
                // It must go back as it came, and only the one that holds a key cannot.
                if keys.are_in(&value) {
                    value = keys.out_of_json(value);
                }
                Some(ModelEvent::Opaque { provider, value })
            }
            event => Some(event),
        }
    }
}

impl Tail {
    /// Nothing if the whole piece waits.
    fn pass(&mut self, keys: &Keys, piece: String) -> Option<String> {
        if piece.is_empty() {
            return Some(piece);
        }
        let all_shown = self.shown == self.text.len();
        let (text, shown) = match all_shown && !keys.go_on(&self.text, &piece) {
            true => (piece, 0),
            false => (std::mem::take(&mut self.text) + &piece, self.shown),
        };
        self.text.clear();
        self.shown = 0;
        let (mut said, mut from, mut at) = (String::new(), shown, 0);
        let until = loop {
            match keys.find(&text, at) {
                None => break text.len(),
                Some(Hit::Whole { at: start, end }) => {
                    said.push_str(text.get(from..start).unwrap_or_default());
                    said.push_str(MARK);
                    (from, at) = (end, end);
                }
                Some(Hit::Begun { at: start }) => {
                    let begun = text.get(start..).unwrap_or_default();
                    self.text.push_str(begun);
                    let until = match begun.len() < HOLD_FROM {
                        true => text.len(),
                        false => start.max(from),
                    };
                    self.shown = until - start;
                    break until;
                }
            }
        };
        if said.is_empty() && from == 0 && until == text.len() {
            return Some(text);
        }
        said.push_str(text.get(from..until).unwrap_or_default());
        (!said.is_empty()).then_some(said)
    }
}

impl Keys {
    /// The first place where a key stands, or where one begins that the text is too short for.
    fn find(&self, text: &str, from: usize) -> Option<Hit> {
        self.look(text, from, true)
    }

    /// In a text that does not go on nothing is only begun.
    fn whole(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        match self.look(text, from, false)? {
            Hit::Whole { at, end } => Some((at, end)),
            Hit::Begun { .. } => None,
        }
    }

    fn look(&self, text: &str, from: usize, goes_on: bool) -> Option<Hit> {
        let bytes = text.as_bytes();
        let mut at = from;
        loop {
            let rest = bytes.get(at..)?;
            let begins = |byte: &u8| self.begins.get(usize::from(*byte)) == Some(&true);
            at += rest.iter().position(begins)?;
            let rest = bytes.get(at..)?;
            let mut longest = 0;
            for key in &self.all {
                let key = key.expose().as_bytes();
                match agree(key, rest) {
                    true if key.len() <= rest.len() => longest = longest.max(key.len()),
                    true if goes_on => return Some(Hit::Begun { at }),
                    _ => {}
                }
            }
            if longest > 0 {
                let end = at + longest;
                return Some(Hit::Whole { at, end });
            }
            at += 1;
        }
    }

    /// Whether a key that begins within `tail` may go on with `piece`.
    fn go_on(&self, tail: &str, piece: &str) -> bool {
        let begins = (0..tail.len()).filter_map(|at| tail.as_bytes().get(at..));
        let mut pairs = begins.flat_map(|begun| self.all.iter().map(move |key| (begun, key)));
        pairs.any(|(begun, key)| {
            key.expose()
                .as_bytes()
                .split_at_checked(begun.len())
                .is_some_and(|(head, rest)| {
                    head.eq_ignore_ascii_case(begun) && agree(rest, piece.as_bytes())
                })
        })
    }

    /// Of a text that comes whole.
    fn out_of(&self, text: String) -> String {
        let (mut said, mut from) = (String::new(), 0);
        while let Some((start, end)) = self.whole(&text, from) {
            said.push_str(text.get(from..start).unwrap_or_default());
            said.push_str(MARK);
            from = end;
        }
        if from == 0 {
            return text;
        }
        said.push_str(text.get(from..).unwrap_or_default());
        said
    }

    fn are_in(&self, value: &Json) -> bool {
        let holds = |text: &str| self.whole(text, 0).is_some();
        match value {
            Json::String(text) => holds(text),
            Json::Array(list) => list.iter().any(|value| self.are_in(value)),
            Json::Object(fields) => fields
                .iter()
                .any(|(name, value)| holds(name) || self.are_in(value)),
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }
    }

    fn out_of_json(&self, value: Json) -> Json {
        match value {
            Json::String(text) => Json::String(self.out_of(text)),
            Json::Array(list) => list.into_iter().map(|one| self.out_of_json(one)).collect(),
            Json::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (self.out_of(name), self.out_of_json(value)))
                .collect(),
            value => value,
        }
    }
}

/// As far as the shorter one goes, in any letter case: some servers write what they quote in small letters.
fn agree(one: &[u8], other: &[u8]) -> bool {
    let length = one.len().min(other.len());
    let heads = one.get(..length).zip(other.get(..length));
    heads.is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
}

#[cfg(test)]
#[path = "veil_tests.rs"]
mod tests;
