//! `skill.list`: what the run's skills are for.

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use crate::declare::{Nature, answer, declare, examples, object};
use crate::workspace::Workspaces;

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[("See which skills there are.", json!({}))]),
        ..declare(
            "skill.list",
            "List skills",
            "Lists the skills that you may use: instructions for certain kinds of work, each with what it is for. Read one with skill.read before you do such work.",
            Nature::ReadOnly,
            object(json!({}), &[]),
            answer(&[("skills", "array")]),
        )
    }
}

pub(super) struct List(pub(super) Workspaces);

#[async_trait]
impl Executor for List {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let desk = self.0.of_call(&call)?.door()?.skills();
        let skills = desk.effective().iter();
        let skills: Vec<Json> = skills
            .map(|skill| json!({"name": skill.name, "description": skill.description}))
            .collect();
        Ok(json!({"skills": skills}))
    }
}
