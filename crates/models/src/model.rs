//! What a language model is to everyone else.

use tokio_util::sync::CancellationToken;

use crate::{ModelRequest, ModelStream};

/// Answers requests. One value serves many at once.
pub trait Model: Send + Sync {
    /// Who answers, as it is shown and recorded.
    fn id(&self) -> &str;

    /// Begins to answer. It neither waits nor blocks: everything that takes time happens while the stream is
    /// read, and stops when the stream is dropped or `cancel` fires.
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream;
}
