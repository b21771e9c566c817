//! The recycle bin: what is deleted stays until it is purged. `<home>/recycle/<id>/` holds the thing itself
//! (`item`) and where it came from (`info.json`).

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;
use std::time::Duration;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, OpenOptions};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::mounts::Mounts;
use super::transfer::{Copying, Original, remove};
use super::uri::{Scheme, resolve};
use super::write::rename_new;
use super::{FileError, FileUri, Kind, Stop};
use crate::limits::{MAX_COPY_ENTRIES, MAX_PATH_SEGMENTS, MAX_RECYCLE_INFO_BYTES};
use crate::{Caller, UserId};

const ITEM: &str = "item";
const INFO: &str = "info.json";
const BIN: &str = "the recycle bin";

/// Names something in the recycle bin. Later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecycleId(Uuid);

impl fmt::Display for RecycleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RecycleId {
    type Err = FileError;

    fn from_str(text: &str) -> Result<Self, FileError> {
        Uuid::parse_str(text)
            .map(Self)
            .map_err(|_| FileError::NotRecycled(text.chars().take(64).collect()))
    }
}

impl TryFrom<String> for RecycleId {
    type Error = FileError;

    fn try_from(text: String) -> Result<Self, FileError> {
        text.parse()
    }
}

impl From<RecycleId> for String {
    fn from(id: RecycleId) -> Self {
        id.to_string()
    }
}

/// Something in the recycle bin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recycled {
    pub id: RecycleId,
    /// Where it was.
    pub uri: String,
    pub user: UserId,
    pub kind: Kind,
    /// Bytes, folders with all they hold; unknown for very large folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    pub deleted_at: Timestamp,
    pub by: String,
}

impl Recycled {
    /// Its own things, and the shared ones that the caller could go to.
    fn is_open_to(&self, caller: &Caller) -> bool {
        resolve(caller, &self.uri).is_ok_and(|uri| {
            uri.to_string() == self.uri
                && (uri.scheme() != Scheme::User || self.user == caller.user)
        })
    }
}

/// What purging removed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Purged {
    pub count: usize,
    /// What could not be removed.
    pub failed: usize,
}

pub(super) fn delete(
    mounts: &Mounts,
    uri: &FileUri,
    by: &str,
    most: usize,
    stop: &Stop,
) -> Result<Recycled, FileError> {
    if uri.is_protected() {
        return Err(FileError::Protected(uri.clone()));
    }
    let place = mounts.place(uri)?;
    let kind = Kind::of(place.metadata()?.file_type());
    let bin = mounts.recycle_bin()?;
    let full = ids(&bin)?.len();
    if full >= most {
        return Err(FileError::RecycleFull(full));
    }
    let mut budget = MAX_COPY_ENTRIES;
    let recycled = Recycled {
        id: RecycleId(Uuid::now_v7()),
        uri: uri.to_string(),
        user: uri.user().clone(),
        kind,
        size: measure(&place.dir, &place.name, &mut budget, 0),
        deleted_at: Timestamp::now(),
        by: by.chars().filter(|c| !c.is_control()).take(200).collect(),
    };
    let id = recycled.id.to_string();
    let entry = make_entry(&bin, &id, &recycled).map_err(|e| FileError::on(BIN, e))?;
    let moved = match place.dir.rename(&place.name, &entry, ITEM) {
        Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
            Copying::new(uri, Original::Goes, stop)
                .under_new_name((&place.dir, &place.name), (&entry, ITEM), uri)
                .and_then(|()| remove(&place.dir, &place.name).map_err(|e| FileError::at(uri, e)))
        }
        other => other.map_err(|e| FileError::at(uri, e)),
    };
    // A copy whose original could not be wholly removed stays in the bin: it may be all there is.
    if moved.is_err() && entry.symlink_metadata(ITEM).is_err() {
        let _ = bin.remove_dir_all(&id);
    }
    moved.map(|()| recycled)
}

/// Newest first.
pub(super) fn list(mounts: &Mounts, caller: &Caller) -> Result<Vec<Recycled>, FileError> {
    let bin = mounts.recycle_bin()?;
    let mut found: Vec<Recycled> = ids(&bin)?
        .iter()
        .filter_map(|id| read_info(&bin, id).ok())
        .map(|(info, _)| info)
        .filter(|info| info.is_open_to(caller))
        .collect();
    found.sort_by_key(|info| std::cmp::Reverse(info.id));
    Ok(found)
}

pub(super) fn restore(
    mounts: &Mounts,
    caller: &Caller,
    id: RecycleId,
    stop: &Stop,
) -> Result<FileUri, FileError> {
    let bin = mounts.recycle_bin()?;
    let unknown = || FileError::NotRecycled(id.to_string());
    let (info, entry) = read_info(&bin, &id).map_err(|_| unknown())?;
    if !info.is_open_to(caller) {
        return Err(unknown());
    }
    let uri = resolve(caller, &info.uri)?;
    let kind = entry
        .symlink_metadata(ITEM)
        .map(|metadata| Kind::of(metadata.file_type()))
        .map_err(|_| unknown())?;
    let target = mounts.place_to_write(&uri)?;
    match rename_new((&entry, ITEM), (&target.dir, &target.name), kind) {
        Err(e) if e.kind() == io::ErrorKind::CrossesDevices => Copying::new(
            &uri,
            Original::Goes,
            stop,
        )
        .under_new_name((&entry, ITEM), (&target.dir, &target.name), &uri)?,
        other => other.map_err(|e| FileError::at(&uri, e))?,
    }
    // It is back where it was; a remainder in the bin is purged in time.
    let _ = bin.remove_dir_all(id.to_string());
    Ok(uri)
}

/// Removes for good what lies in the bin longer than `keep`, and the oldest beyond `most`.
pub(super) fn purge(
    mounts: &Mounts,
    keep: Duration,
    most: usize,
    now: Timestamp,
    stop: &Stop,
) -> Result<Purged, FileError> {
    let bin = mounts.recycle_bin()?;
    let mut all = ids(&bin)?;
    all.sort();
    let beyond = all.len().saturating_sub(most);
    let mut purged = Purged::default();
    for (position, id) in all.iter().enumerate() {
        if stop.is_cancelled() {
            return Err(FileError::Stopped(BIN.to_owned()));
        }
        let age = Duration::try_from(now.duration_since(deleted_at(&bin, id)));
        // An age below zero means that a clock went wrong: not a reason to lose anything.
        let is_old = age.is_ok_and(|age| age >= keep);
        if !is_old && position >= beyond {
            continue;
        }
        match bin.remove_dir_all(id.to_string()) {
            Ok(()) => purged.count += 1,
            Err(_) => purged.failed += 1,
        }
    }
    Ok(purged)
}

/// An entry that lost its description still has the time in its id.
fn deleted_at(bin: &Dir, id: &RecycleId) -> Timestamp {
    if let Ok((info, _)) = read_info(bin, id) {
        return info.deleted_at;
    }
    let (seconds, nanos) = id.0.get_timestamp().map_or((0, 0), |time| time.to_unix());
    let time = i64::try_from(seconds).and_then(|s| Ok((s, i32::try_from(nanos)?)));
    time.ok()
        .and_then(|(seconds, nanos)| Timestamp::new(seconds, nanos).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

fn ids(bin: &Dir) -> Result<Vec<RecycleId>, FileError> {
    let failed = |e| FileError::on(BIN, e);
    let mut ids = Vec::new();
    for entry in bin.entries().map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        // Whatever else somebody put there is not ours to judge.
        if let Some(id) = name.to_str().and_then(|name| name.parse().ok()) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn make_entry(bin: &Dir, id: &str, info: &Recycled) -> io::Result<Dir> {
    bin.create_dir(id)?;
    let entry = bin.open_dir_nofollow(id)?;
    let mut file = entry.open_with(INFO, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(&serde_json::to_vec_pretty(info)?)?;
    file.sync_data()?;
    Ok(entry)
}

fn read_info(bin: &Dir, id: &RecycleId) -> io::Result<(Recycled, Dir)> {
    let entry = bin.open_dir_nofollow(id.to_string())?;
    let mut text = Vec::new();
    entry
        .open(INFO)?
        .take(MAX_RECYCLE_INFO_BYTES)
        .read_to_end(&mut text)?;
    let info: Recycled = serde_json::from_slice(&text)?;
    match info.id == *id {
        true => Ok((info, entry)),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Nothing if there is more than `budget` to look at.
fn measure(dir: &Dir, name: &str, budget: &mut usize, depth: usize) -> Option<u64> {
    *budget = budget.checked_sub(1)?;
    let metadata = dir.symlink_metadata(name).ok()?;
    if !metadata.is_dir() {
        return Some(metadata.len());
    }
    if depth > MAX_PATH_SEGMENTS {
        return None;
    }
    let folder = dir.open_dir_nofollow(name).ok()?;
    let mut size: u64 = 0;
    for entry in folder.entries().ok()? {
        let name = entry.ok()?.file_name().into_string().ok()?;
        size = size.saturating_add(measure(&folder, &name, budget, depth + 1)?);
    }
    Some(size)
}

#[cfg(test)]
#[path = "recycle_tests.rs"]
mod tests;
