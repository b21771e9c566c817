//! One call: the channels in their order, each with its keys and repetitions, until one answers.
//!
//! What comes before the first visible piece is held back, so that whoever reads sees one beginning however many
//! attempts there were. After it nothing is repeated: an error goes out with what had come.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::{FutureExt, Stream, StreamExt};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::given_up::{GivenUp, busy, sum_up};
use super::guard::{means_another, prepare};
use super::patience::Patience;
use super::report::{ReportSink, Running};
use super::retry::{Jitter, Then, then};
use super::route::Candidate;
use crate::http::Attempt;
use crate::limits::MAX_RETRY_WAIT;
use crate::prices::ModelTable;
use crate::{
    FinishReason, Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream, Usage,
};

/// A model's name with the channels that may answer to it.
pub struct Routed {
    pub(super) name: String,
    pub(super) candidates: Arc<[Candidate]>,
    pub(super) around: Around,
}

/// What all calls share.
#[derive(Clone, Default)]
pub(super) struct Around {
    pub(super) table: ModelTable,
    pub(super) sink: Option<Arc<dyn ReportSink>>,
    pub(super) jitter: Jitter,
}

impl Routed {
    /// Who is asked, in this order.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }
}

impl Model for Routed {
    fn id(&self) -> &str {
        &self.name
    }

    /// `request.model` does not count: the name was given when this was looked up.
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let call = Call {
            running: Running::new(&self.name, self.around.sink.clone()),
            name: self.name.clone(),
            candidates: Arc::clone(&self.candidates),
            around: self.around.clone(),
        };
        let answer = call.answer(request).flatten_stream();
        ModelStream::new(self.name.clone(), cancel, answer)
    }
}

impl fmt::Debug for Routed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routed")
            .field("name", &self.name)
            .field("candidates", &self.candidates)
            .finish_non_exhaustive()
    }
}

struct Call {
    name: String,
    candidates: Arc<[Candidate]>,
    around: Around,
    running: Running,
}

/// What is to be passed on, and where more comes from.
struct Answer {
    ready: VecDeque<ModelEvent>,
    rest: Option<Attempt>,
}

/// An answer on its way out.
struct Passing {
    running: Running,
    /// `None` once it is over.
    answer: Option<Result<Answer, ModelError>>,
}

impl Stream for Passing {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let event = match &mut this.answer {
            Some(Ok(answer)) => match (answer.ready.pop_front(), &mut answer.rest) {
                (Some(event), _) => Some(Ok(event)),
                (None, Some(rest)) => ready!(rest.as_mut().poll_next(cx)),
                (None, None) => None,
            },
            Some(Err(_)) => this.answer.take().and_then(Result::err).map(Err),
            None => return Poll::Ready(None),
        };
        Poll::Ready(match event {
            Some(Ok(event)) => Some(Ok(this.running.passes(event))),
            end => {
                this.answer = None;
                let error = end.and_then(Result::err);
                this.running.ends(error.as_ref());
                error.map(Err)
            }
        })
    }
}

impl Call {
    async fn answer(mut self, request: ModelRequest) -> Passing {
        self.running.begin();
        let answer = self.ask(request).await;
        Passing {
            running: self.running,
            answer: Some(answer),
        }
    }

    /// Asks one channel after the other until one begins to answer.
    async fn ask(&mut self, mut request: ModelRequest) -> Result<Answer, ModelError> {
        let candidates = Arc::clone(&self.candidates);
        let mut given_up: Vec<GivenUp> = Vec::new();
        let mut next = request.attempt;
        let mut left = candidates.len();
        for candidate in candidates.iter() {
            left -= 1;
            let asked = given_up.iter().any(|failed| failed.sent > 0);
            if let Some(error) = means_another(candidate, &request).filter(|_| asked) {
                given_up.push(GivenUp {
                    channel: candidate.channel.name().to_owned(),
                    sent: 0,
                    ready: false,
                    error,
                    then: Then::OtherChannel,
                });
                continue;
            }
            let mine = match left {
                0 => std::mem::take(&mut request),
                _ => request.clone(),
            };
            match self.ask_channel(candidate, mine, &mut next).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => {
                    let stop = failed.then == Then::Stop;
                    given_up.push(*failed);
                    if stop {
                        break;
                    }
                }
            }
        }
        Err(sum_up(&self.name, given_up))
    }

    /// Asks one channel until it answers or there is no use in asking it again. `next` is the number of the next
    /// attempt, whoever makes it.
    async fn ask_channel(
        &mut self,
        candidate: &Candidate,
        request: ModelRequest,
        next: &mut u32,
    ) -> Result<Answer, Box<GivenUp>> {
        let channel = &candidate.channel;
        let mut sent = 0;
        let ready = channel.ready().is_ok();
        let give_up = |sent: u32, error: ModelError, then: Then| {
            Box::new(GivenUp {
                channel: channel.name().to_owned(),
                sent,
                ready,
                error,
                then,
            })
        };
        let sends = channel.sender().map_err(|why| {
            let error = ModelError::new(ModelErrorKind::Unauthorized, why);
            give_up(0, error, Then::OtherChannel)
        })?;
        let prepared = prepare(channel, &candidate.model, &self.around.table, request);
        let (request, info) = prepared.map_err(|error| give_up(0, error, Then::OtherChannel))?;
        self.running.asks(candidate, &request.model, info);
        let mut request = Arc::new(request);
        let (mut refused, mut last): (Vec<usize>, Option<ModelError>) = (Vec::new(), None);
        let mut repeated = 0_u32;
        // Other keys are no repetition of what failed with this one.
        let keys = u32::try_from(channel.keys.len()).unwrap_or(u32::MAX);
        let retries = channel.config.retries;
        let mut patience = Patience::new(channel, self.around.jitter.clone());
        loop {
            let (index, key) = patience
                .take_key(channel, &refused, &mut last)
                .await
                .map_err(|error| give_up(sent, error, Then::Rest))?;
            Arc::make_mut(&mut request).attempt = *next;
            *next = next.saturating_add(1);
            sent += 1;
            if sent == 1 {
                patience.starts();
            }
            self.running.sends();
            let began = begin(sends.attempt(key, Arc::clone(&request)));
            // The first has its own clock, which runs as long and says more.
            let began = match sent {
                1 => began.await,
                _ => match timeout_at(patience.until(), began).await {
                    Ok(began) => began,
                    Err(_) => {
                        let error = patience.ends(channel, last.take());
                        return Err(give_up(sent, error, Then::OtherChannel));
                    }
                },
            };
            let (error, used) = match began {
                Ok(answer) => {
                    channel.keys.worked(index);
                    if answer.rest.is_some() {
                        self.running.hears();
                    }
                    return Ok(answer);
                }
                Err(failed) => *failed,
            };
            if let Some(used) = used {
                self.running.wastes(used);
            }
            let now = Instant::now();
            let then = match then(error.kind) {
                // What took all of its time would take it again, and be paid for again.
                Then::Again if now >= patience.until() => Then::OtherChannel,
                then => then,
            };
            let wait = error
                .retry_after
                .unwrap_or_else(|| self.around.jitter.backoff(repeated));
            match then {
                Then::Stop | Then::OtherChannel => return Err(give_up(sent, error, then)),
                Then::OtherKey => {
                    channel.keys.refused(index, now);
                    refused.push(index);
                }
                Then::Rest => {
                    channel.keys.limited(index, now, wait);
                    if repeated >= retries.saturating_add(keys.saturating_sub(1)) {
                        return Err(give_up(sent, error, then));
                    }
                    repeated += 1;
                    self.running.waits(wait, &error);
                }
                Then::Again => {
                    if wait > MAX_RETRY_WAIT {
                        let error = busy(channel.name(), Some(error), wait);
                        return Err(give_up(sent, error, then));
                    }
                    if repeated >= retries {
                        return Err(give_up(sent, error, then));
                    }
                    repeated += 1;
                    let wait = match error.retry_after {
                        Some(asked) => asked + self.around.jitter.more(),
                        None => wait,
                    };
                    if now + wait >= patience.until() {
                        let error = patience.ends(channel, Some(error));
                        return Err(give_up(sent, error, then));
                    }
                    self.running.waits(wait, &error);
                    sleep(wait).await;
                }
            }
            last = Some(error);
            if now >= patience.until() {
                let error = patience.ends(channel, last.take());
                return Err(give_up(sent, error, Then::OtherChannel));
            }
        }
    }
}

/// Reads up to the first piece that somebody could see.
/// With an error comes what it has cost until then.
async fn begin(mut attempt: Attempt) -> Result<Answer, Box<(ModelError, Option<Usage>)>> {
    let mut held = Held::default();
    while let Some(event) = attempt.next().await {
        let event = event.map_err(|error| Box::new((error, held.usage)))?;
        if let Some(visible) = held.hold(event) {
            let mut ready = held.into_events();
            ready.push_back(visible);
            let rest = Some(attempt);
            return Ok(Answer { ready, rest });
        }
    }
    Ok(Answer {
        ready: held.into_events(),
        rest: None,
    })
}

/// What has come and cannot be seen. Of each kind the last counts, so it never grows.
#[derive(Default)]
struct Held {
    started: Option<ModelEvent>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
}

impl Held {
    /// Gives back what can be seen.
    fn hold(&mut self, event: ModelEvent) -> Option<ModelEvent> {
        match event {
            ModelEvent::Started { .. } => self.started = Some(event),
            ModelEvent::Usage(usage) => self.usage.get_or_insert_default().update(&usage),
            ModelEvent::Finish(reason) => self.finish = Some(reason),
            ModelEvent::Text(text) | ModelEvent::Reasoning(text) if text.is_empty() => {}
            ModelEvent::Text(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::ToolCall { .. }
            | ModelEvent::Opaque { .. } => return Some(event),
        }
        None
    }

    fn into_events(self) -> VecDeque<ModelEvent> {
        self.started
            .into_iter()
            .chain(self.usage.map(ModelEvent::Usage))
            .chain(self.finish.map(ModelEvent::Finish))
            .collect()
    }
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "fallback_tests.rs"]
mod fallback_tests;
