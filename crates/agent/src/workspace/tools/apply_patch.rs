//! `workspace.apply_patch`: replaces exact text that the agent was shown. What a patch does to a text is in [`patched`],
//! which does no IO; in which order a patch is refused is in [`ApplyPatch::execute`].

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_store::Blob;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::super::Workspaces;
use super::super::fault::{fault, is_directory, not_found};
use super::super::lines::ends_with_crlf;
use super::super::path::WorkspacePath;
use super::super::reads::Replaced;
use super::super::session::NewFile;
use super::super::state::{FileInfo, How, ReadState};
use super::super::text::{aside, measured};
use super::super::workspaces::Desk;
use super::writable;
use super::write_file::check_size;
use crate::declare::{Nature, answer, declare, examples, flag, object, text};
use crate::limits::MAX_WORKSPACE_FILE_BYTES;

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[(
            "Change one sentence.",
            json!({
                "path": "output/main.md",
                "old_string": "It rained.",
                "new_string": "It had rained for a week."
            }),
        )]),
        ..declare(
            "workspace.apply_patch",
            "Patch file",
            "Replaces a piece of text in a file of the workspace that you have read. old_string must occur exactly once, blanks and line breaks included and without the line numbers of workspace.read_file; add text around it until it does, or set replace_all.",
            Nature::Mutating,
            object(
                json!({
                    "path": {"type": "string", "description": "The file to change, like output/main.md."},
                    "old_string": {
                        "type": "string", "x-verbatim": true,
                        "description": "The text to replace, exactly as it stands in the file."
                    },
                    "new_string": {
                        "type": "string", "x-verbatim": true,
                        "description": "The text to put there instead. Empty to delete."
                    },
                    "replace_all": {
                        "type": "boolean",
                        "description": "Replace every occurrence; the whole file must have been read."
                    }
                }),
                &["path", "old_string", "new_string"],
            ),
            answer(&[
                ("path", "string"),
                ("bytes", "integer"),
                ("chars", "integer"),
                ("words", "integer"),
                ("oldSha256", "string"),
                ("sha256", "string"),
                ("replacements", "integer"),
            ]),
        )
    }
}

pub(super) struct ApplyPatch(pub(super) Workspaces);

#[async_trait]
impl Executor for ApplyPatch {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let desk = self.0.desk(&call)?;
        let patch = Patch {
            old: text(&call, "old_string").unwrap_or_default().to_owned(),
            new: text(&call, "new_string").unwrap_or_default().to_owned(),
            all: flag(&call, "replace_all"),
        };
        if patch.old.is_empty() {
            return Err(failed(
                "patch_empty_old_string",
                "old_string is empty: give the text to replace",
            ));
        }
        if patch.old == patch.new {
            return Err(failed(
                "patch_no_change",
                "old_string and new_string are the same: nothing would change",
            ));
        }
        let path = writable(desk.session.plan(), text(&call, "path").unwrap_or_default())?;
        let _writing = desk.session.writing().await;
        let Some(file) = desk.session.file(path.as_str()) else {
            return Err(match desk.session.is_folder(path.as_str()) {
                true => is_directory(path.as_str()),
                false => not_found(path.as_str()),
            });
        };
        let read = known(&desk, &path, &patch).await?;
        if read.sha256 != file.sha256 {
            return Err(fault(
                ErrorCode::WorkspaceWriteStaleFile,
                "workspace.patch_stale_file",
                format!("'{path}' has changed since you read it: read it again"),
            ));
        }
        apply(&desk, path, &file, read, patch).await
    }
}

struct Patch {
    old: String,
    new: String,
    all: bool,
}

/// What the agent knows of the file, if that is enough for this patch.
async fn known(desk: &Desk, path: &WorkspacePath, patch: &Patch) -> Result<ReadState, ToolError> {
    let session = &desk.session;
    let Some(read) = session.read_state(path.as_str()) else {
        return Err(fault(
            ErrorCode::WorkspaceWriteRequiresRead,
            "workspace.patch_requires_read",
            format!(
                "You have not read '{path}': read it with workspace.read_file before you change it"
            ),
        ));
    };
    if read.needs_full_read {
        return Err(needs_all(
            path,
            "an earlier patch did not fit what you have read of it",
        ));
    }
    if read.full {
        return Ok(read);
    }
    if patch.all {
        session.flag(&desk.call, path.as_str());
        return Err(needs_all(
            path,
            "replace_all reaches parts that you have not read",
        ));
    }
    let seen = match session.text(path.as_str(), &read.sha256).await {
        Ok(text) => is_in_ranges(text.as_str(), &read.ranges, &patch.old),
        // What was read is nowhere any more, so nobody can say.
        Err(error) if error.reason.as_deref() == Some("workspace.content_missing") => false,
        Err(error) => return Err(error),
    };
    match seen {
        true => Ok(read),
        false => {
            session.flag(&desk.call, path.as_str());
            Err(needs_all(
                path,
                "old_string is not in what you have read of it",
            ))
        }
    }
}

fn needs_all(path: &WorkspacePath, why: &str) -> ToolError {
    fault(
        ErrorCode::WorkspaceWriteRequiresRead,
        "workspace.patch_requires_full_read",
        format!(
            "All of '{path}' has to be read first, for {why}: read it without a range, or in parts until nothing is left out"
        ),
    )
}

/// Whether it stands within one of the ranges, which are given in characters.
fn is_in_ranges(text: &str, ranges: &[(u64, u64)], old: &str) -> bool {
    let old = in_line_ends_of(text, old);
    let mut places = text.char_indices().map(|(at, _)| at);
    let mut passed = 0;
    ranges.iter().any(|&(from, to)| {
        let mut byte_of = |char: u64| {
            let ahead = usize::try_from(char - passed).unwrap_or(usize::MAX);
            passed = char + 1;
            places.nth(ahead).unwrap_or(text.len())
        };
        let start = byte_of(from);
        // Ranges are not empty and lie apart, so the next one begins behind this.
        let end = byte_of(to);
        text.get(start..end).is_some_and(|seen| seen.contains(&old))
    })
}

async fn apply(
    desk: &Desk,
    path: WorkspacePath,
    file: &FileInfo,
    read: ReadState,
    patch: Patch,
) -> Result<Json, ToolError> {
    let content = desk.session.text(path.as_str(), &file.sha256).await?;
    let name = path.as_str().to_owned();
    let bytes = content.as_str().len();
    let done = aside(bytes, move || patched(&name, content.as_str(), &patch)).await?;
    let done = match done {
        Ok(done) => done,
        Err(Misfit::TooLarge(bytes)) => return check_size(&path, bytes).map(|()| Json::Null),
        Err(Misfit::Place(error)) => {
            if !read.full {
                desk.session.flag(&desk.call, path.as_str());
            }
            return Err(error);
        }
    };
    let read = match done.piece {
        Some(piece) if !read.full => read.patched(done.info.sha256.clone(), piece),
        _ => ReadState::full(done.info.sha256.clone()),
    };
    let answer = json!({
        "path": path.as_str(),
        "bytes": done.info.bytes,
        "chars": done.info.chars,
        "words": done.info.words,
        "oldSha256": file.sha256,
        "sha256": done.info.sha256,
        "replacements": done.replacements,
    });
    let kept = NewFile {
        path,
        how: How::Patched {
            replacements: done.replacements,
        },
        blob: done.blob,
        info: done.info,
        read: Some(read),
    };
    desk.session.put(&desk.call, kept)?;
    Ok(answer)
}

struct Patched {
    blob: Blob,
    info: FileInfo,
    replacements: u64,
    /// Where the only replacement is.
    piece: Option<Replaced>,
}

enum Misfit {
    /// Not there, or not there once.
    Place(ToolError),
    TooLarge(u64),
}

fn patched(name: &str, text: &str, patch: &Patch) -> Result<Patched, Misfit> {
    let old = in_line_ends_of(text, &patch.old);
    let new = in_line_ends_of(text, &patch.new);
    let Some(first) = text.find(&old) else {
        return Err(Misfit::Place(failed(
            "patch_old_string_not_found",
            missing(name, &old),
        )));
    };
    let count = text.matches(&old).count() as u64;
    if !patch.all && is_again(text, first, &old) {
        return Err(Misfit::Place(failed(
            "patch_old_string_not_unique",
            format!(
                "old_string occurs more than once in '{name}' ({count} times): add text around it until it is unique, or set replace_all"
            ),
        )));
    }
    let grown = (text.len() as u64)
        .saturating_add((new.len() as u64).saturating_mul(count))
        .saturating_sub((old.len() as u64).saturating_mul(count));
    if grown > MAX_WORKSPACE_FILE_BYTES {
        return Err(Misfit::TooLarge(grown));
    }
    let piece = (!patch.all).then(|| Replaced {
        at: chars(text.get(..first).unwrap_or_default()),
        old: chars(&old),
        new: chars(&new),
    });
    let (blob, info) = measured(text.replace(&old, &new));
    Ok(Patched {
        blob,
        info,
        replacements: count,
        piece,
    })
}

/// Whether it begins a second time, also within the first occurrence: `aa` stands twice in `aaa`.
fn is_again(text: &str, first: usize, old: &str) -> bool {
    let step = old.chars().next().map_or(1, char::len_utf8);
    text.get(first + step..)
        .is_some_and(|rest| rest.contains(old))
}

/// Models write plain line feeds. In a file that has none of them, that is not what they mean.
fn in_line_ends_of(text: &str, piece: &str) -> String {
    match ends_with_crlf(text) {
        true => piece.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => piece.to_owned(),
    }
}

fn missing(name: &str, old: &str) -> String {
    let is_numbered = |line: &str| {
        line.split_once(" | ").is_some_and(|(number, _)| {
            let number = number.trim();
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let hint = match old.lines().all(is_numbered) {
        true => "leave out the line numbers that workspace.read_file shows",
        false => "read the file and copy the text exactly",
    };
    format!("old_string does not occur in '{name}': {hint}")
}

fn chars(text: &str) -> u64 {
    text.chars().count() as u64
}

fn failed(reason: &str, message: impl Into<String>) -> ToolError {
    let reason = format!("workspace.{reason}");
    fault(ErrorCode::WorkspacePatchFailed, &reason, message)
}

#[cfg(test)]
#[path = "apply_patch_tests.rs"]
mod tests;
