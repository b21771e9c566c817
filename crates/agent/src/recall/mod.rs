//! What a run has said and heard and is not sent any more: the tools that read it, word for word.
//!
//! Everybody who may call tools may call these, and is told of them once something has given way to a summary.

mod read;
mod search;

use std::sync::Arc;

use innkeeper_tools::builtin::Tool;
use innkeeper_tools::{Invocation, ToolError};
use serde_json::Value as Json;

use crate::workspace::Workspaces;

pub(crate) const READ: &str = "context.read";
pub(crate) const SEARCH: &str = "context.search";
pub(crate) const NAMES: [&str; 2] = [READ, SEARCH];

/// `context.read`, `context.search`, ready to be registered.
pub fn tools(workspaces: &Workspaces) -> Vec<Tool> {
    vec![
        (read::definition(), Arc::new(read::Read(workspaces.clone()))),
        (
            search::definition(),
            Arc::new(search::Search(workspaces.clone())),
        ),
    ]
}

async fn dropped(workspaces: &Workspaces, call: &Invocation) -> Result<Arc<Vec<Json>>, ToolError> {
    workspaces.of_call(call)?.door()?.dropped().await
}

fn role(message: &Json) -> &str {
    let role = message.get("role").and_then(Json::as_str);
    role.unwrap_or_default()
}

#[cfg(test)]
#[path = "recall_tests.rs"]
mod tests;
