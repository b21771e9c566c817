//! What a workflow says while it is at work, passed on to whoever called it.

use async_trait::async_trait;
use innkeeper_engine::stream::Chunk;
use innkeeper_engine::{EventBody, ExecutionEvent, Heard, OutputSink, Subscription};
use serde_json::{Map, Value as Json};

use crate::Progress;

/// The pieces of outputs that are streams.
pub(super) struct Pieces {
    pub(super) progress: Progress,
    /// The workflow has one output: a piece needs no name.
    pub(super) is_bare: bool,
}

#[async_trait]
impl OutputSink for Pieces {
    async fn chunk(&self, output: &str, chunk: &Chunk) {
        // What tells about the stream is no part of the result.
        if !chunk.is_content() {
            return;
        }
        let piece = chunk.content.as_json();
        if let Some(room) = self.progress.room() {
            room.await;
        }
        match self.is_bare {
            true => self.progress.partial(piece),
            false => {
                let mut named = Map::new();
                named.insert(output.to_owned(), piece.clone());
                self.progress.partial(&Json::Object(named));
            }
        }
    }
}

/// Tells how far nodes are, for as long as `work` takes.
pub(super) async fn followed<T>(
    mut events: Subscription,
    progress: &Progress,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            end = &mut work => {
                while let Some(heard) = events.try_next() {
                    tell(&heard, progress);
                }
                return end;
            }
            heard = events.next() => tell(&heard, progress),
        }
    }
}

fn tell(heard: &Heard, progress: &Progress) {
    let Heard::Event(event) = heard else {
        return;
    };
    let ExecutionEvent { body, .. } = &**event;
    let EventBody::NodeProgress { node, value, max } = body else {
        return;
    };
    let name = node.info.display_name.as_deref();
    progress.report(
        (*max > 0.0).then_some(*value / *max),
        name.unwrap_or(&node.info.id),
    );
}
