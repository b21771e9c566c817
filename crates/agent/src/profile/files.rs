//! The files of one folder of profiles. Nothing leads out of it: each folder on the way is opened without following
//! links, and so is each file.
//!
//! Knows names and texts, not what is in them.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use uuid::Uuid;

use super::error::ProfileError;
use crate::limits::{MAX_PROFILE_BYTES, MAX_PROFILE_FILES};

const ENDING: &str = ".json";

/// A folder that may not exist yet.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    /// What is there for certain, and may be a link: a person chose it.
    home: PathBuf,
    /// The way from there, name by name.
    below: Vec<String>,
}

impl Folder {
    pub(super) fn new(home: &Path, below: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            home: home.to_owned(),
            below: below.into_iter().map(Into::into).collect(),
        }
    }

    /// As people know it.
    pub(super) fn path_of(&self, stem: &str) -> String {
        let names = self.below.iter();
        let folder = names.fold(self.home.clone(), |path, name| path.join(name));
        folder.join(file_name(stem)).display().to_string()
    }

    fn failed(&self, stem: &str, doing: &'static str) -> impl FnOnce(io::Error) -> ProfileError {
        let place = self.path_of(stem);
        move |source| ProfileError::Storage {
            place,
            doing,
            source,
        }
    }

    /// `None` where there is no folder.
    fn open(&self) -> io::Result<Option<Dir>> {
        let mut dir = match Dir::open_ambient_dir(&self.home, ambient_authority()) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        for name in &self.below {
            dir = match dir.open_dir_nofollow(name) {
                Ok(dir) => dir,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
        }
        Ok(Some(dir))
    }

    fn make(&self) -> io::Result<Dir> {
        std::fs::create_dir_all(&self.home)?;
        let mut dir = Dir::open_ambient_dir(&self.home, ambient_authority())?;
        for name in &self.below {
            match dir.create_dir(name) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            dir = dir.open_dir_nofollow(name)?;
        }
        Ok(dir)
    }

    /// The names of the files without their ending, in order.
    pub(super) fn stems(&self) -> Result<Vec<String>, ProfileError> {
        let failed = || self.failed("*", "listed");
        let Some(dir) = self.open().map_err(failed())? else {
            return Ok(Vec::new());
        };
        let mut stems = BTreeSet::new();
        for entry in dir.entries().map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let stem = name.strip_suffix(ENDING);
            let Some(stem) = stem.filter(|stem| !stem.is_empty() && !stem.starts_with('.')) else {
                continue;
            };
            // Links and folders are shown as what they are when someone reads them.
            stems.insert(stem.to_owned());
            // The first by name, whatever order the file system has.
            if stems.len() > MAX_PROFILE_FILES {
                stems.pop_last();
            }
        }
        Ok(stems.into_iter().collect())
    }

    /// `None` where there is no file. One that is no plain file, too large or no text is an error of storage.
    pub(super) fn read(&self, stem: &str) -> Result<Option<String>, ProfileError> {
        self.read_file(stem).map_err(self.failed(stem, "read"))
    }

    fn read_file(&self, stem: &str) -> io::Result<Option<String>> {
        let name = plain(stem)?;
        let Some(dir) = self.open()? else {
            return Ok(None);
        };
        match dir.symlink_metadata(&name) {
            Ok(about) if !about.is_file() => return Err(not_plain()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        let mut options = OpenOptions::new();
        // A pipe would be waited for.
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let file = match dir.open_with(&name, &options) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            return Err(not_plain());
        }
        let mut text = String::new();
        let most = MAX_PROFILE_BYTES as u64;
        file.take(most + 1).read_to_string(&mut text)?;
        match text.len() > MAX_PROFILE_BYTES {
            true => Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it is larger than {MAX_PROFILE_BYTES} bytes"),
            )),
            false => Ok(Some(text)),
        }
    }

    /// Whole or not at all: after a crash there is the old file or the new one.
    pub(super) fn write(&self, stem: &str, text: &str) -> Result<(), ProfileError> {
        self.write_file(stem, text)
            .map_err(self.failed(stem, "saved"))
    }

    fn write_file(&self, stem: &str, text: &str) -> io::Result<()> {
        let name = plain(stem)?;
        let dir = self.make()?;
        // A link is replaced by nothing: whoever made it meant something by it.
        match dir.symlink_metadata(&name) {
            Ok(about) if !about.is_file() => return Err(not_plain()),
            _ => {}
        }
        let unfinished = format!(".{}.unfinished", Uuid::now_v7().simple());
        let written = (|| {
            let mut options = OpenOptions::new();
            let mut file = dir.open_with(&unfinished, options.write(true).create_new(true))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            dir.rename(&unfinished, &dir, &name)
        })();
        if written.is_err() {
            let _ = dir.remove_file(&unfinished);
        }
        written?;
        sync(&dir)
    }

    /// Whether there was one.
    pub(super) fn remove(&self, stem: &str) -> Result<bool, ProfileError> {
        let removed = (|| {
            let name = plain(stem)?;
            let Some(dir) = self.open()? else {
                return Ok(false);
            };
            // A link goes, and not what it points to.
            match dir.remove_file(&name) {
                Ok(()) => sync(&dir).map(|()| true),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            }
        })();
        removed.map_err(self.failed(stem, "removed"))
    }
}

pub(super) fn file_name(stem: &str) -> String {
    format!("{stem}{ENDING}")
}

/// Names come from ids, which are harmless, and from listings. What is neither has no business here.
fn plain(stem: &str) -> io::Result<String> {
    let harmless = !stem.is_empty()
        && !stem.starts_with('.')
        && !stem.contains(|c: char| matches!(c, '/' | '\\' | ':') || c.is_control());
    match harmless {
        true => Ok(file_name(stem)),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidFilename,
            "this is no name for a profile's file",
        )),
    }
}

fn not_plain() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is no plain file, and links are not followed: put the file itself here",
    )
}

/// The new name is on disk, not only in memory. Not every file system can.
fn sync(dir: &Dir) -> io::Result<()> {
    let _ = dir.try_clone()?.into_std_file().sync_all();
    Ok(())
}
