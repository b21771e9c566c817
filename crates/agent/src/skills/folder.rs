//! A folder as a package: of a person who wants it imported, or where it is installed. Links are never followed.

use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use sha2::{Digest, Sha256};

use super::error::SkillError;
use super::path::is_litter;
use super::source::{Item, Source, Top, arranged};
use crate::limits::{MAX_SKILL_ENTRIES, MAX_WORKSPACE_PATH_SEGMENTS};
use crate::workspace::{PathFault, quoted};

pub(crate) struct Folder {
    dir: Dir,
    items: Vec<Item>,
    /// Other after every change to one of its files; none where the last change is too young to be told from the next.
    pub(crate) mark: Option<[u8; 32]>,
}

impl Folder {
    /// The folder itself may be a link: a person named it.
    pub(crate) fn at(path: &Path) -> Result<Self, SkillError> {
        let shown = path.to_string_lossy();
        let dir = Dir::open_ambient_dir(path, ambient_authority())
            .map_err(|error| SkillError::storage(&shown, "opened as a folder", &error))?;
        Self::of(dir, &shown, SystemTime::now())
    }

    pub(crate) fn of(dir: Dir, place: &str, now: SystemTime) -> Result<Self, SkillError> {
        let mut walk = Walk {
            place,
            found: Vec::new(),
            seen: 0,
        };
        walk.through(&dir, "", 1)?;
        let mut latest = None;
        let mut hasher = Sha256::new();
        walk.found.sort_by(|one, other| one.0.cmp(&other.0));
        for (path, about) in &walk.found {
            hasher.update(path);
            hasher.update([0]);
            hasher.update(about.len().to_le_bytes());
            let changed = about
                .modified()
                .ok()
                .map(cap_std::time::SystemTime::into_std);
            let (inode, touched) = finer(about);
            latest = latest.max(changed).max(touched);
            hasher.update(format!("{changed:?} {inode} {touched:?}"));
        }
        // A clock ticks in steps: what changed just now may change again within the same step.
        let age = |latest| now.duration_since(latest).ok();
        let is_old = latest.is_none_or(|latest| age(latest).is_some_and(|age| age.as_secs() > 2));
        let found = walk.found.into_iter();
        let found = found.map(|(path, about)| (path, about.len(), ())).collect();
        let (items, _) = arranged(found, Top::Kept)?;
        Ok(Self {
            dir,
            items,
            mark: is_old.then(|| hasher.finalize().into()),
        })
    }
}

/// Which file it is, and when anything about it was changed last: a time that nobody can set.
#[cfg(unix)]
fn finer(about: &Metadata) -> (u64, Option<SystemTime>) {
    use cap_std::fs::MetadataExt;

    let seconds = u64::try_from(about.ctime()).unwrap_or_default();
    let nanos = u32::try_from(about.ctime_nsec()).unwrap_or_default();
    let touched = SystemTime::UNIX_EPOCH.checked_add(std::time::Duration::new(seconds, nanos));
    (about.ino(), touched)
}

#[cfg(not(unix))]
fn finer(_: &Metadata) -> (u64, Option<SystemTime>) {
    (0, None)
}

impl Source for Folder {
    fn items(&self) -> &[Item] {
        &self.items
    }

    fn open(&self, at: usize) -> Result<Box<dyn Read + '_>, SkillError> {
        let path = self.items.get(at).map_or("", |item| &item.path);
        let file = open_file(&self.dir, path)
            .map_err(|error| SkillError::storage(path, "read", &error))?;
        Ok(Box::new(file))
    }
}

/// A plain file below a folder, no part of whose way is a link.
pub(crate) fn open_file(dir: &Dir, path: &str) -> io::Result<File> {
    let (dir, name) = parent(dir, path)?;
    let about = dir.symlink_metadata(&name)?;
    if !about.is_file() {
        return Err(not_plain());
    }
    let mut options = OpenOptions::new();
    // A pipe that took its place would be waited for.
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = dir.open_with(&name, &options)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_plain()),
    }
}

fn not_plain() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")
}

/// The folder that a file lies in, and its name there.
pub(crate) fn parent(dir: &Dir, path: &str) -> io::Result<(Dir, String)> {
    let mut dir = dir.try_clone()?;
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        dir = dir.open_dir_nofollow(folder)?;
    }
    Ok((dir, name.to_owned()))
}

/// The same, with folders made where there are none.
pub(crate) fn made_parent(dir: &Dir, path: &str) -> io::Result<(Dir, String)> {
    let mut dir = dir.try_clone()?;
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        match dir.create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        dir = dir.open_dir_nofollow(folder)?;
    }
    Ok((dir, name.to_owned()))
}

struct Walk<'p> {
    place: &'p str,
    found: Vec<(String, Metadata)>,
    seen: usize,
}

impl Walk<'_> {
    fn through(&mut self, dir: &Dir, below: &str, depth: usize) -> Result<(), SkillError> {
        let place = self.place;
        let failed =
            |error: io::Error| SkillError::storage(&format!("{place}/{below}"), "read", &error);
        for entry in dir.entries().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(SkillError::package(
                    "skill.path_invalid",
                    format!(
                        "'{}' has a name that is no text: rename it",
                        quoted(&format!("{below}{}", name.to_string_lossy()))
                    ),
                ));
            };
            if is_litter(name) {
                continue;
            }
            // It would be taken for a slash, and another file looked for.
            if name.contains('\\') {
                return Err(SkillError::package(
                    "skill.path_invalid",
                    format!(
                        "'{}' has a backslash in its name: rename it",
                        quoted(&format!("{below}{name}"))
                    ),
                ));
            }
            if depth > MAX_WORKSPACE_PATH_SEGMENTS {
                let path = format!("{below}{name}");
                return Err(SkillError::path(&path, PathFault::TooDeep));
            }
            self.seen += 1;
            if self.seen > MAX_SKILL_ENTRIES {
                return Err(SkillError::package(
                    "skill.too_many_files",
                    format!(
                        "'{}' has more than {MAX_SKILL_ENTRIES} files and folders: is it the folder of one skill?",
                        quoted(self.place)
                    ),
                ));
            }
            let path = format!("{below}{name}");
            let about = dir.symlink_metadata(name).map_err(failed)?;
            if about.is_dir() {
                let inner = dir.open_dir_nofollow(name).map_err(failed)?;
                self.through(&inner, &format!("{path}/"), depth + 1)?;
            } else if about.is_file() {
                self.found.push((path, about));
            } else {
                return Err(SkillError::package(
                    "skill.not_plain",
                    format!(
                        "'{}' is a link or no plain file: put the file itself into the package",
                        quoted(&path)
                    ),
                ));
            }
        }
        Ok(())
    }
}
