//! A reply as it comes.
//!
//! The stream is pulled: nothing is fetched before it is asked for, nothing runs beside it, and dropping it ends
//! all that stood behind it. What every model must keep to is enforced here, so that no provider has to: an end after
//! the first error, cancellation at any moment, a bound on the size, and errors that say what had come.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use futures_util::Stream;
use tokio::task::unconstrained;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::reply::Assembler;
use crate::{ModelError, ModelErrorKind, ModelEvent, ModelReply};

type Events = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

pub struct ModelStream {
    /// `None` once it is over.
    events: Option<Events>,
    cancel: CancellationToken,
    /// Wakes whoever waits for the next piece.
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Whom it wakes.
    waiting: Option<Waker>,
    arrived: Option<Assembler>,
}

impl ModelStream {
    /// `model` is who answers until a [`ModelEvent::Started`] says more.
    pub fn new(
        model: impl Into<String>,
        cancel: CancellationToken,
        events: impl Stream<Item = Result<ModelEvent, ModelError>> + Send + 'static,
    ) -> Self {
        Self {
            events: Some(Box::pin(events)),
            cancelled: Box::pin(cancel.clone().cancelled_owned()),
            cancel,
            waiting: None,
            arrived: Some(Assembler::new(model.into())),
        }
    }

    /// A request that failed before it was sent.
    pub fn failed(model: impl Into<String>, error: ModelError) -> Self {
        let events = futures_util::stream::once(std::future::ready(Err(error)));
        Self::new(model, CancellationToken::new(), events)
    }

    /// The next piece; `None` at the end and after an error.
    pub async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// The whole reply, pieces that were read before included. An error holds what had come.
    pub async fn collect(mut self) -> Result<ModelReply, ModelError> {
        while let Some(event) = self.next().await {
            event?;
        }
        self.arrived.map(Assembler::finish).ok_or_else(|| {
            ModelError::new(
                ModelErrorKind::BrokenStream,
                "the reply ended with an error that was read before",
            )
        })
    }

    /// To be woken costs more than a look: it is asked for when nothing is there, and once for all pieces that the same
    /// task waits for.
    fn poll_cancelled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let known = self.waiting.as_ref();
        if known.is_some_and(|waiting| waiting.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        // Whoever has used up his turn would be sent away without being noted.
        ready!(pin!(unconstrained(self.cancelled.as_mut())).poll(cx));
        self.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    fn fail(&mut self, mut error: ModelError) -> Poll<Option<Result<ModelEvent, ModelError>>> {
        self.events = None;
        let arrived = self.arrived.take().filter(|arrived| !arrived.is_empty());
        error.arrived = arrived.map(|arrived| Box::new(arrived.finish()));
        Poll::Ready(Some(Err(error)))
    }
}

impl Stream for ModelStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(events) = this.events.as_mut() else {
            return Poll::Ready(None);
        };
        if this.cancel.is_cancelled() {
            return this.fail(cancelled());
        }
        let Poll::Ready(event) = events.as_mut().poll_next(cx) else {
            return match this.poll_cancelled(cx) {
                Poll::Ready(()) => this.fail(cancelled()),
                Poll::Pending => Poll::Pending,
            };
        };
        match event {
            None => {
                this.events = None;
                Poll::Ready(None)
            }
            Some(Err(error)) => this.fail(error),
            Some(Ok(event)) => match this.arrived.as_mut().map(|arrived| arrived.add(&event)) {
                Some(Err(error)) => this.fail(error),
                Some(Ok(())) | None => Poll::Ready(Some(Ok(event))),
            },
        }
    }
}

fn cancelled() -> ModelError {
    let message = "the request was cancelled before the reply was complete";
    ModelError::new(ModelErrorKind::Cancelled, message)
}

impl fmt::Debug for ModelStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelStream")
            .field("over", &self.events.is_none())
            .field("arrived", &self.arrived)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
