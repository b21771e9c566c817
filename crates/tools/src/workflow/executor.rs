//! A workflow, and a single node, behind a tool.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_engine::{NoWorkflows, NodeDefinition, Workflow};
use innkeeper_protocol::ToolDefinition;
use serde_json::Value as Json;

use super::node_tool::{self, split};
use super::outcome::{one_line, result_of};
use super::{NodeLeave, Place, WorkflowService};
use crate::{Executor, Invocation, ToolError};

/// A workflow behind a tool. Its file is looked at for each call.
pub struct WorkflowExecutor {
    pub workflows: WorkflowService,
    pub workflow: String,
    /// Where it was when the tool was offered, and is still: what was judged is what runs. Without one, where all that
    /// a project has not is looked for.
    pub place: Option<Place>,
}

#[async_trait]
impl Executor for WorkflowExecutor {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let context = &call.context;
        let workflows = &self.workflows;
        let place = self.place.as_ref();
        let ready = workflows.prepared(&context.caller, place, &self.workflow);
        let ready = ready.await?;
        let outputs = ready.workflow.outputs.len();
        let name = format!("workflow:{}", self.workflow);
        let leave = NodeLeave::Workflow;
        let ran = workflows.run(&name, &ready.plan, call.arguments, outputs, context, leave);
        result_of(&ran.await?, outputs)
    }
}

/// A single node behind a tool: arguments are its inputs and settings.
pub struct NodeExecutor {
    pub workflows: WorkflowService,
    pub full_type: String,
}

#[async_trait]
impl Executor for NodeExecutor {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let engine = self.workflows.engine();
        let types = engine.nodes().types();
        let Some(kind) = types.get(&self.full_type) else {
            return Err(ToolError::unavailable(types.unknown(&self.full_type))
                .because("node.unknown_type")
                .permanent());
        };
        let leave = leave(&call.tool, &kind.definition);
        let given = split(kind, call.arguments)?;
        let workflow = Arc::new(Workflow::of_node(kind, given.config, given.inputs));
        let prepared = engine.prepare(&workflow, &NoWorkflows);
        let Some(plan) = prepared.plan else {
            let problems = &prepared.problems;
            let code = problems.errors().next().map(|problem| problem.code);
            return Err(ToolError::invalid(one_line(problems))
                .because(code.unwrap_or("node.arguments"))
                .permanent());
        };
        let outputs = workflow.outputs.len();
        let inputs = serde_json::Map::new();
        let context = &call.context;
        let workflows = &self.workflows;
        let ran = workflows.run(&self.full_type, &plan, inputs, outputs, context, leave);
        result_of(&ran.await?, outputs)
    }
}

/// A plugin may make tools of its own nodes; those of others are for their callers to be allowed.
fn leave(tool: &ToolDefinition, node: &NodeDefinition) -> NodeLeave {
    if *tool.id.as_str() == *node.full_type() {
        NodeLeave::Passed
    } else if tool.source == node_tool::source(node) {
        NodeLeave::Tool
    } else {
        NodeLeave::Workflow
    }
}
