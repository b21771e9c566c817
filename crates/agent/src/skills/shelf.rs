//! Where skills lie: `<home>/skills/installed/<scope>/<name>`. A skill is there wholly or not at all, whatever ends a process.
//!
//! Two locks, so that no reader waits for an import: `.importing` is held by whoever changes anything, from the first file that is
//! staged on; `.lock` is held for the few renames that put it in place, and shared by readers. What is found in `.staging` by
//! whoever holds the first was left behind by a process that is gone.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use uuid::Uuid;

use super::error::SkillError;
use super::folder::{Folder, open_file};
use super::path::is_skill_name;
use super::scope::SkillScope;
use crate::limits::{MAX_SKILL_SCOPES, MAX_SKILLS_OF_SCOPE};

const INSTALLED: &str = "installed";
const STAGING: &str = ".staging";
/// Which scope a folder belongs to, for its name is a digest.
const SCOPE_FILE: &str = ".scope.json";

/// In a folder of `.staging`: what is to be installed, what was there before, what is of no more use, and whose place it is.
const NEW: &str = "new";
const OLD: &str = "old";
const GONE: &str = "gone";
const PLACE: &str = "place";

pub(crate) struct Shelf {
    home: PathBuf,
}

/// Held while a skill is read: nothing of it changes meanwhile.
pub(crate) struct Open {
    _lock: Option<File>,
}

/// Held by whoever changes something.
pub(crate) struct Changing<'s> {
    shelf: &'s Shelf,
    root: Dir,
    _lock: File,
}

/// A folder of one change, gone when the change is over.
pub(crate) struct Stage<'c> {
    changing: &'c Changing<'c>,
    name: String,
    dir: Dir,
}

impl Shelf {
    pub(crate) fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
        }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.home.join("skills").join(name)
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> SkillError {
        let place = self.home.join("skills").display().to_string();
        move |error| SkillError::storage(&place, doing, &error)
    }

    /// For as long as what comes back is kept, nothing is put in or taken out.
    pub(crate) fn open(&self) -> Result<Open, SkillError> {
        let open = self.share()?;
        if !self.is_cut_off()? {
            return Ok(open);
        }
        drop(open);
        // Where nothing can be written, it is read as it is.
        if let Ok(changing) = self.change() {
            drop(changing);
        }
        self.share()
    }

    fn share(&self) -> Result<Open, SkillError> {
        match File::open(self.place(".lock")) {
            Ok(file) => {
                file.lock_shared().map_err(self.failed("locked"))?;
                Ok(Open { _lock: Some(file) })
            }
            // Nobody has ever put anything in.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Open { _lock: None }),
            Err(error) => Err(self.failed("opened")(error)),
        }
    }

    /// Whether somebody was stopped in the middle of the renames: with the lock held, nobody else is.
    fn is_cut_off(&self) -> Result<bool, SkillError> {
        let failed = self.failed("read");
        let Some(staging) = self.dir(&[STAGING]).map_err(&failed)? else {
            return Ok(false);
        };
        for entry in staging.entries().map_err(&failed)? {
            let name = entry.map_err(&failed)?.file_name();
            if staging.symlink_metadata(Path::new(&name).join(OLD)).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `None` where there is no folder. Below the home no link is followed.
    fn dir(&self, below: &[&str]) -> io::Result<Option<Dir>> {
        let mut dir = match Dir::open_ambient_dir(&self.home, ambient_authority()) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        for name in ["skills"].iter().chain(below) {
            dir = match dir.open_dir_nofollow(name) {
                Ok(dir) => dir,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
        }
        Ok(Some(dir))
    }

    /// The files of a skill; `None` where there is none.
    pub(crate) fn skill(&self, scope: &SkillScope, name: &str) -> Result<Option<Dir>, SkillError> {
        let found = self.dir(&[INSTALLED, &scope.folder(), name]);
        found.map_err(|error| SkillError::storage(&self.shown(scope, name), "opened", &error))
    }

    pub(crate) fn folder(
        &self,
        scope: &SkillScope,
        name: &str,
    ) -> Result<Option<Folder>, SkillError> {
        match self.skill(scope, name)? {
            Some(dir) => Folder::of(dir, &self.shown(scope, name)).map(Some),
            None => Ok(None),
        }
    }

    /// As people know it.
    pub(crate) fn shown(&self, scope: &SkillScope, name: &str) -> String {
        let path = self.place(INSTALLED).join(scope.folder()).join(name);
        path.display().to_string()
    }

    /// Names of skills in a scope, in order.
    pub(crate) fn names(&self, scope: &SkillScope) -> Result<Vec<String>, SkillError> {
        let failed = self.failed("listed");
        let Some(dir) = self.dir(&[INSTALLED, &scope.folder()]).map_err(&failed)? else {
            return Ok(Vec::new());
        };
        let mut names = listed(&dir).map_err(&failed)?;
        names.retain(|name| is_skill_name(name));
        names.truncate(MAX_SKILLS_OF_SCOPE);
        Ok(names)
    }

    /// All that have a folder, and folders that nobody can tell whose they are.
    pub(crate) fn scopes(&self) -> Result<(Vec<SkillScope>, Vec<String>), SkillError> {
        let failed = self.failed("listed");
        let Some(installed) = self.dir(&[INSTALLED]).map_err(&failed)? else {
            return Ok((Vec::new(), Vec::new()));
        };
        let (mut scopes, mut unknown) = (Vec::new(), Vec::new());
        for folder in listed(&installed)
            .map_err(&failed)?
            .into_iter()
            .take(MAX_SKILL_SCOPES)
        {
            if folder == SkillScope::Global.folder() {
                scopes.push(SkillScope::Global);
                continue;
            }
            let scope = installed
                .open_dir_nofollow(&folder)
                .and_then(|dir| open_file(&dir, SCOPE_FILE))
                .and_then(|file| io::read_to_string(file.take(64 << 10)));
            let scope = scope
                .ok()
                .and_then(|text| serde_json::from_str::<SkillScope>(&text).ok());
            match scope.filter(|scope| scope.folder() == folder) {
                Some(scope) => scopes.push(scope),
                None => unknown.push(folder),
            }
        }
        scopes.sort();
        Ok((scopes, unknown))
    }

    /// The right to change something, once what others left half done is put right.
    pub(crate) fn change(&self) -> Result<Changing<'_>, SkillError> {
        let failed = self.failed("made ready");
        std::fs::create_dir_all(self.place("")).map_err(&failed)?;
        let lock = lock_file(&self.place(".importing")).map_err(&failed)?;
        lock.lock().map_err(&failed)?;
        // There from now on, for readers.
        lock_file(&self.place(".lock")).map_err(&failed)?;
        let root = self.dir(&[]).map_err(&failed)?;
        let root = root.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let changing = Changing {
            shelf: self,
            root,
            _lock: lock,
        };
        changing.recover().map_err(&failed)?;
        Ok(changing)
    }
}

impl<'s> Changing<'s> {
    /// A skill that was taken away for another that never came is put back.
    fn recover(&self) -> io::Result<()> {
        let staging = made(&self.root, STAGING)?;
        for name in listed(&staging)? {
            let left = staging.open_dir_nofollow(&name)?;
            if left.symlink_metadata(OLD).is_ok() {
                let place = open_file(&left, PLACE)
                    .and_then(|file| io::read_to_string(file.take(4_096)))?;
                let (folder, name) = place.split_once('/').unwrap_or_default();
                let _closed = self.close()?;
                let scope = self.scope_dir(folder)?;
                if is_skill_name(name) && scope.symlink_metadata(name).is_err() {
                    left.rename(OLD, &scope, name)?;
                    sync(&scope);
                }
            }
            staging.remove_dir_all(&name)?;
        }
        Ok(())
    }

    /// Readers wait, and those at it are waited for.
    fn close(&self) -> io::Result<File> {
        let lock = lock_file(&self.shelf.place(".lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn scope_dir(&self, folder: &str) -> io::Result<Dir> {
        made(&made(&self.root, INSTALLED)?, folder)
    }

    pub(crate) fn stage(&self) -> Result<Stage<'_>, SkillError> {
        let failed = self.shelf.failed("written to");
        let name = Uuid::now_v7().simple().to_string();
        let staging = made(&self.root, STAGING).map_err(&failed)?;
        let dir = made(&staging, &name).map_err(&failed)?;
        Ok(Stage {
            changing: self,
            name,
            dir,
        })
    }
}

impl Stage<'_> {
    /// An empty folder for what is to be installed.
    pub(crate) fn new_skill(&self) -> Result<Dir, SkillError> {
        let failed = self.changing.shelf.failed("written to");
        made(&self.dir, NEW).map_err(failed)
    }

    /// What was staged takes its place, and that of what was there.
    pub(crate) fn install(&self, scope: &SkillScope, name: &str) -> Result<(), SkillError> {
        let staged = self.dir.try_clone();
        let staged = staged.map_err(self.changing.shelf.failed("written to"))?;
        self.put(&staged, NEW, scope, name)
    }

    /// A skill goes from one scope to another.
    pub(crate) fn carry(
        &self,
        name: &str,
        from: &SkillScope,
        to: &SkillScope,
    ) -> Result<(), SkillError> {
        let failed = self.changing.shelf.failed("moved");
        let from = self.changing.scope_dir(&from.folder()).map_err(failed)?;
        self.put(&from, name, to, name)
    }

    fn put(
        &self,
        from: &Dir,
        called: &str,
        scope: &SkillScope,
        name: &str,
    ) -> Result<(), SkillError> {
        let placed = self.rename_into(from, called, scope, name);
        placed.map_err(|error| {
            let place = self.changing.shelf.shown(scope, name);
            SkillError::storage(&place, "put in its place", &error)
        })
    }

    fn rename_into(
        &self,
        from: &Dir,
        called: &str,
        scope: &SkillScope,
        name: &str,
    ) -> io::Result<()> {
        let folder = scope.folder();
        write(&self.dir, PLACE, format!("{folder}/{name}").as_bytes())?;
        let target = self.changing.scope_dir(&folder)?;
        if *scope != SkillScope::Global && target.symlink_metadata(SCOPE_FILE).is_err() {
            write(
                &target,
                SCOPE_FILE,
                serde_json::to_string(scope)?.as_bytes(),
            )?;
        }
        let _closed = self.changing.close()?;
        let is_there = target.symlink_metadata(name).is_ok();
        if is_there {
            target.rename(name, &self.dir, OLD)?;
        }
        if let Err(error) = from.rename(called, &target, name) {
            if is_there {
                self.dir.rename(OLD, &target, name)?;
            }
            return Err(error);
        }
        sync(&target);
        if is_there {
            self.dir.rename(OLD, &self.dir, GONE)?;
        }
        Ok(())
    }

    /// Takes a skill away.
    pub(crate) fn remove(&self, scope: &SkillScope, name: &str) -> Result<(), SkillError> {
        let removed = (|| {
            let folder = self.changing.scope_dir(&scope.folder())?;
            let _closed = self.changing.close()?;
            folder.rename(name, &self.dir, GONE)?;
            sync(&folder);
            Ok(())
        })();
        removed.map_err(|error| {
            SkillError::storage(&self.changing.shelf.shown(scope, name), "removed", &error)
        })
    }

    /// One file of a skill is replaced, or added.
    pub(crate) fn write_file(
        &self,
        skill: &Dir,
        path: &str,
        content: &[u8],
    ) -> Result<(), SkillError> {
        let written = (|| {
            write(&self.dir, NEW, content)?;
            let _closed = self.changing.close()?;
            let (folder, name) = super::folder::made_parent(skill, path)?;
            self.dir.rename(NEW, &folder, &name)?;
            sync(&folder);
            Ok(())
        })();
        written.map_err(|error| SkillError::storage(path, "written", &error))
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // Whoever changes something next finds what could not be removed now.
        if let Ok(staging) = self.changing.root.open_dir_nofollow(STAGING)
            && self.dir.symlink_metadata(OLD).is_err()
        {
            let _ = staging.remove_dir_all(&self.name);
        }
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Names in a folder, in order.
fn listed(dir: &Dir) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in dir.entries()? {
        let entry = entry?;
        if entry.file_type()?.is_dir()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn made(dir: &Dir, name: &str) -> io::Result<Dir> {
    match dir.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    dir.open_dir_nofollow(name)
}

fn write(dir: &Dir, name: &str, content: &[u8]) -> io::Result<()> {
    let mut options = cap_std::fs::OpenOptions::new();
    let mut file = dir.open_with(name, options.write(true).create_new(true))?;
    file.write_all(content)?;
    file.sync_all()
}

/// The new name is on disk, not only in memory. Not every file system can.
fn sync(dir: &Dir) {
    if let Ok(dir) = dir.try_clone() {
        let _ = dir.into_std_file().sync_all();
    }
}

#[cfg(test)]
#[path = "shelf_tests.rs"]
mod tests;
