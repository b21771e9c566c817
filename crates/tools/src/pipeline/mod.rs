//! The way of one call, one file a step:
//!
//! resolve → reach → substitute → bind → fetch → validate → before → authorise → budget → keep → execute → finish
//! (check, redact, cap and spill) → after → observation.
//!
//! `call.rs` is the way itself, `ready.rs` that of a node of a workflow, which skips what the engine has done; each step decides one thing and says why it stops. `trail.rs` writes down for the
//! audit log how far a call came. `block.rs` above all this runs the steps of a block.

mod after;
mod authorise;
mod before;
mod bind;
pub(crate) mod call;
pub(crate) mod edit;
mod execute;
mod fetch;
pub(crate) mod finish;
mod keep;
mod launch;
pub(crate) mod ready;
mod resolve;
pub(crate) mod substitute;
pub(crate) mod trail;
pub(crate) mod validate;

use innkeeper_protocol::{ErrorCode, Failure, Outcome};

use crate::ToolError;

/// A failure of the call, as the model is told.
pub(crate) fn stop(code: ErrorCode, message: impl Into<String>) -> Outcome {
    Outcome::Error(Failure::new(code, message))
}

impl From<ToolError> for Outcome {
    fn from(error: ToolError) -> Self {
        Self::Error(Failure {
            reason: error.reason,
            ..Failure::new(error.code, error.message)
        })
    }
}
