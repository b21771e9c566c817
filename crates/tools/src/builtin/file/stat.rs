//! `File.Stat`

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::{define, described, path_schema, reading, target};
use crate::file::FileLayer;
use crate::{Executor, Invocation, ToolError};

pub(super) fn definition() -> ToolDefinition {
    reading(define(
        "File.Stat",
        &["FileOperator.FileInfo"],
        "Tells what is at a path: a file, a directory or a link, its size in bytes and when it was changed. It fails if there is nothing.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["file_path"],
            "properties": { "file_path": path_schema("The file or folder.") }
        }),
        &[(
            "See whether a file exists.",
            json!({"file_path": "reports/today.md"}),
        )],
    ))
}

pub(super) struct Info(pub(super) FileLayer);

#[async_trait]
impl Executor for Info {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let uri = target(&self.0, &call, "file_path")?;
        Ok(described(&self.0.stat(&uri).await?))
    }
}
