//! The `workspace.*` tools, one file each. They translate and guard; what is kept, and when, is the session's business.

mod apply_patch;
mod commit;
mod delete_file;
mod finish;
mod list_files;
mod read_file;
mod search_files;
mod write_file;

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_tools::builtin::Tool;
use innkeeper_tools::{Executor, ToolError};

use super::Workspaces;
use super::fault::{fault, invalid_path};
use super::path::WorkspacePath;
use super::plan::WorkspacePlan;

/// All of them, ready to be registered.
pub fn tools(workspaces: &Workspaces) -> Vec<Tool> {
    fn tool(
        definition: innkeeper_protocol::ToolDefinition,
        executor: impl Executor + 'static,
    ) -> Tool {
        (definition, Arc::new(executor))
    }
    let all = || workspaces.clone();
    vec![
        tool(list_files::definition(), list_files::ListFiles(all())),
        tool(search_files::definition(), search_files::SearchFiles(all())),
        tool(read_file::definition(), read_file::ReadFile(all())),
        tool(write_file::definition(), write_file::WriteFile(all())),
        tool(apply_patch::definition(), apply_patch::ApplyPatch(all())),
        tool(delete_file::definition(), delete_file::DeleteFile(all())),
        tool(commit::definition(), commit::Commit(all())),
        tool(finish::definition(), finish::Finish(all())),
    ]
}

/// A path that the agent may look at.
fn visible(plan: &WorkspacePlan, text: &str) -> Result<WorkspacePath, ToolError> {
    let path = WorkspacePath::parse(text).map_err(|why| invalid_path(text, why))?;
    match plan.sees(path.as_str()) {
        true => Ok(path),
        false => Err(fault(
            ErrorCode::WorkspacePathDenied,
            "workspace.path_not_visible",
            format!(
                "'{path}' is not in a folder that this agent sees: {}",
                listed(plan.visible())
            ),
        )),
    }
}

/// A path that the agent may write to: below a root, for a root itself is no file.
fn writable(plan: &WorkspacePlan, text: &str) -> Result<WorkspacePath, ToolError> {
    let path = visible(plan, text)?;
    if path.is_root() {
        return Err(fault(
            ErrorCode::WorkspacePathDenied,
            "workspace.path_not_writable",
            format!("'{path}' is a folder: name a file in it, like {path}/notes.md"),
        ));
    }
    match plan.writes(path.as_str()) {
        true => Ok(path),
        false => Err(fault(
            ErrorCode::WorkspacePathDenied,
            "workspace.path_not_writable",
            format!(
                "'{path}' may be read but not written; this agent writes to: {}",
                listed(plan.writable())
            ),
        )),
    }
}

fn listed(roots: &[&str]) -> String {
    match roots.is_empty() {
        true => "none".to_owned(),
        false => roots.join(", "),
    }
}

#[cfg(test)]
mod refusals_tests;

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
