//! Tools that are workflows or nodes: what is asked of an engine. Until one is there, such a tool says so.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;

use crate::{Executor, Invocation, ToolError};

/// Runs workflows and single nodes. The arguments of the call are the inputs.
#[async_trait]
pub trait Engine: Send + Sync {
    async fn run_workflow(&self, workflow: &str, call: Invocation) -> Result<Json, ToolError>;
    async fn run_node(&self, full_type: &str, call: Invocation) -> Result<Json, ToolError>;
}

/// There is none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEngine;

#[async_trait]
impl Engine for NoEngine {
    async fn run_workflow(&self, workflow: &str, _: Invocation) -> Result<Json, ToolError> {
        Err(missing(&format!("the workflow '{workflow}'")))
    }

    async fn run_node(&self, full_type: &str, _: Invocation) -> Result<Json, ToolError> {
        Err(missing(&format!("the node '{full_type}'")))
    }
}

fn missing(what: &str) -> ToolError {
    ToolError::unavailable(format!(
        "{what} needs the workflow engine, which this build does not have"
    ))
    .because("engine.missing")
    .permanent()
}

/// A workflow behind a tool.
pub struct WorkflowExecutor {
    pub engine: Arc<dyn Engine>,
    pub workflow: String,
}

#[async_trait]
impl Executor for WorkflowExecutor {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        self.engine.run_workflow(&self.workflow, call).await
    }
}

/// A single node behind a tool.
pub struct NodeExecutor {
    pub engine: Arc<dyn Engine>,
    pub full_type: String,
}

#[async_trait]
impl Executor for NodeExecutor {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        self.engine.run_node(&self.full_type, call).await
    }
}
