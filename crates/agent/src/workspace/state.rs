//! What a workspace holds and what was read of it, as plain data that a run carries.

use std::collections::BTreeMap;

use innkeeper_protocol::event::CallId;
use innkeeper_store::{BlobId, Tree, TreeFile};
use innkeeper_tools::builtin::text::count;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkspaceState {
    pub files: BTreeMap<String, FileInfo>,
    /// What the agent has read, by path.
    pub reads: BTreeMap<String, ReadState>,
    /// Number of the last checkpoint.
    pub checkpoints: u64,
}

impl WorkspaceState {
    /// In the order in which calls ended. Making the same change again changes nothing.
    pub fn apply(&mut self, change: &WorkspaceChange) {
        for file in &change.files {
            match &file.new {
                Some(new) => {
                    self.files.insert(file.path.clone(), new.clone());
                }
                None => {
                    self.files.remove(&file.path);
                    self.reads.remove(&file.path);
                }
            }
        }
        for (path, read) in &change.reads {
            self.reads.insert(path.clone(), read.clone());
        }
    }

    pub fn tree(&self) -> Tree {
        tree_of(&self.files)
    }
}

pub(crate) fn tree_of(files: &BTreeMap<String, FileInfo>) -> Tree {
    let files = files.iter().map(|(path, file)| {
        let entry = TreeFile {
            sha256: file.sha256.clone(),
            bytes: file.bytes,
        };
        (path.clone(), entry)
    });
    Tree(files.collect())
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileInfo {
    pub sha256: BlobId,
    pub bytes: u64,
    /// Unicode scalar values.
    pub chars: u64,
    /// Runs of letters and digits; each CJK, kana or hangul character by itself.
    pub words: u64,
}

impl FileInfo {
    pub fn of(sha256: BlobId, text: &str) -> Self {
        let counted = count(text);
        Self {
            sha256,
            bytes: counted.bytes as u64,
            chars: counted.chars as u64,
            words: counted.words as u64,
        }
    }
}

/// What the agent knows of a file. How it changes is told in `reads.rs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadState {
    pub sha256: BlobId,
    /// All of it was shown.
    pub full: bool,
    /// Character ranges that were shown, if not all; sorted, apart, none of them empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(u64, u64)>,
    /// A patch failed on what was known: only reading all of it helps.
    #[serde(default)]
    pub needs_full_read: bool,
}

/// What one call did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkspaceChange {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<(String, ReadState)>,
}

impl WorkspaceChange {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.reads.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    pub path: String,
    pub how: How,
    pub old: Option<FileInfo>,
    /// None: it is gone.
    pub new: Option<FileInfo>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum How {
    Written {
        mode: String,
    },
    Patched {
        replacements: u64,
    },
    /// A plain answer that was kept as a file.
    Captured,
    /// A long result.
    Spilled,
    /// The private state of the agent, by a tool of its own.
    State {
        call: CallId,
        version: u64,
        paths: Vec<String>,
    },
    Deleted,
}
