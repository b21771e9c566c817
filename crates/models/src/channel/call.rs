//! One call: the channels in their order, each with its keys and repetitions, until one answers.
//!
//! What comes before the first visible piece is held back, so that whoever reads sees one beginning however many
//! attempts there were. After it nothing is repeated: an error goes out with what had come.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use innkeeper_protocol::Secret;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::Channel;
use super::given_up::{GivenUp, busy, sum_up};
use super::guard::prepare;
use super::keys::Pick;
use super::report::{ReportSink, Running};
use super::retry::{Jitter, Then, then};
use super::route::Candidate;
use crate::http::Attempt;
use crate::limits::{MAX_RETRIES, MAX_RETRY_WAIT};
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
            phase: Phase::Asking(Box::new(request)),
        };
        let events = futures_util::stream::unfold(call, |mut call| async move {
            let event = call.next().await?;
            Some((event, call))
        });
        ModelStream::new(self.name.clone(), cancel, events)
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
    phase: Phase,
}

enum Phase {
    Asking(Box<ModelRequest>),
    Answering(Answer),
    Over,
}

/// What is to be passed on, and where more comes from.
struct Answer {
    ready: VecDeque<ModelEvent>,
    rest: Option<Attempt>,
}

impl Call {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        let mut answer = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Over => return None,
            Phase::Answering(answer) => answer,
            Phase::Asking(request) => {
                self.running.begin();
                match self.ask(*request).await {
                    Ok(answer) => answer,
                    Err(error) => {
                        self.running.ends(Some(&error));
                        return Some(Err(error));
                    }
                }
            }
        };
        let event = match (answer.ready.pop_front(), &mut answer.rest) {
            (Some(event), _) => Some(Ok(event)),
            (None, Some(rest)) => rest.next().await,
            (None, None) => None,
        };
        match event {
            Some(Ok(event)) => {
                self.phase = Phase::Answering(answer);
                Some(Ok(self.running.passes(event)))
            }
            Some(Err(error)) => {
                self.running.ends(Some(&error));
                Some(Err(error))
            }
            None => {
                self.running.ends(None);
                None
            }
        }
    }

    /// Asks one channel after the other until one begins to answer.
    async fn ask(&mut self, mut request: ModelRequest) -> Result<Answer, ModelError> {
        let candidates = Arc::clone(&self.candidates);
        let mut given_up = Vec::new();
        let mut next = request.attempt;
        let mut left = candidates.len();
        for candidate in candidates.iter() {
            left -= 1;
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
        let give_up = |sent: u32, error: ModelError, then: Then| {
            Box::new(GivenUp {
                channel: channel.name().to_owned(),
                sent,
                error,
                then,
            })
        };
        let sends = channel.sender().map_err(|why| {
            let error = ModelError::new(ModelErrorKind::Unauthorized, why);
            give_up(0, error, Then::OtherChannel)
        })?;
        let prepared = prepare(channel, &candidate.model, &self.around.table, request);
        let (request, info) = prepared.map_err(|error| give_up(0, error, Then::Stop))?;
        self.running.asks(candidate, info);
        let mut request = Arc::new(request);
        let (mut refused, mut last): (Vec<usize>, Option<ModelError>) = (Vec::new(), None);
        let mut repeated = 0_u32;
        // Other keys are no repetition of what failed with this one.
        let keys = u32::try_from(channel.keys.len()).unwrap_or(u32::MAX);
        let retries = channel.config.retries;
        let mut waits = MAX_RETRIES.saturating_add(keys);
        loop {
            let (index, key) = take_key(channel, &refused, &mut waits, &mut last)
                .await
                .map_err(|error| give_up(sent, error, Then::Rest))?;
            Arc::make_mut(&mut request).attempt = *next;
            *next = next.saturating_add(1);
            sent += 1;
            self.running.sends();
            let error = match begin(sends.attempt(key, Arc::clone(&request))).await {
                Ok(answer) => {
                    channel.keys.worked(index);
                    if answer.rest.is_some() {
                        self.running.hears();
                    }
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let then = then(error.kind);
            let wait = error
                .retry_after
                .unwrap_or_else(|| self.around.jitter.backoff(repeated));
            match then {
                Then::Stop | Then::OtherChannel => return Err(give_up(sent, error, then)),
                Then::OtherKey => {
                    channel.keys.refused(index, Instant::now());
                    refused.push(index);
                }
                Then::Rest => {
                    channel.keys.limited(index, Instant::now(), wait);
                    if repeated >= retries.saturating_add(keys.saturating_sub(1)) {
                        return Err(give_up(sent, error, then));
                    }
                    repeated += 1;
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
                    sleep(wait).await;
                }
            }
            last = Some(error);
        }
    }
}

/// The key whose turn it is, waited for where that is not long. `waits` is how often still: others use the same keys,
/// and may be told to wait again and again.
async fn take_key(
    channel: &Channel,
    refused: &[usize],
    waits: &mut u32,
    last: &mut Option<ModelError>,
) -> Result<(usize, Option<Secret>), ModelError> {
    loop {
        match channel.keys.pick(Instant::now(), refused) {
            Pick::Key(index, key) => return Ok((index, key)),
            Pick::WaitUntil(until) => {
                let wait = until.saturating_duration_since(Instant::now());
                if wait > MAX_RETRY_WAIT || *waits == 0 {
                    return Err(busy(channel.name(), last.take(), wait));
                }
                *waits -= 1;
                sleep_until(until).await;
            }
            Pick::Nothing => {
                return Err(last.take().unwrap_or_else(|| {
                    let why = format!("{}: none of its keys can be used", channel.name());
                    ModelError::new(ModelErrorKind::Unauthorized, why)
                }));
            }
        }
    }
}

/// Reads up to the first piece that somebody could see.
async fn begin(mut attempt: Attempt) -> Result<Answer, ModelError> {
    let mut held = Held::default();
    while let Some(event) = attempt.next().await {
        if let Some(visible) = held.hold(event?) {
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
