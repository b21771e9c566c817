//! The tools of a run, for the nodes of a workflow. Their calls go the way of every call: policy, approval, audit, budget
//! and redaction hold for them, and they reach what whoever called the workflow reaches.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_engine::port::{ToolListener, ToolPort};
use innkeeper_engine::{Kept, NodeError};
use innkeeper_protocol::{
    ErrorCode, Locale, Observation, Outcome, Protocol, ToolCallRequest, ToolDefinition,
    render_manifest,
};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::{Progress, ProgressSink, Room, ToolRun};

/// A tool that is asynchronous is waited for: what depends on a node needs its result.
pub struct RunTools(pub ToolRun);

#[async_trait]
impl ToolPort for RunTools {
    fn list(&self) -> Vec<Arc<ToolDefinition>> {
        let run = &self.0;
        run.snapshot()
            .offered(&run.caller().reach)
            .cloned()
            .collect()
    }

    fn manifest(
        &self,
        tools: &[Arc<ToolDefinition>],
        protocol: Protocol,
        locale: Locale,
    ) -> String {
        let tools = tools.iter().map(AsRef::as_ref);
        let manifest = render_manifest(tools, protocol, locale);
        match (manifest.text(), manifest.declarations()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(declarations)) => declarations.to_string(),
            (None, None) => String::new(),
        }
    }

    async fn call(
        &self,
        request: ToolCallRequest<'static>,
        heard: Arc<dyn ToolListener>,
        cancel: CancellationToken,
    ) -> Observation {
        let progress = Progress::to(Arc::new(Listener(heard)));
        self.0.run_to_end(&request, progress, &cancel).await
    }

    async fn call_kept(
        &self,
        request: ToolCallRequest<'static>,
        kept: Kept,
        heard: Arc<dyn ToolListener>,
        cancel: CancellationToken,
    ) -> Observation {
        let progress = Progress::to(Arc::new(Listener(heard)));
        let run = self.0.keeping(Some(kept));
        run.run_to_end(&request, progress, &cancel).await
    }
}

struct Listener(Arc<dyn ToolListener>);

impl ProgressSink for Listener {
    fn report(&self, fraction: Option<f64>, message: &str) {
        self.0.progress(fraction, message);
    }

    fn partial(&self, piece: &Json) {
        self.0.partial(piece);
    }

    fn room(&self) -> Option<Room> {
        self.0.room()
    }
}

/// Why a node could not do what it does by a call. `may_pass` where whoever did it knows.
pub(crate) fn node_error(outcome: Outcome, may_pass: Option<bool>) -> NodeError {
    let (code, message) = match outcome {
        Outcome::Error(failure) => {
            let may_pass = may_pass.unwrap_or_else(|| failure.code.retryable());
            let code = failure.reason;
            let code = code.unwrap_or_else(|| failure.code.as_str().to_owned());
            return match may_pass {
                true => NodeError::failed(code, failure.message),
                false => NodeError::invalid(code, failure.message),
            };
        }
        Outcome::Denied { reason } => {
            let message = format!("it was not allowed: {reason}");
            (ErrorCode::ToolApprovalDenied, message)
        }
        Outcome::Cancelled { reason } => {
            let message = format!("it was stopped: {reason}");
            (ErrorCode::ToolCancelled, message)
        }
        Outcome::OutcomeUnknown { message } => (ErrorCode::ToolOutcomeUnknown, message),
        Outcome::Success { .. } | Outcome::AsyncStarted { .. } | Outcome::Notice { .. } => {
            let message = "it gave no result that can be passed on".to_owned();
            (ErrorCode::ToolResultInvalid, message)
        }
    };
    NodeError::invalid(code.as_str(), message)
}
