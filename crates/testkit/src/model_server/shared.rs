//! What the test and the connections share: the script, what was asked, and the counts.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

use super::answer::Answer;
use super::bench::Streams;
use super::limits::REQUESTS;
use super::listing::{Kind, Listing};
use super::request::Request;
use super::turns::Turns;

type Once = Box<dyn FnOnce(&Request) -> Answer + Send>;
type Always = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

pub(super) struct Shared {
    state: Mutex<State>,
    counts: watch::Sender<Counts>,
    gate: Semaphore,
    constant: Option<Constant>,
}

/// Answers that are no script, for benchmarks.
pub(super) enum Constant {
    Streams(Streams),
    Turns(Turns),
}

impl Constant {
    pub(super) async fn answer(&self, stream: &mut TcpStream, request: &Request) -> io::Result<()> {
        match self {
            Self::Streams(streams) => streams.answer(stream, request).await,
            Self::Turns(turns) => turns.answer(stream, request).await,
        }
    }
}

#[derive(Default)]
struct State {
    script: VecDeque<Once>,
    otherwise: Option<Always>,
    listing: Option<Listing>,
    requests: Vec<Request>,
    /// How many requests and how many departures the test has been told of.
    told: usize,
    departures_told: usize,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) requests: usize,
    pub(super) opened: usize,
    pub(super) closed: usize,
    /// Of the closed ones, those that the client left.
    pub(super) departures: usize,
}

impl Shared {
    pub(super) fn new(constant: Option<Constant>) -> Self {
        Self {
            state: Mutex::default(),
            counts: watch::Sender::default(),
            gate: Semaphore::new(0),
            constant,
        }
    }

    pub(super) fn constant(&self) -> Option<&Constant> {
        self.constant.as_ref()
    }

    pub(super) fn push(&self, answer: Once) {
        self.state().script.push_back(answer);
    }

    pub(super) fn otherwise(&self, answer: Always) {
        self.state().otherwise = Some(answer);
    }

    pub(super) fn script_length(&self) -> usize {
        self.state().script.len()
    }

    pub(super) fn list(&self, kind: Option<Kind>, models: Option<Vec<String>>) {
        let mut state = self.state();
        let listing = state.listing.get_or_insert_default();
        listing.kind = kind.unwrap_or(listing.kind);
        listing.models = models.unwrap_or_else(|| std::mem::take(&mut listing.models));
    }

    /// Keeps the request and decides what it gets.
    pub(super) fn answer(&self, request: &Request) -> Answer {
        let (once, always) = {
            let mut state = self.state();
            if state.requests.len() < REQUESTS {
                state.requests.push(request.clone());
            }
            let kept = state.requests.len();
            let listed = state
                .listing
                .as_ref()
                .and_then(|listing| listing.answer(request));
            let scripted = match &listed {
                Some(_) => None,
                None => state.script.pop_front(),
            };
            let always = state.otherwise.clone();
            // Under the lock, so that the counts never run ahead of what can be seen.
            self.counts.send_modify(|counts| counts.requests = kept);
            match listed {
                Some(answer) => return answer,
                None => (scripted, always),
            }
        };
        match (once, always) {
            (Some(once), _) => once(request),
            (None, Some(always)) => always(request),
            (None, None) => {
                let message = format!(
                    "the script of the model server is empty: nothing is left to answer {} {}",
                    request.method, request.path
                );
                let error = json!({"error": {"message": message, "type": "script_empty"}});
                Answer::status(500).body(error.to_string())
            }
        }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// The next request that the test was not told of, or how many it was.
    pub(super) fn next_request(&self) -> Result<Request, usize> {
        let mut state = self.state();
        let request = state.requests.get(state.told).cloned().ok_or(state.told)?;
        state.told += 1;
        Ok(request)
    }

    /// Takes note of a departure, or says how many were noted.
    pub(super) fn next_departure(&self) -> Result<(), usize> {
        let mut state = self.state();
        if self.counts().departures <= state.departures_told {
            return Err(state.departures_told);
        }
        state.departures_told += 1;
        Ok(())
    }

    pub(super) fn counts(&self) -> Counts {
        *self.counts.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Counts> {
        self.counts.subscribe()
    }

    /// The number of the new connection.
    pub(super) fn opened(&self) -> usize {
        self.counts.send_modify(|counts| counts.opened += 1);
        self.counts().opened
    }

    pub(super) fn closed(&self, by_client: bool) {
        self.counts.send_modify(|counts| {
            counts.closed += 1;
            counts.departures += usize::from(by_client);
        });
    }

    pub(super) fn release(&self) {
        self.gate.add_permits(1);
    }

    pub(super) async fn released(&self) {
        // The gate is never closed, so that an error cannot come.
        if let Ok(permit) = self.gate.acquire().await {
            permit.forget();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
