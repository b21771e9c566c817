//! A model server that says what a test tells it to: three wire formats, in pieces and whole, with faults.
//!
//! It writes the formats by the providers' documentation and shares no code with the client, so that the two cannot
//! agree by accident. It lives on a thread with a clock of its own: a test may stop its clock all the same. Every
//! byte on the wire can be chosen, which is why there is no HTTP library behind it.
//!
//! ```
//! # async fn example() {
//! use innkeeper_testkit::model_server::{Answer, ModelServer, Say};
//!
//! let server = ModelServer::start().await;
//! server.push(Answer::error(429, "slow down").header("retry-after", "2"));
//! server.push(Answer::say(Say::text("hello").usage(10, 5)).cut_every(1));
//! // … the client asks `server.url()` …
//! let request = server.next_request().await;
//! assert_eq!(request.json()["stream"], true);
//! # }
//! ```

mod answer;
mod bench;
mod connection;
mod limits;
mod listing;
mod plan;
mod quirks;
mod read;
mod render;
mod request;
mod say;
mod shared;
mod turns;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

pub use self::answer::{Answer, Fault, Framing};
pub use self::bench::Bench;
pub use self::listing::Kind;
pub use self::quirks::{Ids, Quirks, UsageAt};
pub use self::render::{render, render_error};
pub use self::request::{Delivery, Format, Request};
pub use self::say::{Count, Finish, Piece, PieceKind, Say};
use self::shared::{Constant, Counts, Shared};

/// A server on a free port of this machine. It ends, with all its connections, when it is dropped.
pub struct ModelServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl ModelServer {
    /// # Panics
    /// If no port can be had.
    pub async fn start() -> Self {
        Self::with(Shared::new(None)).await
    }

    /// Answers every request with the same stream, as cheaply as possible.
    ///
    /// # Panics
    /// If no port can be had.
    pub async fn bench(bench: Bench) -> Self {
        let streams = bench::Streams::new(bench);
        Self::with(Shared::new(Some(Constant::Streams(streams)))).await
    }

    /// Answers a request that holds the results of `n` tools with the reply of that number, as cheaply as possible; the last
    /// one is for all that hold more. It speaks the way of chat completions.
    ///
    /// # Panics
    /// If no port can be had.
    pub async fn turns(replies: Vec<Say>) -> Self {
        let turns = turns::Turns::new(replies);
        Self::with(Shared::new(Some(Constant::Turns(turns)))).await
    }

    #[expect(clippy::panic, reason = "only tests call it")]
    async fn with(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = oneshot::channel();
        let thread = thread::Builder::new().name("model-server".into()).spawn({
            let shared = Arc::clone(&shared);
            move || run(shared, tell, stopped)
        });
        let started = match thread {
            Ok(thread) => match told.await {
                Ok(Ok((address, runtime))) => Ok((address, runtime, thread)),
                Ok(Err(error)) => Err(error),
                Err(_) => Err(io::Error::other("its thread has ended")),
            },
            Err(error) => Err(error),
        };
        match started {
            Ok((address, runtime, thread)) => Self {
                shared,
                address,
                runtime,
                stop: Some(stop),
                thread: Some(thread),
            },
            Err(error) => panic!("the model server cannot start: {error}"),
        }
    }

    /// `http://127.0.0.1:PORT`, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client of that format takes as its base: `…/v1`, or `…/v1beta` for Gemini.
    pub fn base_url(&self, format: Format) -> String {
        let version = match format {
            Format::OpenAi | Format::Anthropic => "v1",
            Format::Gemini => "v1beta",
        };
        format!("{}/{version}", self.url())
    }

    /// What the next request gets that has no answer yet.
    pub fn push(&self, answer: Answer) {
        self.push_for(|_| answer);
    }

    /// The same, made from the request.
    pub fn push_for(&self, answer: impl FnOnce(&Request) -> Answer + Send + 'static) {
        self.shared.push(Box::new(answer));
    }

    /// What all requests get for which the script has nothing.
    pub fn otherwise(&self, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
        self.shared.otherwise(Arc::new(answer));
    }

    /// From now on questions about models are answered from this list. Before, they use up the script.
    pub fn set_models<T: Into<String>>(&self, models: impl IntoIterator<Item = T>) {
        let models = models.into_iter().map(Into::into).collect();
        self.shared.list(None, Some(models));
    }

    /// From now on the server looks like this one, with the models of [`Self::set_models`].
    pub fn set_kind(&self, kind: Kind) {
        self.shared.list(Some(kind), None);
    }

    /// Lets one stalled answer go on, now or when it stalls.
    pub fn release(&self) {
        self.shared.release();
    }

    /// The oldest request that was not returned here yet.
    ///
    /// # Panics
    /// If none comes within 20 seconds of the real clock.
    pub async fn next_request(&self) -> Request {
        loop {
            match self.shared.next_request() {
                Ok(request) => return request,
                Err(told) => {
                    let until = move |counts: &Counts| counts.requests > told;
                    self.wait("a request", until).await;
                }
            }
        }
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests()
    }

    /// Answers that nobody has asked for yet.
    pub fn unused(&self) -> usize {
        self.shared.script_length()
    }

    pub fn connections_opened(&self) -> usize {
        self.shared.counts().opened
    }

    /// Those that neither side has closed.
    pub fn connections_open(&self) -> usize {
        let counts = self.shared.counts();
        counts.opened.saturating_sub(counts.closed)
    }

    /// Returns once for each connection that its client has closed. An answer is written to its end or stalls
    /// before its client is missed.
    ///
    /// # Panics
    /// If none is closed within 20 seconds of the real clock.
    pub async fn wait_for_disconnect(&self) {
        while let Err(told) = self.shared.next_departure() {
            let until = move |counts: &Counts| counts.departures > told;
            self.wait("a client that disconnects", until).await;
        }
    }

    /// On the server's clock, because the test's may stand still.
    #[expect(clippy::panic, reason = "only tests call it")]
    async fn wait(&self, what: &str, until: impl FnMut(&Counts) -> bool + Send + 'static) {
        let mut counts = self.shared.watch();
        let waiting = self.runtime.spawn(async move {
            let happened = counts.wait_for(until);
            let happened = tokio::time::timeout(limits::PATIENCE, happened).await;
            happened.is_ok_and(|seen| seen.is_ok())
        });
        if !matches!(waiting.await, Ok(true)) {
            panic!(
                "the model server waited for {what} in vain: {:?}, {} answers unused",
                self.shared.counts(),
                self.unused()
            );
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It panicked or it did not: the test has seen what came of it.
            let _ = thread.join();
        }
    }
}

type Started = io::Result<(SocketAddr, Handle)>;

fn run(shared: Arc<Shared>, tell: oneshot::Sender<Started>, stopped: oneshot::Receiver<()>) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(tell.send(Err(error))),
    };
    runtime.block_on(async {
        let listener = match listen() {
            Ok(listener) => listener,
            Err(error) => return drop(tell.send(Err(error))),
        };
        let address = listener.local_addr();
        let _ = tell.send(address.map(|address| (address, Handle::current())));
        tokio::select! {
            () = accept(&listener, &shared) => {}
            _ = stopped => {}
        }
    });
}

fn listen() -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    // Benchmarks connect by the thousand.
    socket.listen(4096)
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let number = shared.opened();
                tokio::spawn(connection::serve(stream, number, Arc::clone(shared)));
            }
            // Out of descriptors, or the client has gone already: others may still be served.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
