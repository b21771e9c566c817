//! Writing: a file changes whole or not at all, and appends are one write each.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, Metadata, OpenOptions, Permissions};
use uuid::Uuid;

use super::mounts::{Mounts, Place};
use super::{FileError, FileUri, Kind, Stat, WriteMode, read};
use crate::limits::{MAX_APPENDED_BYTES, MAX_WRITE_BYTES};

const UNFINISHED: &str = ".innkeeper-part";
/// Older ones were left behind by a crash; they are shown, so that somebody can remove them.
const UNFINISHED_FOR: Duration = Duration::from_secs(60 * 60);

pub(super) fn write(
    mounts: &Mounts,
    uri: &FileUri,
    bytes: &[u8],
    mode: WriteMode,
) -> Result<Stat, FileError> {
    must_fit(uri, bytes.len() as u64, MAX_WRITE_BYTES)?;
    let place = mounts.place_to_write(uri)?;
    let before = place.look()?;
    if let Some(metadata) = &before {
        place.must_be_file(metadata)?;
        if mode == WriteMode::Create {
            return Err(FileError::Exists(uri.clone()));
        }
    }
    let unfinished = Unfinished::new(&place.dir);
    unfinished
        .fill(bytes, before.map(|metadata| metadata.permissions()))
        .and_then(|()| match mode {
            WriteMode::Replace => unfinished.replace(&place.name),
            WriteMode::Create => unfinished.become_new(&place.name, Kind::File),
        })
        .map_err(|e| FileError::at(uri, e))?;
    stat(&place)
}

pub(super) fn append(mounts: &Mounts, uri: &FileUri, bytes: &[u8]) -> Result<Stat, FileError> {
    must_fit(uri, bytes.len() as u64, MAX_WRITE_BYTES)?;
    let place = mounts.place_to_write(uri)?;
    let (mut file, metadata) = place.open_file(OpenOptions::new().append(true).create(true))?;
    let size = bytes.len() as u64;
    must_fit(uri, metadata.len().saturating_add(size), MAX_APPENDED_BYTES)?;
    // One write, so that lines of several writers never mix. The file system takes less only when it is full.
    let written = file.write(bytes).map_err(|e| FileError::at(uri, e))? as u64;
    if written < size {
        return Err(FileError::HalfAppended {
            uri: uri.clone(),
            written,
            size,
        });
    }
    stat(&place)
}

/// Reads, changes and writes; `change` decides what becomes of the text.
pub(super) fn edit<E: From<FileError>>(
    mounts: &Mounts,
    uri: &FileUri,
    limit: u64,
    change: impl FnOnce(&str) -> Result<String, E>,
) -> Result<Stat, E> {
    let text = read::text(uri, read::whole(mounts, uri, limit)?)?;
    let changed = change(&text)?;
    Ok(write(mounts, uri, changed.as_bytes(), WriteMode::Replace)?)
}

pub(super) fn create_dir(mounts: &Mounts, uri: &FileUri) -> Result<Stat, FileError> {
    if uri.is_protected() {
        return super::list::stat(mounts, uri);
    }
    let place = mounts.place_to_write(uri)?;
    match place.dir.create_dir(&place.name) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let stat = stat(&place)?;
            match stat.kind {
                Kind::Directory => Ok(stat),
                _ => Err(FileError::Exists(uri.clone())),
            }
        }
        Err(e) => Err(FileError::at(uri, e)),
        Ok(()) => stat(&place),
    }
}

fn stat(place: &Place<'_>) -> Result<Stat, FileError> {
    Ok(Stat::new(place.uri.clone(), &place.metadata()?))
}

fn must_fit(uri: &FileUri, size: u64, limit: u64) -> Result<(), FileError> {
    match size > limit {
        true => Err(FileError::WriteTooLarge {
            uri: uri.clone(),
            size,
            limit,
        }),
        false => Ok(()),
    }
}

/// Something in the making, beside the place it is meant for. Dropped, it is gone.
pub(super) struct Unfinished<'a> {
    pub(super) dir: &'a Dir,
    pub(super) name: String,
}

impl<'a> Unfinished<'a> {
    pub(super) fn new(dir: &'a Dir) -> Self {
        Self {
            dir,
            name: format!(".{}{UNFINISHED}", Uuid::now_v7().simple()),
        }
    }

    fn fill(&self, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
        let mut file = self
            .dir
            .open_with(&self.name, OpenOptions::new().write(true).create_new(true))?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.write_all(bytes)?;
        // On disk before it takes the name: a crash leaves the old content or the new, not an empty file.
        file.sync_data()
    }

    fn replace(&self, name: &str) -> io::Result<()> {
        self.dir.rename(&self.name, self.dir, name)
    }

    /// Takes a name that nothing has.
    pub(super) fn become_new(&self, name: &str, kind: Kind) -> io::Result<()> {
        rename_new((self.dir, &self.name), (self.dir, name), kind)
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let is_dir = self
            .dir
            .symlink_metadata(&self.name)
            .map(|metadata| metadata.is_dir());
        // What cannot be removed now shows up in listings later.
        let _ = match is_dir {
            Ok(true) => self.dir.remove_dir_all(&self.name),
            Ok(false) => self.dir.remove_file(&self.name),
            Err(e) => Err(e),
        };
    }
}

/// Renames without ever overwriting.
pub(super) fn rename_new(from: (&Dir, &str), to: (&Dir, &str), kind: Kind) -> io::Result<()> {
    let ((from, old), (to, new)) = (from, to);
    if kind != Kind::Directory {
        // A second name, then the first one away: unlike renaming, this fails if the new name is taken.
        match from.hard_link(old, to, new) {
            Ok(()) => return from.remove_file(old),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(e),
            Err(e) if e.kind() == io::ErrorKind::CrossesDevices => return Err(e),
            // Not every file system knows second names.
            Err(_) => {}
        }
    }
    // A folder never replaces anything but an empty folder, so the gap after this check is harmless for folders.
    match to.symlink_metadata(new) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => from.rename(old, to, new),
        Err(e) => Err(e),
    }
}

/// Being written at this moment, and so nothing to show.
pub(super) fn is_unfinished(name: &str, metadata: &Metadata) -> bool {
    let young = || {
        let modified = metadata.modified().map(|time| time.into_std());
        modified.is_ok_and(|time| {
            SystemTime::now()
                .duration_since(time)
                .is_ok_and(|age| age < UNFINISHED_FOR)
        })
    };
    name.starts_with('.') && name.ends_with(UNFINISHED) && young()
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
