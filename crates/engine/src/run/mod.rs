//! A plan at work.
//!
//! - `driver.rs` runs the nodes of one region: those that are ready, at once; `gather.rs` finds what they take;
//! - `task.rs` runs one node that waits, `collect.rs` makes a value of a stream;
//! - `loop_zone.rs` runs the inside of a loop again and again;
//! - `event.rs` is what is told, `feed.rs` how it gets to whoever follows;
//! - `ledger.rs` sees when a run waits for itself; `cache.rs` keeps results for later runs, `kept.rs` lends them to
//!   nodes whose work is decided about each time.

mod arguments;
mod cache;
mod collect;
mod driver;
mod event;
mod feed;
mod gather;
mod kept;
mod ledger;
mod loop_settings;
mod loop_zone;
mod state;
mod task;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::port::Services;
use crate::stream::Chunk;

pub use cache::CacheSize;
pub use event::{
    EventBody, ExecutionEvent, ExecutionStatus, INTERFACE_OUTPUTS, IterationStatus, NodeRef, Skip,
    Trace,
};
pub use feed::{Heard, Subscription};
pub use kept::Kept;

pub(crate) use arguments::bind;
pub(crate) use cache::ResultCache;
pub use driver::Failure;
pub(crate) use driver::{Streams, run_region};
pub(crate) use feed::{Feed, Hub, NodeEvents};
pub(crate) use ledger::{Ledger, Part};
pub(crate) use loop_settings::LoopSettings;
pub(crate) use loop_zone::output_value;
pub(crate) use state::State;

/// What all nodes of a run share.
#[derive(Clone)]
pub(crate) struct RunShared {
    pub(crate) feed: Arc<Feed>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) services: Services,
    pub(crate) cancel: CancellationToken,
    pub(crate) cache: Arc<ResultCache>,
    pub(crate) cache_scope: Arc<str>,
    /// Nothing is taken from what is kept.
    pub(crate) is_fresh: bool,
    /// How many nodes may wait for something at once.
    pub(crate) parallel: usize,
    /// The same for all loops of the run together.
    pub(crate) turns: Arc<Semaphore>,
    pub(crate) sink: Option<Arc<dyn OutputSink>>,
}

/// Takes the chunks of streams that are outputs of the workflow, as they come. Whoever is slow here slows the run.
#[async_trait]
pub trait OutputSink: Send + Sync {
    async fn chunk(&self, output: &str, chunk: &Chunk);
}
