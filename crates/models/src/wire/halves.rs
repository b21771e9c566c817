//! Halves of characters: servers that cut a text by UTF-16 units write `"\ud83c"` in one piece and `"\udf27"` in the next.
//!
//! JSON allows that and no text here can hold it. So a half is written as characters that stand for nothing, which the
//! decoders pass on like any other, and what comes out of them is put together: a half at the end of a piece waits for the
//! other one in the next piece of its kind, and one that stays alone spoils one character, not the answer.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::words::Voice;
use super::{Decoder, SseEvent};
use crate::{ModelError, ModelEvent};

/// Begin a first and a second half. Unicode will never give them a meaning; nor [`DIGITS`].
const FIRST: char = '\u{1FFFE}';
const SECOND: char = '\u{1FFFF}';
/// The first of 32 that stand for five bits each.
const DIGITS: u32 = 0xFDD0;
const ALONE: char = char::REPLACEMENT_CHARACTER;

/// Reads an answer whose texts may be cut within a character.
#[derive(Default)]
pub(super) struct Whole<D> {
    decoder: D,
    /// A half has come, so that what goes out is looked through.
    seen: bool,
    waits: Option<(Line, u16)>,
}

/// What belongs together, piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Text,
    Reasoning,
    Call(u32),
}

impl<D: Decoder> Decoder for Whole<D> {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(data) = written(&event.data) else {
            return match self.seen {
                true => self.through(out, |decoder, out| decoder.event(event, out)),
                false => self.decoder.event(event, out),
            };
        };
        self.seen = true;
        let event = SseEvent {
            event: Cow::Borrowed(&*event.event),
            data: Cow::Owned(data),
        };
        self.through(out, |decoder, out| decoder.event(&event, out))
    }

    fn whole(&mut self, body: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let Some(body) = written(&String::from_utf8_lossy(body)) else {
            return self.decoder.whole(body, out);
        };
        self.seen = true;
        let read = self.through(out, |decoder, out| decoder.whole(body.as_bytes(), out));
        self.flush(out);
        read
    }

    fn is_over(&self) -> bool {
        self.decoder.is_over()
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let ended = self.through(out, |decoder, out| decoder.end(out));
        self.flush(out);
        ended
    }
}

impl<D> Whole<D> {
    fn through(
        &mut self,
        out: &mut Vec<ModelEvent>,
        read: impl FnOnce(&mut D, &mut Vec<ModelEvent>) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let mut said = Vec::new();
        let read = read(&mut self.decoder, &mut said);
        for event in said {
            self.pass(event, out);
        }
        read.map_err(|mut error| {
            self.flush(out);
            error.message = joined(&error.message);
            error
        })
    }

    fn pass(&mut self, event: ModelEvent, out: &mut Vec<ModelEvent>) {
        match event {
            ModelEvent::Text(text) => {
                let text = self.piece(Line::Text, &text, out);
                Voice::Aloud.says(text, out);
            }
            ModelEvent::Reasoning(text) => {
                let text = self.piece(Line::Reasoning, &text, out);
                Voice::Thought.says(text, out);
            }
            ModelEvent::ToolCall {
                index,
                id,
                name,
                arguments_delta,
            } => {
                let arguments_delta = self.piece(Line::Call(index), &arguments_delta, out);
                out.push(ModelEvent::ToolCall {
                    index,
                    id: id.map(|id| joined(&id)),
                    name: name.map(|name| joined(&name)),
                    arguments_delta,
                });
            }
            ModelEvent::Opaque {
                provider,
                mut value,
            } => {
                self.flush(out);
                join_within(&mut value);
                out.push(ModelEvent::Opaque { provider, value });
            }
            // They stand for themselves wherever they come.
            ModelEvent::Started { model, response_id } => out.push(ModelEvent::Started {
                model: joined(&model),
                response_id: response_id.map(|id| joined(&id)),
            }),
            event @ ModelEvent::Usage(_) => out.push(event),
            event => {
                self.flush(out);
                out.push(event);
            }
        }
    }

    /// What of a piece can go out, after what waited for it.
    fn piece(&mut self, line: Line, piece: &str, out: &mut Vec<ModelEvent>) -> String {
        if self.waits.is_some_and(|(waiting, _)| waiting != line) {
            self.flush(out);
        }
        if piece.is_empty() {
            return String::new();
        }
        let before = self.waits.take().map(|(_, half)| half);
        let (text, waits) = join(before, piece);
        self.waits = waits.map(|half| (line, half));
        text
    }

    /// The other half has not come.
    fn flush(&mut self, out: &mut Vec<ModelEvent>) {
        match self.waits.take() {
            None => {}
            Some((Line::Text, _)) => Voice::Aloud.says(ALONE.to_string(), out),
            Some((Line::Reasoning, _)) => Voice::Thought.says(ALONE.to_string(), out),
            Some((Line::Call(index), _)) => out.push(ModelEvent::ToolCall {
                index,
                id: None,
                name: None,
                arguments_delta: ALONE.to_string(),
            }),
        }
    }
}

/// JSON with its lone halves as characters that stand for them; nothing where it has none.
fn written(json: &str) -> Option<String> {
    replaced(json, |half, text| {
        let bits = u32::from(half & 0x3FF);
        text.push(if is_first(half) { FIRST } else { SECOND });
        text.extend(char::from_u32(DIGITS + (bits >> 5)));
        text.extend(char::from_u32(DIGITS + (bits & 31)));
    })
}

/// JSON whose lone halves are one spoilt character each; nothing where it has none. For arguments, which are JSON within
/// a text and are put together by whoever reads them.
pub(crate) fn without_halves(json: &str) -> Option<String> {
    replaced(json, |_, text| text.push(ALONE))
}

/// A backslash is nowhere but in texts, so these need not be told from the rest.
fn replaced(json: &str, write: impl Fn(u16, &mut String)) -> Option<String> {
    let mut text = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', json.as_bytes().get(at..)?) {
        at += found;
        let Some(half) = half_at(json, at) else {
            // Past the end where the JSON is cut off here.
            at = (at + 2).min(json.len());
            continue;
        };
        if is_first(half) && half_at(json, at + 6).is_some_and(|next| !is_first(next)) {
            at += 12;
            continue;
        }
        text.push_str(json.get(copied..at)?);
        write(half, &mut text);
        at += 6;
        copied = at;
    }
    text.push_str(json.get(copied..)?);
    (copied > 0).then_some(text)
}

fn half_at(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let unit = u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    (0xD800..=0xDFFF).contains(&unit).then_some(unit)
}

const fn is_first(half: u16) -> bool {
    half < 0xDC00
}

/// The text after the half that waited, and the half that waits at its end.
fn join(before: Option<u16>, piece: &str) -> (String, Option<u16>) {
    let mut text = String::with_capacity(piece.len());
    let mut waits = before;
    let mut chars = piece.chars();
    while let Some(c) = chars.next() {
        let half = read_half(c, chars.as_str());
        if half.is_some() {
            chars.nth(1);
        }
        match (waits.take(), half) {
            (Some(first), Some(second)) if !is_first(second) => {
                let [first, second] = [first, second].map(|half| u32::from(half & 0x3FF));
                let whole = char::from_u32(0x1_0000 + (first << 10) + second);
                text.push(whole.unwrap_or(ALONE));
            }
            (before, half) => {
                text.extend(before.map(|_| ALONE));
                match half {
                    Some(half) if is_first(half) => waits = Some(half),
                    Some(_) => text.push(ALONE),
                    None => text.push(c),
                }
            }
        }
    }
    (text, waits)
}

fn read_half(c: char, rest: &str) -> Option<u16> {
    let base = match c {
        FIRST => 0xD800,
        SECOND => 0xDC00,
        _ => return None,
    };
    let mut digits = rest.chars().map(|digit| {
        let bits = u32::from(digit).checked_sub(DIGITS)?;
        u16::try_from(bits).ok().filter(|bits| *bits < 32)
    });
    let (high, low) = (digits.next()??, digits.next()??);
    Some(base + (high << 5) + low)
}

fn joined(text: &str) -> String {
    let (mut text, waits) = join(None, text);
    text.extend(waits.map(|_| ALONE));
    text
}

/// As deep as a parser of JSON goes.
fn join_within(value: &mut Json) {
    match value {
        Json::String(text) => *text = joined(text),
        Json::Array(list) => list.iter_mut().for_each(join_within),
        Json::Object(fields) => {
            let all = std::mem::take(fields).into_iter();
            fields.extend(all.map(|(name, mut value)| {
                join_within(&mut value);
                (joined(&name), value)
            }));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
#[path = "halves_tests.rs"]
mod tests;
