//! `File.Append`

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::{define, path_schema, target, text, writing};
use crate::file::FileLayer;
use crate::{Executor, Invocation, ToolError};

pub(super) fn definition() -> ToolDefinition {
    writing(define(
        "File.Append",
        &["FileOperator.AppendFile"],
        "Adds text to the end of a file, exactly as given: no line break is added. A file that is missing is made, with its folders.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["file_path", "content"],
            "properties": {
                "file_path": path_schema("The file to add to."),
                "content": {
                    "type": "string", "x-verbatim": true,
                    "description": "The text to add. End it with a line break if the next addition should begin on a line of its own."
                }
            }
        }),
        &[(
            "Add a line to a log.",
            json!({"file_path": "logs/today.log", "content": "The report is done.\n"}),
        )],
    ))
}

pub(super) struct Append(pub(super) FileLayer);

#[async_trait]
impl Executor for Append {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let uri = target(&self.0, &call, "file_path")?;
        let content = text(&call, "content").as_bytes().to_vec();
        let appended = content.len();
        let stat = self.0.append(&uri, content).await?;
        Ok(json!({ "path": uri, "appended": appended, "bytes": stat.size }))
    }
}
