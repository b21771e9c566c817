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

#[cfg(test)]
mod tests {
    use innkeeper_protocol::ToolDefinition;
    use innkeeper_protocol::event::RunId;
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{CallContext, Caller, Progress};

    /// Says what it was asked to run.
    struct Echo;

    #[async_trait]
    impl Engine for Echo {
        async fn run_workflow(&self, workflow: &str, call: Invocation) -> Result<Json, ToolError> {
            Ok(json!({"workflow": workflow, "inputs": call.arguments}))
        }

        async fn run_node(&self, full_type: &str, call: Invocation) -> Result<Json, ToolError> {
            Ok(json!({"node": full_type, "inputs": call.arguments}))
        }
    }

    async fn both(engine: Arc<dyn Engine>) -> [Result<Json, ToolError>; 2] {
        let call = || Invocation {
            tool: Arc::new(ToolDefinition::new("t", "", json!({}))),
            arguments: [("text".to_owned(), json!("a"))].into_iter().collect(),
            context: CallContext {
                caller: Arc::new(Caller::person(RunId::new("r"))),
                call_id: "c".into(),
                attempt: 1,
                cancel: CancellationToken::new(),
                progress: Progress::default(),
            },
        };
        let workflow = WorkflowExecutor {
            engine: engine.clone(),
            workflow: "summary".into(),
        };
        let node = NodeExecutor {
            engine,
            full_type: "core:Add".into(),
        };
        [workflow.execute(call()).await, node.execute(call()).await]
    }

    #[tokio::test]
    async fn the_engine_gets_the_name_and_the_arguments() {
        let [workflow, node] = both(Arc::new(Echo)).await;
        let inputs = json!({"text": "a"});
        assert_eq!(
            workflow,
            Ok(json!({"workflow": "summary", "inputs": inputs}))
        );
        assert_eq!(node, Ok(json!({"node": "core:Add", "inputs": inputs})));
    }

    #[tokio::test]
    async fn without_an_engine_it_says_so() {
        for (answer, name) in both(Arc::new(NoEngine))
            .await
            .into_iter()
            .zip(["summary", "core:Add"])
        {
            let error = answer.unwrap_err();
            assert_eq!(error.reason.as_deref(), Some("engine.missing"));
            assert!(error.message.contains(name), "{error}");
            assert!(!error.may_pass());
        }
    }
}
