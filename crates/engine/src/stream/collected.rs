//! Chunks on their way to a value.

use serde_json::Value as Json;

use super::Chunk;
use crate::limits::MAX_COLLECTED_BYTES;
use crate::{DataFlowType, NodeError, Value};

pub(crate) struct Collected {
    flow: DataFlowType,
    text: String,
    list: Vec<Json>,
    bytes: usize,
}

impl Collected {
    pub(crate) fn new(flow: DataFlowType) -> Self {
        Self {
            flow,
            text: String::new(),
            list: Vec::new(),
            bytes: 0,
        }
    }

    pub(crate) fn add(&mut self, chunk: Chunk) -> Result<(), NodeError> {
        if !chunk.is_content() {
            return Ok(());
        }
        self.bytes += chunk.content.weight();
        if self.bytes > MAX_COLLECTED_BYTES {
            let message = format!(
                "the stream is too long to be collected into a value: more than {MAX_COLLECTED_BYTES} bytes"
            );
            return Err(NodeError::invalid("stream.too_long", message));
        }
        match self.flow {
            DataFlowType::String => match chunk.content.as_json() {
                Json::String(piece) => self.text.push_str(piece),
                _ => self.text.push_str(&chunk.content.to_text()),
            },
            _ => self.list.push(chunk.content.into_json()),
        }
        Ok(())
    }

    /// A text where a text is wanted, or where nobody said what it is and it is one of texts; else a list of what came.
    pub(crate) fn into_value(self) -> Value {
        let list = self.list;
        match self.flow {
            DataFlowType::String => self.text.into(),
            DataFlowType::Array => list.into(),
            _ if !list.is_empty() && list.iter().all(Json::is_string) => {
                let texts = list.iter().filter_map(Json::as_str);
                texts.collect::<String>().into()
            }
            _ => list.into(),
        }
    }
}
