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
#[async_trait]
pub trait ModelMeter: fmt::Debug + Send + Sync {
    /// Before a request goes out. An error stops it. Waits as long as others may leave nothing for it. Gives the number under
    /// which its usage is told.
    async fn asking(&self, call: Option<&str>, asked: &ModelCall) -> Result<u64, NodeError>;

    /// What the request has used so far; a later word replaces an earlier one.
    fn used(&self, call: Option<&str>, request: u64, usage: &Json);

    /// Nothing more comes of the request.
    fn ended(&self, call: Option<&str>, request: u64);
}

/// Models that are asked by a call of a run.
pub(crate) struct Metered {
    pub(crate) models: Arc<dyn ModelPort>,
    pub(crate) meter: Arc<dyn ModelMeter>,
    pub(crate) call: Option<Arc<str>>,
}

/// A request under way; dropped, it is over.
struct UnderWay {
    meter: Arc<dyn ModelMeter>,
    call: Option<Arc<str>>,
    request: u64,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.meter.ended(self.call.as_deref(), self.request);
    }
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
        let request = tokio::select! {
            biased;
            asking = self.meter.asking(self.call.as_deref(), &call) => asking?,
            () = cancel.cancelled() => {
                return Err(NodeError::invalid("run.cancelled", "the run was stopped"));
            }
        };
        let under_way = UnderWay {
            meter: self.meter.clone(),
            call: self.call.clone(),
            request,
        };
        let chunks = self.models.stream(call, cancel).await?;
        Ok(Box::pin(chunks.inspect(move |chunk| {
            if let Ok(chunk) = chunk
                && chunk.kind == ChunkKind::Usage
            {
                let UnderWay { meter, call, .. } = &under_way;
                meter.used(call.as_deref(), request, chunk.content.as_json());
            }
        })))
    }
}
