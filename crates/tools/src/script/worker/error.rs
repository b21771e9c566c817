//! Why a worker gave no result, and how a tool's caller is told.

use std::time::Duration;

use innkeeper_protocol::ErrorCode;

use super::super::{ScriptError, answer};
use super::tail::LastWords;
use super::wire::RpcError;
use crate::limits::MAX_SCRIPT_INPUT_BYTES;
use crate::{Redactor, ToolError};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkerError {
    #[error(transparent)]
    NotStarted(#[from] ScriptError),
    /// It was asked, and is no more. Whether it did what it was asked nobody knows.
    #[error("the worker {how} before it answered")]
    Died { how: String, last_words: LastWords },
    /// It dies whenever it is started, so for a while it is not.
    #[error(
        "the worker {how}, {times} times in a row without an answer; it is not started again for {} ms",
        wait.as_millis()
    )]
    Failing {
        how: String,
        times: u32,
        wait: Duration,
        last_words: LastWords,
    },
    #[error("the worker gave no answer within {} ms; it was told to stop", after.as_millis())]
    Timeout {
        after: Duration,
        last_words: LastWords,
    },
    #[error("no worker was free within {} ms; all are busy with other calls", after.as_millis())]
    Busy { after: Duration },
    #[error("the call was stopped before the worker answered")]
    Cancelled,
    #[error("the arguments have more than {MAX_SCRIPT_INPUT_BYTES} bytes; give less at once")]
    TooLarge,
    /// It answered this call, but not in a way that anybody could read.
    #[error(
        "the worker's answer cannot be read: {why}; it has to be one line of JSON-RPC 2.0 in UTF-8, with the id of the call and either a result or an error"
    )]
    Malformed { why: String },
    /// The worker itself says that it did not work.
    #[error("{}", .0.message)]
    Told(RpcError),
}

impl WorkerError {
    /// Secrets are taken out before anything is cut: half a secret would not be found any more.
    pub fn told(self, redactor: &Redactor) -> ToolError {
        let message = self.to_string();
        let with = |words: &LastWords| {
            let words = redactor.redact_text(words.as_str());
            match answer::last_lines(words.as_bytes()) {
                lines if lines.is_empty() => message.clone(),
                lines => format!("{message}; it said: {lines}"),
            }
        };
        match &self {
            Self::NotStarted(error) => error.clone().into(),
            Self::Died { last_words, .. } => {
                ToolError::failed(with(last_words)).because("script.worker_died")
            }
            Self::Failing { last_words, .. } => {
                ToolError::unavailable(with(last_words)).because("script.worker_failing")
            }
            Self::Timeout { last_words, .. } => {
                ToolError::new(ErrorCode::ToolTimeout, with(last_words)).because("script.timeout")
            }
            Self::Busy { .. } => {
                ToolError::new(ErrorCode::ToolTimeout, message).because("script.worker_busy")
            }
            Self::Cancelled => ToolError::new(ErrorCode::ToolCancelled, message),
            Self::TooLarge => ToolError::invalid(message).because("script.input_too_large"),
            Self::Malformed { .. } => ToolError::new(ErrorCode::ToolResultInvalid, message)
                .because("script.worker_protocol")
                .permanent(),
            Self::Told(error) => {
                let message = redactor.redact_text(&error.message);
                answer::of_rpc_error(error.code, &message, &error.data)
            }
        }
    }
}
