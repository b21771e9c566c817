//! How long to wait for what, and the clock of one attempt.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde::Deserialize;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::limits::MAX_WAIT;
use crate::{ModelError, ModelErrorKind};

/// How long to wait for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// Until the server takes the connection.
    pub connect_ms: u64,
    /// Until it begins to answer. Slow machines read a long prompt first.
    pub first_byte_ms: u64,
    /// Between two signs of life.
    pub idle_ms: u64,
    /// All in all.
    pub total_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect_ms: 10_000,
            first_byte_ms: 300_000,
            idle_ms: 120_000,
            total_ms: 3_600_000,
        }
    }
}

impl Timeouts {
    /// Nobody answers in no time.
    pub(super) fn check(self, label: &str) -> Result<(), ModelError> {
        let all = [
            (Wait::Connect, self.connect_ms),
            (Wait::FirstByte, self.first_byte_ms),
            (Wait::Idle, self.idle_ms),
            (Wait::Total, self.total_ms),
        ];
        match all.into_iter().find(|(_, millis)| *millis == 0) {
            None => Ok(()),
            Some((wait, _)) => Err(ModelError::new(
                ModelErrorKind::Misdirected,
                format!(
                    "the timeout `{}` of {label} is 0; write at least 1, in milliseconds",
                    wait.setting()
                ),
            )),
        }
    }

    pub(super) fn connect(self) -> Duration {
        bounded(self.connect_ms)
    }

    pub(super) fn total(self) -> Duration {
        bounded(self.total_ms)
    }
}

fn bounded(millis: u64) -> Duration {
    Duration::from_millis(millis).min(MAX_WAIT)
}

/// What was waited for in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Connect,
    FirstByte,
    Idle,
    Total,
}

impl Wait {
    const fn setting(self) -> &'static str {
        match self {
            Self::Connect => "connect_ms",
            Self::FirstByte => "first_byte_ms",
            Self::Idle => "idle_ms",
            Self::Total => "total_ms",
        }
    }

    /// `who` is the provider, and where it is.
    pub(super) fn error(self, who: &str, timeouts: Timeouts) -> ModelError {
        let message = match self {
            Self::Connect => format!(
                "{who} did not take the connection within {} ms; is the address right and the network up? \
                 `timeouts.connect_ms` says how long to wait",
                timeouts.connect_ms
            ),
            Self::FirstByte => format!(
                "{who} did not begin to answer within {} ms; `timeouts.first_byte_ms` says how long to wait, \
                 and a shorter prompt is read sooner",
                timeouts.first_byte_ms
            ),
            Self::Idle => format!(
                "{who} fell silent for {} ms in the middle of its answer; `timeouts.idle_ms` says how long to wait",
                timeouts.idle_ms
            ),
            Self::Total => format!(
                "{who} was not done after {} ms; `timeouts.total_ms` says how long an answer may take, \
                 and `max_tokens` makes it shorter",
                timeouts.total_ms
            ),
        };
        ModelError::new(ModelErrorKind::Timeout, message)
    }
}

/// Runs from the moment the request is sent. The time that the reader of the answer takes counts for the whole
/// only: silence is measured from when somebody listens.
pub(super) struct Clock {
    pub(super) timeouts: Timeouts,
    waiting_for: Wait,
    total_at: Instant,
    /// When the silence has lasted long enough.
    silent_at: Instant,
    /// Rings at that moment or before it: moving it with every piece would cost more than a look at the clock.
    sleep: Pin<Box<Sleep>>,
    /// Who is woken by it.
    sleeper: Option<Waker>,
    /// Something has come, and the next silence has not begun.
    fresh: bool,
}

impl Clock {
    pub(super) fn start(timeouts: Timeouts) -> Self {
        let now = Instant::now();
        let total_at = now + timeouts.total();
        let silent_at = total_at.min(now + bounded(timeouts.first_byte_ms));
        Self {
            timeouts,
            waiting_for: Wait::FirstByte,
            total_at,
            silent_at,
            sleep: Box::pin(sleep_until(silent_at)),
            sleeper: None,
            fresh: false,
        }
    }

    /// Bytes have come.
    pub(super) fn alive(&mut self) {
        self.waiting_for = Wait::Idle;
        self.fresh = true;
    }

    /// Nothing is there. Ready when it has been waited for long enough.
    pub(super) fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Wait> {
        if std::mem::take(&mut self.fresh) {
            let idle_at = Instant::now() + bounded(self.timeouts.idle_ms);
            self.silent_at = idle_at.min(self.total_at);
            if self.silent_at < self.sleep.deadline() {
                self.ring_at_the_end();
            }
        }
        // It is set, and wakes the one who asks: most pieces come long before it rings.
        if self
            .sleeper
            .as_ref()
            .is_some_and(|sleeper| sleeper.will_wake(cx.waker()))
            && !self.sleep.is_elapsed()
        {
            return Poll::Pending;
        }
        loop {
            // Whoever has used up his turn would be sent away without being noted.
            let sleep = pin!(unconstrained(self.sleep.as_mut()));
            if sleep.poll(cx).is_pending() {
                self.sleeper = Some(cx.waker().clone());
                return Poll::Pending;
            }
            if self.sleep.deadline() >= self.silent_at {
                break;
            }
            self.ring_at_the_end();
        }
        Poll::Ready(match self.silent_at >= self.total_at {
            true => Wait::Total,
            false => self.waiting_for,
        })
    }

    /// What `future` gives, if it does so in time.
    pub(super) async fn within<T>(&mut self, future: impl Future<Output = T>) -> Result<T, Wait> {
        let mut future = pin!(future);
        std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending => self.poll_silence(cx).map(Err),
        })
        .await
    }

    /// Waits anew, and only so long: for what is nice to have.
    pub(super) fn linger(&mut self, time: Duration) {
        self.fresh = false;
        self.silent_at = Instant::now() + time;
        self.ring_at_the_end();
    }

    fn ring_at_the_end(&mut self) {
        self.sleep.as_mut().reset(self.silent_at);
        self.sleeper = None;
    }
}

#[cfg(test)]
#[path = "timeouts_tests.rs"]
mod tests;
