//! `File.Read`

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use serde_json::{Value as Json, json};

use super::{define, number, path_schema, reading, target, text};
use crate::file::{FileLayer, LineRange};
use crate::limits::{MAX_TOOL_READ_BASE64_BYTES, MAX_TOOL_READ_BYTES, MAX_TOOL_READ_LINES};
use crate::{Executor, Invocation, ToolError};

pub(crate) fn definition() -> ToolDefinition {
    reading(define(
        "File.Read",
        &["FileOperator.ReadFile"],
        "Reads a text file. A long file is read in parts: `truncated` says that there is more, `nextLine` where to go on.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["file_path"],
            "properties": {
                "file_path": path_schema("The file to read."),
                "start_line": {
                    "type": "integer", "minimum": 1, "default": 1,
                    "description": "The first line to read, counted from 1."
                },
                "line_count": {
                    "type": "integer", "minimum": 1, "maximum": MAX_TOOL_READ_LINES, "default": MAX_TOOL_READ_LINES,
                    "description": "How many lines to read."
                },
                "encoding": {
                    "type": "string", "enum": ["text", "base64"], "default": "text",
                    "description": "base64: the whole file, which need not be text, as base64."
                }
            }
        }),
        &[
            ("Read a whole file.", json!({"file_path": "notes/plan.md"})),
            (
                "Read lines 201 to 300.",
                json!({"file_path": "notes/plan.md", "start_line": 201, "line_count": 100}),
            ),
        ],
    ))
}

pub(super) struct Read(pub(super) FileLayer);

#[async_trait]
impl Executor for Read {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let uri = target(&self.0, &call, "file_path")?;
        if text(&call, "encoding") == "base64" {
            let bytes = self.0.read(&uri, MAX_TOOL_READ_BASE64_BYTES).await?;
            let content = STANDARD.encode(&bytes);
            return Ok(
                json!({ "path": uri, "encoding": "base64", "bytes": bytes.len(), "content": content }),
            );
        }
        let start = number(&call, "start_line").unwrap_or(1).max(1);
        let count = number(&call, "line_count").unwrap_or(MAX_TOOL_READ_LINES);
        let range = LineRange {
            start,
            count: count.clamp(1, MAX_TOOL_READ_LINES),
            max_bytes: MAX_TOOL_READ_BYTES,
        };
        let part = self.0.read_lines(&uri, range).await?;
        if start > part.total_lines.max(1) {
            let message = format!(
                "'{uri}' has {} lines, so there is no line {start}: choose a smaller start_line",
                part.total_lines
            );
            return Err(ToolError::new(ErrorCode::WorkspaceInvalidRange, message)
                .because("file.invalid_line_range")
                .permanent());
        }
        let mut result = json!({
            "path": uri,
            "content": part.text,
            "startLine": part.start_line,
            "endLine": part.end_line,
            "totalLines": part.total_lines,
            "truncated": part.truncated,
            "sha256": part.sha256,
        });
        if let Some(fields) = result.as_object_mut() {
            if part.end_line < part.total_lines {
                fields.insert("nextLine".to_owned(), json!(part.end_line + 1));
            }
            if part.cut {
                let note = format!(
                    "line {} is longer than {MAX_TOOL_READ_BYTES} bytes and is cut there",
                    part.end_line
                );
                fields.insert("note".to_owned(), json!(note));
            }
        }
        Ok(result)
    }
}
