//! A stream made into a value.

use std::sync::Arc;

use serde_json::Value as Json;

use super::OutputSink;
use super::event::EventBody;
use super::feed::Feed;
use crate::limits::MAX_COLLECTED_BYTES;
use crate::node::Writer;
use crate::stream::{Chunk, StreamReader};
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

/// A text where the stream is one of texts, or a text is wanted; else a list of what came.
pub(super) async fn collect(
    mut reader: StreamReader,
    flow: DataFlowType,
    listener: Listener,
) -> Result<Value, NodeError> {
    let mut text = String::new();
    let mut list: Vec<Json> = Vec::new();
    let mut bytes = 0;
    while let Some(chunk) = reader.next().await {
        let chunk = chunk?;
        listener.hear(&chunk).await?;
        if !chunk.is_content() {
            continue;
        }
        bytes += chunk.content.weight();
        if bytes > MAX_COLLECTED_BYTES {
            let message = format!(
                "the stream is too long to be collected into a value: more than {MAX_COLLECTED_BYTES} bytes"
            );
            return Err(NodeError::invalid("stream.too_long", message));
        }
        match flow {
            DataFlowType::String => match chunk.content.as_json() {
                Json::String(piece) => text.push_str(piece),
                _ => text.push_str(&chunk.content.to_text()),
            },
            _ => list.push(chunk.content.into_json()),
        }
    }
    listener.tell(None);
    Ok(match flow {
        DataFlowType::String => text.into(),
        DataFlowType::Array => list.into(),
        // Nobody said what it is: texts are a text.
        _ if !list.is_empty() && list.iter().all(Json::is_string) => {
            let texts = list.iter().filter_map(Json::as_str);
            texts.collect::<String>().into()
        }
        _ => list.into(),
    })
}
