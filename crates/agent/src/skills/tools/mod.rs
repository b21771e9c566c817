//! The `skill.*` tools, one file each. They read; what a run may read, and how much, is the desk's business.

mod list;
mod read;
mod search;

use std::sync::Arc;

use innkeeper_protocol::event::CallId;
use innkeeper_tools::builtin::Tool;
use innkeeper_tools::{Invocation, ToolError};

use super::desk::SkillDesk;
use crate::workspace::Workspaces;

/// `skill.list`, `skill.search`, `skill.read`, ready to be registered.
pub fn tools(workspaces: &Workspaces) -> Vec<Tool> {
    vec![
        (list::definition(), Arc::new(list::List(workspaces.clone()))),
        (
            search::definition(),
            Arc::new(search::Search(workspaces.clone())),
        ),
        (read::definition(), Arc::new(read::Read(workspaces.clone()))),
    ]
}

/// The skills of the run that a call belongs to, and the name under which the run knows the call.
fn desk(workspaces: &Workspaces, call: &Invocation) -> Result<(Arc<SkillDesk>, CallId), ToolError> {
    let desk = workspaces.desk(call)?;
    Ok((desk.session.door()?.skills(), desk.call))
}

/// Files are read on a thread that may wait.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| {
        let message = "The tool broke down over this skill; this is a fault of the tool";
        Err(ToolError::failed(message).permanent())
    })
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
