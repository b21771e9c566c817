//! An answer in Anthropic's words.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::OWN;
use crate::limits::{MAX_REPLY_BYTES, MAX_REPLY_PARTS};
use crate::trouble::{broken_off, malformed, told};
use crate::wire::quick::{self, Object, Text};
use crate::wire::stencil::Stencil;
use crate::wire::words::Voice;
use crate::wire::{Decoder, SseEvent, whole_json};
use crate::{FinishReason, ModelError, ModelErrorKind, ModelEvent, Usage};

const CHECK: &str = "check that the base URL is that of a server in Anthropic's format";

#[derive(Default)]
pub(in crate::wire) struct Decode {
    started: bool,
    /// Blocks that have begun and not ended, nearly always one.
    open: Vec<Block>,
    /// Blocks that have begun.
    begun: u64,
    calls: u32,
    /// Bytes held back in blocks.
    held: usize,
    counts: Counts,
    /// It has said why it stopped.
    finished: bool,
    over: bool,
    /// More of a text that is open; any other event may close it.
    stencil: Stencil<()>,
}

/// A block on its way.
struct Block {
    index: u64,
    kind: Kind,
    /// As it began, with texts that have come since.
    value: Map<String, Json>,
    /// Its input, as far as it has come in pieces.
    input: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    /// The number of the call.
    ToolUse(u32),
    /// Goes back as it came.
    Other,
}

/// Counts only grow; some gateways begin or end with zeros.
#[derive(Default)]
struct Counts {
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
}

/// The event that most of a stream consists of.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    index: u64,
    #[serde(borrow)]
    delta: Object<TextDelta<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: Text<'a>,
}

impl Decoder for Decode {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if self.over || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if self.words(data, out) {
            return Ok(());
        }
        self.stencil.forget();
        let data: Json = serde_json::from_str(data).map_err(|error| {
            malformed(format!(
                "an event of the stream is no JSON ({error}); try again, or {CHECK}"
            ))
        })?;
        let kind = data.get("type").and_then(Json::as_str);
        match kind.unwrap_or(&event.event) {
            "message_start" => {
                let message = data.get("message").unwrap_or(&Json::Null);
                self.start(message, out);
                self.usage(message.get("usage"), out);
            }
            "content_block_start" => {
                let index = data.get("index").and_then(Json::as_u64);
                let block = data.get("content_block").and_then(Json::as_object);
                self.begin(index, block.cloned().unwrap_or_default(), out)?;
            }
            "content_block_delta" => {
                let index = data.get("index").and_then(Json::as_u64);
                if let Some(delta) = data.get("delta").and_then(Json::as_object) {
                    self.delta(index, delta, out)?;
                }
            }
            "content_block_stop" => {
                let index = data.get("index").and_then(Json::as_u64);
                if let Some(at) = self.at(index) {
                    let block = self.open.remove(at);
                    self.close(block, out);
                }
            }
            "message_delta" => {
                self.usage(data.get("usage"), out);
                self.stop(data.get("delta"), out);
            }
            "message_stop" => {
                self.close_all(out);
                self.over = true;
            }
            "error" => return Err(told(data.get("error").unwrap_or(&Json::Null))),
            // `ping`, and what is not known yet.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let message: Json = whole_json(body, CHECK)?;
        if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
            return Err(told(error));
        }
        let Some(content) = message.get("content").and_then(Json::as_array) else {
            return Err(malformed(format!("the answer has no `content`; {CHECK}")));
        };
        self.start(&message, out);
        for block in content.iter().filter_map(Json::as_object) {
            self.begin(None, block.clone(), out)?;
            self.close_all(out);
        }
        self.usage(message.get("usage"), out);
        self.stop(Some(&message), out);
        self.over = true;
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if self.over {
            return Ok(());
        }
        if !self.finished {
            return Err(broken_off());
        }
        self.close_all(out);
        self.over = true;
        Ok(())
    }
}

impl Decode {
    /// Whether the event was more of an open text and nothing else, which is all that `delta` would have found in it.
    fn words(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> bool {
        if let Some(((), words)) = self.stencil.words(data) {
            Voice::Aloud.says(words, out);
            return true;
        }
        let Some(words) = quick::read::<Words<'_>>(data) else {
            return false;
        };
        let Object(TextDelta { kind, text }) = words.delta;
        let block = self.open.iter().find(|block| block.index == words.index);
        let grows = block.is_some_and(|block| block.kind == Kind::Text)
            && (words.kind, kind) == ("content_block_delta", "text_delta")
            && self.held <= MAX_REPLY_BYTES
            && !text.0.is_empty();
        if grows {
            if let Cow::Borrowed(words) = text.0 {
                self.stencil.learn((), data, words);
            }
            Voice::Aloud.says(text.0, out);
        }
        grows
    }

    fn start(&mut self, message: &Json, out: &mut Vec<ModelEvent>) {
        let text = |name| message.get(name).and_then(Json::as_str);
        if let Some(model) = text("model").filter(|_| !self.started) {
            self.started = true;
            out.push(ModelEvent::Started {
                model: model.to_owned(),
                response_id: text("id").map(str::to_owned),
            });
        }
    }

    fn begin(
        &mut self,
        index: Option<u64>,
        value: Map<String, Json>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let index = index.unwrap_or(self.begun);
        if let Some(at) = self.open.iter().position(|block| block.index == index) {
            let block = self.open.remove(at);
            self.close(block, out);
        }
        if self.open.len() >= MAX_REPLY_PARTS || self.held > MAX_REPLY_BYTES {
            return Err(too_large());
        }
        self.begun = self.begun.max(index.saturating_add(1));
        let text = |name: &str| value.get(name).and_then(Json::as_str).map(str::to_owned);
        let kind = match text("type").as_deref() {
            Some("text") => {
                Voice::Aloud.says(text("text").unwrap_or_default(), out);
                Kind::Text
            }
            Some("thinking") => {
                Voice::Thought.says(text("thinking").unwrap_or_default(), out);
                Kind::Thinking
            }
            Some("tool_use") => {
                let number = self.calls;
                self.calls = self.calls.saturating_add(1);
                out.push(ModelEvent::ToolCall {
                    index: number,
                    id: text("id"),
                    name: text("name"),
                    arguments_delta: String::new(),
                });
                Kind::ToolUse(number)
            }
            _ => {
                let bytes = Json::Object(value.clone()).to_string().len();
                self.held = self.held.saturating_add(bytes);
                Kind::Other
            }
        };
        self.open.push(Block {
            index,
            kind,
            value,
            input: String::new(),
        });
        Ok(())
    }

    /// The open block of that index; the last one where none is named.
    fn at(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(index) => self.open.iter().position(|block| block.index == index),
            None => self.open.len().checked_sub(1),
        }
    }

    fn delta(
        &mut self,
        index: Option<u64>,
        delta: &Map<String, Json>,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(), ModelError> {
        let at = match self.at(index) {
            Some(at) => at,
            // It came without its beginning.
            None => {
                let value = match delta.get("type").and_then(Json::as_str) {
                    Some("text_delta") => json!({"type": "text"}),
                    Some("thinking_delta") => json!({"type": "thinking"}),
                    Some("input_json_delta") => json!({"type": "tool_use"}),
                    _ => return Ok(()),
                };
                self.begin(index, value.as_object().cloned().unwrap_or_default(), out)?;
                self.open.len().saturating_sub(1)
            }
        };
        let Some(block) = self.open.get_mut(at) else {
            return Ok(());
        };
        for (name, piece) in delta {
            let (name, Json::String(piece)) = (name.as_str(), piece) else {
                continue;
            };
            match (block.kind, name) {
                (_, "type") => continue,
                (Kind::Text, "text") => {
                    Voice::Aloud.says(piece, out);
                    continue;
                }
                (Kind::Text, _) => continue,
                (Kind::ToolUse(index), "partial_json") => {
                    // Blanks alone are no input.
                    let arguments_delta = match block.input.is_empty() && piece.trim().is_empty() {
                        true => continue,
                        false => piece.clone(),
                    };
                    block.input.push_str(piece);
                    out.push(ModelEvent::ToolCall {
                        index,
                        id: None,
                        name: None,
                        arguments_delta,
                    });
                }
                (Kind::Other, "partial_json") => block.input.push_str(piece),
                (Kind::ToolUse(_), _) => continue,
                (kind, name) => {
                    if kind == Kind::Thinking && name == "thinking" {
                        Voice::Thought.says(piece, out);
                    }
                    match block.value.get_mut(name) {
                        Some(Json::String(text)) => text.push_str(piece),
                        _ => {
                            block.value.insert(name.to_owned(), json!(piece));
                        }
                    }
                }
            }
            self.held = self.held.saturating_add(piece.len());
        }
        match self.held > MAX_REPLY_BYTES {
            true => Err(too_large()),
            false => Ok(()),
        }
    }

    fn close_all(&mut self, out: &mut Vec<ModelEvent>) {
        for block in std::mem::take(&mut self.open) {
            self.close(block, out);
        }
    }

    fn close(&mut self, mut block: Block, out: &mut Vec<ModelEvent>) {
        match block.kind {
            Kind::Text => {}
            Kind::ToolUse(index) => {
                if block.input.is_empty() {
                    out.push(ModelEvent::ToolCall {
                        index,
                        id: None,
                        name: None,
                        arguments_delta: whole_input(block.value.get("input")),
                    });
                }
            }
            Kind::Thinking => {
                // Without a signature it would be refused when it comes back.
                let signature = block.value.get("signature").and_then(Json::as_str);
                if signature.is_some_and(|signature| !signature.is_empty()) {
                    out.push(opaque(block.value));
                }
            }
            Kind::Other => {
                if !block.input.is_empty() {
                    let input = serde_json::from_str(&block.input);
                    let input = input.unwrap_or_else(|_| json!(block.input));
                    block.value.insert("input".into(), input);
                }
                if block.value.contains_key("type") {
                    out.push(opaque(block.value));
                }
            }
        }
    }

    fn usage(&mut self, usage: Option<&Json>, out: &mut Vec<ModelEvent>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else {
            return;
        };
        let counts = &mut self.counts;
        for (name, count) in [
            ("input_tokens", &mut counts.input),
            ("cache_read_input_tokens", &mut counts.cache_read),
            ("cache_creation_input_tokens", &mut counts.cache_write),
            ("output_tokens", &mut counts.output),
        ] {
            *count = (*count).max(usage.get(name).and_then(Json::as_u64));
        }
        // Its `input_tokens` are only those that no cache had to do with.
        let sent = [counts.input, counts.cache_read, counts.cache_write];
        let sent = sent.into_iter().flatten().reduce(u64::saturating_add);
        out.push(ModelEvent::Usage(Usage {
            prompt_tokens: sent,
            completion_tokens: counts.output,
            cached_tokens: counts.cache_read,
            ..Usage::default()
        }));
    }

    fn stop(&mut self, of: Option<&Json>, out: &mut Vec<ModelEvent>) {
        let reason = of.and_then(|of| of.get("stop_reason")?.as_str());
        if let Some(reason) = reason {
            self.finished = true;
            out.push(ModelEvent::Finish(FinishReason::read(reason)));
        }
    }
}

/// The input of a call that came in one piece.
fn whole_input(input: Option<&Json>) -> String {
    match input {
        None | Some(Json::Null) => "{}".to_owned(),
        Some(Json::String(text)) if text.trim().is_empty() => "{}".to_owned(),
        Some(Json::String(text)) => text.clone(),
        Some(input) => input.to_string(),
    }
}

fn opaque(value: Map<String, Json>) -> ModelEvent {
    ModelEvent::Opaque {
        provider: OWN.provider.to_owned(),
        value: Json::Object(value),
    }
}

fn too_large() -> ModelError {
    ModelError::new(
        ModelErrorKind::TooLarge,
        format!(
            "the reply has more than {MAX_REPLY_BYTES} bytes or {MAX_REPLY_PARTS} parts and was stopped there; set \
             `max_tokens` to keep replies short"
        ),
    )
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
