//! One request and its answer, read as it comes.
//!
//! Pulled: nothing is sent before the first poll, no task runs beside it, and dropping it closes the connection. Reading
//! what comes back is `reading`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use futures_util::Stream;
use innkeeper_protocol::Secret;
use reqwest::Response;

use super::endpoint::Endpoint;
use super::failure::not_sent;
use super::reading::Reading;
use super::status::failure;
use super::timeouts::Clock;
use super::veil::Veil;
use crate::limits::{FAILURE_WAIT, MAX_FAILURE_BYTES};
use crate::trouble::Words;
use crate::wire::{Decoder, WireRequest};
use crate::{FinishReason, ModelError, ModelEvent};

pub(super) type Item = Result<ModelEvent, ModelError>;
pub(crate) type Attempt = Pin<Box<dyn Stream<Item = Item> + Send>>;
type Opening = Pin<Box<dyn Future<Output = Result<Box<Reading>, ModelError>> + Send>>;

/// `make` writes the request; the rest is the same for every format.
pub(super) fn begin(
    endpoint: Arc<Endpoint>,
    key: Option<Secret>,
    model: String,
    make: impl FnOnce() -> Result<(WireRequest, Box<dyn Decoder>), ModelError> + Send + 'static,
) -> Attempt {
    let opening = {
        let (endpoint, key) = (Arc::clone(&endpoint), key.clone());
        Box::pin(async move {
            let (wire, decoder) = make()?;
            open(endpoint, key, &model, wire, decoder).await
        })
    };
    Box::pin(Sent {
        veil: Veil::new(key.iter().chain(endpoint.header_keys())),
        waiting: None,
        endpoint,
        key,
        state: State::Opening(opening),
    })
}

struct Sent {
    endpoint: Arc<Endpoint>,
    key: Option<Secret>,
    veil: Option<Box<Veil>>,
    /// Comes next, before anything more is read.
    waiting: Option<Item>,
    state: State,
}

enum State {
    Opening(Opening),
    Reading(Box<Reading>),
    Over,
}

impl Sent {
    /// Nothing if all of it waits for what comes next.
    fn without_key(&mut self, event: ModelEvent) -> Option<ModelEvent> {
        if self.veil.as_ref().is_some_and(|veil| veil.is_clear(&event)) {
            return Some(event);
        }
        let hide = |text| self.endpoint.mask(self.key.as_ref()).apply(text);
        let event = match event {
            ModelEvent::Started { model, response_id } => ModelEvent::Started {
                model: hide(model),
                response_id: response_id.map(hide),
            },
            ModelEvent::Finish(FinishReason::Other(word)) => {
                ModelEvent::Finish(FinishReason::Other(hide(word)))
            }
            event => event,
        };
        let Some(veil) = &mut self.veil else {
            return Some(event);
        };
        let (before, event) = veil.pass(event);
        if before.is_some() {
            self.waiting = event.map(Ok);
            return before;
        }
        event
    }

    /// The last words, and how it ended after them.
    fn over(&mut self, end: Option<Item>) -> Option<Item> {
        self.state = State::Over;
        match self.veil.as_mut().and_then(|veil| veil.flush()) {
            Some(last) => {
                self.waiting = end;
                Some(Ok(last))
            }
            None => end,
        }
    }
}

impl Stream for Sent {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let this = &mut *self;
        if this.waiting.is_some() {
            return Poll::Ready(this.waiting.take());
        }
        loop {
            let item = match &mut this.state {
                State::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                    Ok(reading) => {
                        this.state = State::Reading(reading);
                        continue;
                    }
                    Err(error) => Some(Err(error)),
                },
                State::Reading(reading) => ready!(reading.poll_next(cx)),
                State::Over => return Poll::Ready(None),
            };
            return Poll::Ready(match item {
                Some(Ok(event)) => match this.without_key(event) {
                    Some(event) => Some(Ok(event)),
                    None => continue,
                },
                None => this.over(None),
                Some(Err(mut error)) => {
                    // Whoever made the message may have quoted the server.
                    error.message = this.endpoint.mask(this.key.as_ref()).apply(error.message);
                    this.over(Some(Err(error)))
                }
            });
        }
    }
}

async fn open(
    endpoint: Arc<Endpoint>,
    key: Option<Secret>,
    model: &str,
    wire: WireRequest,
    decoder: Box<dyn Decoder>,
) -> Result<Box<Reading>, ModelError> {
    let url = endpoint.url(&wire.path)?;
    let accept = match wire.streams {
        true => "text/event-stream, application/json;q=0.9",
        false => "application/json, text/event-stream;q=0.9",
    };
    let headers = endpoint.headers(accept, &wire.headers, key.as_ref())?;
    let client = endpoint.pool().await?;
    let mut clock = Clock::start(endpoint.timeouts);
    let sent = client.post(url).headers(headers).body(wire.body).send();
    let response = match clock.within(sent).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(not_sent(&endpoint, error)),
        Err(wait) => return Err(wait.error(&endpoint.who(), endpoint.timeouts)),
    };
    if !response.status().is_success() {
        return Err(refusal(&endpoint, key.as_ref(), model, response).await);
    }
    Ok(Box::new(Reading::new(endpoint, response, clock, decoder)?))
}

/// Reads why, within bounds. What cannot be read is not said.
pub(super) async fn refusal(
    endpoint: &Endpoint,
    key: Option<&Secret>,
    model: &str,
    mut response: Response,
) -> ModelError {
    let (status, headers) = (response.status(), response.headers().clone());
    let mut body = Vec::new();
    let mut whole = false;
    let reading = async {
        while body.len() <= MAX_FAILURE_BYTES {
            match response.chunk().await {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                Ok(None) => {
                    whole = true;
                    return;
                }
                Err(_) => return,
            }
        }
    };
    let in_time = tokio::time::timeout(FAILURE_WAIT, reading).await;
    whole &= in_time.is_ok() && body.len() <= MAX_FAILURE_BYTES;
    body.truncate(MAX_FAILURE_BYTES);
    let mask = endpoint.mask(key);
    let words = Words::read(&body, whole, &mask);
    let now = SystemTime::now();
    failure(endpoint.asked(model), status, &headers, &words, &mask, now)
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
