//! An answer as it comes: what form it has, what its pieces say, and where it ends.
//!
//! What a piece of the network holds is decoded at once, with the pieces that are there already, and handed out one by one;
//! the next ones are fetched when nothing of it is left. Nothing waits for what is not there yet.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

use super::attempt::Item;
use super::endpoint::Endpoint;
use super::failure::cut_off;
use super::place::may_be_wrong;
use super::timeouts::Clock;
use crate::limits::{
    KEPT_EVENTS, LINGER, MAX_GATHERED_BYTES, MAX_GATHERED_PIECES, MAX_LINGER_BYTES, MAX_WHOLE_BYTES,
};
use crate::trouble::misdirected;
use crate::wire::{Decoder, SseReader, end_of_stream};
use crate::{ModelError, ModelErrorKind, ModelEvent};

type Body = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// What an answer turned out to be.
enum Form {
    /// Nothing but blanks has come, and so many bytes of a byte order mark.
    Unknown {
        says_json: bool,
        marks: usize,
    },
    Events(SseReader),
    Whole(Vec<u8>),
}

impl Form {
    /// The first byte tells more than the media type does: servers send a failure as JSON where events were promised, and
    /// events as `text/plain`. No line of events begins with a bracket.
    fn of(first: u8, says_json: bool) -> Option<Self> {
        match first {
            b'<' => None,
            b'{' | b'[' => Some(Self::Whole(Vec::new())),
            b':' | b'd' | b'e' | b'i' | b'r' => Some(Self::Events(SseReader::default())),
            _ if says_json => Some(Self::Whole(Vec::new())),
            _ => Some(Self::Events(SseReader::default())),
        }
    }
}

pub(super) struct Reading {
    endpoint: Arc<Endpoint>,
    /// `None` once nothing more is wanted of it.
    body: Option<Body>,
    clock: Clock,
    form: Form,
    decoder: Box<dyn Decoder>,
    /// What was decoded, the next one last.
    out: Vec<ModelEvent>,
    /// Told when `out` is empty.
    failed: Option<ModelError>,
    /// The reply is over, and so many bytes came after it.
    parting: Option<usize>,
}

impl Reading {
    pub(super) fn new(
        endpoint: Arc<Endpoint>,
        response: Response,
        clock: Clock,
        decoder: Box<dyn Decoder>,
    ) -> Result<Self, ModelError> {
        let claimed = response.content_length().unwrap_or_default();
        if claimed > MAX_WHOLE_BYTES as u64 {
            return Err(too_large(&endpoint));
        }
        let media_type = response.headers().get(CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        Ok(Self {
            form: Form::Unknown {
                says_json: media_type.is_some_and(|media_type| media_type.contains("json")),
                marks: 0,
            },
            endpoint,
            body: Some(Box::pin(response.bytes_stream())),
            clock,
            decoder,
            out: Vec::new(),
            failed: None,
            parting: None,
        })
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        loop {
            if let Some(event) = self.out.pop() {
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(error) = self.failed.take() {
                return Poll::Ready(Some(Err(error)));
            }
            if self.parting.is_some() {
                ready!(self.poll_parting(cx));
            }
            if self.body.is_none() {
                return Poll::Ready(None);
            }
            ready!(self.poll_more(cx));
            self.out.reverse();
        }
    }

    /// Reads what is there, or until something is. A bounded part of it, so that others get their turn.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.out.capacity() > KEPT_EVENTS {
            self.out = Vec::new();
        }
        let (mut pieces, mut bytes) = (0, 0);
        while pieces < MAX_GATHERED_PIECES
            && bytes < MAX_GATHERED_BYTES
            && let Some(body) = self.body.as_mut()
        {
            pieces += 1;
            let step = match body.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(piece))) => {
                    bytes += piece.len();
                    self.came(&piece)
                }
                Poll::Ready(Some(Err(error))) => {
                    let error = cut_off(&self.endpoint, error);
                    self.stopped(error)
                }
                Poll::Ready(None) => self.ended(),
                Poll::Pending if !self.out.is_empty() => break,
                Poll::Pending => {
                    let wait = ready!(self.clock.poll_silence(cx));
                    let error = wait.error(&self.endpoint.who(), self.clock.timeouts);
                    self.stopped(error)
                }
            };
            if let Err(error) = step {
                self.failed = Some(error);
                self.body = None;
            }
            if self.body.is_some() && self.decoder.is_over() {
                self.parting = Some(0);
                self.clock.linger(LINGER);
                // Often the end of the connection's answer is there already.
                let _ = self.poll_parting(cx);
                break;
            }
        }
        Poll::Ready(())
    }

    fn came(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        self.clock.alive();
        let mut bytes = bytes;
        if let Form::Unknown { says_json, marks } = &mut self.form {
            let says_json = *says_json;
            while let Some((first, rest)) = bytes.split_first()
                && b"\xef\xbb\xbf".get(*marks) == Some(first)
            {
                (bytes, *marks) = (rest, *marks + 1);
            }
            bytes = bytes.trim_ascii_start();
            let Some(first) = bytes.first() else {
                return Ok(());
            };
            self.form = Form::of(*first, says_json).ok_or_else(|| web_page(&self.endpoint))?;
        }
        match &mut self.form {
            Form::Unknown { .. } => Ok(()),
            Form::Events(reader) => {
                let label = &self.endpoint.label;
                let of_whom = |error| named(label, error);
                while let Some(event) = reader.next(&mut bytes).map_err(of_whom)? {
                    let read = self.decoder.event(&event, &mut self.out);
                    read.map_err(of_whom)?;
                    if self.decoder.is_over() {
                        break;
                    }
                }
                Ok(())
            }
            Form::Whole(body) => {
                if body.len() + bytes.len() > MAX_WHOLE_BYTES {
                    return Err(too_large(&self.endpoint));
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// The body has come to its end.
    fn ended(&mut self) -> Result<(), ModelError> {
        self.body = None;
        let label = &self.endpoint.label;
        let of_whom = |error| named(label, error);
        match &mut self.form {
            Form::Whole(body) => {
                let body = std::mem::take(body);
                let read = self.decoder.whole(&body, &mut self.out);
                read.map_err(of_whom)
            }
            Form::Events(reader) => {
                let ended = end_of_stream(reader, &mut *self.decoder, &mut self.out);
                ended.map_err(of_whom)
            }
            Form::Unknown { .. } => Err(ModelError::new(
                ModelErrorKind::BrokenStream,
                format!(
                    "{} answered with nothing at all; try again",
                    self.endpoint.who()
                ),
            )),
        }
    }

    /// It has not, and nothing more will come. No harm is done where the model itself had finished.
    fn stopped(&mut self, why: ModelError) -> Result<(), ModelError> {
        self.body = None;
        match self.form {
            Form::Events(_) => self.decoder.end(&mut self.out).map_err(|_| why),
            Form::Unknown { .. } | Form::Whole(_) => Err(why),
        }
    }

    /// A connection whose answer was read to the end serves the next request too.
    fn poll_parting(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let (Some(body), Some(after)) = (self.body.as_mut(), self.parting.as_mut()) {
            match body.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(bytes))) if *after + bytes.len() <= MAX_LINGER_BYTES => {
                    *after += bytes.len();
                }
                Poll::Ready(_) => self.body = None,
                Poll::Pending => {
                    ready!(self.clock.poll_silence(cx));
                    self.body = None;
                }
            }
        }
        Poll::Ready(())
    }
}

/// What is wrong with a reply is found where nobody knows whose it is.
fn named(label: &str, mut error: ModelError) -> ModelError {
    error.message = format!("{label}: {}", error.message);
    error
}

fn too_large(endpoint: &Endpoint) -> ModelError {
    ModelError::new(
        ModelErrorKind::TooLarge,
        format!(
            "{} answers with more than {MAX_WHOLE_BYTES} bytes and was stopped there; set `max_tokens` to keep \
             replies short",
            endpoint.who()
        ),
    )
}

fn web_page(endpoint: &Endpoint) -> ModelError {
    let doubt = may_be_wrong(&endpoint.base);
    misdirected(format!(
        "{} answered with a web page; {doubt}",
        endpoint.label
    ))
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
