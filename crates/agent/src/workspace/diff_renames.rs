//! Files that are there under another name: the same content, or text that is mostly the same.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Instant;

use super::diff::{Change, Content, ContentsAtHand, FileStatus};
use crate::limits::{MAX_RENAME_BYTES, MAX_RENAME_CANDIDATES, RENAME_SHARE};

/// A file that is gone and one that is new become one. Empty files are alike by chance.
pub(super) fn with_same_content(changes: &mut Vec<Change>) {
    let mut gone: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, change) in changes.iter().enumerate() {
        if let (FileStatus::Deleted, Some(old)) = (change.status(), &change.old)
            && old.bytes > 0
        {
            gone.entry(old.sha256.clone()).or_default().push(place);
        }
    }
    let mut pairs = Vec::new();
    for (place, change) in changes.iter().enumerate() {
        let FileStatus::Added = change.status() else {
            continue;
        };
        let Some(places) = change
            .new
            .as_ref()
            .and_then(|new| gone.get_mut(&new.sha256))
        else {
            continue;
        };
        let name = |place: usize| changes.get(place).map(|change| name(&change.path));
        // One of the same name has only moved.
        let same = places.iter().position(|old| name(*old) == name(place));
        if !places.is_empty() {
            pairs.push((places.remove(same.unwrap_or_default()), place, 100));
        }
    }
    join(changes, pairs);
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The most similar ones first, each file once.
pub(super) fn with_similar_text(
    changes: &mut Vec<Change>,
    contents: &ContentsAtHand,
    deadline: Option<Instant>,
) {
    let gone = candidates(changes, contents, FileStatus::Deleted);
    let come = candidates(changes, contents, FileStatus::Added);
    let is_late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let mut found = Vec::new();
    'all: for (old_place, old) in &gone {
        let lines = counted(old);
        for (new_place, new) in &come {
            // So much cannot be the same of texts of so different length.
            if share(old.len().min(new.len()), old, new) < RENAME_SHARE {
                continue;
            }
            if is_late() {
                break 'all;
            }
            let share = share(common(&lines, new), old, new);
            if share >= RENAME_SHARE {
                found.push((*old_place, *new_place, share));
            }
        }
    }
    found.sort_by_key(|(old, new, share)| (Reverse(*share), *old, *new));
    let mut pairs: Vec<(usize, usize, u64)> = Vec::new();
    for pair in found {
        let is_taken = |taken: &(usize, usize, u64)| taken.0 == pair.0 || taken.1 == pair.1;
        if !pairs.iter().any(is_taken) {
            // Different bytes are never all the same, whatever the rounding says.
            pairs.push((pair.0, pair.1, pair.2.min(99)));
        }
    }
    join(changes, pairs);
}

fn candidates<'c>(
    changes: &[Change],
    contents: &'c ContentsAtHand,
    status: FileStatus,
) -> Vec<(usize, &'c str)> {
    let changes = changes.iter().enumerate();
    let texts = changes.filter_map(|(place, change)| {
        let file = change.old.as_ref().or(change.new.as_ref())?;
        let is_one = change.status() == status && (1..=MAX_RENAME_BYTES).contains(&file.bytes);
        match contents.get(&file.sha256)? {
            Content::Text(text) if is_one => Some((place, &**text)),
            _ => None,
        }
    });
    texts.take(MAX_RENAME_CANDIDATES).collect()
}

fn counted(text: &str) -> HashMap<&str, usize> {
    let mut lines = HashMap::new();
    for line in text.split_inclusive('\n') {
        *lines.entry(line).or_insert(0) += 1;
    }
    lines
}

/// Bytes in lines that both have.
fn common(lines: &HashMap<&str, usize>, new: &str) -> usize {
    let mut common = 0;
    for (line, count) in counted(new) {
        let both = count.min(lines.get(line).copied().unwrap_or_default());
        common += line.len() * both;
    }
    common
}

/// In percent of both together.
fn share(common: usize, old: &str, new: &str) -> u64 {
    let all = (old.len() + new.len()).max(1) as u64;
    common as u64 * 200 / all
}

/// Pairs of places: of the file that is gone, and of the new one, which becomes both.
fn join(changes: &mut Vec<Change>, pairs: Vec<(usize, usize, u64)>) {
    let mut gone = vec![false; changes.len()];
    for (old, new, similarity) in pairs {
        let Some(before) = changes.get(old).cloned() else {
            continue;
        };
        if let Some(change) = changes.get_mut(new) {
            change.old_path = Some(before.path);
            change.old = before.old;
            change.similarity = Some(similarity);
        }
        if let Some(gone) = gone.get_mut(old) {
            *gone = true;
        }
    }
    let mut gone = gone.into_iter();
    changes.retain(|_| !gone.next().unwrap_or_default());
}
