//! The bus: something happened, and whoever cares is told. Owns the shapes and the promise, not the transport.
//!
//! The promise, for every implementation: events are numbered from 1 in the order in which they were accepted;
//! a subscriber sees those of its topics in that order, each once; one that is too slow is told how much it missed
//! and goes on. Publishing never waits for a subscriber. [`crate::LocalBus`] keeps it within one process.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::Pattern;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use uuid::Uuid;

use crate::limits::{MAX_PAYLOAD_BYTES, MAX_TOPIC_CHARS};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BusEvent {
    /// Unique; the same when a transport delivers it again.
    pub id: String,
    /// `task.completed`, `world.weather`.
    pub topic: String,
    /// Who tells it: `plugin:weather`, `agent:storyteller`.
    pub source: String,
    pub at: Timestamp,
    pub payload: Json,
}

impl BusEvent {
    pub fn new(topic: impl Into<String>, source: impl Into<String>, payload: Json) -> Self {
        Self {
            id: Uuid::now_v7().to_string(),
            topic: topic.into(),
            source: source.into(),
            at: Timestamp::now(),
            payload,
        }
    }

    /// The size of the payload, if the event may be published at all.
    pub fn check(&self) -> Result<usize, BusError> {
        let named = |text: &str| {
            !text.is_empty()
                && text.chars().count() <= MAX_TOPIC_CHARS
                && !text.contains(|c: char| c == '*' || c.is_whitespace() || c.is_control())
        };
        if !named(&self.topic) {
            return Err(BusError::Topic(shortened(&self.topic)));
        }
        if !named(&self.source) {
            return Err(BusError::Source(shortened(&self.source)));
        }
        let size = self.payload.to_string().len();
        match size > MAX_PAYLOAD_BYTES {
            true => Err(BusError::TooLarge { size }),
            false => Ok(size),
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_TOPIC_CHARS).collect()
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BusError {
    #[error(
        "'{0}' is no topic: write it like 'task.completed', without blanks or '*', at most {MAX_TOPIC_CHARS} characters"
    )]
    Topic(String),
    #[error(
        "'{0}' is no source of events: write it like 'plugin:weather', without blanks or '*', at most {MAX_TOPIC_CHARS} characters"
    )]
    Source(String),
    #[error(
        "the event's payload has {size} bytes, at most {MAX_PAYLOAD_BYTES} are allowed; put large things into a file and send its address"
    )]
    TooLarge { size: usize },
    #[error("the bus cannot be reached: {0}")]
    Unreachable(String),
}

#[async_trait]
pub trait EventBus: Send + Sync {
    /// Gives the event's number.
    async fn publish(&self, event: BusEvent) -> Result<u64, BusError>;

    /// What is published from now on.
    fn subscribe(&self, topics: Pattern) -> Subscription;

    /// What was published after the event of this number, as far as it is kept, and then what comes. 0 is the
    /// beginning. What is not kept any more is reported as missed.
    fn subscribe_after(&self, topics: Pattern, seq: u64) -> Subscription;
}

/// An event with its number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delivery {
    pub seq: u64,
    #[serde(flatten)]
    pub event: Arc<BusEvent>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    Event(Delivery),
    /// These many events, of whatever topic, were gone before they were read. The next one follows.
    Lagged {
        missed: u64,
    },
    /// The bus is gone; nothing will follow.
    Closed,
}

/// Where a subscription's events come from; each implementation of [`EventBus`] brings one.
#[async_trait]
pub trait EventSource: Send {
    /// May be dropped while it waits, without losing anything.
    async fn next(&mut self) -> Received;
}

pub struct Subscription(Box<dyn EventSource>);

impl Subscription {
    pub fn new(source: impl EventSource + 'static) -> Self {
        Self(Box::new(source))
    }

    pub async fn next(&mut self) -> Received {
        self.0.next().await
    }
}
