//! A stream made into a value.

use std::sync::Arc;

use super::OutputSink;
use super::event::EventBody;
use super::feed::Feed;
use crate::node::Writer;
use crate::stream::{Chunk, Collected, StreamReader};
use crate::{DataFlowType, NodeError, Value};

/// Who hears the chunks while they are collected.
pub(super) enum Listener {
    Nobody,
    /// The stream is an output of the workflow.
    Output {
        feed: Arc<Feed>,
        key: Arc<str>,
        display_name: Option<Arc<str>>,
        sink: Option<Arc<dyn OutputSink>>,
    },
    /// The stream is an output of a loop.
    Loop(Writer),
}

impl Listener {
    async fn hear(&self, chunk: &Chunk) -> Result<(), NodeError> {
        match self {
            Self::Nobody => Ok(()),
            Self::Loop(writer) => writer.send(chunk.clone()).await,
            Self::Output { key, sink, .. } => {
                self.tell(Some(chunk.clone()));
                if let Some(sink) = sink {
                    sink.chunk(key, chunk).await;
                }
                Ok(())
            }
        }
    }

    fn tell(&self, chunk: Option<Chunk>) {
        if let Self::Output {
            feed,
            key,
            display_name,
            ..
        } = self
            && feed.is_followed()
        {
            feed.tell(EventBody::InterfaceYield {
                key: key.clone(),
                display_name: display_name.clone(),
                chunk,
            });
        }
    }
}

/// All that comes, as the value that a slot of that type takes.
pub(super) async fn collect(
    mut reader: StreamReader,
    flow: DataFlowType,
    listener: Listener,
) -> Result<Value, NodeError> {
    let mut collected = Collected::new(flow);
    while let Some(chunk) = reader.next().await {
        let chunk = chunk?;
        listener.hear(&chunk).await?;
        collected.add(chunk)?;
    }
    listener.tell(None);
    Ok(collected.into_value())
}
