//! What an agent knows of a file: which characters it was shown, and how that moves when the file changes under its
//! own hands. Pure; the guards in `tools/` ask here.

use innkeeper_store::BlobId;

use super::state::{FileInfo, ReadState};
use crate::limits::MAX_READ_RANGES;

/// A piece of a text that is replaced, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) at: u64,
    pub(crate) old: u64,
    pub(crate) new: u64,
}

impl ReadState {
    pub(crate) fn full(sha256: BlobId) -> Self {
        Self {
            sha256,
            full: true,
            ranges: Vec::new(),
            needs_full_read: false,
        }
    }

    /// After `range` of the file was shown. What was known before counts only if it was of this very content.
    pub(crate) fn shown(before: Option<&Self>, file: &FileInfo, range: (u64, u64)) -> Self {
        if range.0 == 0 && range.1 >= file.chars {
            return Self::full(file.sha256.clone());
        }
        let same = before.filter(|read| read.sha256 == file.sha256);
        if let Some(known) = same.filter(|read| read.full) {
            return known.clone();
        }
        let mut ranges = same.map(|read| read.ranges.clone()).unwrap_or_default();
        add(&mut ranges, range);
        match ranges.as_slice() {
            // Read in pieces, and no piece is left.
            [(0, end)] if *end >= file.chars => Self::full(file.sha256.clone()),
            _ => Self {
                sha256: file.sha256.clone(),
                full: false,
                ranges,
                needs_full_read: before.is_some_and(|read| read.needs_full_read),
            },
        }
    }

    /// What was known turned out not to be enough: it counts no more, and only reading all of it helps.
    pub(crate) fn flagged(&self) -> Self {
        Self {
            sha256: self.sha256.clone(),
            full: false,
            ranges: Vec::new(),
            needs_full_read: true,
        }
    }

    /// After a piece that lay wholly within what was known was replaced.
    pub(crate) fn patched(&self, sha256: BlobId, piece: Replaced) -> Self {
        let Replaced { at, old, new } = piece;
        let end = at + old;
        let moved = |place: u64| (place + new).saturating_sub(old);
        let ranges = self.ranges.iter().map(|&(from, to)| {
            if from <= at && end <= to {
                (from, moved(to))
            } else if to <= at {
                (from, to)
            } else {
                (moved(from), moved(to))
            }
        });
        let mut joined = Vec::new();
        for range in ranges {
            add(&mut joined, range);
        }
        Self {
            sha256,
            full: self.full,
            ranges: joined,
            needs_full_read: self.needs_full_read,
        }
    }

    /// After the agent added to the end of the file. Nothing where it did not know the content it added to: then adding
    /// must not pass for reading.
    pub(crate) fn appended(before: Option<&Self>, old: &FileInfo, new: &FileInfo) -> Option<Self> {
        let known = before.filter(|read| read.sha256 == old.sha256)?;
        let mut ranges = known.ranges.clone();
        if !known.full && new.chars > old.chars {
            add(&mut ranges, (old.chars, new.chars));
        }
        Some(Self {
            sha256: new.sha256.clone(),
            full: known.full,
            ranges,
            needs_full_read: known.needs_full_read,
        })
    }
}

/// Puts a range among sorted, separate ones; those that touch become one.
fn add(ranges: &mut Vec<(u64, u64)>, new: (u64, u64)) {
    if new.0 >= new.1 {
        return;
    }
    let first = ranges.partition_point(|range| range.1 < new.0);
    let last = ranges.partition_point(|range| range.0 <= new.1);
    let touched = ranges.get(first..last).unwrap_or_default();
    let from = touched.first().map_or(new.0, |range| range.0.min(new.0));
    let to = touched.last().map_or(new.1, |range| range.1.max(new.1));
    ranges.splice(first..last, [(from, to)]);
    if ranges.len() > MAX_READ_RANGES {
        let surplus = ranges.len() - MAX_READ_RANGES;
        ranges.drain(..surplus);
    }
}

#[cfg(test)]
#[path = "reads_tests.rs"]
mod tests;
