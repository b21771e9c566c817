//! What all requests share.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::Doorkeeper;
use crate::figures::Figures;
use crate::guard::{Bodies, Names, Rates, Sockets};
use crate::house::Houses;
use crate::options::ServerOptions;

/// A cheap handle; all clones are one.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) houses: Arc<dyn Houses>,
    pub(crate) doorkeeper: Doorkeeper,
    pub(crate) names: Names,
    pub(crate) rates: Rates,
    pub(crate) options: ServerOptions,
    /// The server is about to close: streams end, nothing new begins.
    pub(crate) closing: CancellationToken,
    /// What goes on beside requests; its end is waited for.
    pub(crate) work: TaskTracker,
    pub(crate) figures: Arc<Figures>,
    pub(crate) sockets: Sockets,
    /// Room for what all connections follow together.
    pub(crate) subscriptions: Arc<Semaphore>,
    pub(crate) bodies: Bodies,
}

impl App {
    pub(crate) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
