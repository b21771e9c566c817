//! Contents by what they are: blobs by their sha256, and trees of them.
//!
//! Written with the step of a run that brings them (`journal::Entry`), so that no journal speaks of a content that is not
//! there. The same content is kept once, whoever brings it, and for as long as one of those who brought it is there: a
//! run brings whatever it relies on, also what others have brought before.

mod checkpoints;
mod files;
mod sqlite;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::event::{CheckpointId, RunId};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use crate::StoreError;

pub(crate) use checkpoints::{KnownTrees, examine as examine_checkpoints};
pub(crate) use files::{BlobFiles, sync_folder};
pub(crate) use sqlite::{Brought, SqliteContents};

/// 64 small hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct BlobId(Arc<str>);

impl<'de> Deserialize<'de> for BlobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("64 small hexadecimal digits expected"))
    }
}

impl BlobId {
    pub fn of(content: &[u8]) -> Self {
        Self::from_digest(&Sha256::digest(content))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == 64 && text.bytes().all(is_digit)).then(|| Self(text.into()))
    }

    pub(crate) fn from_digest(digest: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |value: u8| char::from(DIGITS.get(usize::from(value)).copied().unwrap_or(b'0'));
        let text: String = digest
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .collect();
        Self(text.into())
    }

    /// As it is kept in the database.
    pub(crate) fn digest(&self) -> Vec<u8> {
        let value = |byte: u8| match byte {
            b'0'..=b'9' => byte - b'0',
            _ => byte.wrapping_sub(b'a').wrapping_add(10) & 15,
        };
        self.0
            .as_bytes()
            .chunks_exact(2)
            .map(|pair| pair.iter().fold(0, |sum, byte| (sum << 4) | value(*byte)))
            .collect()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    pub id: BlobId,
    pub content: Arc<[u8]>,
}

impl Blob {
    pub fn new(content: impl Into<Arc<[u8]>>) -> Self {
        let content = content.into();
        Self {
            id: BlobId::of(&content),
            content,
        }
    }
}

/// Files by their path; what a workspace holds at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree(pub BTreeMap<String, TreeFile>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeFile {
    pub sha256: BlobId,
    pub bytes: u64,
}

/// Of the tree's canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(pub BlobId);

impl Tree {
    /// The form that its id is made of: JSON, paths in order, nothing that need not be there.
    pub fn canonical(&self) -> String {
        let files = self.0.iter();
        written(files.map(|(path, file)| (path.as_str(), Some(file))))
    }

    pub fn id(&self) -> TreeId {
        TreeId(BlobId::of(self.canonical().as_bytes()))
    }
}

/// Files by their path, as JSON; `None` becomes null.
fn written<'t>(files: impl Iterator<Item = (&'t str, Option<&'t TreeFile>)>) -> String {
    let mut text = "{".to_owned();
    for (path, file) in files {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&serde_json::Value::from(path).to_string());
        match file {
            None => text.push_str(":null"),
            Some(file) => {
                text.push_str(r#":{"sha256":""#);
                text.push_str(file.sha256.as_str());
                text.push_str(r#"","bytes":"#);
                text.push_str(&file.bytes.to_string());
                text.push('}');
            }
        }
    }
    text.push('}');
    text
}

/// Kept by SQLite and files here; elsewhere by whatever keeps the journal.
#[async_trait]
pub trait Contents: Send + Sync {
    /// What is not as it was brought is an error, not a content.
    async fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, StoreError>;
    async fn tree(&self, id: &TreeId) -> Result<Option<Tree>, StoreError>;
    /// The tree that a run has brought with the event of a checkpoint. `None`: it is not kept so that it can be found, and
    /// has to be made again from the journal of the run, which is the truth about it. An error means the same.
    async fn checkpoint(&self, _: &RunId, _: &CheckpointId) -> Result<Option<Tree>, StoreError> {
        Ok(None)
    }
    /// Outside of a run's step, for what belongs to no run. It stays.
    async fn put(&self, blobs: Vec<Blob>, trees: Vec<Tree>) -> Result<(), StoreError>;
    /// Removes what no run, no state and no tree holds any more. For whoever drives the runs, and nobody else at the same time.
    async fn sweep(&self) -> Result<Swept, StoreError>;
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub contents: u64,
    pub bytes: u64,
}

#[cfg(test)]
#[path = "checkpoints_tests.rs"]
mod checkpoints_tests;

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
