//! The server's life: bind, serve, close.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api;
use crate::app::{App, Shared};
use crate::auth::Doorkeeper;
use crate::figures::Figures;
use crate::guard::{Bodies, Names, Rates, Sockets};
use crate::handles;
use crate::house::Houses;
use crate::limits::MAX_SUBSCRIPTIONS_IN_ALL;
use crate::listen::listen;
use crate::options::ServerOptions;

/// Bound to its address, so that whoever is told of it can come; served by `run`.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: App,
}

impl Server {
    /// The options have been checked.
    pub async fn bind(
        mut options: ServerOptions,
        houses: Arc<dyn Houses>,
        doorkeeper: Doorkeeper,
        closing: CancellationToken,
    ) -> std::io::Result<Self> {
        options.bounds.connections = handles::connections(options.bounds.connections);
        let listener = TcpListener::bind(options.address).await?;
        let address = listener.local_addr()?;
        let app = App::new(Shared {
            houses,
            doorkeeper,
            names: Names::new(address, &options.hosts, &options.origins),
            rates: Rates::new(&options.bounds),
            options,
            closing,
            work: TaskTracker::new(),
            figures: Arc::new(Figures::new(jiff::Timestamp::now())),
            sockets: Sockets::default(),
            subscriptions: Arc::new(Semaphore::new(MAX_SUBSCRIPTIONS_IN_ALL)),
            bodies: Bodies::default(),
        });
        Ok(Self {
            listener,
            address,
            app,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Until `closing`, and until whoever was inside then has left.
    pub async fn run(self) {
        let closing = self.app.closing.clone();
        let bounds = self.app.options.bounds.clone();
        let work = self.app.work.clone();
        let open = self.app.figures.connections.clone();
        listen(self.listener, api::router(self.app), &bounds, closing, open).await;
        work.close();
        // What was cancelled may have something to write down.
        if tokio::time::timeout(bounds.closing_timeout, work.wait())
            .await
            .is_err()
        {
            tracing::warn!(left = work.len(), "still at work after the closing time");
        }
    }
}
