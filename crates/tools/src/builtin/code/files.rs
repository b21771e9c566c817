//! Files in and out: copies of people's files go into the working folder, and what the code has made there goes into
//! `outputs/code/<call>/` of the project. Both with the rights of the caller.

use std::collections::{HashMap, HashSet};

use innkeeper_protocol::ErrorCode;
use innkeeper_sandbox::{Collected, WorkspaceFile};
use serde_json::{Value as Json, json};
use unicode_normalization::UnicodeNormalization;

use crate::file::WriteMode;
use crate::limits::{
    MAX_CODE_INPUT_BYTES, MAX_CODE_NAMED_LEFT, MAX_CODE_OUTPUT_BYTES, MAX_CODE_OUTPUT_FILES,
    MAX_WRITE_BYTES,
};
use crate::{CallContext, Caller, FileError, FileLayer, FileUri, ToolError};

/// The files that a call names, each under its own name.
pub(super) async fn take_in(
    files: &FileLayer,
    caller: &Caller,
    named: &[String],
) -> Result<Vec<WorkspaceFile>, ToolError> {
    let mut uris: HashMap<String, FileUri> = HashMap::new();
    let mut taken = Vec::new();
    let mut room = MAX_CODE_INPUT_BYTES;
    for text in named {
        let uri = files.resolve(caller, text)?;
        let name = uri
            .file_name()
            .ok_or_else(|| FileError::IsDirectory(uri.clone()))?
            .to_owned();
        match uris.insert(name.clone(), uri.clone()) {
            Some(other) if other == uri => continue,
            Some(other) => return Err(same_name(&name, &other, &uri)),
            None => {}
        }
        let bytes = files.read(&uri, room).await.map_err(|error| match error {
            FileError::ReadTooLarge { .. } => too_large(&uri),
            other => other.into(),
        })?;
        room = room.saturating_sub(bytes.len() as u64);
        taken.push(WorkspaceFile { name, bytes });
    }
    Ok(taken)
}

fn same_name(name: &str, one: &FileUri, other: &FileUri) -> ToolError {
    ToolError::invalid(format!(
        "{one} and {other} would both be '{name}' in the working folder; copy one of them to another name first"
    ))
    .because("code.same_file_name")
}

fn too_large(uri: &FileUri) -> ToolError {
    ToolError::new(
        ErrorCode::WorkspaceReadTooLarge,
        format!(
            "{uri} is too large: the files for one call may have {} MiB together",
            MAX_CODE_INPUT_BYTES >> 20
        ),
    )
    .because("code.files_too_large")
    .permanent()
}

/// Where the files of one call go.
pub(super) struct Shelf<'c> {
    files: &'c FileLayer,
    context: &'c CallContext,
    room: u64,
    /// Names below the call's folder, so that no file replaces another.
    names: HashSet<String>,
    pub(super) kept: Vec<Json>,
    pub(super) not_kept: Vec<Json>,
    /// Those that are not even named.
    pub(super) unnamed: usize,
}

impl<'c> Shelf<'c> {
    pub(super) fn new(files: &'c FileLayer, context: &'c CallContext) -> Self {
        Self {
            files,
            context,
            room: MAX_CODE_OUTPUT_BYTES,
            names: HashSet::new(),
            kept: Vec::new(),
            not_kept: Vec::new(),
            unnamed: 0,
        }
    }

    /// Keeps what was made. That something could not be kept is told, and is no error: the code has run.
    pub(super) async fn keep_all(&mut self, made: Vec<Collected>, left: usize) {
        // A session could claim any number.
        self.unnamed = self.unnamed.saturating_add(left);
        for file in made {
            let name = file.name;
            if self.kept.len() == MAX_CODE_OUTPUT_FILES {
                self.unnamed = self.unnamed.saturating_add(1);
                continue;
            }
            let fits = file.size <= self.room.min(MAX_WRITE_BYTES);
            let Some(bytes) = file.bytes.filter(|_| fits) else {
                self.refuse(
                    name,
                    format!(
                        "it has {} bytes; a file may have {} MiB, and all of a call {} MiB",
                        file.size,
                        MAX_WRITE_BYTES >> 20,
                        MAX_CODE_OUTPUT_BYTES >> 20
                    ),
                );
                continue;
            };
            self.room -= file.size;
            match self.keep(&name, bytes).await {
                Ok(uri) => self
                    .kept
                    .push(json!({"name": name, "uri": uri, "size": file.size})),
                Err(error) => self.refuse(name, error.to_string()),
            }
        }
    }

    pub(super) async fn keep(&mut self, name: &str, bytes: Vec<u8>) -> Result<FileUri, FileError> {
        let uri = self.place(name)?;
        self.files
            .write(&uri, bytes, WriteMode::Replace)
            .await
            .map(|stat| stat.uri)
    }

    /// Under its own name where that is possible; some names cannot be written as a URI.
    fn place(&mut self, name: &str) -> Result<FileUri, FileError> {
        let plain: Vec<String> = name.split('/').map(plain).collect();
        let plain = plain.join("/");
        let mut free = plain.clone();
        let mut number = 1;
        while !self.names.insert(free.clone()) {
            number += 1;
            free = numbered(&plain, number);
        }
        let place = format!("outputs/code/{}/{free}", self.context.call_id);
        self.files.resolve(&self.context.caller, &place)
    }

    fn refuse(&mut self, name: String, reason: String) {
        if self.not_kept.len() == MAX_CODE_NAMED_LEFT {
            self.unnamed = self.unnamed.saturating_add(1);
            return;
        }
        let name: String = name.chars().take(200).collect();
        self.not_kept.push(json!({"name": name, "reason": reason}));
    }
}

/// One name of a path as the file layer takes it.
fn plain(name: &str) -> String {
    let odd = |c: char| {
        c.is_control()
            || c == '\\'
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let plain: String = name.nfc().map(|c| if odd(c) { '_' } else { c }).collect();
    match plain.trim() {
        "" | "." | ".." => "_".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

/// `a/b.txt` becomes `a/b_2.txt`.
fn numbered(path: &str, number: usize) -> String {
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), path),
    };
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((stem, ending)) => format!("{folder}{stem}_{number}.{ending}"),
        None => format!("{folder}{name}_{number}"),
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
