//! What a run tells while it is at work: typed here, and in the names and fields of ComfyTavern on the wire.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use crate::limits::MAX_EVENT_VALUE_BYTES;
use crate::node::{NodeInfo, Output};
use crate::stream::Chunk;
use crate::{NodeError, Value};

/// Under this name the outputs of the whole workflow are told.
pub const INTERFACE_OUTPUTS: &str = "__WORKFLOW_INTERFACE_OUTPUTS__";

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionStatus {
    Queued,
    Running,
    Complete,
    Error,
    Interrupted,
}

impl ExecutionStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
        }
    }

    pub const fn is_end(self) -> bool {
        matches!(self, Self::Complete | Self::Error | Self::Interrupted)
    }
}

/// One thing that happened in a run.
#[derive(Debug, Clone)]
pub struct ExecutionEvent {
    pub prompt_id: Arc<str>,
    /// From 1, without gaps, within the run.
    pub seq: u64,
    pub body: EventBody,
    /// About how many bytes it holds.
    pub(super) weight: usize,
}

impl ExecutionEvent {
    /// About how many bytes it holds.
    pub const fn weight(&self) -> usize {
        self.weight
    }
}

/// A node of a run, and in which iteration of the loop around it.
#[derive(Debug, Clone)]
pub struct NodeRef {
    pub info: Arc<NodeInfo>,
    /// Of the innermost loop, from 1.
    pub iteration: Option<u64>,
}

#[derive(Debug, Clone)]
pub enum EventBody {
    Status {
        status: ExecutionStatus,
        error: Option<NodeError>,
    },
    NodeExecuting(NodeRef),
    NodeProgress {
        node: NodeRef,
        value: f64,
        max: f64,
    },
    NodePreview {
        node: NodeRef,
        text: String,
    },
    NodeComplete {
        node: NodeRef,
        outputs: Box<[Output]>,
        /// Taken from an earlier run.
        cached: bool,
    },
    NodeError {
        node: NodeRef,
        error: NodeError,
        /// It will be tried again.
        retry: bool,
    },
    NodeSkipped {
        node: NodeRef,
        why: Skip,
    },
    NodeBypassed {
        node: NodeRef,
        outputs: Box<[Output]>,
    },
    NodeYield {
        node: NodeRef,
        output: Arc<str>,
        chunk: Option<Chunk>,
    },
    InterfaceYield {
        key: Arc<str>,
        display_name: Option<Arc<str>>,
        chunk: Option<Chunk>,
    },
    InterfaceOutputs(Arc<Vec<(Arc<str>, Value)>>),
    /// The run was taken on.
    Accepted,
    /// How many runs are at work, and how many wait.
    Queue {
        running: usize,
        pending: usize,
    },
    LoopIteration {
        node: NodeRef,
        iteration: u64,
        status: IterationStatus,
    },
    Trace {
        node: NodeRef,
        trace: Trace,
    },
}

/// Why a node did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// It lies on a branch that was not taken.
    BranchNotTaken,
    /// Something that it depends on failed.
    UpstreamFailed,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "status")]
pub enum IterationStatus {
    Started,
    Complete,
    Error { message: String },
}

/// A step of an agent, for a person who follows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Trace {
    /// The model was asked.
    Thinking { model: String },
    /// The model answered without asking for a tool.
    Replied { text: String },
    /// The model asked for a tool.
    ToolSelected { tool: String, arguments: Json },
    ToolRunning {
        #[serde(rename = "callId")]
        call_id: String,
        tool: String,
    },
    ToolOutput {
        #[serde(rename = "callId")]
        call_id: String,
        tool: String,
        piece: Json,
    },
    ToolFinished {
        #[serde(rename = "callId")]
        call_id: String,
        tool: String,
        success: bool,
        /// The beginning of the result.
        summary: String,
    },
}

impl EventBody {
    /// The name on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Status { .. } => "EXECUTION_STATUS_UPDATE",
            Self::NodeExecuting(_) => "NODE_EXECUTING",
            Self::NodeProgress { .. } => "NODE_PROGRESS",
            Self::NodePreview { .. } => "NODE_PREVIEW",
            Self::NodeComplete { .. } | Self::InterfaceOutputs(_) => "NODE_COMPLETE",
            Self::NodeError { .. } => "NODE_ERROR",
            Self::NodeSkipped { .. } => "NODE_SKIPPED",
            Self::NodeBypassed { .. } => "NODE_BYPASSED",
            Self::NodeYield { .. } => "NODE_YIELD",
            Self::InterfaceYield { .. } => "WORKFLOW_INTERFACE_YIELD",
            Self::LoopIteration { .. } => "LOOP_ITERATION",
            Self::Trace { .. } => "AGENT_TRACE",
            Self::Accepted => "PROMPT_ACCEPTED_RESPONSE",
            Self::Queue { .. } => "SYSTEM_QUEUE_UPDATE",
        }
    }

    pub fn node(&self) -> Option<&NodeRef> {
        match self {
            Self::NodeExecuting(node)
            | Self::NodeProgress { node, .. }
            | Self::NodePreview { node, .. }
            | Self::NodeComplete { node, .. }
            | Self::NodeError { node, .. }
            | Self::NodeSkipped { node, .. }
            | Self::NodeBypassed { node, .. }
            | Self::NodeYield { node, .. }
            | Self::LoopIteration { node, .. }
            | Self::Trace { node, .. } => Some(node),
            Self::Status { .. }
            | Self::InterfaceYield { .. }
            | Self::InterfaceOutputs(_)
            | Self::Accepted
            | Self::Queue { .. } => None,
        }
    }
}

impl EventBody {
    /// Long values are cut, so that whoever follows holds a bounded number of bytes; gives about how many.
    pub(super) fn trim(&mut self) -> usize {
        let values = match self {
            Self::NodeComplete { outputs, .. } | Self::NodeBypassed { outputs, .. } => outputs,
            Self::NodeYield { chunk, .. } | Self::InterfaceYield { chunk, .. } => {
                return EVENT_BYTES + chunk.as_mut().map(trim_chunk).unwrap_or_default();
            }
            Self::NodePreview { text, .. } => return EVENT_BYTES + trim_text(text),
            Self::InterfaceOutputs(outputs) => {
                let outputs = Arc::make_mut(outputs).iter_mut();
                return EVENT_BYTES + outputs.map(|(_, value)| trim(value)).sum::<usize>();
            }
            Self::Trace { trace, .. } => return EVENT_BYTES + trace.trim(),
            Self::NodeError { error, .. }
            | Self::Status {
                error: Some(error), ..
            } => return EVENT_BYTES + trim_text(&mut error.message) + trim_text(&mut error.code),
            Self::LoopIteration {
                status: IterationStatus::Error { message },
                ..
            } => return EVENT_BYTES + trim_text(message),
            Self::Status { error: None, .. }
            | Self::NodeExecuting(_)
            | Self::NodeProgress { .. }
            | Self::NodeSkipped { .. }
            | Self::LoopIteration { .. }
            | Self::Accepted
            | Self::Queue { .. } => return EVENT_BYTES,
        };
        let values = values.iter_mut().map(|output| match output {
            Output::Value(value) => trim(value),
            Output::Absent | Output::Skipped => 0,
        });
        EVENT_BYTES + values.sum::<usize>()
    }
}

/// What every event takes.
const EVENT_BYTES: usize = 128;

impl Trace {
    fn trim(&mut self) -> usize {
        let json = |json: &mut Json| {
            let mut value = Value::from(std::mem::take(json));
            let weight = trim(&mut value);
            *json = value.into_json();
            weight
        };
        match self {
            Self::Thinking { model } => trim_text(model),
            Self::Replied { text } => trim_text(text),
            Self::ToolSelected { tool, arguments } => trim_text(tool) + json(arguments),
            // The model that called chose the id too.
            Self::ToolRunning { call_id, tool } => trim_text(call_id) + trim_text(tool),
            Self::ToolOutput {
                call_id,
                tool,
                piece,
            } => trim_text(call_id) + trim_text(tool) + json(piece),
            Self::ToolFinished {
                call_id,
                tool,
                success: _,
                summary,
            } => trim_text(call_id) + trim_text(tool) + trim_text(summary),
        }
    }
}

fn trim_text(text: &mut String) -> usize {
    if text.len() > MAX_EVENT_VALUE_BYTES {
        text.truncate(text.floor_char_boundary(MAX_EVENT_VALUE_BYTES));
        text.push('…');
    }
    text.len()
}

/// Further fields that are too long are left out, and it is told.
fn trim_chunk(chunk: &mut Chunk) -> usize {
    if chunk.extra_bytes() > MAX_EVENT_VALUE_BYTES {
        let told = [("extraTruncated".to_owned(), Json::Bool(true))];
        chunk.extra = Some(Arc::new(told.into_iter().collect()));
    }
    trim(&mut chunk.content) + chunk.extra_bytes()
}

fn trim(value: &mut Value) -> usize {
    let weight = value.weight();
    if weight <= MAX_EVENT_VALUE_BYTES {
        return weight;
    }
    *value = preview(value).into();
    value.weight()
}

impl Serialize for ExecutionEvent {
    /// `{type, seq, payload}`
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("type", self.body.name())?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("payload", &Payload(self))?;
        map.end()
    }
}

struct Payload<'e>(&'e ExecutionEvent);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let event = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("promptId", &event.prompt_id)?;
        if let Some(node) = event.body.node() {
            let key = match event.body {
                EventBody::NodeYield { .. } => "sourceNodeId",
                _ => "nodeId",
            };
            map.serialize_entry(key, &node.info.id)?;
            if let Some(iteration) = node.iteration {
                map.serialize_entry("loopIteration", &iteration)?;
            }
        }
        match &event.body {
            EventBody::Status { status, error } => {
                map.serialize_entry("status", status)?;
                if let Some(error) = error {
                    let info = json!({"message": error.message, "code": error.code});
                    map.serialize_entry("errorInfo", &info)?;
                }
            }
            EventBody::NodeExecuting(_) | EventBody::Accepted => {}
            EventBody::Queue { running, pending } => {
                map.serialize_entry("runningExecutions", running)?;
                map.serialize_entry("pendingExecutions", pending)?;
            }
            EventBody::NodeProgress { value, max, .. } => {
                map.serialize_entry("value", value)?;
                map.serialize_entry("max", max)?;
            }
            EventBody::NodePreview { text, .. } => map.serialize_entry("text", text)?,
            EventBody::NodeComplete {
                node,
                outputs,
                cached,
            } => {
                map.serialize_entry("output", &shown(&node.info, outputs))?;
                if *cached {
                    map.serialize_entry("cached", cached)?;
                }
            }
            EventBody::NodeError { error, retry, .. } => {
                map.serialize_entry("errorDetails", error)?;
                if *retry {
                    map.serialize_entry("retry", retry)?;
                }
            }
            EventBody::NodeSkipped { why, .. } => map.serialize_entry("reason", why)?,
            EventBody::NodeBypassed { node, outputs } => {
                map.serialize_entry("pseudoOutputs", &shown(&node.info, outputs))?;
            }
            EventBody::NodeYield { output, chunk, .. } => {
                map.serialize_entry("outputKey", output)?;
                yielded(&mut map, chunk)?;
            }
            EventBody::InterfaceYield {
                key,
                display_name,
                chunk,
            } => {
                map.serialize_entry("interfaceOutputKey", key)?;
                if let Some(name) = display_name {
                    map.serialize_entry("interfaceOutputDisplayName", name)?;
                }
                yielded(&mut map, chunk)?;
            }
            EventBody::InterfaceOutputs(outputs) => {
                map.serialize_entry("nodeId", INTERFACE_OUTPUTS)?;
                let shown: serde_json::Map<_, _> = outputs
                    .iter()
                    .map(|(key, value)| (key.to_string(), preview(value)))
                    .collect();
                map.serialize_entry("output", &shown)?;
            }
            EventBody::LoopIteration {
                iteration, status, ..
            } => {
                map.serialize_entry("iteration", iteration)?;
                if let Json::Object(status) = json!(status) {
                    for (key, value) in &status {
                        map.serialize_entry(key, value)?;
                    }
                }
            }
            EventBody::Trace { trace, .. } => map.serialize_entry("trace", trace)?,
        }
        map.end()
    }
}

fn yielded<M: SerializeMap>(map: &mut M, chunk: &Option<Chunk>) -> Result<(), M::Error> {
    match chunk {
        Some(chunk) => map.serialize_entry("yieldedContent", chunk)?,
        None => {
            let end = json!({"type": "finish_reason_chunk", "content": "Stream ended"});
            map.serialize_entry("yieldedContent", &end)?;
        }
    }
    map.serialize_entry("isLastChunk", &chunk.is_none())
}

fn shown(info: &NodeInfo, outputs: &[Output]) -> serde_json::Map<String, Json> {
    let mut shown = serde_json::Map::new();
    for (slot, output) in info.outputs.iter().zip(outputs) {
        let value = match output {
            _ if slot.is_stream => {
                json!({"type": "stream_placeholder", "message": "sent as NODE_YIELD"})
            }
            Output::Value(value) => preview(value),
            Output::Absent | Output::Skipped => continue,
        };
        shown.insert(slot.key.to_string(), value);
    }
    shown
}

/// The value, or the beginning of a long one.
pub(crate) fn preview(value: &Value) -> Json {
    if value.weight() <= MAX_EVENT_VALUE_BYTES {
        return value.as_json().clone();
    }
    let beginning = match value.as_json() {
        Json::String(text) => beginning(text).to_owned(),
        other => beginning(&other.to_string()).to_owned(),
    };
    json!({"type": "truncated", "preview": beginning})
}

fn beginning(text: &str) -> &str {
    let end = text.floor_char_boundary(1_024);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
