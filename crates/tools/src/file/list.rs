//! What is there: one thing, or what a folder holds, level by level.

use std::collections::{BTreeMap, VecDeque};

use cap_std::fs::{Dir, Metadata};

use super::mounts::{Folder, Mounts};
use super::uri::{is_nameable, normal_form};
use super::write::is_unfinished;
use super::{FileError, FileUri, Kind, ListOptions, Listing, Stat, Stop};
use crate::limits::{MAX_FOLDER_NAMES, MAX_LIST_DEPTH, MAX_LIST_ENTRIES};

pub(super) fn stat(mounts: &Mounts, uri: &FileUri) -> Result<Stat, FileError> {
    match mounts.place(uri) {
        Ok(place) => Ok(Stat::new(uri.clone(), &place.metadata()?)),
        // A root has no name in a folder above it.
        Err(FileError::IsDirectory(_)) => Ok(match mounts.folder(uri)? {
            Folder::Roots(_) => Stat::root(uri.clone()),
            Folder::User(dir) | Folder::Plain(dir) => {
                let metadata = dir.dir_metadata().map_err(|e| FileError::at(uri, e))?;
                Stat::new(uri.clone(), &metadata)
            }
        }),
        Err(e) => Err(e),
    }
}

/// Upper levels come first into the result, so one huge folder does not hide its neighbours.
pub(super) fn list(
    mounts: &Mounts,
    uri: &FileUri,
    options: ListOptions,
    stop: &Stop,
) -> Result<Listing, FileError> {
    let depth = options.depth.clamp(1, MAX_LIST_DEPTH);
    let limit = options.limit.clamp(1, MAX_LIST_ENTRIES);
    let mut listing = Listing::default();
    let mut folders = VecDeque::from([(uri.clone(), 1)]);
    while let Some((folder, level)) = folders.pop_front() {
        if stop.is_cancelled() {
            return Err(FileError::Stopped(uri.to_string()));
        }
        let room = limit - listing.entries.len();
        let children = match children(mounts, &folder, room) {
            Ok(children) => children,
            Err(e) if level == 1 => return Err(e),
            // It went away, or may not be read: that says nothing about the rest.
            Err(_) => {
                listing.skipped += 1;
                continue;
            }
        };
        listing.truncated |= children.more;
        listing.skipped += children.skipped;
        for entry in children.entries {
            if entry.kind == Kind::Directory && level < depth {
                folders.push_back((entry.uri.clone(), level + 1));
            }
            listing.entries.push(entry);
        }
    }
    listing
        .entries
        .sort_by(|a, b| a.uri.segments().cmp(b.uri.segments()));
    Ok(listing)
}

pub(super) struct Children {
    pub(super) entries: Vec<Stat>,
    /// There are more than asked for.
    pub(super) more: bool,
    /// Names that no URI can carry.
    pub(super) skipped: usize,
}

/// The first `keep` things in a folder, by name.
pub(super) fn children(mounts: &Mounts, uri: &FileUri, keep: usize) -> Result<Children, FileError> {
    match mounts.folder(uri)? {
        Folder::Roots(roots) => {
            let mut entries = Vec::new();
            for root in roots {
                entries.push(Stat::root(uri.join(root)?));
            }
            let more = entries.len() > keep;
            entries.truncate(keep);
            Ok(Children {
                entries,
                more,
                skipped: 0,
            })
        }
        Folder::User(dir) => {
            let projects = stat(mounts, &uri.join("projects")?)?;
            in_folder(&dir, uri, keep, Some(projects))
        }
        Folder::Plain(dir) => in_folder(&dir, uri, keep, None),
    }
}

/// `mounted` is a folder that is elsewhere on disk; it hides one of the same name.
fn in_folder(
    dir: &Dir,
    uri: &FileUri,
    keep: usize,
    mounted: Option<Stat>,
) -> Result<Children, FileError> {
    let at = |e| FileError::at(uri, e);
    let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut skipped = 0;
    let mut more = false;
    if let Some(name) = mounted.as_ref().and_then(|stat| stat.uri.file_name()) {
        found.insert(name.to_owned(), None);
    }
    for (count, entry) in dir.entries().map_err(at)?.enumerate() {
        if count == MAX_FOLDER_NAMES {
            more = true;
            break;
        }
        match entry.map_err(at)?.file_name().into_string() {
            Ok(name) if is_nameable(&name) => {
                let key = normal_form(&name).into_owned();
                let is_mounted = found.get(&key).is_some_and(Option::is_none);
                // Of two names that differ in Unicode form alone, the one that a URI reaches is shown.
                if !is_mounted && (name == key || !found.contains_key(&key)) {
                    found.insert(key, Some(name));
                }
            }
            _ => skipped += 1,
        }
    }
    let mut entries = Vec::new();
    for (name, on_disk) in found {
        let entry = match on_disk {
            None => mounted.clone(),
            Some(on_disk) => match shown(dir, &on_disk) {
                Some(metadata) => Some(Stat::new(uri.join(&name)?, &metadata)),
                None => None,
            },
        };
        let Some(entry) = entry else { continue };
        if entries.len() == keep {
            more = true;
            break;
        }
        entries.push(entry);
    }
    Ok(Children {
        entries,
        more,
        skipped,
    })
}

/// Nothing for what vanished since, and for what is being written.
fn shown(dir: &Dir, name: &str) -> Option<Metadata> {
    let metadata = dir.symlink_metadata(name).ok()?;
    (!is_unfinished(name, &metadata)).then_some(metadata)
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
