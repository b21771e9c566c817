//! Why a node did not do its work.

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::Skip;

/// Told to whoever runs the workflow, or to the node behind the error output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[error("{message}")]
pub struct NodeError {
    /// What happened, where, and what to do: one or two sentences, without a full stop at the end.
    pub message: String,
    /// Stable: `input.type`.
    pub code: String,
    /// Trying again would fail the same way.
    pub permanent: bool,
    /// It is the error of whoever wrote a stream that was read.
    #[serde(skip)]
    pub(crate) upstream: Option<Skip>,
}

impl NodeError {
    /// Trying again may help.
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: code.into(),
            permanent: false,
            upstream: None,
        }
    }

    /// The same inputs would fail the same way.
    pub fn invalid(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            permanent: true,
            ..Self::failed(code, message)
        }
    }

    pub(crate) fn cancelled() -> Self {
        Self::invalid("run.cancelled", "the run was stopped")
    }

    pub fn is_cancelled(&self) -> bool {
        self.code == "run.cancelled"
    }

    /// What an error output gives.
    pub fn to_json(&self) -> Json {
        json!({"message": self.message, "code": self.code, "retryable": !self.permanent})
    }
}
