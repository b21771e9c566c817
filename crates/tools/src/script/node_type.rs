//! A plugin's node for the engine: what goes in and out of its script, and its streams while it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::future::try_join_all;
use innkeeper_engine::node::{Behaviour, Input, Output, Outputs, TaskIo, Writer};
use innkeeper_engine::stream::{Chunk, StreamReader};
use innkeeper_engine::{DataFlowType, NodeError, NodeType};
use serde_json::{Map, Value as Json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::node_call::{AsTool, Asked};
use super::{NodeContext, ScriptNode};
use crate::limits::MAX_WAITING_PIECES;
use crate::pipeline::ready::Leave;
use crate::workflow::node_tool::Given;
use crate::workflow::{NodeLeave, WorkflowHost};
use crate::{Progress, ProgressSink, Room, ToolError};

/// The engine's view of a node: it runs as whoever runs the workflow, on the way of every call.
pub fn node_type(node: Arc<ScriptNode>) -> NodeType {
    let definition = node.definition().clone();
    let tool = Arc::new(OnceLock::new());
    let behaviour = Behaviour::task(move |io| run(node.clone(), tool.clone(), io));
    // Whether it may run is asked each time, and what it gives may depend on whose settings it has.
    NodeType::from_definition(definition, behaviour).keeping_own()
}

async fn run(node: Arc<ScriptNode>, tool: AsTool, mut io: TaskIo) -> Result<Outputs, NodeError> {
    let host = io.context().host::<WorkflowHost>().cloned();
    let host = host.ok_or_else(|| {
        let message = "nodes of plugins run for somebody, and nobody is named for this run";
        NodeError::invalid("service.missing", message)
    })?;
    let inputs = inputs(&mut io).await?;
    let config = io.info().config.clone();
    let (sender, receiver) = mpsc::channel(MAX_WAITING_PIECES);
    let queue = Arc::new(Queue {
        sender,
        is_overfull: AtomicBool::new(false),
        context: io.context().clone(),
    });
    let engine = io.context();
    let context = NodeContext {
        caller: host.run.caller.clone(),
        call_id: format!("{}/{}", engine.prompt_id, io.info().id),
        attempt: engine.attempt,
        cancel: engine.cancel.clone(),
        progress: Progress::to(queue.clone()),
    };
    let streams = Streams::of(&io);
    // Pieces are passed on as they come, and nobody holds all of them.
    let may_keep = node.definition().deterministic && streams.0.is_empty();
    let kept = engine.kept().filter(|_| may_keep).cloned();
    let answered = CancellationToken::new();
    let work = async {
        let leave = match host.leave {
            NodeLeave::Passed => None,
            NodeLeave::Tool => Some(Leave::Tool),
            NodeLeave::Workflow => Some(Leave::Workflow),
        };
        let given = Given { config, inputs };
        let outputs = match leave {
            None => {
                let outputs = node.run(given.inputs, given.config, context).await;
                outputs.map_err(failed)
            }
            Some(leave) => {
                let asked = Asked::new(node, tool, given, context);
                asked.pass(&host.run, leave, kept).await
            }
        };
        answered.cancel();
        match queue.is_overfull.load(Ordering::Acquire) {
            true => Err(NodeError::failed(
                "stream.too_fast",
                "the script ended before its pieces could be read, and some were lost; let it wait for the end of the call",
            )),
            false => outputs,
        }
    };
    // If either fails the other is dropped, and with it the call.
    let passing = streams.pass_on(receiver, &answered);
    let (mut outputs, streamed) = tokio::try_join!(work, passing)?;
    for (index, slot) in io.info().clone().outputs.iter().enumerate() {
        let value = outputs.shift_remove(&*slot.key).unwrap_or_default();
        if !slot.is_stream {
            if !value.is_null() {
                io.put(index, Output::Value(value.into()));
            }
            continue;
        }
        // A script that cannot give pieces gives the whole.
        if !streamed.contains(&index) && !value.is_null() {
            send_whole(&io.writer_at(index), slot.flow, value).await?;
        }
    }
    io.done()
}

async fn send_whole(writer: &Writer, flow: DataFlowType, value: Json) -> Result<(), NodeError> {
    match value {
        Json::Array(pieces) if flow != DataFlowType::Array => {
            for piece in pieces {
                writer.send(Chunk::of(piece.into())).await?;
            }
            Ok(())
        }
        value => writer.send(Chunk::of(value.into())).await,
    }
}

/// All inputs by name; streams as what they have brought in the end.
async fn inputs(io: &mut TaskIo) -> Result<Map<String, Json>, NodeError> {
    let info = io.info().clone();
    let mut values = io.values();
    let mut streams = Vec::new();
    for (index, slot) in info.inputs.iter().enumerate() {
        if matches!(io.input(index), Input::Stream(_)) {
            let reader: StreamReader = io.take(index)?;
            streams.push(collect(slot.key.to_string(), slot.flow, reader));
        }
    }
    // At once: streams may come from one that waits for all who read it.
    values.extend(try_join_all(streams).await?);
    Ok(values)
}

async fn collect(
    key: String,
    flow: DataFlowType,
    mut reader: StreamReader,
) -> Result<(String, Json), NodeError> {
    let collected = reader.collect(flow).await;
    let value = collected.map_err(|error| in_slot(&key, error))?;
    Ok((key, value.into_json()))
}

/// With its place, if it went wrong here: what went wrong before is told by whoever wrote the stream.
fn in_slot(key: &str, mut error: NodeError) -> NodeError {
    if error.code == "stream.too_long" {
        error.message = format!("'{key}': {}", error.message);
    }
    error
}

/// Between the script, which is heard without waiting, and those who read its streams. It is never more than full: who
/// reads the script asks for room first.
struct Queue {
    sender: mpsc::Sender<Map<String, Json>>,
    /// A piece came where there was no room, which happens only when the script is over.
    is_overfull: AtomicBool,
    context: innkeeper_engine::node::NodeContext,
}

impl ProgressSink for Queue {
    fn report(&self, fraction: Option<f64>, message: &str) {
        if let Some(fraction) = fraction {
            self.context.progress(fraction, 1.0);
        }
        if !message.is_empty() {
            self.context.preview(message);
        }
    }

    fn partial(&self, piece: &Json) {
        let Json::Object(piece) = piece else {
            return;
        };
        if let Err(mpsc::error::TrySendError::Full(_)) = self.sender.try_send(piece.clone()) {
            self.is_overfull.store(true, Ordering::Release);
        }
    }

    fn room(&self) -> Option<Room> {
        if self.sender.capacity() > 0 || self.sender.is_closed() {
            return None;
        }
        let sender = self.sender.clone();
        Some(Box::pin(async move {
            // Also ends where nobody reads any more.
            let _ = sender.reserve().await;
        }))
    }
}

/// The stream outputs of a node at work.
struct Streams(Vec<(usize, Arc<str>, Writer)>);

impl Streams {
    fn of(io: &TaskIo) -> Self {
        let slots = io.info().outputs.iter().enumerate();
        let streams = slots.filter(|(_, slot)| slot.is_stream);
        let streams = streams.map(|(index, slot)| (index, slot.key.clone(), io.writer_at(index)));
        Self(streams.collect())
    }

    /// Gives pieces to whoever reads, as fast as they are read; tells which streams had any.
    async fn pass_on(
        &self,
        mut pieces: mpsc::Receiver<Map<String, Json>>,
        answered: &CancellationToken,
    ) -> Result<Vec<usize>, NodeError> {
        let mut streamed = Vec::new();
        loop {
            let piece = tokio::select! {
                biased;
                piece = pieces.recv() => piece,
                // All pieces came before the answer; whoever holds the other end still has nothing to say.
                () = answered.cancelled() => pieces.try_recv().ok(),
            };
            let Some(piece) = piece else {
                return Ok(streamed);
            };
            for (key, value) in piece {
                let stream = self.0.iter().find(|(_, known, _)| **known == key);
                let Some((index, _, writer)) = stream else {
                    continue;
                };
                writer.send(Chunk::of(value.into())).await?;
                if !streamed.contains(index) {
                    streamed.push(*index);
                }
            }
        }
    }
}

fn failed(error: ToolError) -> NodeError {
    let code = error.reason.clone();
    let code = code.unwrap_or_else(|| error.code.as_str().to_owned());
    match error.may_pass() {
        true => NodeError::failed(code, error.message),
        false => NodeError::invalid(code, error.message),
    }
}

#[cfg(test)]
#[path = "node_type_tests.rs"]
mod tests;
