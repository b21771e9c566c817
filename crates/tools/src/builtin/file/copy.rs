//! `File.Copy`

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::{READS, define, path_schema, target, writing};
use crate::file::FileLayer;
use crate::{Executor, Invocation, ToolError};

pub(super) fn definition() -> ToolDefinition {
    let mut tool = writing(define(
        "File.Copy",
        &["FileOperator.CopyFile"],
        "Copies a file, or a folder with all that is in it. Nothing is overwritten: the new path must be free. Folders that are missing are made.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["file_path", "destination_path"],
            "properties": {
                "file_path": path_schema("The file or folder to copy."),
                "destination_path": path_schema("The whole path of the copy, the name included.")
            }
        }),
        &[(
            "Keep a copy before changing a file.",
            json!({"file_path": "plan.md", "destination_path": "backup/plan.md"}),
        )],
    ));
    tool.permissions.insert(0, READS.to_owned());
    tool
}

pub(super) struct Copy(pub(super) FileLayer);

#[async_trait]
impl Executor for Copy {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let from = target(&self.0, &call, "file_path")?;
        let to = target(&self.0, &call, "destination_path")?;
        let stat = self.0.copy(&from, &to).await?;
        Ok(json!({ "from": from, "path": to, "kind": stat.kind }))
    }
}
