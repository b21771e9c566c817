//! What nodes may ask of the world, as traits that whoever runs workflows implements.
//!
//! The engine itself reaches nothing: files, network, programs and other workflows are all tools, so that what a
//! node does is allowed, audited and stopped like any other call.

use std::any::Any;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::Stream;
use innkeeper_protocol::{Locale, Observation, Protocol, ToolCallRequest, ToolDefinition};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use crate::stream::Chunk;
use crate::{Kept, NodeError, Value};

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

/// Marks the chunk with the name of who answers, by its own account. A later one replaces an earlier one. Where the
/// provider gives its answer an id, it stands beside the role, as [`RESPONSE_ID`].
pub const MODEL_ROLE: &str = "model";
pub const RESPONSE_ID: &str = "response_id";
/// Marks the chunk with the parts of an answer, as whoever asks the model writes and reads them.
pub const PARTS_ROLE: &str = "parts";
/// Where they stand in the message.
pub const PARTS_FIELD: &str = "innkeeper_parts";

/// A conversation in the chat form: `{"role": "user", "content": "…"}`. Shared, not copied.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Messages(Value);

impl Messages {
    /// `None` for what is no list.
    pub fn of(value: Value) -> Option<Self> {
        value.as_json().is_array().then_some(Self(value))
    }

    /// A list, or nothing at all.
    pub fn as_json(&self) -> &Json {
        self.0.as_json()
    }

    /// What whoever asks models has made of them. They may have grown since then; the first ones are the same.
    pub fn reading<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.reading()
    }

    /// For the next turn of the conversation.
    pub fn keep_reading<T: Any + Send + Sync>(&self, reading: Arc<T>) {
        self.0.keep_reading(reading);
    }
}

impl From<Vec<Json>> for Messages {
    fn from(list: Vec<Json>) -> Self {
        Self(list.into())
    }
}

impl Deref for Messages {
    type Target = [Json];

    fn deref(&self) -> &[Json] {
        self.0.as_json().as_array().map_or(&[], Vec::as_slice)
    }
}

/// One request to a language model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelCall {
    /// Empty for the default model.
    pub model: String,
    pub messages: Messages,
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

/// Who would be asked, as far as is known beforehand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelFound {
    /// The owner's name for the way to it.
    pub channel: String,
    /// Whose model it is: `openai`, `anthropic`.
    pub provider: String,
    /// How it is talked to, where the provider alone does not say.
    pub format: Option<String>,
    /// Its name there.
    pub model: String,
    /// Tokens of conversation and reply together that it holds, where that is known.
    pub context: Option<u64>,
}

#[async_trait]
pub trait ModelPort: Send + Sync {
    /// Who answers to a name; empty for the default. Nothing where that is not known before it is asked.
    fn find(&self, _model: &str) -> Result<Option<ModelFound>, NodeError> {
        Ok(None)
    }

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
