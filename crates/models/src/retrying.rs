//! A model that is asked again where that may help: what a channel does for a provider, for a model that has none.
//!
//! Only what failed before anything came is repeated. A pause that is too long is left to whoever asked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::unfold;
use tokio_util::sync::CancellationToken;

use crate::limits::{RETRYING_ATTEMPTS, RETRYING_MAX_WAIT, RETRYING_WAIT};
use crate::{Model, ModelError, ModelEvent, ModelRequest, ModelStream};

#[derive(Clone)]
pub struct Retrying(Arc<dyn Model>);

impl Retrying {
    pub fn new(model: impl Model + 'static) -> Self {
        Self(Arc::new(model))
    }
}

impl Model for Retrying {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let id = self.id().to_owned();
        let call = Call {
            stream: self.0.stream(request.clone(), cancel.clone()),
            model: Arc::clone(&self.0),
            request,
            cancel: cancel.clone(),
            left: RETRYING_ATTEMPTS - 1,
            wait: RETRYING_WAIT,
        };
        let events = unfold(call, |mut call| async move {
            let event = call.next().await?;
            Some((event, call))
        });
        ModelStream::new(id, cancel, events)
    }
}

impl fmt::Debug for Retrying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retrying").field(&self.0.id()).finish()
    }
}

struct Call {
    model: Arc<dyn Model>,
    request: ModelRequest,
    cancel: CancellationToken,
    stream: ModelStream,
    /// Attempts that may still be made.
    left: u32,
    /// Before the next one, if the model does not say.
    wait: Duration,
}

impl Call {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            let error = match self.stream.next().await? {
                Err(error) if error.retryable() && self.left > 0 => error,
                event => return Some(event),
            };
            let wait = error.retry_after.unwrap_or(self.wait);
            if wait > RETRYING_MAX_WAIT {
                return Some(Err(error));
            }
            tokio::time::sleep(wait).await;
            self.left -= 1;
            self.wait *= 2;
            self.request.attempt = self.request.attempt.saturating_add(1);
            self.stream = self.model.stream(self.request.clone(), self.cancel.clone());
        }
    }
}

#[cfg(test)]
#[path = "retrying_tests.rs"]
mod tests;
