//! `workspace.finish`: the agent says that it is done. Whether it may be is for the run to say.

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::super::Workspaces;
use super::commit::reason;
use crate::declare::{Nature, declare, examples, object};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[(
            "The text is published.",
            json!({"reason": "the chapter is done"}),
        )]),
        ..declare(
            "workspace.finish",
            "Finish",
            "Ends this run. Call it last, when everything is written and published; nothing after it is run.",
            Nature::Control,
            object(
                json!({"reason": {"type": "string", "description": "What was done, in a few words."}}),
                &[],
            ),
            json!({
                "type": "object",
                "required": ["reason"],
                "properties": {"reason": {"type": ["string", "null"]}}
            }),
        )
    }
}

pub(super) struct Finish(pub(super) Workspaces);

#[async_trait]
impl Executor for Finish {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let desk = self.0.desk(&call)?;
        let reason = reason(&call);
        let door = desk.session.door()?;
        door.finish(&desk.call, reason.clone()).await?;
        Ok(json!({"reason": reason}))
    }
}
