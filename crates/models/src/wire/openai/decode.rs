//! An answer, piece by piece or whole.
//!
//! Both forms are read by the same steps, so that they cannot differ. What of an answer goes back to its server
//! (`kept`) and why it ended are told last: servers still send parts of it after they have said that they are done.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::super::stencil::Stencil;
use super::super::words::Voice;
use super::super::{Decoder, SseEvent, whole_json};
use super::calls::Calls;
use super::kept::Kept;
use super::quick::{self, Words};
use super::{CONTENT, reported, text, usage};
use crate::trouble::{broken_off, malformed, told};
use crate::{FinishReason, ModelError, ModelEvent};

const DONE: &str = "[DONE]";

#[derive(Debug, Default)]
pub(in super::super) struct Decode {
    /// Events that have come.
    events: usize,
    started: bool,
    calls: Calls,
    kept: Kept,
    /// A delta has come, so that a whole message beside it says nothing new.
    in_pieces: bool,
    /// Thoughts have come as a text of their own, so that those in blocks are the same again.
    thinks_aloud: bool,
    refused: bool,
    counted: bool,
    finish: Option<FinishReason>,
    /// The last event ended in the middle of its JSON. That is a broken connection if it was really the last.
    cut_short: bool,
    over: bool,
    /// A delta that has words only.
    stencil: Stencil<Voice>,
}

impl Decoder for Decode {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.over || data.is_empty() {
            return Ok(());
        }
        if self.cut_short {
            return Err(self.malformed("ends in the middle of its JSON"));
        }
        self.events += 1;
        if data == DONE {
            self.finish(out);
            return Ok(());
        }
        if event.event.is_empty() && self.words(data, out) {
            return Ok(());
        }
        let answer = match serde_json::from_str::<Json>(data) {
            Ok(answer) => answer,
            Err(_) if event.event == "error" => return Err(told(&data.into())),
            // Somebody's own event, which is not for us.
            Err(_) if !matches!(&*event.event, "" | "message") => return Ok(()),
            Err(error) if error.is_eof() => {
                self.cut_short = true;
                return Ok(());
            }
            Err(error) => return Err(self.malformed(&format!("is no JSON ({error})"))),
        };
        match object(&answer) {
            Some(answer) if event.event == "error" && !answer.contains_key("error") => {
                Err(told(&Json::Object(answer.clone())))
            }
            Some(answer) => self.answer(answer, Form::Piece, out),
            None if answer.is_null() => Ok(()),
            None => Err(self.malformed("is no JSON object")),
        }
    }

    fn whole(&mut self, body: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let check = "check that the base URL is that of a chat-completions server";
        let wrong = |what: &str| malformed(format!("{what}; {check}"));
        let answer = whole_json(body, check)?;
        let Some(answer) = object(&answer) else {
            return Err(wrong("the server's answer is no JSON object"));
        };
        self.answer(answer, Form::Whole, out)?;
        if choice(answer).is_none() {
            return Err(wrong("the server's answer has no `choices`"));
        }
        self.finish(out);
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.over {
            return Ok(());
        }
        // What is cut off after the reason are counts at most.
        if self.finish.is_some() {
            self.finish(out);
            return Ok(());
        }
        self.calls.finish(out);
        Err(broken_off())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Piece,
    Whole,
}

impl Decode {
    /// Whether the event was words and nothing else, which is all that `answer` would have found in it. The first ones
    /// say more.
    fn words(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> bool {
        if !(self.started && self.in_pieces) {
            return false;
        }
        if let Some((voice, words)) = self.stencil.words(data) {
            voice.says(words, out);
            return true;
        }
        let Some(Words { thought, content }) = quick::words(data) else {
            return false;
        };
        self.thinks_aloud |= !thought.0.is_empty();
        match (&thought.0, &content.0) {
            (Cow::Borrowed(words), other) if other.is_empty() && !words.is_empty() => {
                self.stencil.learn(Voice::Thought, data, words);
            }
            (other, Cow::Borrowed(words)) if other.is_empty() && !words.is_empty() => {
                self.stencil.learn(Voice::Aloud, data, words);
            }
            _ => {}
        }
        Voice::Thought.says(thought.0, out);
        Voice::Aloud.says(content.0, out);
        true
    }

    fn answer(
        &mut self,
        answer: &Map<String, Json>,
        form: Form,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let choice = choice(answer);
        if let Some(choice) = choice {
            self.start(answer, out);
            self.choice(choice, form, out)?;
        }
        if let Some(usage) = usage::told(answer) {
            self.counted = true;
            out.push(ModelEvent::Usage(usage));
        } else if !self.counted
            && let Some(usage) = usage::measured(answer)
        {
            out.push(ModelEvent::Usage(usage));
        }
        if let Some(error) = reported::reported(answer) {
            return Err(error);
        }
        let reason = choice.and_then(|choice| text(choice, "finish_reason"));
        match reason {
            Some("error") => return Err(told(&Json::Null)),
            Some(reason) => self.finish = Some(FinishReason::read(reason)),
            None => {}
        }
        Ok(())
    }

    fn start(&mut self, answer: &Map<String, Json>, out: &mut Vec<ModelEvent>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(ModelEvent::Started {
                model: text(answer, "model").unwrap_or_default().to_owned(),
                response_id: text(answer, "id").map(str::to_owned),
            });
        }
    }

    fn choice(
        &mut self,
        choice: &Map<String, Json>,
        form: Form,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let part = |name: &str| choice.get(name).and_then(Json::as_object);
        let (said, form) = match (part("delta"), part("message"), form) {
            (_, Some(message), Form::Whole) => (message, Form::Whole),
            (Some(delta), _, _) => (delta, Form::Piece),
            // A server that sends its whole answer as the only event.
            (None, Some(message), _) if !self.in_pieces => (message, Form::Whole),
            _ => return Ok(()),
        };
        self.in_pieces |= !said.is_empty();
        let read = match form {
            Form::Piece => self.kept.pieces(said)?,
            Form::Whole => self.kept.whole(said)?,
        };
        // Some send the same under several names, not always in the same delta.
        let thought = text(said, "reasoning_content").or_else(|| text(said, "reasoning"));
        self.thinks_aloud |= thought.is_some();
        if !self.thinks_aloud {
            Voice::Thought.says(read, out);
        }
        Voice::Thought.says(thought.unwrap_or_default(), out);
        self.content(said.get("content"), out);
        if let Some(refusal) = text(said, "refusal") {
            self.refused = true;
            Voice::Aloud.says(refusal, out);
        }
        match form {
            Form::Piece => self.calls.pieces(said, out),
            Form::Whole => self.calls.whole(said, out),
        }
    }

    fn content(&self, content: Option<&Json>, out: &mut Vec<ModelEvent>) {
        let parts = match content {
            Some(Json::String(text)) => return Voice::Aloud.says(text, out),
            Some(Json::Array(parts)) => parts.as_slice(),
            Some(part @ Json::Object(_)) => std::slice::from_ref(part),
            _ => return,
        };
        for part in parts {
            match (part, part.get("text"), part.get("thinking")) {
                (Json::String(text), _, _) | (_, Some(Json::String(text)), _) => {
                    Voice::Aloud.says(text, out);
                }
                // Mistral's thoughts: a text, or again a list of texts.
                (_, _, Some(thinking)) => {
                    let inner = thinking.as_array().map(Vec::as_slice).unwrap_or_default();
                    let texts = inner.iter().filter_map(|part| part.get("text")?.as_str());
                    for text in thinking.as_str().into_iter().chain(texts) {
                        Voice::Thought.says(text, out);
                    }
                }
                (Json::Object(_), _, _) => out.push(ModelEvent::Opaque {
                    provider: CONTENT.to_owned(),
                    value: part.clone(),
                }),
                _ => {}
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) {
        self.over = true;
        self.calls.finish(out);
        self.kept.tell(out);
        let reason = match self.finish.take() {
            // Who declines says so in words, and calls it a regular end.
            Some(FinishReason::Stop) | None if self.refused => Some(FinishReason::ContentFilter),
            reason => reason,
        };
        out.extend(reason.map(ModelEvent::Finish));
    }

    fn malformed(&self, what: &str) -> ModelError {
        let said = format!("event {} of the reply {what}", self.events);
        malformed(format!("{said}; try again, or choose another channel"))
    }
}

/// Gemini's errors come as a list of one.
fn object(answer: &Json) -> Option<&Map<String, Json>> {
    match answer {
        Json::Array(list) => list.first()?.as_object(),
        answer => answer.as_object(),
    }
}

/// The first of several answers; nobody here asks for more.
fn choice(answer: &Map<String, Json>) -> Option<&Map<String, Json>> {
    let choices = answer.get("choices")?.as_array()?.iter();
    let is_first = |choice: &&Map<String, Json>| {
        let index = choice.get("index").and_then(Json::as_u64);
        index.unwrap_or_default() == 0
    };
    choices.filter_map(Json::as_object).find(is_first)
}

#[cfg(test)]
#[path = "round_trip_tests.rs"]
mod round_trip_tests;
#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
