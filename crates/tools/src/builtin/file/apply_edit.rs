//! `File.ApplyEdit`: replaces exact text. What it means to replace is in [`edited`], which does no IO.

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;

use super::{define, flag, path_schema, target, text, writing};
use crate::file::FileLayer;
use crate::limits::{MAX_NAMED_LINES, MAX_SNIPPET_LINE_CHARS, MAX_TOOL_EDIT_BYTES};
use crate::{Executor, Invocation, ToolError};

/// Lines that are compared to find the nearest one.
const COMPARED_LINES: usize = 5000;
/// Below this a line is not worth showing.
const ALIKE: f64 = 0.5;

pub(super) fn definition() -> ToolDefinition {
    writing(define(
        "File.ApplyEdit",
        &["FileOperator.ApplyEdit", "FileOperator.EditFile"],
        "Replaces a piece of text in a file. `search_string` must occur in the file exactly once, spaces included; add lines around it until it does, or set `replace_all`.",
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["file_path", "search_string", "replace_string"],
            "properties": {
                "file_path": path_schema("The file to change."),
                "search_string": {
                    "type": "string", "minLength": 1, "x-verbatim": true,
                    "description": "The text to replace, exactly as it is in the file."
                },
                "replace_string": {
                    "type": "string", "x-verbatim": true,
                    "description": "The text to put there instead. Empty to delete."
                },
                "replace_all": {
                    "type": "boolean", "default": false,
                    "description": "Replace every occurrence."
                }
            }
        }),
        &[(
            "Change one line.",
            json!({
                "file_path": "src/main.js",
                "search_string": "console.log(\"old\");",
                "replace_string": "console.log(\"new\");"
            }),
        )],
    ))
}

pub(super) struct ApplyEdit(pub(super) FileLayer);

#[async_trait]
impl Executor for ApplyEdit {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let uri = target(&self.0, &call, "file_path")?;
        let search = text(&call, "search_string").to_owned();
        let replace = text(&call, "replace_string").to_owned();
        let all = flag(&call, "replace_all");
        let place = uri.to_string();
        let (told, edits) = oneshot::channel();
        let stat = self
            .0
            .edit(&uri, MAX_TOOL_EDIT_BYTES, move |text| {
                let edited = edited(&place, text, &search, &replace, all)?;
                // Nobody listens only if the call was given up.
                let _ = told.send((edited.replacements, edited.lines));
                Ok::<_, ToolError>(edited.text)
            })
            .await?;
        let (replacements, lines) = edits.await.unwrap_or_default();
        Ok(json!({
            "path": uri,
            "replacements": replacements,
            "lines": lines,
            "bytes": stat.size,
        }))
    }
}

#[derive(Debug)]
pub(super) struct Edited {
    pub(super) text: String,
    pub(super) replacements: usize,
    /// Where the first ones were, counted from 1.
    pub(super) lines: Vec<usize>,
}

pub(super) fn edited(
    place: &str,
    text: &str,
    search: &str,
    replace: &str,
    all: bool,
) -> Result<Edited, ToolError> {
    if search.is_empty() {
        return Err(failed(
            "edit_empty_search",
            "search_string is empty: give the text to replace",
        ));
    }
    if search == replace {
        return Err(failed(
            "edit_no_change",
            "search_string and replace_string are the same: nothing would change",
        ));
    }
    // Models write plain line feeds. In a file that has none of them, that is not what they mean.
    let (search, replace) = match is_crlf(text) {
        true => (with_crlf(search), with_crlf(replace)),
        false => (search.to_owned(), replace.to_owned()),
    };
    let mut places = text.match_indices(&search).map(|(at, _)| at);
    let mut lines = LineNumbers::of(text);
    let named: Vec<usize> = places
        .by_ref()
        .take(MAX_NAMED_LINES)
        .map(|at| lines.of_byte(at))
        .collect();
    let count = named.len() + places.count();
    if count == 0 {
        return Err(failed(
            "edit_not_found",
            format!(
                "search_string does not occur in '{place}'{}",
                hint(text, &search)
            ),
        ));
    }
    if count > 1 && !all {
        let numbers: Vec<String> = named.iter().map(usize::to_string).collect();
        let more = if count > named.len() { ", …" } else { "" };
        return Err(failed(
            "edit_not_unique",
            format!(
                "search_string occurs {count} times in '{place}' (lines {}{more}): add lines around it until it is unique, or set replace_all",
                numbers.join(", ")
            ),
        ));
    }
    let grown = (replace.len() as u64).saturating_mul(count as u64);
    if (text.len() as u64).saturating_add(grown) > 2 * MAX_TOOL_EDIT_BYTES {
        return Err(failed(
            "edit_too_large",
            format!("'{place}' would become too large: replace less at once"),
        ));
    }
    Ok(Edited {
        text: text.replace(&search, &replace),
        replacements: count,
        lines: named,
    })
}

fn failed(reason: &str, message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::WorkspacePatchFailed, message)
        .because(format!("file.{reason}"))
        .permanent()
}

/// Every line ends with CR LF, and there is at least one.
fn is_crlf(text: &str) -> bool {
    let mut ends = text.match_indices('\n').peekable();
    ends.peek().is_some()
        && ends.all(|(at, _)| text.as_bytes().get(at.wrapping_sub(1)) == Some(&b'\r'))
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Line numbers of places that are asked for in order, in one pass.
struct LineNumbers<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> LineNumbers<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    fn of_byte(&mut self, at: usize) -> usize {
        let between = self.text.get(self.at..at).unwrap_or_default();
        self.line += between.matches('\n').count();
        self.at = at;
        self.line
    }
}

/// The line most like the first one searched for.
fn hint(text: &str, search: &str) -> String {
    let wanted = search.lines().map(str::trim).find(|line| !line.is_empty());
    let Some(wanted) = wanted.map(cut) else {
        return "; it consists of blanks: add text around it".to_owned();
    };
    let nearest = text
        .lines()
        .take(COMPARED_LINES)
        .enumerate()
        .map(|(index, line)| (index + 1, cut(line.trim())))
        .map(|(number, line)| (strsim::sorensen_dice(&wanted, &line), number, line))
        .filter(|(alike, ..)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    match nearest {
        Some((_, number, line)) if line == wanted => format!(
            ": its first line is line {number}, but blanks or the lines after it differ; read the file and copy the text exactly"
        ),
        Some((_, number, line)) => format!("; the nearest is line {number}: {line}"),
        None => "; read the file and copy the text exactly".to_owned(),
    }
}

fn cut(line: &str) -> String {
    line.chars().take(MAX_SNIPPET_LINE_CHARS).collect()
}

#[cfg(test)]
#[path = "apply_edit_tests.rs"]
mod tests;
