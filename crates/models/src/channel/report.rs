//! What is told of a call when it is over: numbers and names, never contents and never keys.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::route::Candidate;
use crate::names::quoted;
use crate::prices::ModelInfo;
use crate::{Cost, FinishReason, ModelError, ModelErrorKind, ModelEvent, Usage};

/// One call: all attempts for one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct CallReport {
    /// The name that was asked for.
    pub asked: String,
    /// Who answered, or was asked last; `None` if nobody was.
    pub channel: Option<String>,
    pub provider: Option<String>,
    /// The model's name there.
    pub model: Option<String>,
    /// What the provider calls the one who answered.
    pub answered: Option<String>,
    /// Requests that were sent.
    pub attempts: u32,
    /// Of all attempts, with the cost, where they are known.
    pub usage: Option<Usage>,
    /// From the beginning of the call to the first visible piece.
    pub first_token: Option<Duration>,
    pub duration: Duration,
    pub outcome: CallOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// `None` where the provider did not say why it stopped.
    Finished(Option<FinishReason>),
    Failed(ModelErrorKind),
}

/// What happens before the first visible piece, while whoever asked sees nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum CallStep {
    /// A request is sent.
    Asks {
        channel: String,
        /// The model's name there.
        model: String,
        /// 1 for the first request of the call, whoever gets it.
        attempt: u32,
    },
    /// The last attempt failed and may be repeated after a pause, at once where there is another key.
    Waits {
        channel: String,
        /// The number of the next one.
        attempt: u32,
        pause: Duration,
        why: String,
    },
}

/// Takes reports. It must not block: it is called where the reply is read.
pub trait ReportSink: Send + Sync {
    fn report(&self, report: CallReport);

    fn step(&self, _step: CallStep) {}
}

/// A call on its way. Reports when it ends, also by being dropped.
pub(super) struct Running {
    report: CallReport,
    sink: Option<Arc<dyn ReportSink>>,
    /// `None` until it begins and after it has been reported.
    began: Option<Instant>,
    prices: ModelInfo,
    /// What attempts that failed have used up.
    wasted: Option<Usage>,
    /// The provider has told the cost itself.
    told_cost: bool,
    finish: Option<FinishReason>,
}

impl Running {
    pub(super) fn new(asked: &str, sink: Option<Arc<dyn ReportSink>>) -> Self {
        Self {
            report: CallReport {
                asked: asked.to_owned(),
                channel: None,
                provider: None,
                model: None,
                answered: None,
                attempts: 0,
                usage: None,
                first_token: None,
                duration: Duration::ZERO,
                outcome: CallOutcome::Failed(ModelErrorKind::Cancelled),
            },
            sink,
            began: None,
            prices: ModelInfo::default(),
            wasted: None,
            told_cost: false,
            finish: None,
        }
    }

    pub(super) fn begin(&mut self) {
        self.began = Some(Instant::now());
    }

    /// `model` is the name that is sent there.
    pub(super) fn asks(&mut self, candidate: &Candidate, model: &str, prices: ModelInfo) {
        self.report.channel = Some(candidate.channel.name().to_owned());
        self.report.provider = Some(candidate.channel.provider().id.clone());
        self.report.model = Some(quoted(model));
        self.prices = prices;
    }

    pub(super) fn sends(&mut self) {
        self.report.attempts = self.report.attempts.saturating_add(1);
        if let Some(sink) = &self.sink {
            sink.step(CallStep::Asks {
                channel: self.report.channel.clone().unwrap_or_default(),
                model: self.report.model.clone().unwrap_or_default(),
                attempt: self.report.attempts,
            });
        }
    }

    /// The last attempt failed, and there will be another after a pause.
    pub(super) fn waits(&self, pause: Duration, error: &ModelError) {
        if let Some(sink) = &self.sink {
            sink.step(CallStep::Waits {
                channel: self.report.channel.clone().unwrap_or_default(),
                attempt: self.report.attempts.saturating_add(1),
                pause,
                why: error.message.clone(),
            });
        }
    }

    /// Nobody sees what that attempt said; it is paid for all the same.
    pub(super) fn wastes(&mut self, mut usage: Usage) {
        usage.cost = usage.cost.or_else(|| self.prices.cost(&usage));
        self.wasted = Some(self.wasted.unwrap_or_default().plus(usage));
    }

    /// The first piece that somebody could see is here.
    pub(super) fn hears(&mut self) {
        self.report.first_token = self.began.map(|began| began.elapsed());
    }

    /// Notes an event on its way out, and fills in what it cost.
    pub(super) fn passes(&mut self, mut event: ModelEvent) -> ModelEvent {
        match &mut event {
            ModelEvent::Started { model, .. } => self.report.answered = Some(quoted(model)),
            ModelEvent::Finish(reason) => {
                self.finish = Some(match reason {
                    FinishReason::Other(word) => FinishReason::Other(quoted(word)),
                    known => known.clone(),
                });
            }
            ModelEvent::Usage(usage) => {
                let sum = self.report.usage.get_or_insert_default();
                self.told_cost |= usage.cost.is_some();
                sum.update(usage);
                // Counts come in parts; the cost is always that of all of them.
                if !self.told_cost {
                    sum.cost = self.prices.cost(sum);
                }
                usage.cost = sum.cost;
            }
            ModelEvent::Text(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::ToolCall { .. }
            | ModelEvent::Opaque { .. } => {}
        }
        event
    }

    pub(super) fn ends(&mut self, error: Option<&ModelError>) {
        self.report.outcome = match error {
            Some(error) => CallOutcome::Failed(error.kind),
            None => CallOutcome::Finished(self.finish.clone()),
        };
        self.tell();
    }

    fn tell(&mut self) {
        if let (Some(began), Some(sink)) = (self.began.take(), &self.sink) {
            self.report.duration = began.elapsed();
            if let Some(wasted) = self.wasted {
                self.report.usage = Some(self.report.usage.unwrap_or_default().plus(wasted));
            }
            sink.report(self.report.clone());
        }
    }
}

impl Usage {
    /// The sum of what is known of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn sum<T>(one: Option<T>, other: Option<T>, add: impl FnOnce(T, T) -> T) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(add(one, other)),
                (one, other) => one.or(other),
            }
        }
        let count = |one, other| sum(one, other, u64::saturating_add);
        Self {
            prompt_tokens: count(self.prompt_tokens, other.prompt_tokens),
            completion_tokens: count(self.completion_tokens, other.completion_tokens),
            cached_tokens: count(self.cached_tokens, other.cached_tokens),
            reasoning_tokens: count(self.reasoning_tokens, other.reasoning_tokens),
            cost: sum(self.cost, other.cost, Cost::saturating_add),
        }
    }
}

impl Drop for Running {
    /// Nobody reads it to its end.
    fn drop(&mut self) {
        self.tell();
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
