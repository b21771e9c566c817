//! Wire formats: how a request is written for a provider, and how its answer is read.
//!
//! Pure: bytes in, bytes out. Who is asked, with which key and how often, is `http` and `channel`.

mod anthropic;
mod gemini;
mod halves;
mod openai;
mod overlay;
#[cfg(test)]
mod pieces;
mod quick;
mod schema;
mod sse;
mod stencil;
mod talk;
mod words;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use self::halves::Whole;
pub(crate) use self::halves::without_halves;
pub(crate) use self::sse::{SseEvent, SseReader};
use crate::provider::Quirks;
use crate::trouble::{broken_off, malformed, refused};
use crate::{ModelError, ModelErrorKind, ModelEvent, ModelRequest};

/// The three ways in which providers talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireFormat {
    /// Chat completions, as OpenAI began and most others follow.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
}

/// A request on its way, less the key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WireRequest {
    /// What follows the base URL, without a slash before it: `chat/completions`. May carry a query.
    pub(crate) path: String,
    /// What the format itself wants: `anthropic-version`.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether pieces were asked for. What comes may be the other all the same; its media type tells.
    pub(crate) streams: bool,
}

/// Reads one answer. `out` gets what is certain so far, also where an error is returned.
pub(crate) trait Decoder: Send {
    /// One event of a stream.
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// The whole answer at once.
    fn whole(&mut self, body: &[u8], out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// The format's own mark of the end has come, so that nobody need wait for the connection to close.
    fn is_over(&self) -> bool;

    /// The connection has ended. [`crate::ModelErrorKind::BrokenStream`] where something was still to come.
    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
}

/// The connection has ended: what was begun, and the reply with it. An event without its end may have been cut off, so that
/// it is not to blame where it makes no sense.
pub(crate) fn end_of_stream(
    reader: &mut SseReader,
    decoder: &mut dyn Decoder,
    out: &mut Vec<ModelEvent>,
) -> Result<(), ModelError> {
    if let Some(event) = reader.finish() {
        match decoder.event(&event, out) {
            Err(error) if error.kind == ModelErrorKind::Malformed => {}
            read => read?,
        }
    }
    match decoder.is_over() {
        true => Ok(()),
        false => decoder.end(out),
    }
}

/// The JSON of an answer that came at once. `check` says what to do where it is none.
fn whole_json(body: &[u8], check: &str) -> Result<Json, ModelError> {
    // As in a stream: one bad byte spoils one character, not the answer.
    let body = String::from_utf8_lossy(body);
    let body = body.trim_start_matches('\u{FEFF}').trim();
    serde_json::from_str(body).map_err(|error| match body.chars().next() {
        None => malformed(format!("the server's answer is empty; {check}")),
        Some('<') => malformed(format!(
            "the server's answer is a web page, no JSON; {check}"
        )),
        Some(_) if error.is_eof() => broken_off(),
        Some(_) => malformed(format!("the server's answer is no JSON ({error}); {check}")),
    })
}

impl WireFormat {
    /// `request.model` is the name as the provider knows it.
    pub(crate) fn encode(
        self,
        request: &ModelRequest,
        quirks: &Quirks,
    ) -> Result<WireRequest, ModelError> {
        match self {
            Self::OpenAi => openai::encode(request, quirks),
            Self::Anthropic => anthropic::encode(request, quirks),
            Self::Gemini => gemini::encode(request, quirks),
        }
    }

    /// What goes with every request, to whatever path.
    pub(crate) fn headers(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Anthropic => vec![("anthropic-version", anthropic::VERSION.to_owned())],
            Self::OpenAi | Self::Gemini => Vec::new(),
        }
    }

    pub(crate) fn decoder(self) -> Box<dyn Decoder> {
        match self {
            Self::OpenAi => Box::new(Whole::<openai::Decode>::default()),
            Self::Anthropic => Box::new(Whole::<anthropic::Decode>::default()),
            Self::Gemini => Box::new(Whole::<gemini::Decode>::default()),
        }
    }
}

/// The request in our words where somebody has written it in OpenAI's, for formats that are not. Of the fields that we
/// have no word for, only those in `known` are kept: the others are OpenAI's own, and would be refused elsewhere.
fn written<'r>(
    request: &'r ModelRequest,
    known: &[&str],
) -> Result<Cow<'r, ModelRequest>, ModelError> {
    let Some(raw) = &request.raw else {
        return Ok(Cow::Borrowed(request));
    };
    let mut read = raw
        .to_request()
        .map_err(|error| refused(format!("the raw payload cannot be read: {error}")))?;
    read.model.clone_from(&request.model);
    read.attempt = request.attempt;
    // What is written anew must not be asked for in pieces where the channel cannot have them.
    read.stream &= request.stream;
    read.extras.retain(|name, _| known.contains(&name.as_str()));
    Ok(Cow::Owned(read))
}

#[cfg(test)]
#[path = "law_tests.rs"]
mod tests;
