//! Whoever has to know of calls in time to write them down: a run that must survive a crash.
//!
//! A call that is heard of twice (`starting`, `ended`) has acted at most between the two. Calls that a tool makes in its
//! turn are part of that tool's call and are not told of.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use innkeeper_protocol::{Observation, ToolDefinition};
use serde_json::Value as Json;

use crate::ToolError;
use crate::policy::{ApprovalRequest, Decided};

#[async_trait]
pub trait CallListener: Send + Sync {
    /// The calls at these positions are taken up, side by side: each is checked, perhaps asked about, and then starts.
    fn taking_up(&self, _positions: Range<usize>) {}

    /// It passed every check and is about to act. Where this fails, it does not act and has failed with that.
    async fn starting(&self, call: Starting<'_>) -> Result<(), ToolError>;

    /// The answer to a question about it, for as long as that takes. Nothing where nobody decides here: then the approver
    /// of the process is asked.
    async fn decide(
        &self,
        _position: usize,
        _request: &ApprovalRequest,
    ) -> Result<Option<Decided>, ToolError> {
        Ok(None)
    }

    /// What came of it, also where it never started. Where this fails, nothing that follows in the block is run.
    async fn ended(&self, end: CallEnd<'_>) -> Result<(), ToolError>;
}

pub struct Starting<'c> {
    /// Among the calls of its block.
    pub position: usize,
    pub tool: &'c Arc<ToolDefinition>,
    /// Doing it twice does no more than doing it once.
    pub is_repeatable: bool,
}

pub struct CallEnd<'c> {
    pub position: usize,
    pub observation: &'c Observation,
    /// The whole result, for later steps that refer to it.
    pub full: Option<&'c Json>,
    pub elapsed: Duration,
}

/// How a block is run where its calls are written down.
#[derive(Default)]
pub struct BlockOptions {
    pub listener: Option<Arc<dyn CallListener>>,
    /// Under which name executors know each call ([`crate::CallContext::asked_as`]), by position.
    pub names: Vec<String>,
    /// It was begun before, and whoever began it is gone.
    pub resumed: bool,
    /// What is settled already, by position: run before, or refused by whoever runs the block.
    pub settled: Vec<Option<Settled>>,
}

/// A call that is not run (again).
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    pub observation: Observation,
    pub full: Option<Json>,
}

/// What came of a block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BlockRan {
    /// One for each call, in their order.
    pub calls: Vec<Observation>,
    /// What the model must be told beyond that.
    pub notes: Vec<Observation>,
    /// Why it was given up in the middle: a listener failed.
    pub broken: Option<ToolError>,
}

/// Where in a block a call stands.
#[derive(Clone)]
pub(crate) struct CallPlace {
    pub(crate) listener: Option<Arc<dyn CallListener>>,
    pub(crate) position: usize,
    pub(crate) asked_as: Option<Arc<str>>,
}

impl BlockOptions {
    pub(crate) fn is_settled(&self, position: usize) -> Option<&Settled> {
        self.settled.get(position)?.as_ref()
    }

    /// Nothing where nobody need know.
    pub(crate) fn place(&self, position: usize) -> Option<CallPlace> {
        let asked_as = self
            .names
            .get(position)
            .map(|name| Arc::from(name.as_str()));
        if self.listener.is_none() && asked_as.is_none() {
            return None;
        }
        Some(CallPlace {
            listener: self.listener.clone(),
            position,
            asked_as,
        })
    }

    pub(crate) fn taking_up(&self, positions: Range<usize>) {
        if let Some(listener) = &self.listener {
            listener.taking_up(positions);
        }
    }

    pub(crate) async fn ended(
        &self,
        position: usize,
        observation: &Observation,
        full: Option<&Json>,
        elapsed: Duration,
    ) -> Result<(), ToolError> {
        let Some(listener) = &self.listener else {
            return Ok(());
        };
        let end = CallEnd {
            position,
            observation,
            full,
            elapsed,
        };
        listener.ended(end).await
    }
}
