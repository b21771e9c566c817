//! Files, whole, through the file tools: a long one is read part by part.

use serde_json::{Map, Value as Json, json};

use super::call::call;
use crate::NodeError;
use crate::limits::{MAX_NODE_FILE_BYTES, MAX_NODE_FILE_PARTS};
use crate::node::NodeContext;

pub(in crate::nodes) const NOT_FOUND: &str = "workspace.file_not_found";
pub(super) const LINE_TOO_LONG: &str = "file.line_too_long";

/// What was read of a file.
pub(in crate::nodes) struct Text {
    pub(in crate::nodes) content: String,
    /// As the tool names it.
    pub(in crate::nodes) path: String,
    pub(in crate::nodes) lines: u64,
    pub(in crate::nodes) sha256: String,
}

/// From `start` on, at most `count` lines if it says so.
pub(in crate::nodes) async fn read(
    context: &NodeContext,
    path: &str,
    start: u64,
    count: Option<u64>,
) -> Result<Text, NodeError> {
    check_path(path)?;
    let mut text = Text {
        content: String::new(),
        path: path.to_owned(),
        lines: 0,
        sha256: String::new(),
    };
    let end = count.map(|count| start.saturating_add(count));
    let mut line = start.max(1);
    for _ in 0..MAX_NODE_FILE_PARTS {
        let mut arguments = Map::new();
        arguments.insert("file_path".into(), path.into());
        arguments.insert("start_line".into(), line.into());
        if let Some(end) = end {
            let left = end.saturating_sub(line).clamp(1, 1_000);
            arguments.insert("line_count".into(), left.into());
        }
        let part = call(context, "File.Read", arguments).await?;
        let piece = part.get("content").and_then(Json::as_str);
        text.content.push_str(piece.unwrap_or_default());
        if text.content.len() > MAX_NODE_FILE_BYTES {
            return Err(too_large(path));
        }
        let of = |key: &str| part.get(key);
        if let Some(known) = of("path").and_then(Json::as_str) {
            text.path = known.to_owned();
        }
        text.lines = of("totalLines").and_then(Json::as_u64).unwrap_or_default();
        if let Some(sum) = of("sha256").and_then(Json::as_str) {
            // A file that changes between two parts would be read as something that it never was.
            if !text.sha256.is_empty() && text.sha256 != sum {
                let message = format!("'{path}' was changed while it was read; try again");
                return Err(NodeError::failed("file.changed", message));
            }
            text.sha256 = sum.to_owned();
        }
        let next = of("nextLine").and_then(Json::as_u64);
        let is_cut = of("truncated").and_then(Json::as_bool) == Some(true);
        let note = of("note").and_then(Json::as_str);
        // With a note a line was cut, and what follows it would be taken for its end.
        if is_cut && (next.is_none() || note.is_some()) {
            let why = note.unwrap_or("it was cut");
            let message = format!(
                "'{path}' cannot be read whole: {why}; break its lines, for example by saving the JSON indented"
            );
            return Err(NodeError::invalid(LINE_TOO_LONG, message));
        }
        match next {
            Some(next) if next > line && end.is_none_or(|end| next < end) => line = next,
            _ => return Ok(text),
        }
    }
    Err(too_large(path))
}

fn too_large(path: &str) -> NodeError {
    let message = format!(
        "'{path}' is longer than {MAX_NODE_FILE_BYTES} bytes or {MAX_NODE_FILE_PARTS} parts; read a part of it (start_line, line_count)"
    );
    NodeError::invalid("file.too_large", message)
}

/// The bytes of a file that is no text, as base64.
pub(in crate::nodes) async fn read_base64(
    context: &NodeContext,
    path: &str,
) -> Result<String, NodeError> {
    check_path(path)?;
    let arguments = json!({"file_path": path, "encoding": "base64"});
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let read = call(context, "File.Read", arguments).await?;
    let content = read.get("content").and_then(Json::as_str);
    content.map(str::to_owned).ok_or_else(|| {
        NodeError::invalid(
            "file.no_content",
            format!("the content of '{path}' did not come"),
        )
    })
}

pub(in crate::nodes) async fn write(
    context: &NodeContext,
    path: &str,
    content: &str,
    tool: &str,
) -> Result<Json, NodeError> {
    check_path(path)?;
    let arguments = json!({"file_path": path, "content": content});
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    call(context, tool, arguments).await
}

fn check_path(path: &str) -> Result<(), NodeError> {
    match path.trim().is_empty() {
        true => Err(NodeError::invalid(
            "file.no_path",
            "no file is named; give a path in the project like reports/today.md, or user://…, shared://…",
        )),
        false => Ok(()),
    }
}
