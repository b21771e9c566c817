//! `File.Write`

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::{define, path_schema, target, text, writing};
use crate::file::{FileError, FileLayer, WriteMode};
use crate::{Executor, Invocation, ToolError};

pub(super) fn definition() -> ToolDefinition {
    let mut tool = writing(define(
        "File.Write",
        &["FileOperator.WriteFile"],
        "Writes a text file as a whole. A file that exists already is replaced; folders that are missing are made. To change a part of a file use File.ApplyEdit, to add to its end use File.Append.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["file_path", "content"],
            "properties": {
                "file_path": path_schema("The file to write."),
                "content": {
                    "type": "string", "x-verbatim": true,
                    "description": "The whole new content, exactly as it should be in the file."
                }
            }
        }),
        &[(
            "Save a report.",
            json!({"file_path": "reports/today.md", "content": "# Today\n\nAll is well.\n"}),
        )],
    ));
    tool.execution.idempotent = true;
    tool
}

pub(super) struct Write(pub(super) FileLayer);

#[async_trait]
impl Executor for Write {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let uri = target(&self.0, &call, "file_path")?;
        let created = match self.0.stat(&uri).await {
            Ok(_) => false,
            Err(FileError::NotFound(_)) => true,
            Err(e) => return Err(e.into()),
        };
        let content = text(&call, "content").as_bytes().to_vec();
        let stat = self.0.write(&uri, content, WriteMode::Replace).await?;
        Ok(json!({ "path": uri, "bytes": stat.size, "created": created }))
    }
}
