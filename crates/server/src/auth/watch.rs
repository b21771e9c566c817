//! Whether a token that opened something long still holds.

use tokio::time::{Interval, MissedTickBehavior};

use super::identity::Identity;
use crate::app::App;
use crate::limits::TOKEN_CHECKED_EVERY;

pub(crate) struct TokenWatch {
    app: App,
    token: String,
    checks: Interval,
}

impl TokenWatch {
    pub(crate) fn new(app: &App, identity: &Identity) -> Self {
        let mut checks = tokio::time::interval(TOKEN_CHECKED_EVERY);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            app: app.clone(),
            token: identity.token.clone(),
            checks,
        }
    }

    /// When it has expired or was revoked. May be dropped and asked again.
    pub(crate) async fn lost(&mut self) {
        loop {
            self.checks.tick().await;
            if !self.app.doorkeeper.holds(&self.token, self.app.now()).await {
                return;
            }
        }
    }
}
