//! Where the whole of a result goes that is too long to be shown, if not into a file of the project.

use std::fmt;

use async_trait::async_trait;

use crate::ToolError;

/// Of one run. Only for calls that whoever runs the block has named, and that end before the block does: what is kept for
/// them is part of what they did.
#[async_trait]
pub trait SpillPlace: fmt::Debug + Send + Sync {
    /// How the model will reach it. `call`: [`crate::CallContext::asked_as`]; `ending`: `txt` or `json`.
    fn reference(&self, call: &str, ending: &str) -> String;

    /// Keeps it under that reference. Where this fails, the model is told so and gets the beginning.
    async fn keep(&self, call: &str, ending: &str, text: String) -> Result<(), ToolError>;
}
