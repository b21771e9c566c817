//! What follows a failed attempt, and after how long a pause.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::ModelErrorKind;
use crate::limits::{BACKOFF_BASE, BACKOFF_MAX};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// The same once more, after a pause.
    Again,
    /// The next key, or this one after a pause.
    Rest,
    /// The next key.
    OtherKey,
    /// This one cannot, and another one may.
    OtherChannel,
    /// Nobody else would do better, or nobody wants the answer any more.
    Stop,
}

/// Whether someone else may succeed is not the same question as whether the same one may succeed later.
pub(super) const fn then(kind: ModelErrorKind) -> Then {
    match kind {
        ModelErrorKind::ServerError
        | ModelErrorKind::Timeout
        | ModelErrorKind::BrokenStream
        | ModelErrorKind::Malformed => Then::Again,
        ModelErrorKind::RateLimited => Then::Rest,
        ModelErrorKind::Unauthorized => Then::OtherKey,
        ModelErrorKind::UnknownModel
        | ModelErrorKind::Misdirected
        | ModelErrorKind::ContextTooLong => Then::OtherChannel,
        ModelErrorKind::TooLarge | ModelErrorKind::Refused | ModelErrorKind::Cancelled => {
            Then::Stop
        }
    }
}

/// Chance, which tests replace.
#[derive(Clone)]
pub(crate) struct Jitter(Arc<dyn Fn() -> u32 + Send + Sync>);

impl Default for Jitter {
    fn default() -> Self {
        // Without randomness all wait the longest: slower, and nobody is hurt.
        Self(Arc::new(|| getrandom::u32().unwrap_or(u32::MAX)))
    }
}

impl Jitter {
    #[cfg(test)]
    pub(super) fn fixed(number: u32) -> Self {
        Self(Arc::new(move || number))
    }

    /// Anything from nothing to `most`, both included.
    pub(super) fn up_to(&self, most: Duration) -> Duration {
        most.mul_f64(f64::from((self.0)()) / f64::from(u32::MAX))
    }

    /// The pause before a repetition, counted from 0: up to twice as long each time. All of it is left to chance, so
    /// that many who failed together do not come back together.
    pub(super) fn backoff(&self, repetition: u32) -> Duration {
        let most = BACKOFF_BASE.saturating_mul(2_u32.saturating_pow(repetition));
        self.up_to(most.min(BACKOFF_MAX))
    }

    /// What comes on top of a pause that was asked for, so that all who were told the same do not come back in the
    /// same moment.
    pub(super) fn more(&self) -> Duration {
        self.up_to(BACKOFF_BASE)
    }
}

impl fmt::Debug for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Jitter")
    }
}
