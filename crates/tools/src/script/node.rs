//! A plugin's script as a node of workflows: inputs and settings go in, one value for each output comes out.
//!
//! Runs the script as [`ScriptExecutor`] runs tools; owns what a node is told, and that it keeps to the outputs it
//! declares. Which inputs a node gets, and when, is up to the engine.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_protocol::{ErrorCode, ToolDefinition};
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::executor::Done;
use super::{ScriptExecutor, ScriptHost, ScriptPlugin};
use crate::plugin::{DataFlowType, NodeDefinition, NodeMode, NodeShape, ScriptCommand};
use crate::{CallContext, Caller, Invocation, Progress, ProgressSink, Revision, Room, ToolError};

/// A node of a plugin, ready to be run.
pub struct ScriptNode {
    definition: NodeDefinition,
    /// The node in the words of tools, for what all scripts are told of themselves.
    tool: Arc<ToolDefinition>,
    executor: ScriptExecutor,
}

/// What came of a run.
pub(super) struct NodeDone {
    pub(super) outputs: Map<String, Json>,
    /// Files of people were written beside.
    pub(super) has_written: bool,
}

/// Who runs a node, and where it may say how far it is.
#[derive(Debug, Clone)]
pub struct NodeContext {
    pub caller: Arc<Caller>,
    /// Unique for this run of the node; the same when it is tried again.
    pub call_id: String,
    /// 1 for the first try.
    pub attempt: u32,
    pub cancel: CancellationToken,
    /// Also hears the pieces of stream outputs, as they come: each an object `{output: piece}`.
    pub progress: Progress,
}

impl ScriptNode {
    pub fn new(
        host: ScriptHost,
        plugin: ScriptPlugin,
        definition: NodeDefinition,
        command: ScriptCommand,
    ) -> Self {
        let schema = json!({ "type": "object" });
        let tool = ToolDefinition::new(definition.full_type(), &definition.description, schema);
        Self {
            tool: Arc::new(tool),
            executor: ScriptExecutor::new(host, plugin, command),
            definition,
        }
    }

    pub fn definition(&self) -> &NodeDefinition {
        &self.definition
    }

    /// Runs it once. Every declared output has a value in the answer; null where the script gave none.
    pub async fn run(
        &self,
        inputs: Map<String, Json>,
        config: Map<String, Json>,
        context: NodeContext,
    ) -> Result<Map<String, Json>, ToolError> {
        let done = self.perform(inputs, config, context).await?;
        Ok(done.outputs)
    }

    /// What decides its outputs beside the arguments that are judged. `beside` is what else it is told.
    pub(super) async fn revision(&self, caller: &Caller, beside: &Json) -> Option<Revision> {
        let beside = serde_json::to_vec(beside).ok()?;
        self.executor.revision(&caller.user, &beside).await
    }

    pub(super) async fn perform(
        &self,
        inputs: Map<String, Json>,
        config: Map<String, Json>,
        context: NodeContext,
    ) -> Result<NodeDone, ToolError> {
        let mode = self.mode(&config)?;
        let shape = mode.map_or(&self.definition.shape, |mode| &mode.shape);
        let mut told = Map::new();
        told.insert("node".into(), self.tool.id.as_str().into());
        if let Some(mode) = mode {
            told.insert("mode".into(), mode.id.as_str().into());
        }
        told.insert("inputs".into(), Json::Object(inputs));
        told.insert("config".into(), Json::Object(self.settings(shape, config)));
        let pieces = Arc::new(Pieces {
            streams: shape
                .outputs
                .iter()
                .filter(|slot| slot.is_stream)
                .map(|slot| (slot.key.clone(), slot.flow))
                .collect(),
            progress: context.progress,
            fault: Mutex::default(),
        });
        let call = Invocation {
            tool: self.tool.clone(),
            arguments: told,
            context: CallContext {
                caller: context.caller,
                call_id: context.call_id,
                asked_as: None,
                attempt: context.attempt,
                cancel: context.cancel,
                progress: Progress::to(pieces.clone()),
                run: None,
            },
        };
        let Done { value, has_written } = self.executor.perform(call).await?;
        match pieces.fault() {
            Some(what) => Err(self.bad_answer(what)),
            None => Ok(NodeDone {
                outputs: self.outputs(shape, value)?,
                has_written,
            }),
        }
    }

    /// The mode that the settings choose.
    fn mode(&self, config: &Map<String, Json>) -> Result<Option<&NodeMode>, ToolError> {
        let definition = &self.definition;
        let chosen = definition.mode_key.as_ref().and_then(|key| {
            let value = config.get(key).or(definition.config_values.get(key));
            value.filter(|value| !value.is_null())
        });
        let id = match chosen {
            Some(Json::String(id)) => id,
            Some(other) => return Err(self.no_mode(&other.to_string())),
            None => match &definition.default_mode {
                Some(id) => id,
                None => return Ok(None),
            },
        };
        match definition.mode(id) {
            Some(mode) => Ok(Some(mode)),
            None => Err(self.no_mode(id)),
        }
    }

    fn no_mode(&self, id: &str) -> ToolError {
        let modes = self.definition.modes.iter().map(|mode| mode.id.as_str());
        let message = format!(
            "the node {} has no mode '{}'; there are: {}",
            self.tool.id,
            super::answer::cut(id),
            modes.collect::<Vec<_>>().join(", ")
        );
        ToolError::invalid(message)
            .because("node.unknown_mode")
            .permanent()
    }

    /// All settings of the node: as set, else as a new node begins, else as the setting itself begins.
    fn settings(&self, shape: &NodeShape, mut config: Map<String, Json>) -> Map<String, Json> {
        for (key, value) in &self.definition.config_values {
            if !config.contains_key(key) {
                config.insert(key.clone(), value.clone());
            }
        }
        for setting in self.definition.shape.config.iter().chain(&shape.config) {
            let key = &setting.slot.key;
            if let Some(default) = setting.config.get("default")
                && !config.contains_key(key)
            {
                config.insert(key.clone(), default.clone());
            }
        }
        config
    }

    /// The script's answer, held against what the node declares.
    fn outputs(&self, shape: &NodeShape, answer: Json) -> Result<Map<String, Json>, ToolError> {
        let declared: Vec<_> = shape.outputs.iter().map(|slot| slot.key.as_str()).collect();
        let mut answer = match answer {
            Json::Object(answer) => answer,
            Json::Null => Map::new(),
            other => {
                return Err(self.bad_answer(format!(
                    "answered with {}; it has to print an object with its outputs ({})",
                    kind(&other),
                    declared.join(", ")
                )));
            }
        };
        let mut outputs = Map::new();
        for slot in &shape.outputs {
            let value = answer.shift_remove(&slot.key).unwrap_or_default();
            if !value.is_null() && !slot.flow.accepts(&value) {
                return Err(self.bad_answer(format!(
                    "gave {} for the output '{}', which is of the type {}",
                    kind(&value),
                    slot.key,
                    slot.flow
                )));
            }
            outputs.insert(slot.key.clone(), value);
        }
        if self.definition.dynamic_slots {
            outputs.append(&mut answer);
        }
        if !answer.is_empty() {
            let strange: Vec<_> = answer.keys().map(|key| format!("'{key}'")).collect();
            return Err(self.bad_answer(format!(
                "gave outputs that it does not declare: {}; declared are: {}",
                strange.join(", "),
                declared.join(", ")
            )));
        }
        Ok(outputs)
    }

    fn bad_answer(&self, what: String) -> ToolError {
        let message = format!("the node {} {what}", self.tool.id);
        let message = super::answer::cut(&message);
        ToolError::new(ErrorCode::ToolResultInvalid, message)
            .because("node.outputs")
            .permanent()
    }
}

/// Lets through only pieces that the node has declared.
struct Pieces {
    streams: Vec<(String, DataFlowType)>,
    progress: Progress,
    /// What was wrong with the first bad piece.
    fault: Mutex<Option<String>>,
}

impl Pieces {
    fn check(&self, piece: &Json) -> Result<(), String> {
        let Json::Object(piece) = piece else {
            return Err(format!(
                "gave {} as a piece; a piece is an object with the output's name",
                kind(piece)
            ));
        };
        for (key, value) in piece {
            match self.streams.iter().find(|(known, _)| known == key) {
                None => {
                    return Err(format!(
                        "gave a piece for '{key}', which is no stream output"
                    ));
                }
                Some((_, flow)) if !flow.accepts(value) => {
                    let found = kind(value);
                    return Err(format!(
                        "gave {found} as a piece of '{key}', which is of the type {flow}"
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn fault(&self) -> Option<String> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take()
    }
}

impl ProgressSink for Pieces {
    fn report(&self, fraction: Option<f64>, message: &str) {
        self.progress.report(fraction, message);
    }

    fn partial(&self, piece: &Json) {
        match self.check(piece) {
            Ok(()) => self.progress.partial(piece),
            Err(what) => {
                let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
                fault.get_or_insert(what);
            }
        }
    }

    fn start_over(&self) {
        self.fault();
        self.progress.start_over();
    }

    fn room(&self) -> Option<Room> {
        self.progress.room()
    }
}

impl fmt::Debug for ScriptNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScriptNode({})", self.tool.id)
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "nothing",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
