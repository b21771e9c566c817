//! A node at work: its inputs, its settings, its outputs, and whom it may call.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use super::input::{FromInput, wrong_input};
use super::{In, Input, NodeError, Out, StreamOut};
use crate::port::{EventPort, ModelPort, Services, ToolPort};
use crate::run::{Kept, NodeEvents, Trace};
use crate::stream::{Chunk, StreamWriter};
use crate::{DataFlowType, Value};

/// What is known of a node of a plan before it runs.
#[derive(Debug)]
pub struct NodeInfo {
    /// Path of the node: `group_1/Merge_2`.
    pub id: Arc<str>,
    pub full_type: Arc<str>,
    pub display_name: Option<String>,
    pub mode: Option<String>,
    pub config: Map<String, Json>,
    pub inputs: Vec<SlotInfo>,
    pub outputs: Vec<SlotInfo>,
}

#[derive(Debug, Clone)]
pub struct SlotInfo {
    pub key: Arc<str>,
    pub flow: DataFlowType,
    pub is_stream: bool,
    /// Something is connected to it.
    pub is_connected: bool,
}

/// What came out of one slot.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Output {
    /// Nothing: whoever takes it takes what an unconnected slot has.
    #[default]
    Absent,
    Value(Value),
    /// A branch not taken: what depends on it does not run.
    Skipped,
}

/// Inputs in, outputs out.
pub struct Io {
    pub(crate) info: Arc<NodeInfo>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
}

impl Io {
    /// The input, as the node declared it. A stream can be taken once.
    pub fn get<T: FromInput>(&mut self, slot: In<T>) -> Result<T, NodeError> {
        self.take(slot.index)
    }

    /// By number, for slots that a workflow gave the node.
    pub fn take<T: FromInput>(&mut self, index: usize) -> Result<T, NodeError> {
        let mut absent = Input::Absent;
        let input = self.inputs.get_mut(index).unwrap_or(&mut absent);
        match T::from_input(input) {
            Some(value) => Ok(value),
            None => {
                let key = self.info.inputs.get(index);
                let key = key.map_or("?", |slot| &slot.key);
                Err(wrong_input(key, T::WANTED, input))
            }
        }
    }

    pub fn set<T>(&mut self, slot: Out<T>, value: impl Into<Value>) {
        self.put(slot.index, Output::Value(value.into()));
    }

    /// What depends on this output does not run.
    pub fn skip<T>(&mut self, slot: Out<T>) {
        self.put(slot.index, Output::Skipped);
    }

    pub fn put(&mut self, index: usize, output: Output) {
        if let Some(place) = self.outputs.get_mut(index) {
            *place = output;
        }
    }

    pub fn info(&self) -> &Arc<NodeInfo> {
        &self.info
    }

    pub fn config(&self, key: &str) -> &Json {
        self.info.config.get(key).unwrap_or(&Json::Null)
    }

    /// A setting as text; empty if it is not set.
    pub fn config_text(&self, key: &str) -> &str {
        self.config(key).as_str().unwrap_or_default()
    }

    pub fn input(&self, index: usize) -> &Input {
        const ABSENT: &Input = &Input::Absent;
        self.inputs.get(index).unwrap_or(ABSENT)
    }

    /// All inputs by name, streams left out.
    pub fn values(&self) -> Map<String, Json> {
        let slots = self.info.inputs.iter().zip(&self.inputs);
        slots
            .filter(|(_, input)| !matches!(input, Input::Absent | Input::Stream(_)))
            .map(|(slot, input)| (slot.key.to_string(), input.as_value().into_json()))
            .collect()
    }
}

/// Who runs a node, and what it may ask for.
#[derive(Clone)]
pub struct NodeContext {
    pub prompt_id: Arc<str>,
    pub cancel: CancellationToken,
    /// 1 for the first try.
    pub attempt: u32,
    pub(crate) services: Services,
    pub(crate) kept: Option<Kept>,
    pub(crate) events: NodeEvents,
}

impl NodeContext {
    /// How far it is.
    pub fn progress(&self, value: f64, max: f64) {
        self.events.progress(value, max);
    }

    /// A first look at what is being made.
    pub fn preview(&self, text: impl Into<String>) {
        self.events.preview(text.into());
    }

    /// A step that a person follows.
    pub fn trace(&self, trace: Trace) {
        self.events.trace(trace);
    }

    pub fn tools(&self) -> Result<&Arc<dyn ToolPort>, NodeError> {
        needed(&self.services.tools, "tools")
    }

    pub fn models(&self) -> Result<&Arc<dyn ModelPort>, NodeError> {
        needed(&self.services.models, "language models")
    }

    pub fn event_bus(&self) -> Result<&Arc<dyn EventPort>, NodeError> {
        needed(&self.services.events, "an event bus")
    }

    /// Where results of earlier runs are found, for a node that keeps its own; none where the workflow wants none kept.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// What the host gave to this run for its own nodes.
    pub fn host<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.services.host.as_ref()?.downcast_ref()
    }
}

fn needed<'p, T: ?Sized>(port: &'p Option<Arc<T>>, what: &str) -> Result<&'p Arc<T>, NodeError> {
    port.as_ref().ok_or_else(|| {
        NodeError::invalid(
            "service.missing",
            format!("this node needs {what}, which this run was not given"),
        )
    })
}

/// A node that may wait, stream and call others.
pub struct TaskIo {
    pub(crate) io: Io,
    pub(crate) context: NodeContext,
    pub(crate) writers: Vec<(usize, Arc<StreamWriter>)>,
}

/// What a task gives back.
pub struct Outputs(pub(crate) Vec<Output>);

impl TaskIo {
    pub fn context(&self) -> &NodeContext {
        &self.context
    }

    /// Where the chunks of a stream output go. Sending waits for whoever reads.
    pub fn writer(&self, slot: StreamOut) -> Writer {
        self.writer_at(slot.index)
    }

    pub fn writer_at(&self, index: usize) -> Writer {
        let known = self.writers.iter().find(|(known, _)| *known == index);
        let key = self.info.outputs.get(index).map(|slot| slot.key.clone());
        Writer {
            stream: known.map(|(_, writer)| writer.clone()),
            key: key.unwrap_or_default(),
            events: self.context.events.clone(),
        }
    }

    pub fn done(self) -> Result<Outputs, NodeError> {
        Ok(Outputs(self.io.outputs))
    }
}

impl Deref for TaskIo {
    type Target = Io;

    fn deref(&self) -> &Io {
        &self.io
    }
}

impl DerefMut for TaskIo {
    fn deref_mut(&mut self) -> &mut Io {
        &mut self.io
    }
}

/// One stream output of a node at work.
#[derive(Clone)]
pub struct Writer {
    stream: Option<Arc<StreamWriter>>,
    key: Arc<str>,
    events: NodeEvents,
}

impl Writer {
    pub async fn send(&self, chunk: Chunk) -> Result<(), NodeError> {
        self.events.chunk(&self.key, &chunk);
        let Some(stream) = &self.stream else {
            return Ok(());
        };
        let sent = stream.send(chunk).await;
        sent.map_err(|error| NodeError::invalid("stream.too_long", error.to_string()))
    }

    pub async fn text(&self, text: impl Into<String>) -> Result<(), NodeError> {
        self.send(Chunk::text(text)).await
    }
}
