//! Where URIs are on disk, and the one way down to them.
//!
//! Every mount is a `Dir`; from there a path is walked name by name, each folder opened without following links.
//! So a link cannot lead anywhere, not even one that is swapped in between two steps.

use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::uri::{Scheme, normal_form};
use super::{FileError, FileUri, Kind};
use crate::limits::MAX_FOLDER_NAMES;
use crate::{ProjectId, UserId};

const PROJECTS: &str = "projects";

#[derive(Debug)]
pub(super) struct Mounts {
    home: PathBuf,
}

/// A name in an open folder. Whether it exists is to be seen.
pub(super) struct Place<'a> {
    pub(super) uri: &'a FileUri,
    pub(super) dir: Dir,
    /// As it is on disk, which may be in another Unicode form than the URI.
    pub(super) name: String,
}

/// What stands behind a URI that names a folder.
pub(super) enum Folder {
    /// A root whose folders are mounts of their own.
    Roots(&'static [&'static str]),
    /// `user://`: what is there, and the projects.
    User(Dir),
    Plain(Dir),
}

impl Mounts {
    pub(super) fn open(home: &Path) -> Result<Self, FileError> {
        let failed = |e| FileError::on(home.display().to_string(), e);
        create_private(home).map_err(failed)?;
        let mounts = Self {
            home: home.canonicalize().map_err(failed)?,
        };
        let user = UserId::default();
        let roots = [Scheme::Shared, Scheme::System]
            .into_iter()
            .filter_map(Scheme::roots)
            .flatten()
            .map(|root| Mount::Root(root));
        for mount in roots.chain([Mount::User(&user), Mount::Projects(&user)]) {
            mounts.open_mount(mount)?;
        }
        mounts.recycle_bin()?;
        Ok(mounts)
    }

    pub(super) fn recycle_bin(&self) -> Result<Dir, FileError> {
        open_private(&self.home.join("recycle"))
    }

    /// The parent of `uri` opened, with its last name. The parent must exist.
    pub(super) fn place<'a>(&self, uri: &'a FileUri) -> Result<Place<'a>, FileError> {
        self.walk_to(uri, Missing::Fails)
    }

    /// As [`Self::place`]; folders that are missing on the way are made.
    pub(super) fn place_to_write<'a>(&self, uri: &'a FileUri) -> Result<Place<'a>, FileError> {
        self.walk_to(uri, Missing::IsMade)
    }

    pub(super) fn folder(&self, uri: &FileUri) -> Result<Folder, FileError> {
        let Some((mount, names)) = mount_of(uri) else {
            return Ok(Folder::Roots(uri.scheme().roots().unwrap_or_default()));
        };
        let dir = self.open_mount(mount)?;
        let dir = descend(dir, &names, uri, uri.segments().count(), Missing::Fails)?;
        Ok(match uri.path().is_empty() {
            true => Folder::User(dir),
            false => Folder::Plain(dir),
        })
    }

    fn walk_to<'a>(&self, uri: &'a FileUri, missing: Missing) -> Result<Place<'a>, FileError> {
        let (mount, mut names) =
            mount_of(uri).ok_or_else(|| FileError::IsDirectory(uri.clone()))?;
        let name = names
            .pop()
            .ok_or_else(|| FileError::IsDirectory(uri.clone()))?;
        let dir = self.open_mount(mount)?;
        let parent_depth = uri.segments().count().saturating_sub(1);
        let dir = descend(dir, &names, uri, parent_depth, missing)?;
        let name = name_on_disk(&dir, name).map_err(|e| FileError::at(uri, e))?;
        Ok(Place {
            uri,
            dir,
            name: name.unwrap_or_else(|| uri.file_name().unwrap_or_default().to_owned()),
        })
    }

    /// Opened anew each time, so a folder that its owner moved away or linked elsewhere is met as it is now.
    fn open_mount(&self, mount: Mount<'_>) -> Result<Dir, FileError> {
        let user_home = |user: &UserId| self.home.join("users").join(user.as_str());
        match mount {
            Mount::Root(name) => open_private(&self.home.join(name)),
            Mount::User(user) => open_private(&user_home(user)),
            Mount::Projects(user) if *user == UserId::default() => {
                with_default_project(open_private(&self.home.join(PROJECTS))?)
            }
            // Here the folder above is the person's own, so this one is not taken on trust.
            Mount::Projects(user) => {
                let failed =
                    |e| FileError::on(user_home(user).join(PROJECTS).display().to_string(), e);
                let above = open_private(&user_home(user))?;
                made(above.create_dir(PROJECTS)).map_err(failed)?;
                with_default_project(above.open_dir_nofollow(PROJECTS).map_err(failed)?)
            }
        }
    }
}

/// A folder on disk from which paths go down.
#[derive(Clone, Copy)]
enum Mount<'a> {
    /// Directly in the home folder.
    Root(&'a str),
    User(&'a UserId),
    Projects(&'a UserId),
}

/// The mount and the names below it; nothing for a root that is no folder on disk.
fn mount_of(uri: &FileUri) -> Option<(Mount<'_>, Vec<&str>)> {
    let mut names = uri.segments();
    let mount = match uri.scheme() {
        Scheme::Shared | Scheme::System => Mount::Root(names.next()?),
        Scheme::User if uri.segments().next() == Some(PROJECTS) => {
            names.next();
            Mount::Projects(uri.user())
        }
        Scheme::User => Mount::User(uri.user()),
    };
    Some((mount, names.collect()))
}

fn open_private(folder: &Path) -> Result<Dir, FileError> {
    let open = || Dir::open_ambient_dir(folder, ambient_authority());
    let dir = match open() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            create_private(folder).and_then(|()| open())
        }
        other => other,
    };
    dir.map_err(|e| FileError::on(folder.display().to_string(), e))
}

fn with_default_project(projects: Dir) -> Result<Dir, FileError> {
    let project = ProjectId::default();
    made(projects.create_dir(project.as_str()))
        .map_err(|e| FileError::on(format!("user://{PROJECTS}/{project}"), e))?;
    Ok(projects)
}

impl Place<'_> {
    /// What is there, a link as itself; nothing if there is nothing.
    pub(super) fn look(&self) -> Result<Option<Metadata>, FileError> {
        match self.dir.symlink_metadata(&self.name) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(FileError::at(self.uri, e)),
        }
    }

    pub(super) fn metadata(&self) -> Result<Metadata, FileError> {
        self.look()?
            .ok_or_else(|| FileError::NotFound(self.uri.clone()))
    }

    /// Opens a regular file and nothing else. A pipe is not opened at all; one that is swapped in at the last
    /// moment does not block and is refused then.
    pub(super) fn open_file(&self, options: &OpenOptions) -> Result<(File, Metadata), FileError> {
        if let Some(metadata) = self.look()? {
            self.must_be_file(&metadata)?;
        }
        self.open_checked(options)
    }

    /// Asks what it is only after opening.
    pub(super) fn open_checked(
        &self,
        options: &OpenOptions,
    ) -> Result<(File, Metadata), FileError> {
        let mut options = options.clone();
        options.follow(FollowSymlinks::No).nonblock(true);
        // What stands in the way says more than the error that came of it.
        let at = |e| match self.dir.symlink_metadata(&self.name) {
            Ok(metadata) => match self.must_be_file(&metadata) {
                Ok(()) => FileError::at(self.uri, e),
                Err(obstacle) => obstacle,
            },
            Err(_) => FileError::at(self.uri, e),
        };
        let file = self.dir.open_with(&self.name, &options).map_err(at)?;
        let metadata = file.metadata().map_err(at)?;
        self.must_be_file(&metadata)?;
        Ok((file, metadata))
    }

    pub(super) fn must_be_file(&self, metadata: &Metadata) -> Result<(), FileError> {
        match Kind::of(metadata.file_type()) {
            Kind::File => Ok(()),
            Kind::Directory => Err(FileError::IsDirectory(self.uri.clone())),
            Kind::Link => Err(FileError::Link(self.uri.clone())),
            Kind::Special => Err(FileError::Special(self.uri.clone())),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Fails,
    IsMade,
}

/// Goes down from a mount. `depth` is how many segments of `uri` are walked when all `names` are.
fn descend(
    mut dir: Dir,
    names: &[&str],
    uri: &FileUri,
    depth: usize,
    missing: Missing,
) -> Result<Dir, FileError> {
    let above = depth.saturating_sub(names.len());
    for (step, name) in names.iter().enumerate() {
        let here = || uri.ancestor(above + step + 1);
        let on_disk = name_on_disk(&dir, name).map_err(|e| FileError::at(&here(), e))?;
        let on_disk = match (on_disk, missing) {
            (Some(on_disk), _) => on_disk,
            (None, Missing::Fails) => return Err(FileError::NotFound(here())),
            (None, Missing::IsMade) => {
                made(dir.create_dir(name)).map_err(|e| FileError::at(&here(), e))?;
                (*name).to_owned()
            }
        };
        dir = match dir.open_dir_nofollow(&on_disk) {
            Ok(next) => next,
            Err(e) => {
                return Err(match dir.symlink_metadata(&on_disk) {
                    Ok(metadata) if metadata.is_symlink() => FileError::Link(here()),
                    Ok(metadata) if !metadata.is_dir() => FileError::NotADirectory(here()),
                    _ => FileError::at(&here(), e),
                });
            }
        };
    }
    Ok(dir)
}

/// The name under which `name`, in Unicode form C, exists in a folder. Names from other systems may be in form D.
fn name_on_disk(dir: &Dir, name: &str) -> io::Result<Option<String>> {
    match dir.symlink_metadata(name) {
        Ok(_) => return Ok(Some(name.to_owned())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    if name.is_ascii() {
        return Ok(None);
    }
    for entry in dir.entries()?.take(MAX_FOLDER_NAMES) {
        if let Ok(found) = entry?.file_name().into_string()
            && normal_form(&found) == name
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A folder that somebody else made in the meantime is as good.
fn made(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Makes a folder that only its owner can look into.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
#[path = "mounts_tests.rs"]
mod tests;
