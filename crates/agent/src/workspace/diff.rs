//! What is different between two trees of files: which were added, changed, renamed and deleted, and in which lines.
//!
//! Pure: contents are handed in. What is too large, not text, not there or too much to be shown is named and not compared, so
//! nobody takes a part for all of it. `diff_lines.rs` compares two texts, `diff_renames.rs` finds files under new names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use innkeeper_store::{BlobId, Tree, TreeFile};
use serde::Serialize;

use super::diff_lines::{self, Names};
use super::diff_renames;
use crate::limits::{
    FILE_DIFF_TIME, MAX_DIFF_BYTES, MAX_DIFF_FILE_BYTES, MAX_DIFF_READ_BYTES, MAX_FILE_DIFF_BYTES,
    MAX_RENAME_BYTES, RENAME_TIME,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    Added,
    Modified,
    Deleted,
    /// The same content, or mostly, under another path.
    Renamed,
    /// Only of files that were asked for by their path.
    Unchanged,
}

/// Why lines are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffNote {
    /// It is no text, before or after.
    Binary,
    /// Too large to be compared.
    TooLarge,
    /// There are more lines than are shown. Whoever names the file gets more of them.
    Cut,
    /// All that can be shown, read or waited for at once is used up. Whoever names the file gets it.
    Omitted,
    /// Its content is gone from the store, or not what was written.
    Missing,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileDiff {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    pub status: FileStatus,
    /// None where nothing is different, or a note says why. Of a file with no lines to tell, only what becomes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unified_diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<DiffNote>,
    /// Of a renamed file: how much is the same, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_sha256: Option<BlobId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<BlobId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// How many, and how many lines as far as they were counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiffTotals {
    pub added: u64,
    pub modified: u64,
    pub deleted: u64,
    pub renamed: u64,
    pub added_lines: u64,
    pub removed_lines: u64,
    /// Files whose lines are not all there; each says why.
    pub noted: u64,
}

/// A content as far as it is at hand.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(Arc<str>),
    Binary,
    Missing,
}

impl Content {
    pub fn of(bytes: &[u8]) -> Self {
        // A text may hold anything but this; what is not even UTF-8 is none.
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Self::Text(text.into()),
            _ => Self::Binary,
        }
    }
}

pub type ContentsAtHand = HashMap<BlobId, Content>;

/// A file that is not the same, or was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub path: String,
    pub old_path: Option<String>,
    pub old: Option<TreeFile>,
    pub new: Option<TreeFile>,
    /// How much is the same, in percent, of a file under a new name.
    pub similarity: Option<u64>,
}

impl Change {
    pub fn status(&self) -> FileStatus {
        match (&self.old, &self.new) {
            _ if self.old_path.is_some() => FileStatus::Renamed,
            (None, _) => FileStatus::Added,
            (Some(_), None) => FileStatus::Deleted,
            (Some(old), Some(new)) if old == new => FileStatus::Unchanged,
            (Some(_), Some(_)) => FileStatus::Modified,
        }
    }

    /// The contents that have to be read to compare it.
    pub fn wanted(&self) -> impl Iterator<Item = &TreeFile> {
        let is_same = self.old.as_ref().map(|file| &file.sha256)
            == self.new.as_ref().map(|file| &file.sha256);
        let both = self.old.iter().chain(&self.new);
        both.filter(move |file| !is_same && file.bytes <= MAX_DIFF_FILE_BYTES)
    }
}

/// What is different, in the order of paths, renamed files with the same content found. Files that are the same are given
/// if `asked` names just them.
pub fn changes(from: &Tree, to: &Tree, asked: &[String]) -> Vec<Change> {
    let is_asked = |path: &String| asked.contains(path);
    let mut changes = Vec::new();
    for (path, old) in &from.0 {
        let new = to.0.get(path);
        if new != Some(old) || is_asked(path) {
            changes.push(change(path, Some(old), new));
        }
    }
    let added = to.0.iter().filter(|(path, _)| !from.0.contains_key(*path));
    changes.extend(added.map(|(path, new)| change(path, None, Some(new))));
    diff_renames::with_same_content(&mut changes);
    in_order(&mut changes);
    changes
}

/// Files under new names whose text is mostly the same become one.
pub fn find_renames(
    changes: &mut Vec<Change>,
    contents: &ContentsAtHand,
    deadline: Option<Instant>,
) {
    // Whatever is found: time is left to compare.
    let until = deadline.map(|deadline| deadline.min(Instant::now() + RENAME_TIME));
    diff_renames::with_similar_text(changes, contents, until);
    in_order(changes);
}

/// The contents to read, as far as they are read at once: those that were asked for first, and of others only what may be there
/// under a new name.
pub fn to_read<'c>(changes: &'c [Change], asked: &[String]) -> Vec<&'c TreeFile> {
    let is_alone = |change: &&Change| change.old.is_none() || change.new.is_none();
    let (wanted, others): (Vec<_>, Vec<_>) =
        changes.iter().partition(|change| is_wanted(change, asked));
    let has_renames = wanted.iter().any(is_alone);
    let others = others
        .into_iter()
        .filter(|change| has_renames && is_alone(change))
        .flat_map(Change::wanted)
        .filter(|file| file.bytes <= MAX_RENAME_BYTES);
    let mut seen = HashSet::new();
    let mut left = MAX_DIFF_READ_BYTES;
    let mut files: Vec<&TreeFile> = wanted
        .into_iter()
        .flat_map(Change::wanted)
        .chain(others)
        .collect();
    files.retain(|file| {
        seen.insert(&file.sha256)
            && left
                .checked_sub(file.bytes)
                .inspect(|rest| left = *rest)
                .is_some()
    });
    files
}

/// Whether it is one of these files, or lies in one of these folders, now or before. Nothing asked for is everything.
pub fn is_wanted(change: &Change, asked: &[String]) -> bool {
    let lies_in = |path: &str| asked.iter().any(|asked| is_in(path, asked));
    asked.is_empty() || lies_in(&change.path) || change.old_path.as_deref().is_some_and(lies_in)
}

pub fn is_in(path: &str, asked: &str) -> bool {
    let rest = path.strip_prefix(asked);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn change(path: &str, old: Option<&TreeFile>, new: Option<&TreeFile>) -> Change {
    Change {
        path: path.to_owned(),
        old_path: None,
        old: old.cloned(),
        new: new.cloned(),
        similarity: None,
    }
}

fn in_order(changes: &mut [Change]) {
    changes.sort_by(|a, b| a.path.cmp(&b.path));
}

/// The changes with their lines. `deadline` is for all of them; without one, lines are compared for as long as it takes. A file
/// that `asked` names itself may have all that there is room for.
pub fn compare(
    changes: &[Change],
    contents: &ContentsAtHand,
    asked: &[String],
    deadline: Option<Instant>,
) -> (Vec<FileDiff>, DiffTotals) {
    let mut left = MAX_DIFF_BYTES;
    let mut totals = DiffTotals::default();
    let files = changes.iter().map(|change| {
        let is_named = |path: &String| asked.contains(path);
        let most = match is_named(&change.path) || change.old_path.as_ref().is_some_and(is_named) {
            true => left,
            false => left.min(MAX_FILE_DIFF_BYTES),
        };
        let file = compare_one(change, contents, deadline, most);
        left = left.saturating_sub(file.unified_diff.as_ref().map_or(0, String::len));
        totals.count(&file);
        file
    });
    let files = files.collect();
    (files, totals)
}

impl DiffTotals {
    fn count(&mut self, file: &FileDiff) {
        match file.status {
            FileStatus::Added => self.added += 1,
            FileStatus::Modified => self.modified += 1,
            FileStatus::Deleted => self.deleted += 1,
            FileStatus::Renamed => self.renamed += 1,
            FileStatus::Unchanged => {}
        }
        self.added_lines += file.added_lines.unwrap_or_default();
        self.removed_lines += file.removed_lines.unwrap_or_default();
        self.noted += u64::from(file.note.is_some());
    }
}

fn compare_one(
    change: &Change,
    contents: &ContentsAtHand,
    deadline: Option<Instant>,
    most: usize,
) -> FileDiff {
    let (old, new) = (change.old.as_ref(), change.new.as_ref());
    let mut file = FileDiff {
        path: change.path.clone(),
        old_path: change.old_path.clone(),
        status: change.status(),
        unified_diff: None,
        added_lines: None,
        removed_lines: None,
        note: None,
        similarity: change.similarity,
        old_sha256: old.map(|file| file.sha256.clone()),
        sha256: new.map(|file| file.sha256.clone()),
        old_bytes: old.map(|file| file.bytes),
        bytes: new.map(|file| file.bytes),
    };
    let is_same = file.old_sha256 == file.sha256;
    let texts = match is_same {
        // Whatever it is: no line of it is different.
        true => Ok(("", "")),
        false => text(old, contents).and_then(|old| Ok((old, text(new, contents)?))),
    };
    let (old_text, new_text) = match texts {
        Ok(texts) => texts,
        Err(note) => {
            file.note = Some(note);
            return file;
        }
    };
    let now = deadline.map(|_| Instant::now());
    let is_late = deadline
        .zip(now)
        .is_some_and(|(deadline, now)| now >= deadline);
    if is_late && !is_same {
        file.note = Some(DiffNote::Omitted);
        return file;
    }
    let until = deadline
        .zip(now)
        .map(|(all, now)| all.min(now + FILE_DIFF_TIME));
    let names = Names {
        old: old.map(|_| change.old_path.as_deref().unwrap_or(&change.path)),
        new: new.map(|_| change.path.as_str()),
        similarity: change.similarity,
    };
    let lines = diff_lines::unified(old_text, new_text, names, most, until);
    file.added_lines = Some(lines.added);
    file.removed_lines = Some(lines.removed);
    file.note = match (lines.is_cut, lines.text.is_empty()) {
        (false, _) => None,
        (true, false) => Some(DiffNote::Cut),
        (true, true) => Some(DiffNote::Omitted),
    };
    file.unified_diff = (!lines.text.is_empty()).then_some(lines.text);
    file
}

/// That of no file is empty.
fn text<'c>(file: Option<&TreeFile>, contents: &'c ContentsAtHand) -> Result<&'c str, DiffNote> {
    let Some(file) = file else { return Ok("") };
    if file.bytes > MAX_DIFF_FILE_BYTES {
        return Err(DiffNote::TooLarge);
    }
    match contents.get(&file.sha256) {
        Some(Content::Text(text)) => Ok(text),
        Some(Content::Binary) => Err(DiffNote::Binary),
        Some(Content::Missing) => Err(DiffNote::Missing),
        // There was too much to read all of it.
        None => Err(DiffNote::Omitted),
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "diff_patch_tests.rs"]
mod patch_tests;
