//! How long one channel is waited for: all its attempts and pauses together, and the rest of its keys.

use std::time::Duration;

use innkeeper_protocol::Secret;
use tokio::time::{Instant, sleep_until};

use super::Channel;
use super::given_up::{busy, out_of_time};
use super::keys::Pick;
use super::retry::Jitter;
use crate::limits::{MAX_RETRIES, MAX_RETRY_WAIT, MAX_WAIT};
use crate::{ModelError, ModelErrorKind};

/// What one call has left for one channel.
pub(super) struct Patience {
    jitter: Jitter,
    total: Duration,
    until: Instant,
    /// How often a key is still waited for: others use the same keys, and may be told to wait again and again.
    waits: u32,
}

impl Patience {
    /// A channel takes no longer to be given up than one answer may take, however often it is asked.
    pub(super) fn new(channel: &Channel, jitter: Jitter) -> Self {
        let total = Duration::from_millis(channel.config.timeouts.total_ms).min(MAX_WAIT);
        let keys = u32::try_from(channel.keys.len()).unwrap_or(u32::MAX);
        Self {
            jitter,
            total,
            until: Instant::now() + total,
            waits: MAX_RETRIES.saturating_add(keys),
        }
    }

    /// The first request goes out now.
    pub(super) fn starts(&mut self) {
        self.until = Instant::now() + self.total;
    }

    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    pub(super) fn ends(&self, channel: &Channel, last: Option<ModelError>) -> ModelError {
        out_of_time(channel.name(), last, self.total)
    }

    /// The key whose turn it is, waited for where that is not long.
    pub(super) async fn take_key(
        &mut self,
        channel: &Channel,
        refused: &[usize],
        last: &mut Option<ModelError>,
    ) -> Result<(usize, Option<Secret>), ModelError> {
        loop {
            match channel.keys.pick(Instant::now(), refused) {
                Pick::Key(index, key) => return Ok((index, key)),
                Pick::WaitUntil(rested) => {
                    let wait = rested.saturating_duration_since(Instant::now());
                    if wait > MAX_RETRY_WAIT || self.waits == 0 {
                        return Err(busy(channel.name(), last.take(), wait));
                    }
                    // All who wait for this key were told the same moment.
                    let wake = rested + self.jitter.more();
                    if wake >= self.until {
                        return Err(self.ends(channel, last.take()));
                    }
                    self.waits -= 1;
                    sleep_until(wake).await;
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
}
