//! What nodes may ask of the world, as traits that whoever runs workflows implements.
//!
//! The engine itself reaches nothing: files, network, programs and other workflows are all tools, so that what a
//! node does is allowed, audited and stopped like any other call.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::Stream;
use innkeeper_protocol::{Locale, Observation, Protocol, ToolCallRequest, ToolDefinition};
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use crate::stream::Chunk;
use crate::{Kept, NodeError};

/// All that a run was given.
#[derive(Clone, Default)]
pub struct Services {
    pub tools: Option<Arc<dyn ToolPort>>,
    pub models: Option<Arc<dyn ModelPort>>,
    pub events: Option<Arc<dyn EventPort>>,
    /// For nodes that the host itself brings.
    pub host: Option<Arc<dyn Any + Send + Sync>>,
}

/// The tools of a run.
#[async_trait]
pub trait ToolPort: Send + Sync {
    /// Those that this run may call, in the order of the registry.
    fn list(&self) -> Vec<Arc<ToolDefinition>>;

    /// What a model is told of some of them.
    fn manifest(&self, tools: &[Arc<ToolDefinition>], protocol: Protocol, locale: Locale)
    -> String;

    /// Whatever comes of it is an observation. Ends early when `cancel` fires.
    async fn call(
        &self,
        request: ToolCallRequest<'static>,
        heard: Arc<dyn ToolListener>,
        cancel: CancellationToken,
    ) -> Observation;

    /// The same for a call whose result the node would take from an earlier run: whoever has decided that it may be made
    /// looks there first, and says there what was made. Where nobody can look, it is made.
    async fn call_kept(
        &self,
        request: ToolCallRequest<'static>,
        _kept: Kept,
        heard: Arc<dyn ToolListener>,
        cancel: CancellationToken,
    ) -> Observation {
        self.call(request, heard, cancel).await
    }
}

/// Hears a call while it is under way.
pub trait ToolListener: Send + Sync {
    fn progress(&self, _fraction: Option<f64>, _message: &str) {}
    /// A piece of the result.
    fn partial(&self, _piece: &Json) {}

    /// `None`: it can take another piece. Otherwise it ends when that is so; whoever has more pieces waits for it.
    fn room(&self) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        None
    }
}

/// Nobody listens.
impl ToolListener for () {}

/// Marks the chunk with the name of who answers, by its own account. A later one replaces an earlier one.
pub const MODEL_ROLE: &str = "model";
/// Marks the chunk with the parts of an answer, as whoever asks the model writes and reads them.
pub const PARTS_ROLE: &str = "parts";
/// Where they stand in the message.
pub const PARTS_FIELD: &str = "innkeeper_parts";

/// One request to a language model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelCall {
    /// Empty for the default model.
    pub model: String,
    /// In the chat form: `{"role": "user", "content": "…"}`.
    pub messages: Vec<Json>,
    /// For native calls; none where the prompt teaches a dialect.
    pub tools: Vec<Arc<ToolDefinition>>,
    /// Those that the messages tell of instead. They only explain how long the messages are.
    pub told_tools: Vec<Arc<ToolDefinition>>,
    /// `temperature`, `max_tokens`, `top_p`, `seed`, `stop` and what the provider knows beyond them.
    pub parameters: Map<String, Json>,
    /// Holds the answer to calls of tools that the prompt tells of.
    pub grammar: Option<CallGrammar>,
}

/// Calls as a prompt teaches them: a server that can be held to a grammar lets the model write no others.
#[derive(Debug, Clone, PartialEq)]
pub struct CallGrammar {
    pub tools: Vec<Arc<ToolDefinition>>,
    pub dialect: Protocol,
    /// Otherwise the model answers freely where no grammar can be given.
    pub required: bool,
}

/// Chunks as they come: text, tool calls (`{index, id?, name?, arguments?}`), usage, a reason to finish
/// (`content` is the reason's name). Reasoning is a custom chunk with `"role": "reasoning"`, who answers
/// one of the role [`MODEL_ROLE`]. A last custom chunk of the
/// role [`PARTS_ROLE`] holds what the provider wants back unchanged; it is kept with the message as [`PARTS_FIELD`].
pub type ModelChunks = Pin<Box<dyn Stream<Item = Result<Chunk, NodeError>> + Send>>;

#[async_trait]
pub trait ModelPort: Send + Sync {
    /// Ends early when `cancel` fires.
    async fn stream(
        &self,
        call: ModelCall,
        cancel: CancellationToken,
    ) -> Result<ModelChunks, NodeError>;
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct BusEvent {
    /// A dotted name: `npc.anna.greets`.
    pub kind: String,
    pub payload: Json,
}

pub type BusEvents = Pin<Box<dyn Stream<Item = BusEvent> + Send>>;

#[async_trait]
pub trait EventPort: Send + Sync {
    /// Gives the id of the event.
    async fn publish(&self, event: BusEvent) -> Result<String, NodeError>;

    /// All that fit one of the names, from now on; `*` stands for any part of a name.
    async fn subscribe(&self, names: Vec<String>) -> Result<BusEvents, NodeError>;
}
