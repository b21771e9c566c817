//! `File.Search`

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::{define, flag, number, path_schema, reading, text};
use crate::file::{FileLayer, Letters, Query, SearchOptions};
use crate::limits::{MAX_QUERY_BYTES, MAX_TOOL_CONTEXT_LINES, MAX_TOOL_HITS};
use crate::{Executor, Invocation, Pattern, ToolError};

const DEFAULT_LIMIT: u64 = 20;

pub(super) fn definition() -> ToolDefinition {
    reading(define(
        "File.Search",
        &["FileOperator.SearchFiles"],
        "Finds lines that contain a text, in one file or in all files of a folder and its folders. Without `file_path` it searches the project. Files that are no text are passed over.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["query"],
            "properties": {
                "query": {
                    "type": "string", "minLength": 1, "maxLength": MAX_QUERY_BYTES,
                    "description": "The text to find, within one line."
                },
                "file_path": path_schema("The file or folder to search."),
                "file_name": {
                    "type": "string", "minLength": 1,
                    "description": "Search only files with this name; * stands for anything, as in *.md"
                },
                "regex": {
                    "type": "boolean", "default": false,
                    "description": "Take `query` as a regular expression."
                },
                "case_sensitive": {
                    "type": "boolean", "default": false,
                    "description": "Tell capital letters from small ones."
                },
                "context_lines": {
                    "type": "integer", "minimum": 0, "maximum": MAX_TOOL_CONTEXT_LINES, "default": 0,
                    "description": "Lines to show before and after each hit."
                },
                "limit": {
                    "type": "integer", "minimum": 1, "maximum": MAX_TOOL_HITS, "default": DEFAULT_LIMIT,
                    "description": "How many hits to return at most."
                }
            }
        }),
        &[
            ("Find a word in the project.", json!({"query": "dragon"})),
            (
                "Find headings in Markdown files.",
                json!({"query": "^#+ ", "regex": true, "file_path": "notes", "file_name": "*.md"}),
            ),
        ],
    ))
}

pub(super) struct Search(pub(super) FileLayer);

#[async_trait]
impl Executor for Search {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let path = call.arguments.get("file_path").and_then(Json::as_str);
        let uri = self.0.resolve(&call.context.caller, path.unwrap_or("."))?;
        let letters = match flag(&call, "case_sensitive") {
            true => Letters::AsWritten,
            false => Letters::AnyCase,
        };
        let query = match flag(&call, "regex") {
            true => Query::expression(text(&call, "query"), letters)?,
            false => Query::literal(text(&call, "query"), letters)?,
        };
        let bounded = |name, default| {
            usize::try_from(number(&call, name).unwrap_or(default)).unwrap_or(usize::MAX)
        };
        let options = SearchOptions {
            names: call
                .arguments
                .get("file_name")
                .and_then(Json::as_str)
                .map(Pattern::from),
            limit: bounded("limit", DEFAULT_LIMIT),
            context: bounded("context_lines", 0),
        };
        let found = self.0.search(&uri, query, options).await?;
        let hits: Vec<Json> = found
            .hits
            .iter()
            .map(|hit| match hit.snippet_line == hit.line && !hit.snippet.contains('\n') {
                true => json!({"path": hit.uri, "line": hit.line, "text": hit.snippet}),
                false => json!({
                    "path": hit.uri, "line": hit.line, "textLine": hit.snippet_line, "text": hit.snippet
                }),
            })
            .collect();
        let mut result = json!({
            "path": uri,
            "hits": hits,
            "searchedFiles": found.files,
            "truncated": found.truncated,
        });
        if let Some(fields) = result.as_object_mut() {
            let passed_over = [
                ("binaryFiles", found.binary),
                ("tooLargeFiles", found.too_large),
                ("unreadable", found.unread),
            ];
            for (name, count) in passed_over.into_iter().filter(|(_, count)| *count > 0) {
                fields.insert(name.to_owned(), json!(count));
            }
        }
        Ok(result)
    }
}
