//! `File.Move`

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::{define, path_schema, target, writing};
use crate::file::FileLayer;
use crate::{Executor, Invocation, ToolError};

pub(super) fn definition() -> ToolDefinition {
    writing(define(
        "File.Move",
        &[
            "FileOperator.MoveFile",
            "FileOperator.RenameFile",
            "File.Rename",
        ],
        "Moves or renames a file or a folder. Nothing is overwritten: the new path must be free. Folders that are missing are made.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["file_path", "destination_path"],
            "properties": {
                "file_path": path_schema("The file or folder to move."),
                "destination_path": path_schema("Its whole new path, the name included.")
            }
        }),
        &[(
            "Move a file into another folder.",
            json!({"file_path": "drafts/plan.md", "destination_path": "done/plan.md"}),
        )],
    ))
}

pub(super) struct Move(pub(super) FileLayer);

#[async_trait]
impl Executor for Move {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let from = target(&self.0, &call, "file_path")?;
        let to = target(&self.0, &call, "destination_path")?;
        let stat = self.0.rename(&from, &to).await?;
        Ok(json!({ "from": from, "path": to, "kind": stat.kind }))
    }
}
