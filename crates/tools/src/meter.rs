//! What tools use of language models while they run: counted for whoever runs them, and stopped where it is too much.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{ModelCall, ModelChunks, ModelFound, ModelPort};
use innkeeper_engine::stream::ChunkKind;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

/// Of one run. `call` is the call of a block that a request belongs to, however deep it is asked
/// ([`crate::CallContext::asked_as`]).
pub trait ModelMeter: fmt::Debug + Send + Sync {
    /// Before a request goes out. An error stops it. Gives the number under which its usage is told.
    fn asking(&self, call: Option<&str>) -> Result<u64, NodeError>;

    /// What the request has used so far; a later word replaces an earlier one.
    fn used(&self, call: Option<&str>, request: u64, usage: &Json);
}

/// Models that are asked by a call of a run.
pub(crate) struct Metered {
    pub(crate) models: Arc<dyn ModelPort>,
    pub(crate) meter: Arc<dyn ModelMeter>,
    pub(crate) call: Option<Arc<str>>,
}

#[async_trait]
impl ModelPort for Metered {
    fn find(&self, model: &str) -> Result<Option<ModelFound>, NodeError> {
        self.models.find(model)
    }

    async fn stream(
        &self,
        call: ModelCall,
        cancel: CancellationToken,
    ) -> Result<ModelChunks, NodeError> {
        let request = self.meter.asking(self.call.as_deref())?;
        let chunks = self.models.stream(call, cancel).await?;
        let (meter, call) = (self.meter.clone(), self.call.clone());
        Ok(Box::pin(chunks.inspect(move |chunk| {
            if let Ok(chunk) = chunk
                && chunk.kind == ChunkKind::Usage
            {
                meter.used(call.as_deref(), request, chunk.content.as_json());
            }
        })))
    }
}
