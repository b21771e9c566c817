//! What can go wrong with a run, told to whoever asked for something.

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;
use innkeeper_store::StoreError;
use innkeeper_tools::ToolError;

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
            error @ StoreError::RunSlimmed(_) => {
                Self::new(ErrorCode::AgentNotFound, error.to_string())
                    .because("agent.run_was_slimmed")
            }
            error => {
                Self::new(ErrorCode::AgentInternalError, error.to_string()).because(error.code())
            }
        }
    }
}

impl From<ToolError> for AgentError {
    fn from(error: ToolError) -> Self {
        Self {
            code: error.code,
            message: error.message,
            reason: error.reason,
        }
    }
}

/// Why waiting for a run did not come to where the run is over or rests.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WaitError {
    /// It is not over and nobody drives it: it could not be written down, or read again. All that was told of it is on disk.
    #[error(
        "the run '{run}' has stopped, since its journal cannot be written or read: {cause}; mend that, then `innkeeper runs resume {run}`"
    )]
    Stopped { run: RunId, cause: StoreError },
    /// Nothing is known of it, or it cannot be read.
    #[error(transparent)]
    Unknown(#[from] AgentError),
}

impl From<WaitError> for AgentError {
    fn from(error: WaitError) -> Self {
        let message = error.to_string();
        match error {
            WaitError::Stopped { cause, .. } => {
                Self::new(ErrorCode::AgentTransient, message).because(cause.code())
            }
            WaitError::Unknown(error) => error,
        }
    }
}
