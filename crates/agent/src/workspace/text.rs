//! The text of a file, shared with whoever else holds it, and work on texts that may take a while.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_store::Blob;
use innkeeper_tools::ToolError;

use super::fault::fault;
use super::state::FileInfo;
use crate::limits::MAX_INLINE_BYTES;

#[derive(Debug, Clone)]
pub(crate) struct Text(Arc<[u8]>);

impl Text {
    pub(crate) fn new(name: &str, content: Arc<[u8]>) -> Result<Self, ToolError> {
        match std::str::from_utf8(&content) {
            Ok(_) => Ok(Self(content)),
            Err(_) => Err(fault(
                ErrorCode::WorkspaceFileNotFound,
                "workspace.not_text",
                format!("'{name}' is no UTF-8 text, so it cannot be shown"),
            )),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        // It was looked at when it was made.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Its hash and its measures.
pub(crate) fn measured(text: String) -> (Blob, FileInfo) {
    let content: Arc<[u8]> = text.into_bytes().into();
    let blob = Blob::new(content);
    let text = std::str::from_utf8(&blob.content).unwrap_or_default();
    let info = FileInfo::of(blob.id.clone(), text);
    (blob, info)
}

/// Where the work takes a while, nobody else waits behind it.
pub(crate) async fn aside<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    if bytes <= MAX_INLINE_BYTES {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        ToolError::failed("The tool broke down over this text; this is a fault of the tool")
            .permanent()
    })
}
