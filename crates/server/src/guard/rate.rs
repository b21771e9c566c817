//! How often somebody may ask: a bucket for each client that fills with time.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::Extensions;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use innkeeper_protocol::ErrorCode;
use jiff::Timestamp;

use crate::app::App;
use crate::limits::{MAX_REMEMBERED_CLIENTS, WRONG_AT_ONCE, WRONG_RATE};
use crate::listen::Connected;
use crate::options::Bounds;
use crate::problem::Problem;

/// Where a request comes from. An IPv6 client has a whole network of addresses and counts as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Peer([u8; 8]);

impl Peer {
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let connected = extensions.get::<ConnectInfo<Connected>>();
        connected.map_or(Self([0; 8]), |ConnectInfo(connected)| {
            Self::from(connected.peer.ip())
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

impl From<IpAddr> for Peer {
    fn from(ip: IpAddr) -> Self {
        let mut network = [0; 8];
        match ip.to_canonical() {
            IpAddr::V4(ip) => network[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => network.copy_from_slice(&ip.octets()[..8]),
        }
        Self(network)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    Token(String),
    /// Whoever shows none.
    Peer(Peer),
}

pub(crate) struct Rates {
    asked: Buckets<Client>,
    wrong: Buckets<Peer>,
}

impl Rates {
    pub(crate) fn new(bounds: &Bounds) -> Self {
        Self {
            asked: Buckets::new(bounds.rate, bounds.rate_at_once),
            wrong: Buckets::new(WRONG_RATE, WRONG_AT_ONCE),
        }
    }

    pub(crate) fn check(&self, client: &Client, now: Timestamp) -> Result<(), Problem> {
        match self.asked.take(client, now, 1.0) {
            true => Ok(()),
            false => Err(too_often("requests")),
        }
    }

    /// Whether one more guess may be made from there.
    pub(crate) fn check_wrong(&self, peer: Peer, now: Timestamp) -> Result<(), Problem> {
        match self.wrong.take(&peer, now, 0.0) {
            true => Ok(()),
            false => Err(too_often("wrong tokens, codes or passwords")),
        }
    }

    pub(crate) fn wrong(&self, peer: Peer, now: Timestamp) {
        self.wrong.take(&peer, now, 1.0);
    }
}

/// Whoever shows no token counts by where they come from.
pub(crate) async fn limit_strangers(
    State(app): State<App>,
    peer: Peer,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    app.rates.check(&Client::Peer(peer), app.now())?;
    Ok(next.run(request).await)
}

fn too_often(what: &str) -> Problem {
    Problem::new(
        ErrorCode::HttpRateLimited,
        format!("too many {what} from one client; wait a second"),
    )
}

struct Buckets<K> {
    /// A second.
    rate: f64,
    room: f64,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Clone, Copy)]
struct Bucket {
    left: f64,
    at: Timestamp,
}

impl<K: Clone + Eq + std::hash::Hash> Buckets<K> {
    fn new(rate: u32, room: u32) -> Self {
        Self {
            rate: f64::from(rate),
            room: f64::from(room),
            buckets: Mutex::default(),
        }
    }

    /// Whether there is at least one left; then so much is taken.
    fn take(&self, key: &K, now: Timestamp, much: f64) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_REMEMBERED_CLIENTS && !buckets.contains_key(key) {
            let full = |bucket: &Bucket| self.filled(*bucket, now) >= self.room;
            buckets.retain(|_, bucket| !full(bucket));
            // All of them ask at once: whoever is new waits.
            if buckets.len() >= MAX_REMEMBERED_CLIENTS {
                return false;
            }
        }
        let bucket = buckets.entry(key.clone()).or_insert(Bucket {
            left: self.room,
            at: now,
        });
        bucket.left = self.filled(*bucket, now);
        bucket.at = now;
        let is_left = bucket.left >= 1.0;
        if is_left {
            bucket.left -= much;
        }
        is_left
    }

    fn filled(&self, bucket: Bucket, now: Timestamp) -> f64 {
        let passed = now.duration_since(bucket.at).as_secs_f64().max(0.0);
        (bucket.left + passed * self.rate).min(self.room)
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_millis(millis)
    }

    #[test]
    fn a_bucket_empties_and_fills_again() {
        let buckets = Buckets::new(10, 3);
        for _ in 0..3 {
            assert!(buckets.take(&"one", at(0), 1.0));
        }
        assert!(!buckets.take(&"one", at(0), 1.0));
        assert!(buckets.take(&"two", at(0), 1.0));
        assert!(!buckets.take(&"one", at(99), 1.0));
        assert!(buckets.take(&"one", at(100), 1.0));
        assert!(!buckets.take(&"one", at(100), 1.0));
        // A clock that was set back gives nothing and takes nothing.
        assert!(!buckets.take(&"one", at(-5_000), 1.0));
    }

    #[test]
    fn clients_are_forgotten_when_their_bucket_is_full() {
        let buckets = Buckets::new(1, 1);
        for number in 0..MAX_REMEMBERED_CLIENTS {
            assert!(buckets.take(&number, at(0), 1.0));
        }
        assert!(!buckets.take(&usize::MAX, at(0), 1.0));
        assert!(buckets.take(&usize::MAX, at(1_000), 1.0));
        assert_eq!(buckets.buckets.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_network_of_addresses_is_one_peer() {
        let peer = |text: &str| Peer::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:1::1"));
        assert_ne!(peer("10.0.0.1"), peer("10.0.0.2"));
        assert_eq!(peer("10.0.0.1"), peer("::ffff:10.0.0.1"));
    }
}
