//! `workspace.list_files`

use std::collections::BTreeSet;

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::super::Workspaces;
use super::super::fault::fault;
use super::super::path::is_below;
use super::super::session::WorkspaceSession;
use super::visible;
use crate::declare::{Nature, declare, examples, number, object, text};
use crate::limits::{LIST_DEPTH, MAX_LIST_DEPTH, MAX_LIST_ENTRIES};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[
            ("See what is there.", json!({})),
            ("See the drafts.", json!({"path": "output", "depth": 1})),
        ]),
        ..declare(
            "workspace.list_files",
            "List files",
            "Lists files and folders of the workspace, folders first.",
            Nature::ReadOnly,
            object(
                json!({
                    "path": {
                        "type": ["string", "null"],
                        "description": "The folder to list, like output. Left out: all folders that you can see."
                    },
                    "depth": {
                        "type": "integer",
                        "description": format!("How many levels to go down, 1 to {MAX_LIST_DEPTH}; {LIST_DEPTH} if left out.")
                    }
                }),
                &[],
            ),
            json!({
                "type": "object",
                "required": ["entries", "truncated"],
                "properties": {
                    "entries": {"type": "array", "items": {
                        "type": "object",
                        "required": ["path", "kind"],
                        "properties": {"path": {"type": "string"}, "kind": {"enum": ["file", "directory"]}}
                    }},
                    "truncated": {"type": "boolean"}
                }
            }),
        )
    }
}

pub(super) struct ListFiles(pub(super) Workspaces);

#[async_trait]
impl Executor for ListFiles {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let session = self.0.of_call(&call)?;
        let depth = number(call.arguments.get("depth")).unwrap_or(LIST_DEPTH);
        if depth > MAX_LIST_DEPTH {
            return Err(fault(
                ErrorCode::ToolInvalidArguments,
                "workspace.list_depth_too_large",
                format!("depth is at most {MAX_LIST_DEPTH}: list a folder further down instead"),
            ));
        }
        let Ok(depth @ 1..) = usize::try_from(depth) else {
            return Err(fault(
                ErrorCode::ToolInvalidArguments,
                "workspace.list_depth_invalid",
                format!("depth is 1 to {MAX_LIST_DEPTH}"),
            ));
        };
        list(&session, text(&call, "path").unwrap_or_default(), depth)
    }
}

fn list(session: &WorkspaceSession, path: &str, depth: usize) -> Result<Json, ToolError> {
    let files = session.files();
    let plan = session.plan();
    let folder = match is_top(path) {
        true => None,
        false => Some(visible(plan, path)?),
    };
    if let Some(path) = &folder {
        if files.contains_key(path.as_str()) {
            return Ok(json!({
                "entries": [{"path": path.as_str(), "kind": "file"}],
                "truncated": false,
            }));
        }
        if !session.is_folder(path.as_str()) {
            return Err(fault(
                ErrorCode::WorkspaceFileNotFound,
                "workspace.path_not_found",
                format!(
                    "There is no folder '{path}': list one of {}",
                    plan.visible().join(", ")
                ),
            ));
        }
    }
    let folder = folder.as_ref().map(|path| path.as_str());
    let above = folder.map_or(0, |folder| folder.split('/').count());
    let mut folders = BTreeSet::new();
    let mut shown = BTreeSet::new();
    if folder.is_none() {
        folders.extend(plan.visible().iter().map(|root| (*root).to_owned()));
    }
    for path in files.keys() {
        let is_here = folder.is_none_or(|folder| is_below(path, folder));
        if !is_here || !plan.sees(path) {
            continue;
        }
        let names: Vec<&str> = path.split('/').collect();
        for level in above + 1..=(above + depth).min(names.len()) {
            let prefix = names.get(..level).unwrap_or_default().join("/");
            match level == names.len() {
                true => shown.insert(prefix),
                false => folders.insert(prefix),
            };
        }
    }
    let all = folders.len() + shown.len();
    let folders = folders.iter().map(|path| (path, "directory"));
    let entries: Vec<Json> = folders
        .chain(shown.iter().map(|path| (path, "file")))
        .take(MAX_LIST_ENTRIES)
        .map(|(path, kind)| json!({"path": path, "kind": kind}))
        .collect();
    Ok(json!({"entries": entries, "truncated": all > MAX_LIST_ENTRIES}))
}

/// The many ways to say: everything.
pub(super) fn is_top(path: &str) -> bool {
    matches!(path.trim(), "" | "." | "./")
}
