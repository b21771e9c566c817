//! An answer in Gemini's words: one or many `GenerateContentResponse`s.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::counts::Counts;
use super::{OWN, PART, SIGNATURE, TAIL};
use crate::trouble::{broken_off, malformed, refused, told};
use crate::wire::quick::{self, Object, Text};
use crate::wire::stencil::Stencil;
use crate::wire::words::Voice;
use crate::wire::{Decoder, SseEvent, whole_json};
use crate::{FinishReason, ModelError, ModelEvent, Usage};

const CHECK: &str = "check that the base URL is that of a server in Gemini's format";

#[derive(Default)]
pub(in crate::wire) struct Decode {
    started: bool,
    calls: u32,
    /// Something has come that is more than a thought.
    answered: bool,
    finished: Option<FinishReason>,
    /// What the last thing is that came, if that was text without a signature: more of it makes it longer.
    growing: Option<Voice>,
    /// The counts as they went out last; they are repeated with every chunk.
    counted: Option<Usage>,
    /// A chunk that has words only, and its counts.
    stencil: Stencil<(Voice, Option<Usage>)>,
}

/// The chunk that most of a stream consists of.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(dead_code, reason = "some fields are listed so that they may be there")]
struct Words<'a> {
    #[serde(borrow)]
    candidates: [Object<Candidate<'a>>; 1],
    #[serde(default)]
    usage_metadata: Option<Counts>,
    #[serde(default)]
    model_version: &'a str,
    #[serde(default)]
    response_id: &'a str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "some fields are listed so that they may be there")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Object<Content<'a>>,
    #[serde(default)]
    index: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "some fields are listed so that they may be there")]
struct Content<'a> {
    #[serde(borrow)]
    parts: [Object<TextPart<'a>>; 1],
    #[serde(default)]
    role: &'a str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextPart<'a> {
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(default)]
    thought: bool,
}

impl Decoder for Decode {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if self.words(data, out) {
            return Ok(());
        }
        let chunk: Json = serde_json::from_str(data).map_err(|error| {
            malformed(format!(
                "an event of the stream is no JSON ({error}); try again, or {CHECK}"
            ))
        })?;
        self.chunk(&chunk, out)
    }

    fn whole(&mut self, body: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let body: Json = whole_json(body, CHECK)?;
        // Without `alt=sse` a stream is one list of chunks.
        let chunks = match &body {
            Json::Array(chunks) => chunks.as_slice(),
            chunk => std::slice::from_ref(chunk),
        };
        let ours = ["candidates", "promptFeedback", "usageMetadata", "error"];
        if !chunks
            .iter()
            .any(|chunk| ours.iter().any(|name| chunk.get(name).is_some()))
        {
            return Err(malformed(format!(
                "the answer has no `candidates`; {CHECK}"
            )));
        }
        for chunk in chunks {
            self.chunk(chunk, out)?;
        }
        // All of it is there, whatever it says.
        self.finished.get_or_insert(FinishReason::Stop);
        Ok(())
    }

    /// There is no mark of the end, and counts may follow what finished.
    fn is_over(&self) -> bool {
        false
    }

    fn end(&mut self, _out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match self.finished {
            Some(_) => Ok(()),
            None => Err(broken_off()),
        }
    }
}

impl Decode {
    /// Whether the chunk was words and nothing else, which is all that `chunk` would have found in it. The first one says
    /// more.
    fn words(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> bool {
        if !self.started {
            return false;
        }
        if let Some(((voice, usage), words)) = self.stencil.words(data) {
            self.grow(voice, words.into(), usage, out);
            return true;
        }
        let Some(words) = quick::read::<Words<'_>>(data) else {
            return false;
        };
        let [Object(candidate)] = words.candidates;
        let [Object(TextPart { text, thought })] = candidate.content.0.parts;
        if text.0.is_empty() {
            return false;
        }
        let voice = match thought {
            true => Voice::Thought,
            false => Voice::Aloud,
        };
        let usage = words.usage_metadata.map(Counts::usage);
        if let Cow::Borrowed(words) = text.0 {
            self.stencil.learn((voice, usage), data, words);
        }
        self.grow(voice, text.0, usage, out);
        true
    }

    fn grow(
        &mut self,
        voice: Voice,
        words: Cow<'_, str>,
        usage: Option<Usage>,
        out: &mut Vec<ModelEvent>,
    ) {
        voice.says(words, out);
        self.growing = Some(voice);
        self.answered |= voice == Voice::Aloud;
        self.count(usage, out);
    }

    /// The same counts again tell nothing.
    fn count(&mut self, usage: Option<Usage>, out: &mut Vec<ModelEvent>) {
        if usage.is_some() && usage != self.counted {
            out.extend(usage.map(ModelEvent::Usage));
            self.counted = usage;
        }
    }

    fn chunk(&mut self, chunk: &Json, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        // An error may come alone in a list.
        let chunk = match chunk {
            Json::Array(list) => list.first().unwrap_or(&Json::Null),
            chunk => chunk,
        };
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(told(error));
        }
        let text = |name| chunk.get(name).and_then(Json::as_str);
        if let Some(model) = text("modelVersion").filter(|_| !self.started) {
            self.started = true;
            out.push(ModelEvent::Started {
                model: model.to_owned(),
                response_id: text("responseId").map(str::to_owned),
            });
        }
        // Only one is ever asked for.
        let candidate = chunk.get("candidates").and_then(|all| all.get(0));
        let parts = candidate.and_then(|it| it.get("content")?.get("parts")?.as_array());
        for part in parts.into_iter().flatten().filter_map(Json::as_object) {
            self.part(part, out);
        }
        let answers = |event: &ModelEvent| match event {
            ModelEvent::Text(text) => !text.is_empty(),
            event => matches!(event, ModelEvent::ToolCall { .. }),
        };
        self.answered = self.answered || out.iter().any(answers);
        let counts = chunk.get("usageMetadata").and_then(Json::as_object);
        self.count(counts.map(|counts| Counts::of(counts).usage()), out);
        if let Some(reason) = candidate.and_then(|it| it.get("finishReason")?.as_str()) {
            // It wanted to call a tool and could not write it down. Asked again, it mostly can.
            let is_broken = matches!(reason, "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL");
            if is_broken && !self.answered {
                return Err(malformed(format!(
                    "the model wrote a tool call that cannot be read, and nothing else ({reason}); try again, or offer \
                     fewer or simpler tools"
                )));
            }
            self.finish(reason, out);
        }
        let blocked = chunk
            .get("promptFeedback")
            .and_then(|feedback| feedback.get("blockReason")?.as_str());
        match (blocked, candidate) {
            (Some(reason), None) => Err(refused(format!(
                "the provider does not answer this prompt (blockReason {}); change the prompt, or `safetySettings` in \
                 the extras",
                reason.chars().take(40).collect::<String>()
            ))),
            _ => Ok(()),
        }
    }

    fn part(&mut self, part: &Map<String, Json>, out: &mut Vec<ModelEvent>) {
        let signature = part
            .get(SIGNATURE)
            .filter(|signature| signature.is_string());
        if let Some(Json::String(text)) = part.get("text") {
            self.text(text, part, signature, out);
            return;
        }
        self.growing = None;
        let Some(call) = part.get("functionCall").and_then(Json::as_object) else {
            if !part.is_empty() {
                out.push(whole_part(part));
            }
            return;
        };
        let text = |name| call.get(name).and_then(Json::as_str).map(str::to_owned);
        out.push(ModelEvent::ToolCall {
            index: self.calls,
            id: text("id"),
            name: text("name"),
            arguments_delta: match call.get("args") {
                None | Some(Json::Null) => "{}".to_owned(),
                Some(Json::String(text)) => text.clone(),
                Some(args) => args.to_string(),
            },
        });
        self.calls = self.calls.saturating_add(1);
        out.extend(signature.map(|signature| opaque(json!({SIGNATURE: signature}))));
        // It said `STOP` before the call came.
        if self.finished == Some(FinishReason::Stop) {
            self.finish("STOP", out);
        }
    }

    fn text(
        &mut self,
        text: &str,
        part: &Map<String, Json>,
        signature: Option<&Json>,
        out: &mut Vec<ModelEvent>,
    ) {
        let voice = match part.get("thought") {
            Some(Json::Bool(true)) => Voice::Thought,
            _ => Voice::Aloud,
        };
        voice.says(text, out);
        match (signature, text.is_empty()) {
            (None, true) => {}
            (None, false) => self.growing = Some(voice),
            // A signature of what came before, in a part of its own: it must not move into another.
            (Some(_), true) => {
                out.push(whole_part(part));
                self.growing = None;
            }
            (Some(signature), false) => {
                let mut value = json!({SIGNATURE: signature});
                if self.growing == Some(voice) {
                    value[TAIL] = json!(text.len());
                }
                out.push(opaque(value));
                self.growing = None;
            }
        }
    }

    fn finish(&mut self, reason: &str, out: &mut Vec<ModelEvent>) {
        let reason = match reason {
            "FINISH_REASON_UNSPECIFIED" => return,
            // It has no word for calls.
            "STOP" if self.calls > 0 => FinishReason::ToolCalls,
            "SPII" | "IMAGE_SAFETY" | "IMAGE_PROHIBITED_CONTENT" | "IMAGE_RECITATION" => {
                FinishReason::ContentFilter
            }
            reason => FinishReason::read(reason),
        };
        out.push(ModelEvent::Finish(reason.clone()));
        self.finished = Some(reason);
    }
}

fn whole_part(part: &Map<String, Json>) -> ModelEvent {
    opaque(json!({PART: part}))
}

fn opaque(value: Json) -> ModelEvent {
    ModelEvent::Opaque {
        provider: OWN.provider.to_owned(),
        value,
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
