//! `File.Delete`

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::{define, path_schema, target, writing};
use crate::file::FileLayer;
use crate::{Executor, Invocation, ToolError};

pub(super) fn definition() -> ToolDefinition {
    writing(define(
        "File.Delete",
        &["FileOperator.DeleteFile"],
        "Deletes a file, or a folder with all that is in it. It goes to the recycle bin, from which a person can bring it back.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["file_path"],
            "properties": { "file_path": path_schema("The file or folder to delete.") }
        }),
        &[("Delete a draft.", json!({"file_path": "drafts/old.md"}))],
    ))
}

pub(super) struct Delete(pub(super) FileLayer);

#[async_trait]
impl Executor for Delete {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let uri = target(&self.0, &call, "file_path")?;
        let by = call.context.caller.actor.to_string();
        let recycled = self.0.delete(&uri, &by).await?;
        Ok(json!({ "path": uri, "kind": recycled.kind, "recycleId": recycled.id }))
    }
}
