//! What can go wrong with a run, told to whoever asked for something.

use innkeeper_protocol::ErrorCode;
use innkeeper_store::StoreError;

/// One sentence with place, cause and remedy, under a stable code.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct AgentError {
    pub code: ErrorCode,
    pub message: String,
    /// A finer, stable name.
    pub reason: Option<String>,
}

impl AgentError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            reason: None,
        }
    }

    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    pub(crate) fn no_run(run: &str) -> Self {
        Self::new(
            ErrorCode::AgentNotFound,
            format!("there is no run '{run}'; `innkeeper runs list` shows those there are"),
        )
    }
}

impl From<StoreError> for AgentError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoRun(run) => Self::no_run(&run),
            error => {
                Self::new(ErrorCode::AgentInternalError, error.to_string()).because(error.code())
            }
        }
    }
}
