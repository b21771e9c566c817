//! What an implementation of a tool is: arguments that passed its schema in, JSON or an error out.
//!
//! Service, script, workflow, node and MCP server all stand behind [`Executor`]. None of them knows in which
//! dialect a call was written, who else was asked, or what becomes of the result.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use crate::limits::MAX_SHOWN_CHARS;
use crate::{Caller, Revision, ToolRun};

/// Runs one tool.
#[async_trait]
pub trait Executor: Send + Sync {
    /// `call.context.cancel` fires when nobody wants the result any more; the future may also be dropped at
    /// any await. Either must leave nothing running.
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError>;

    /// All that decides the result beside the arguments, where the same always gives the same and does nothing else: then a
    /// node may take it from an earlier run. None, and it is executed each time.
    async fn revision(&self, _: &Map<String, Json>, _: &Caller) -> Option<Revision> {
        None
    }

    /// Whether this result, which was just made, is all that came of the call, so that it may stand for the next one.
    fn is_all_it_did(&self, _result: &Json) -> bool {
        true
    }

    /// Characters of a result that are shown; a longer one is kept whole elsewhere. More than usual only for a tool that
    /// itself is the way to read long texts in parts, and bounds them.
    fn most_shown(&self) -> usize {
        MAX_SHOWN_CHARS
    }

    /// Whether it ends by itself when the tool's time is over, and can then say more than that. It is stopped from
    /// outside only a little later.
    fn keeps_time(&self) -> bool {
        false
    }
}

/// One call on its way into an executor.
#[derive(Debug, Clone)]
pub struct Invocation {
    pub tool: Arc<ToolDefinition>,
    /// In the tool's own spelling, checked against its schema.
    pub arguments: Map<String, Json>,
    pub context: CallContext,
}

#[derive(Debug, Clone)]
pub struct CallContext {
    pub caller: Arc<Caller>,
    /// Unique for this call; the same when it is tried again.
    pub call_id: String,
    /// What whoever runs the block calls this call; of what a tool calls in its turn, that of the outer one.
    pub asked_as: Option<Arc<str>>,
    /// 1 for the first try.
    pub attempt: u32,
    pub cancel: CancellationToken,
    pub progress: Progress,
    /// The run that the call belongs to, for tools that call others in their turn.
    pub run: Option<ToolRun>,
}

/// Where a long call says how far it is.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn ProgressSink>>);

pub trait ProgressSink: Send + Sync {
    /// `fraction` from 0 to 1 where it is known.
    fn report(&self, fraction: Option<f64>, message: &str);

    /// A piece of the result, as it comes.
    fn partial(&self, _piece: &Json) {}

    /// The call is tried again from the beginning: pieces that came so far count no more.
    fn start_over(&self) {}

    /// `None`: it can take another piece. Otherwise it ends when that is so; whoever has more pieces waits for it.
    fn room(&self) -> Option<Room> {
        None
    }
}

/// Ends when there is room for another piece, or nobody wants one any more.
pub type Room = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Progress {
    pub fn to(sink: Arc<dyn ProgressSink>) -> Self {
        Self(Some(sink))
    }

    pub fn report(&self, fraction: Option<f64>, message: &str) {
        if let Some(sink) = &self.0 {
            let fraction = fraction
                .filter(|fraction| fraction.is_finite())
                .map(|fraction| fraction.clamp(0.0, 1.0));
            sink.report(fraction, message);
        }
    }

    pub fn partial(&self, piece: &Json) {
        if let Some(sink) = &self.0 {
            sink.partial(piece);
        }
    }

    /// Whether anyone listens.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    pub fn room(&self) -> Option<Room> {
        self.0.as_ref()?.room()
    }

    pub fn start_over(&self) {
        if let Some(sink) = &self.0 {
            sink.start_over();
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// Why a tool did not do what it was asked. The model is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ToolError {
    pub code: ErrorCode,
    /// What happened, where, and what to do instead: one or two sentences, without a full stop at the end.
    pub message: String,
    /// A finer, stable name: `dice.invalid_formula`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same call would fail the same way again.
    #[serde(default)]
    pub permanent: bool,
}

impl ToolError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            reason: None,
            permanent: false,
        }
    }

    /// It was tried and did not work; trying again may help.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ToolExecutionFailed, message)
    }

    /// The arguments fit the schema and still make no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ToolInvalidArguments, message)
    }

    /// Something it needs is not there.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ToolUnavailable, message)
    }

    /// Forbidden, whoever asks.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ToolPolicyDenied, message)
    }

    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    pub fn permanent(mut self) -> Self {
        self.permanent = true;
        self
    }

    /// Whether the very same call may succeed when it is tried again.
    pub fn may_pass(&self) -> bool {
        let by_code = self.code.retryable()
            || matches!(
                self.code,
                ErrorCode::ToolExecutionFailed | ErrorCode::ToolResultInvalid
            );
        by_code && !self.permanent
    }
}
