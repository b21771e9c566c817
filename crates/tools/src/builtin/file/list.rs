//! `File.List`

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::{define, number, path_schema, reading};
use crate::file::{FileLayer, Kind, ListOptions};
use crate::limits::{MAX_LIST_DEPTH, MAX_LIST_ENTRIES};
use crate::{Executor, Invocation, ToolError};

const DEFAULT_DEPTH: usize = 1;
const DEFAULT_LIMIT: usize = 200;

pub(super) fn definition() -> ToolDefinition {
    reading(define(
        "File.List",
        &["FileOperator.ListDirectory", "FileOperator.ListFiles"],
        "Lists what is in a folder. Without `file_path` it lists the project.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "file_path": path_schema("The folder to list."),
                "depth": {
                    "type": "integer", "minimum": 1, "maximum": MAX_LIST_DEPTH, "default": DEFAULT_DEPTH,
                    "description": "How many levels to go down; 1 lists the folder alone."
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_LIST_ENTRIES, "default": DEFAULT_LIMIT,
                    "description": "How many entries to return at most."
                }
            }
        }),
        &[
            ("See what is in the project.", json!({})),
            (
                "See a folder and the folders in it.",
                json!({"file_path": "reports", "depth": 2}),
            ),
        ],
    ))
}

pub(super) struct List(pub(super) FileLayer);

#[async_trait]
impl Executor for List {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let path = call.arguments.get("file_path").and_then(Json::as_str);
        let uri = self.0.resolve(&call.context.caller, path.unwrap_or("."))?;
        let bounded = |name, default| {
            number(&call, name).map_or(default, |n| usize::try_from(n).unwrap_or(usize::MAX))
        };
        let options = ListOptions {
            depth: bounded("depth", DEFAULT_DEPTH),
            limit: bounded("limit", DEFAULT_LIMIT),
        };
        let listing = self.0.list(&uri, options).await?;
        // Below the folder, which is named once.
        let above = uri.path().len() + usize::from(!uri.path().is_empty());
        let entries: Vec<Json> = listing
            .entries
            .iter()
            .map(|entry| {
                let name = entry.uri.path().get(above..).unwrap_or_default();
                match entry.kind {
                    Kind::File => json!({"name": name, "kind": entry.kind, "size": entry.size}),
                    _ => json!({"name": name, "kind": entry.kind}),
                }
            })
            .collect();
        let mut result = json!({ "path": uri, "entries": entries, "truncated": listing.truncated });
        if let (true, Some(fields)) = (listing.skipped > 0, result.as_object_mut()) {
            fields.insert("skipped".to_owned(), json!(listing.skipped));
        }
        Ok(result)
    }
}
