//! ExecuteTool: runs the calls of a decision, one after the other, and tells what came of each.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use innkeeper_protocol::{ErrorCode, Observation, OnError, Outcome, render_observation};
use serde_json::{Map, Value as Json, json};
use tokio::sync::mpsc;

use super::references::{Filled, References};
use super::request_json::Request;
use crate::limits::{MAX_DECISION_CALLS, MAX_TRACE_SUMMARY_CHARS, TOOL_PIECES};
use crate::node::{NodeBuilder, NodeContext, NodeType, Writer, any, array, boolean, text};
use crate::port::ToolListener;
use crate::stream::{Chunk, ChunkKind};
use crate::{NodeError, Trace, Value};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "ExecuteTool",
        "Agent",
        "Execute tools",
        "Runs the tools that a model asked for, in order. A call that fails is an observation too; it stops the rest of its block unless the call says otherwise",
    );
    node.alias("core:ExecuteToolNode");
    let requests = node.input(
        any("tool_call_requests")
            .title("Tool calls")
            .about("One call or a list: {tool, parameters, …}")
            .required(),
    );
    let tools = node.input(
        array("tools")
            .title("Tools")
            .about("Only these may be called; every tool of the run if nothing is connected")
            .optional(),
    );
    let remarks = node.input(
        text("remarks")
            .title("Remarks")
            .about("What the model is told before the observations: calls that could not be read"),
    );
    let results = node.output(
        array("results")
            .title("Results")
            .about("One for each call: {tool, callId, step, success, result, error, observation}"),
    );
    let observation = node.output(
        text("observation")
            .title("Observation")
            .about("All observations, as the model is told"),
    );
    let success = node.output(boolean("success").title("Success").about("No call failed"));
    let stream = node.output(
        any("stream")
            .title("Stream")
            .about("Pieces of results as they come, and each observation")
            .stream(),
    );
    node.effects();
    node.task(move |mut io| async move {
        let asked = requests_of(&io.get(requests)?)?;
        let offered = io.get(tools)?;
        let offered = offered.map(|list| list.iter().map(name_of).collect::<Vec<_>>());
        let mut told = Vec::new();
        let said = io.get(remarks)?;
        if !said.is_empty() {
            told.push(said);
        }
        let desk = Desk {
            context: io.context().clone(),
            writer: io.writer(stream),
            offered,
        };
        let mut list = Vec::with_capacity(asked.len());
        let mut is_well = true;
        // Of the block at hand; another block knows nothing of it.
        let mut references: Option<(u64, References)> = None;
        // The step that failed, and its block.
        let mut failed: Option<(u64, u32)> = None;
        for (number, request) in asked.iter().enumerate() {
            let known = references
                .take()
                .filter(|(block, _)| *block == request.block);
            let (_, known) = references.insert(known.unwrap_or_else(|| {
                let same = asked.iter().filter(|other| other.block == request.block);
                (request.block, References::of(same.map(|other| &other.call)))
            }));
            let call_id = request.call.call_id.as_deref();
            let call_id = call_id.map_or_else(|| format!("call_{}", number + 1), str::to_owned);
            let stopped = failed.filter(|(block, _)| *block == request.block);
            let mut seen = match stopped {
                Some((_, step)) => Observation::error(
                    request.call.tool.as_ref(),
                    ErrorCode::ToolSkipped,
                    format!("step {step} failed, and what follows it was not run"),
                ),
                None => desk.run(request, &call_id, known).await?,
            };
            seen.index = request.call.index;
            seen.call_id.clone_from(&Some(call_id.clone()));
            let ok = is_success(&seen);
            is_well &= ok;
            if !ok && stopped.is_none() && request.call.on_error == OnError::Stop {
                failed = Some((request.block, request.call.index));
            }
            known.finish(request.call.index, &seen);
            let text = render_observation(&seen);
            let mut chunk = Chunk::text(text.clone());
            let extra = [
                ("role".to_owned(), json!("observation")),
                ("callId".to_owned(), json!(call_id)),
            ];
            chunk.extra = Some(Arc::new(Map::from_iter(extra)));
            desk.writer.send(chunk).await?;
            list.push(result_of(&seen, &text, ok));
            told.push(text);
        }
        io.set(results, list);
        io.set(observation, told.join("\n"));
        io.set(success, is_well);
        io.done()
    })
}

struct Desk {
    context: NodeContext,
    writer: Writer,
    offered: Option<Vec<String>>,
}

impl Desk {
    async fn run(
        &self,
        request: &Request,
        call_id: &str,
        references: &References,
    ) -> Result<Observation, NodeError> {
        let tool = request.call.tool.to_string();
        if let Some(offered) = &self.offered
            && !offered.contains(&tool)
        {
            let mut near: Vec<(f64, &String)> = offered
                .iter()
                .map(|name| (strsim::jaro_winkler(name, &tool), name))
                .filter(|(likeness, _)| *likeness > 0.8)
                .collect();
            near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            let near = near.into_iter().take(3).map(|(_, name)| name.clone());
            return Ok(Observation::unknown_tool(tool, near.collect()));
        }
        let call = match references.fill(&request.call) {
            Filled::Call(call) => *call,
            Filled::Unresolved(why) => {
                return Ok(Observation::error(
                    tool,
                    ErrorCode::ToolReferenceUnresolved,
                    why,
                ));
            }
        };
        let port = self.context.tools()?.clone();
        self.context.trace(Trace::ToolRunning {
            call_id: call_id.to_owned(),
            tool: tool.clone(),
        });
        let (sender, mut pieces) = mpsc::channel(TOOL_PIECES);
        let ear = Arc::new(Ear {
            context: self.context.clone(),
            call_id: call_id.to_owned(),
            tool: tool.clone(),
            sender,
            lost: AtomicU64::new(0),
        });
        let cancel = self.context.cancel.child_token();
        // A node that ran out of time is dropped, and its call must not go on without it.
        let _stop = cancel.clone().drop_guard();
        let work = port.call(call, ear.clone(), cancel);
        tokio::pin!(work);
        let seen = loop {
            tokio::select! {
                biased;
                Some(piece) = pieces.recv() => self.writer.send(Chunk::of(piece)).await?,
                seen = &mut work => break seen,
            }
        };
        while let Ok(piece) = pieces.try_recv() {
            self.writer.send(Chunk::of(piece)).await?;
        }
        let lost = ear.lost.load(Ordering::Relaxed);
        if lost > 0 {
            let note = format!("{lost} pieces were left out because nobody took them in time");
            self.writer.send(Chunk::new(ChunkKind::Error, note)).await?;
        }
        self.context.trace(Trace::ToolFinished {
            call_id: call_id.to_owned(),
            tool,
            success: is_success(&seen),
            summary: summary(&seen),
        });
        Ok(seen)
    }
}

/// Hears a call. One that asks for room loses nothing; one that does not is not held up.
struct Ear {
    context: NodeContext,
    call_id: String,
    tool: String,
    sender: mpsc::Sender<Value>,
    lost: AtomicU64,
}

impl ToolListener for Ear {
    fn progress(&self, fraction: Option<f64>, message: &str) {
        if let Some(fraction) = fraction {
            self.context.progress(fraction, 1.0);
        }
        if !message.is_empty() {
            self.context.preview(message);
        }
    }

    fn partial(&self, piece: &Json) {
        self.context.trace(Trace::ToolOutput {
            call_id: self.call_id.clone(),
            tool: self.tool.clone(),
            piece: piece.clone(),
        });
        if self.sender.try_send(Value::from(piece.clone())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn room(&self) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> {
        if self.sender.capacity() > 0 {
            return None;
        }
        let sender = self.sender.clone();
        Some(Box::pin(async move { drop(sender.reserve().await) }))
    }
}

fn requests_of(value: &Value) -> Result<Vec<Request>, NodeError> {
    let parsed;
    let json = match value.as_json() {
        Json::String(text) => {
            parsed = serde_json::from_str::<Json>(text).map_err(|error| {
                let message = format!("'tool_call_requests' is no JSON: {error}");
                NodeError::invalid("tool_call.malformed", message)
            })?;
            &parsed
        }
        json => json,
    };
    let list = match json {
        Json::Null => return Ok(Vec::new()),
        Json::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    if list.len() > MAX_DECISION_CALLS {
        let message = format!(
            "{} tool calls at once are too many; at most {MAX_DECISION_CALLS}",
            list.len()
        );
        return Err(NodeError::invalid("tool_call.too_many", message));
    }
    list.iter().map(Request::from_json).collect()
}

fn name_of(tool: &Value) -> String {
    let json = tool.as_json();
    let json = json.get("function").unwrap_or(json);
    let name = json
        .as_str()
        .or_else(|| json.get("name").and_then(Json::as_str));
    name.unwrap_or_default().to_owned()
}

fn is_success(observation: &Observation) -> bool {
    observation.error_code().is_none()
}

fn result_of(seen: &Observation, text: &str, ok: bool) -> Json {
    let mut result = json!({
        "tool": seen.tool, "callId": seen.call_id, "step": seen.index, "success": ok, "observation": text,
    });
    match &seen.outcome {
        Outcome::Success { result: value, .. } => result["result"] = value.clone(),
        Outcome::AsyncStarted { task_id } => result["taskId"] = json!(task_id),
        Outcome::Error(failure) => {
            result["error"] = json!({"code": failure.code, "message": failure.message});
        }
        Outcome::Denied { reason } | Outcome::Cancelled { reason } => {
            result["error"] = json!({"code": seen.error_code(), "message": reason});
        }
        Outcome::OutcomeUnknown { message } => {
            result["error"] = json!({"code": seen.error_code(), "message": message});
        }
        Outcome::Notice { .. } => {}
    }
    result
}

/// The beginning of the result, for people.
fn summary(seen: &Observation) -> String {
    let text = match &seen.outcome {
        Outcome::Success { result, .. } => Value::from(result.clone()).to_text(),
        Outcome::Error(failure) => failure.message.clone(),
        _ => render_observation(seen),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_TRACE_SUMMARY_CHARS) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
#[path = "execute_tool_tests.rs"]
mod tests;
