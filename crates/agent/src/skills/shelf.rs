//! Where skills lie: `<home>/skills/installed/<scope>/<name>`. A skill is there wholly or not at all, whatever ends a process.
//!
//! Two locks, so that no reader waits for an import: `.importing` is held by whoever changes anything, from the first file that is
//! staged on; `.lock` is held for the few renames that put it in place, and shared by readers. What is found in `.staging` by
//! whoever holds the first was left behind by a process that is gone.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use uuid::Uuid;

use super::error::SkillError;
use super::folder::{Folder, open_file};
use super::path::{is_litter, is_skill_name};
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
    clock: fn() -> SystemTime,
}

/// What lies among the skills of a scope and cannot be one.
pub(crate) struct Stray {
    pub(crate) name: String,
    pub(crate) is_folder: bool,
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
    pub(crate) fn new(home: &Path, clock: fn() -> SystemTime) -> Self {
        Self {
            home: home.to_owned(),
            clock,
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

    /// `None` where there is no folder. The folder `skills` may be a link, which a person has put there; below it none is
    /// followed.
    pub(super) fn dir(&self, below: &[&str]) -> io::Result<Option<Dir>> {
        let mut dir = match Dir::open_ambient_dir(self.place(""), ambient_authority()) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        for name in below {
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
        let failed = |error| SkillError::storage(&self.shown(scope, name), "opened", &error);
        let Some(dir) = self.dir(&[INSTALLED, &scope.folder()]).map_err(failed)? else {
            return Ok(None);
        };
        match dir.open_dir_nofollow(name) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => match dir.symlink_metadata(name) {
                Ok(there) if !there.is_dir() => {
                    Err(SkillError::no_folder(&self.shown(scope, name)))
                }
                _ => Err(failed(error)),
            },
        }
    }

    pub(crate) fn folder(
        &self,
        scope: &SkillScope,
        name: &str,
    ) -> Result<Option<Folder>, SkillError> {
        match self.skill(scope, name)? {
            Some(dir) => Folder::of(dir, &self.shown(scope, name), (self.clock)()).map(Some),
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

    /// What else lies there. What is hidden is nobody's concern.
    pub(crate) fn strays(&self, scope: &SkillScope) -> Result<Vec<Stray>, SkillError> {
        let failed = self.failed("listed");
        let Some(dir) = self.dir(&[INSTALLED, &scope.folder()]).map_err(&failed)? else {
            return Ok(Vec::new());
        };
        let mut strays = Vec::new();
        for entry in dir.entries().map_err(&failed)? {
            let entry = entry.map_err(&failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().map_err(&failed)?.is_dir();
            let is_skill = is_folder && is_skill_name(&name);
            if !is_skill && !name.starts_with('.') && !is_litter(&name) {
                strays.push(Stray { name, is_folder });
            }
        }
        strays.sort_by(|one, other| one.name.cmp(&other.name));
        strays.truncate(MAX_SKILLS_OF_SCOPE);
        Ok(strays)
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
                .ok()
                .and_then(|dir| scope_of(&dir));
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
        let folder = self.changing.scope_dir(&from.folder()).map_err(failed)?;
        self.put(&folder, name, to, name)?;
        self.changing.shelf.forget(from, name);
        Ok(())
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
        self.name_scope(&target, scope)?;
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

    /// The folder of a scope says whose it is, whatever became of what said so before.
    pub(crate) fn claim(&self, scope: &SkillScope) -> Result<(), SkillError> {
        let target = self.changing.scope_dir(&scope.folder());
        let claimed = target.and_then(|target| self.name_scope(&target, scope));
        claimed.map_err(self.changing.shelf.failed("written to"))
    }

    fn name_scope(&self, folder: &Dir, scope: &SkillScope) -> io::Result<()> {
        if *scope == SkillScope::Global || scope_of(folder).as_ref() == Some(scope) {
            return Ok(());
        }
        // Half of it would be as good as nothing.
        write(
            &self.dir,
            SCOPE_FILE,
            serde_json::to_string(scope)?.as_bytes(),
        )?;
        self.dir.rename(SCOPE_FILE, folder, SCOPE_FILE)?;
        sync(folder);
        Ok(())
    }

    /// Takes a skill away.
    pub(crate) fn remove(&self, scope: &SkillScope, name: &str) -> Result<(), SkillError> {
        let removed = (|| {
            let folder = self.changing.scope_dir(&scope.folder())?;
            let _closed = self.changing.close()?;
            folder.rename(name, &self.dir, GONE)?;
            sync(&folder);
            self.changing.shelf.forget(scope, name);
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

fn scope_of(folder: &Dir) -> Option<SkillScope> {
    let file = open_file(folder, SCOPE_FILE).ok()?;
    let text = io::read_to_string(file.take(64 << 10)).ok()?;
    serde_json::from_str(&text).ok()
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

pub(super) fn made(dir: &Dir, name: &str) -> io::Result<Dir> {
    match dir.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    dir.open_dir_nofollow(name)
}

pub(super) fn write(dir: &Dir, name: &str, content: &[u8]) -> io::Result<()> {
    let mut options = cap_std::fs::OpenOptions::new();
    let mut file = dir.open_with(name, options.write(true).create_new(true))?;
    file.write_all(content)?;
    file.sync_all()
}

/// The new name is on disk, not only in memory. Not every file system can.
pub(crate) fn sync(dir: &Dir) {
    if let Ok(dir) = dir.try_clone() {
        let _ = dir.into_std_file().sync_all();
    }
}

#[cfg(test)]
#[path = "shelf_tests.rs"]
mod tests;
