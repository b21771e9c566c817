//! A plugin's node on the way of every call: judged by its full type, with its inputs and settings as arguments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use innkeeper_engine::{Kept, NodeError};
use innkeeper_protocol::ToolDefinition;
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::{NodeContext, ScriptNode};
use crate::pipeline::ready::{Leave, Ready};
use crate::registry::{Prepared, RegisterError, Tool};
use crate::workflow::node_tool::{self, Given};
use crate::workflow::tool_port::node_error;
use crate::{Caller, Executor, Invocation, Progress, Revision, ToolError, ToolRun};

/// The node in the words of tools, made when it is first needed.
pub(super) type AsTool = Arc<OnceLock<Result<Arc<Prepared>, RegisterError>>>;

fn as_tool(node: &ScriptNode) -> Result<Arc<Prepared>, RegisterError> {
    let declared = node_tool::definition(node.definition());
    // A node may have inputs that no tool could be called with; it is judged all the same.
    let bare = ToolDefinition {
        parameters: json!({ "type": "object" }),
        ..declared.clone()
    };
    let prepared = Prepared::new(declared).or_else(|_| Prepared::new(bare));
    prepared.map(Arc::new)
}

/// A node that has its inputs, and waits for leave.
pub(super) struct Asked {
    tool: AsTool,
    /// What it is told that policy and hooks may look at.
    arguments: Map<String, Json>,
    work: Arc<Work>,
    cancel: CancellationToken,
    progress: Progress,
}

impl Asked {
    pub(super) fn new(
        node: Arc<ScriptNode>,
        tool: AsTool,
        given: Given,
        context: NodeContext,
    ) -> Self {
        let mut arguments = Map::new();
        let mut beside = Given::default();
        // No tool takes nothing for a value, and not all that a file sets is a setting of the node.
        for (key, value) in given.inputs {
            match value.is_null() || node_tool::is_setting(node.definition(), &key) {
                true => beside.inputs.insert(key, value),
                false => arguments.insert(key, value),
            };
        }
        for (key, value) in given.config {
            match !value.is_null() && node_tool::is_setting(node.definition(), &key) {
                true => arguments.insert(key, value),
                false => beside.config.insert(key, value),
            };
        }
        Self {
            tool,
            arguments,
            cancel: context.cancel,
            progress: context.progress,
            work: Arc::new(Work {
                node,
                beside,
                call_id: context.call_id,
                attempt: context.attempt,
                may_pass: AtomicBool::new(false),
                has_failed: AtomicBool::new(false),
                has_written: AtomicBool::new(false),
            }),
        }
    }

    pub(super) async fn pass(
        self,
        run: &ToolRun,
        leave: Leave,
        kept: Option<Kept>,
    ) -> Result<Map<String, Json>, NodeError> {
        let prepared = self.tool.get_or_init(|| as_tool(&self.work.node));
        let prepared = prepared
            .as_ref()
            .map_err(|error| NodeError::invalid(error.code(), error.to_string()))?;
        let call = Ready {
            tool: Arc::new(Tool::node(prepared.clone(), self.work.clone())),
            arguments: self.arguments,
            leave,
        };
        let run = run.keeping(kept.clone());
        match run.run_ready(call, self.progress, &self.cancel).await {
            Ok(Json::Object(outputs)) => {
                // A file that was written is not written by a result; and one that failed may have written some.
                if let Some(kept) = kept
                    && !self.work.has_written.load(Ordering::Acquire)
                    && !self.work.has_failed.load(Ordering::Acquire)
                {
                    kept.keep();
                }
                Ok(outputs)
            }
            Ok(_) => Err(NodeError::invalid(
                "node.outputs",
                "a hook made something else of the node's outputs than an object with them",
            )),
            Err(outcome) => {
                let load = |flag: &AtomicBool| flag.load(Ordering::Acquire);
                let may_pass = load(&self.work.has_failed).then(|| load(&self.work.may_pass));
                Err(node_error(outcome, may_pass))
            }
        }
    }
}

/// The script behind the call.
struct Work {
    node: Arc<ScriptNode>,
    /// What it is told beside the arguments.
    beside: Given,
    call_id: String,
    attempt: u32,
    /// It ran, and failed: then whether it may succeed when it is tried again.
    has_failed: AtomicBool,
    may_pass: AtomicBool,
    /// It ran, and did more than to answer.
    has_written: AtomicBool,
}

#[async_trait]
impl Executor for Work {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let given = node_tool::sorted(self.node.definition(), call.arguments);
        let Given {
            mut config,
            mut inputs,
        } = self.beside.clone();
        config.extend(given.config);
        inputs.extend(given.inputs);
        let context = NodeContext {
            caller: call.context.caller,
            call_id: self.call_id.clone(),
            attempt: self.attempt,
            cancel: call.context.cancel,
            progress: call.context.progress,
        };
        match self.node.perform(inputs, config, context).await {
            Ok(done) => {
                self.has_written
                    .fetch_or(done.has_written, Ordering::AcqRel);
                Ok(Json::Object(done.outputs))
            }
            Err(error) => {
                self.may_pass.store(error.may_pass(), Ordering::Release);
                self.has_failed.store(true, Ordering::Release);
                Err(error)
            }
        }
    }

    async fn revision(&self, _: &Map<String, Json>, caller: &Caller) -> Option<Revision> {
        let Given { config, inputs } = &self.beside;
        let beside = json!({ "config": config, "inputs": inputs });
        self.node.revision(caller, &beside).await
    }

    /// The script's last words tell what it was waiting for.
    fn keeps_time(&self) -> bool {
        true
    }
}
