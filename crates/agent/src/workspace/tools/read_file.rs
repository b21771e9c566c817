//! `workspace.read_file`: numbered lines of a file, and a note of what was shown, which is what later writes go by.

use std::ops::Range;

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::builtin::text::count;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::super::Workspaces;
use super::super::fault::{fault, is_directory, not_found};
use super::super::lines::{Lines, ends_with_crlf, numbered};
use super::super::state::FileInfo;
use super::super::text::aside;
use super::visible;
use crate::declare::{Nature, answer, declare, examples, number, object, text};
use crate::limits::{MAX_FULL_READ_BYTES, MAX_READ_CHARS, MAX_READ_LINES, MAX_SHOWN_READ_CHARS};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[
            ("Read a whole file.", json!({"path": "output/main.md"})),
            (
                "Read lines 201 to 300.",
                json!({"path": "output/main.md", "start_line": 201, "line_count": 100}),
            ),
        ]),
        ..declare(
            "workspace.read_file",
            "Read file",
            "Reads a text file of the workspace. The content has a number and a bar before each line (`12 | text`), which are not part of the file. A long file is read in parts, by lines or by characters.",
            Nature::ReadOnly,
            object(
                json!({
                    "path": {"type": "string", "description": "The file to read, like output/main.md."},
                    "start_line": {"type": "integer", "description": "The first line to read, counted from 1."},
                    "line_count": {
                        "type": "integer",
                        "description": format!("How many lines to read, at most {MAX_READ_LINES}.")
                    },
                    "start_char": {
                        "type": "integer",
                        "description": "The first character to read, counted from 0. Not together with lines."
                    },
                    "max_chars": {
                        "type": "integer",
                        "description": format!("How many characters to read, at most {MAX_READ_CHARS}.")
                    }
                }),
                &["path"],
            ),
            answer(&[
                ("path", "string"),
                ("sha256", "string"),
                ("totalLines", "integer"),
                ("startLine", "integer"),
                ("endLine", "integer"),
                ("bytes", "integer"),
                ("chars", "integer"),
                ("words", "integer"),
                ("totalBytes", "integer"),
                ("totalChars", "integer"),
                ("totalWords", "integer"),
                ("startChar", "integer"),
                ("endChar", "integer"),
                ("truncated", "boolean"),
                ("fullRead", "boolean"),
                ("content", "string"),
            ]),
        )
    }
}

pub(super) struct ReadFile(pub(super) Workspaces);

#[async_trait]
impl Executor for ReadFile {
    fn most_shown(&self) -> usize {
        MAX_SHOWN_READ_CHARS
    }

    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let desk = self.0.desk(&call)?;
        let wanted = Wanted::of(&call)?;
        let path = visible(desk.session.plan(), text(&call, "path").unwrap_or_default())?;
        let name = path.as_str().to_owned();
        let Some(file) = desk.session.file(&name) else {
            return Err(match desk.session.is_folder(&name) {
                true => is_directory(&name),
                false => not_found(&name),
            });
        };
        let content = desk.session.text(&name, &file.sha256).await?;
        let (length, info) = (content.as_str().len(), file.clone());
        let read = aside(length, move || {
            piece(&name, &info, content.as_str(), wanted)
        });
        let (shown, answer) = read.await??;
        desk.session.shown(&desk.call, path.as_str(), &file, shown);
        Ok(answer)
    }
}

/// What of a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    part: Part,
    /// Nobody said how much, so less will do.
    open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Lines { start: i64, count: i64 },
    Chars { start: i64, most: i64 },
}

impl Wanted {
    fn of(call: &Invocation) -> Result<Self, ToolError> {
        let given = |name| number(call.arguments.get(name));
        let (start_line, line_count) = (given("start_line"), given("line_count"));
        let (start_char, max_chars) = (given("start_char"), given("max_chars"));
        let by_lines = start_line.is_some() || line_count.is_some();
        let by_chars = start_char.is_some() || max_chars.is_some();
        let part = match (by_lines, by_chars) {
            (true, true) => {
                return Err(range(
                    "mixed_read_range",
                    "A part is read by lines or by characters, not by both: give start_line and line_count, or start_char and max_chars",
                ));
            }
            (false, false) => Part::All,
            (true, false) => Part::Lines {
                start: start_line.unwrap_or(1),
                count: line_count.unwrap_or(MAX_READ_LINES),
            },
            (false, true) => Part::Chars {
                start: start_char.unwrap_or(0),
                most: max_chars.unwrap_or(MAX_READ_CHARS),
            },
        };
        part.check()?;
        let open = match part {
            Part::All => false,
            Part::Lines { .. } => line_count.is_none(),
            Part::Chars { .. } => max_chars.is_none(),
        };
        Ok(Self { part, open })
    }

    /// Half of it, where less will do and there is less.
    fn less(self) -> Option<Self> {
        let part = match self.part {
            Part::Lines {
                start,
                count: count @ 2..,
            } => Part::Lines {
                start,
                count: count / 2,
            },
            Part::Chars {
                start,
                most: most @ 2..,
            } => Part::Chars {
                start,
                most: most / 2,
            },
            _ => return None,
        };
        self.open.then_some(Self { part, ..self })
    }
}

impl Part {
    fn check(self) -> Result<(), ToolError> {
        match self {
            Self::Lines { start, count } if start < 1 || count < 1 => Err(range(
                "invalid_line_range",
                "Lines are counted from 1, and at least one is read",
            )),
            Self::Chars { start, most } if start < 0 || most < 1 => Err(range(
                "invalid_char_range",
                "Characters are counted from 0, and at least one is read",
            )),
            Self::Lines { count, .. } if count > MAX_READ_LINES => Err(too_large(
                "read_line_count_too_large",
                format!("line_count is at most {MAX_READ_LINES}: read in parts"),
            )),
            Self::Chars { most, .. } if most > MAX_READ_CHARS => Err(too_large(
                "read_char_count_too_large",
                format!("max_chars is at most {MAX_READ_CHARS}: read in parts"),
            )),
            _ => Ok(()),
        }
    }

    /// The bytes of the text that are meant.
    fn bytes(
        self,
        name: &str,
        file: &FileInfo,
        text: &str,
        lines: &Lines,
    ) -> Result<Range<usize>, ToolError> {
        match self {
            Self::All => {
                if file.bytes > MAX_FULL_READ_BYTES || lines.count() as i64 > MAX_READ_LINES {
                    return Err(too_large(
                        "read_too_large",
                        format!(
                            "'{name}' has {} lines and {} bytes; at most {MAX_READ_LINES} lines and {MAX_FULL_READ_BYTES} bytes are read at once: read it in parts, with start_line and line_count or start_char and max_chars",
                            lines.count(),
                            file.bytes
                        ),
                    ));
                }
                Ok(0..text.len())
            }
            Self::Lines { start, count } => {
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                if start > lines.count().max(1) {
                    return Err(range(
                        "invalid_line_range",
                        format!(
                            "'{name}' has {} lines, so there is no line {start}",
                            lines.count()
                        ),
                    ));
                }
                let count = usize::try_from(count).unwrap_or(1);
                let bytes = lines.bytes(start, count);
                if bytes.len() as u64 > MAX_FULL_READ_BYTES {
                    return Err(too_large(
                        "read_too_large",
                        format!(
                            "These lines of '{name}' have {} bytes; at most {MAX_FULL_READ_BYTES} are read at once: read fewer lines, or use start_char and max_chars",
                            bytes.len()
                        ),
                    ));
                }
                Ok(bytes)
            }
            Self::Chars { start, most } => {
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                if start as u64 >= file.chars.max(1) {
                    return Err(range(
                        "invalid_char_range",
                        format!(
                            "'{name}' has {} characters, so none has the number {start}",
                            file.chars
                        ),
                    ));
                }
                let most = usize::try_from(most).unwrap_or(1);
                let at = |text: &str, chars: usize| {
                    text.char_indices()
                        .nth(chars)
                        .map_or(text.len(), |(at, _)| at)
                };
                let from = at(text, start);
                let rest = text.get(from..).unwrap_or_default();
                Ok(from..from + at(rest, most))
            }
        }
    }
}

/// The range that is shown, in characters, and the answer. All of it is shown: what counts as read was seen.
fn piece(
    name: &str,
    file: &FileInfo,
    text: &str,
    mut wanted: Wanted,
) -> Result<((u64, u64), Json), ToolError> {
    let lines = Lines::of(text);
    loop {
        match (part(name, file, text, &lines, wanted.part), wanted.less()) {
            (Err(error), Some(less)) if error.code == ErrorCode::WorkspaceReadTooLarge => {
                wanted = less;
            }
            (read, _) => return read,
        }
    }
}

fn part(
    name: &str,
    file: &FileInfo,
    text: &str,
    lines: &Lines,
    wanted: Part,
) -> Result<((u64, u64), Json), ToolError> {
    let bytes = wanted.bytes(name, file, text, lines)?;
    let shown = text.get(bytes.clone()).unwrap_or_default();
    let start_char = text.get(..bytes.start).unwrap_or_default().chars().count() as u64;
    let counted = count(shown);
    let end_char = start_char + counted.chars as u64;
    let start_line = lines.number_at(bytes.start);
    let end_line = match shown.is_empty() {
        true => start_line - 1,
        false => lines.number_at(bytes.end - 1),
    };
    let mut answer = json!({
        "path": name,
        "sha256": file.sha256,
        "totalLines": lines.count(),
        "startLine": start_line,
        "endLine": end_line,
        "bytes": counted.bytes,
        "chars": counted.chars,
        "words": counted.words,
        "totalBytes": file.bytes,
        "totalChars": file.chars,
        "totalWords": file.words,
        "startChar": start_char,
        "endChar": end_char,
        "truncated": end_char < file.chars,
        "fullRead": start_char == 0 && end_char == file.chars,
    });
    if let Some(fields) = answer.as_object_mut() {
        if ends_with_crlf(text) {
            fields.insert("lineEnding".to_owned(), json!("crlf"));
        }
        let content = numbered(shown, start_line, end_line);
        fields.insert("content".to_owned(), content.into());
    }
    Ok(((start_char, end_char), answer))
}

fn range(reason: &str, message: impl Into<String>) -> ToolError {
    let reason = format!("workspace.{reason}");
    fault(ErrorCode::WorkspaceInvalidRange, &reason, message)
}

fn too_large(reason: &str, message: impl Into<String>) -> ToolError {
    let reason = format!("workspace.{reason}");
    fault(ErrorCode::WorkspaceReadTooLarge, &reason, message)
}

#[cfg(test)]
#[path = "read_file_tests.rs"]
mod tests;
