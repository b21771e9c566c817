//! Moving and copying. Nothing is ever overwritten, and a copy that fails half-way leaves nothing behind.

use std::io::{self, Read, Write};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::mounts::Mounts;
use super::write::{Unfinished, rename_new};
use super::{FileError, FileUri, Kind, Stat, Stop};
use crate::limits::{MAX_COPY_BYTES, MAX_COPY_ENTRIES, MAX_PATH_SEGMENTS};

pub(super) fn rename(
    mounts: &Mounts,
    from: &FileUri,
    to: &FileUri,
    stop: &Stop,
) -> Result<Stat, FileError> {
    if from.is_protected() {
        return Err(FileError::Protected(from.clone()));
    }
    let (source, target) = ends(mounts, from, to)?;
    let kind = Kind::of(source.metadata()?.file_type());
    let moved = rename_new(
        (&source.dir, &source.name),
        (&target.dir, &target.name),
        kind,
    );
    match moved {
        Err(e) if e.kind() == io::ErrorKind::CrossesDevices => {
            let mut copying = Copying::new(from, Original::Goes, stop);
            copying.under_new_name((&source.dir, &source.name), (&target.dir, &target.name), to)?;
            remove(&source.dir, &source.name).map_err(|e| FileError::at(from, e))?;
        }
        // Both ends were there a moment ago.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(FileError::Changed(from.clone()));
        }
        other => other.map_err(|e| FileError::at(to, e))?,
    }
    Ok(Stat::new(to.clone(), &target.metadata()?))
}

pub(super) fn copy(
    mounts: &Mounts,
    from: &FileUri,
    to: &FileUri,
    stop: &Stop,
) -> Result<Stat, FileError> {
    if from.is_protected() && from.segments().count() < 2 {
        return Err(FileError::Protected(from.clone()));
    }
    let (source, target) = ends(mounts, from, to)?;
    if source.metadata()?.is_symlink() {
        return Err(FileError::Link(from.clone()));
    }
    let mut copying = Copying::new(from, Original::Stays, stop);
    copying.under_new_name((&source.dir, &source.name), (&target.dir, &target.name), to)?;
    Ok(Stat::new(to.clone(), &target.metadata()?))
}

type Ends<'a> = (super::mounts::Place<'a>, super::mounts::Place<'a>);

/// The source exists, the target does not.
fn ends<'a>(mounts: &Mounts, from: &'a FileUri, to: &'a FileUri) -> Result<Ends<'a>, FileError> {
    if to.is_protected() {
        return Err(FileError::Exists(to.clone()));
    }
    if from.contains(to) {
        return Err(FileError::IntoItself {
            from: from.clone(),
            to: to.clone(),
        });
    }
    let source = mounts.place(from)?;
    source.metadata()?;
    let target = mounts.place_to_write(to)?;
    match target.look()? {
        Some(_) => Err(FileError::Exists(to.clone())),
        None => Ok((source, target)),
    }
}

/// One copy and what it may still use up.
pub(super) struct Copying<'a> {
    uri: &'a FileUri,
    stop: &'a Stop,
    entries: usize,
    bytes: u64,
    original: Original,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Original {
    Stays,
    /// It is removed afterwards, so the copy must be on disk first.
    Goes,
}

impl<'a> Copying<'a> {
    pub(super) fn new(uri: &'a FileUri, original: Original, stop: &'a Stop) -> Self {
        Self {
            uri,
            stop,
            entries: MAX_COPY_ENTRIES,
            bytes: MAX_COPY_BYTES,
            original,
        }
    }

    /// Copies beside the target first, so that the name appears only when everything is there.
    pub(super) fn under_new_name(
        &mut self,
        from: (&Dir, &str),
        to: (&Dir, &str),
        to_uri: &FileUri,
    ) -> Result<(), FileError> {
        let unfinished = Unfinished::new(to.0);
        let kind = self.entry(from, (unfinished.dir, &unfinished.name), 0)?;
        unfinished
            .become_new(to.1, kind)
            .map_err(|e| FileError::at(to_uri, e))
    }

    fn entry(
        &mut self,
        from: (&Dir, &str),
        to: (&Dir, &str),
        depth: usize,
    ) -> Result<Kind, FileError> {
        if self.stop.is_cancelled() {
            return Err(FileError::Stopped(self.uri.to_string()));
        }
        if self.entries == 0 || depth > MAX_PATH_SEGMENTS {
            return Err(self.too_large(format!(
                "{MAX_COPY_ENTRIES} files and folders, {MAX_PATH_SEGMENTS} levels"
            )));
        }
        self.entries -= 1;
        let metadata = from.0.symlink_metadata(from.1).map_err(|e| self.at(e))?;
        let kind = Kind::of(metadata.file_type());
        match kind {
            Kind::File => self.file(from, to)?,
            Kind::Directory => self.folder(from, to, depth, &metadata)?,
            // Copied as it is. Nobody follows it here, whatever it says.
            Kind::Link => {
                let target = from.0.read_link_contents(from.1).map_err(|e| self.at(e))?;
                make_link(to.0, &target, to.1).map_err(|e| self.at(e))?;
            }
            Kind::Special => return Err(FileError::Special(self.uri.clone())),
        }
        Ok(kind)
    }

    fn file(&mut self, from: (&Dir, &str), to: (&Dir, &str)) -> Result<(), FileError> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let mut source = from.0.open_with(from.1, &options).map_err(|e| self.at(e))?;
        let metadata = source.metadata().map_err(|e| self.at(e))?;
        if Kind::of(metadata.file_type()) != Kind::File {
            return Err(FileError::Changed(self.uri.clone()));
        }
        let mut target =
            to.0.open_with(to.1, OpenOptions::new().write(true).create_new(true))
                .map_err(|e| self.at(e))?;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            if self.stop.is_cancelled() {
                return Err(FileError::Stopped(self.uri.to_string()));
            }
            let count = source.read(&mut buffer).map_err(|e| self.at(e))?;
            let Some(chunk) = buffer.get(..count).filter(|chunk| !chunk.is_empty()) else {
                break;
            };
            self.bytes = self
                .bytes
                .checked_sub(count as u64)
                .ok_or_else(|| self.too_large(format!("{MAX_COPY_BYTES} bytes")))?;
            target.write_all(chunk).map_err(|e| self.at(e))?;
        }
        target
            .set_permissions(metadata.permissions())
            .and_then(|()| match self.original {
                Original::Stays => Ok(()),
                Original::Goes => target.sync_data(),
            })
            .map_err(|e| self.at(e))
    }

    fn folder(
        &mut self,
        from: (&Dir, &str),
        to: (&Dir, &str),
        depth: usize,
        metadata: &Metadata,
    ) -> Result<(), FileError> {
        let source = from.0.open_dir_nofollow(from.1).map_err(|e| self.at(e))?;
        to.0.create_dir(to.1).map_err(|e| self.at(e))?;
        let target = to.0.open_dir_nofollow(to.1).map_err(|e| self.at(e))?;
        for entry in source.entries().map_err(|e| self.at(e))? {
            let name = entry.map_err(|e| self.at(e))?.file_name();
            let name = name.to_str().ok_or_else(|| FileError::InvalidPath {
                text: name.to_string_lossy().into_owned(),
                problem: "a name in the folder is not UTF-8".to_owned(),
            })?;
            self.entry((&source, name), (&target, name), depth + 1)?;
        }
        // At the end: a folder that its owner may not write to must be filled first.
        to.0.set_permissions(to.1, metadata.permissions())
            .map_err(|e| self.at(e))
    }

    fn at(&self, error: io::Error) -> FileError {
        FileError::at(self.uri, error)
    }

    fn too_large(&self, limit: String) -> FileError {
        FileError::CopyTooLarge {
            uri: self.uri.clone(),
            limit,
        }
    }
}

/// Removes for good.
pub(super) fn remove(dir: &Dir, name: &str) -> io::Result<()> {
    match dir.symlink_metadata(name)?.is_dir() {
        true => dir.remove_dir_all(name),
        false => dir.remove_file_or_symlink(name),
    }
}

#[cfg(unix)]
fn make_link(dir: &Dir, target: &std::path::Path, name: &str) -> io::Result<()> {
    dir.symlink_contents(target, name)
}

#[cfg(not(unix))]
fn make_link(_: &Dir, _: &std::path::Path, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;
