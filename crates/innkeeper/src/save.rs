//! A result that goes into a file which the person named (`--output`).
//!
//! A plain file is there whole or stays as it was, and keeps its owner and who may read it; a link leads to its file. What is
//! no plain file (a device, a pipe) is written into, as every program does.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(crate) struct Saved {
    file: File,
    /// Nothing where it is written in place.
    beside: Option<Beside>,
}

/// A file that takes the place of another once it is whole.
struct Beside {
    partial: PathBuf,
    target: PathBuf,
    there: Option<Metadata>,
}

/// All of a text.
pub(crate) fn save(path: &Path, text: &str) -> io::Result<()> {
    let mut saved = Saved::open(path)?;
    saved.write_all(text.as_bytes())?;
    saved.finish()
}

impl Saved {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let there = match std::fs::metadata(path) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        match there {
            Some(there) if there.is_file() => {
                let target = std::fs::canonicalize(path)?;
                // Where the folder takes no new files, the file itself may still be written.
                Self::beside(target, Some(there)).or_else(|_| Self::in_place(path, true))
            }
            Some(_) => Self::in_place(path, false),
            // A link to a file that is not there yet.
            None if path.is_symlink() => Self::in_place(path, true),
            None => Self::beside(path.to_owned(), None),
        }
    }

    fn in_place(path: &Path, is_file: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(is_file).truncate(is_file);
        Ok(Self {
            file: file.open(path)?,
            beside: None,
        })
    }

    fn beside(target: PathBuf, there: Option<Metadata>) -> io::Result<Self> {
        let Some(name) = target.file_name() else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let mut partial = std::ffi::OsString::from(".");
        partial.push(name);
        partial.push(format!(".{}.partial", uuid::Uuid::now_v7().simple()));
        let partial = target.with_file_name(partial);
        // Nobody else's file, and no link that somebody laid there.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&partial)?;
        Ok(Self {
            file,
            beside: Some(Beside {
                partial,
                target,
                there,
            }),
        })
    }

    /// All of it is written: from now on it is under its name.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        match &self.beside {
            None => Ok(()),
            Some(beside) => beside.take_its_place(&self.file),
        }
    }
}

impl Beside {
    fn take_its_place(&self, file: &File) -> io::Result<()> {
        let alike = match &self.there {
            None => Ok(()),
            Some(there) => alike(file, there),
        };
        match alike {
            Ok(()) => std::fs::rename(&self.partial, &self.target),
            // It belongs to somebody else, or has further names: then its content alone is replaced.
            Err(_) => {
                let mut from = File::open(&self.partial)?;
                let mut into = OpenOptions::new()
                    .write(true)
                    .truncate(true)
                    .open(&self.target)?;
                io::copy(&mut from, &mut into).map(drop)
            }
        }
    }
}

impl Write for Saved {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Saved {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // It has taken its place, or is of no use.
            let _ = std::fs::remove_file(&beside.partial);
        }
    }
}

/// Gives a new file the owner and the rights of the one that it replaces.
#[cfg(unix)]
fn alike(file: &File, there: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    if there.nlink() > 1 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (there.uid(), there.gid()) {
        fchown(file, Some(there.uid()), Some(there.gid()))?;
    }
    // After the owner, which takes some of them away.
    file.set_permissions(there.permissions())
}

#[cfg(not(unix))]
fn alike(file: &File, there: &Metadata) -> io::Result<()> {
    file.set_permissions(there.permissions())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_keeps_its_rights_and_a_link_leads_to_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "old").unwrap();
        fs::set_permissions(path("file"), fs::Permissions::from_mode(0o664)).unwrap();
        symlink("file", path("link")).unwrap();
        symlink("new", path("dangling")).unwrap();
        save(&path("link"), "new text").unwrap();
        save(&path("dangling"), "made").unwrap();
        save(&path("fresh"), "fresh").unwrap();

        assert_eq!(fs::read_to_string(path("file")).unwrap(), "new text");
        let mode = fs::metadata(path("file")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o664);
        assert!(path("link").is_symlink() && path("dangling").is_symlink());
        assert_eq!(fs::read_to_string(path("new")).unwrap(), "made");
        let expected = ["dangling", "file", "fresh", "link", "new"];
        assert_eq!(names(folder.path()), expected);
    }

    #[test]
    fn a_file_of_several_names_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        fs::write(&one, "something longer than that").unwrap();
        fs::hard_link(&one, &other).unwrap();
        save(&one, "new").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "new");
        assert_eq!(fs::metadata(&one).unwrap().nlink(), 2);
        assert_eq!(names(folder.path()), ["one", "other"]);
    }

    #[test]
    fn what_is_given_up_leaves_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        let mut saved = Saved::open(&file).unwrap();
        saved.write_all(b"half").unwrap();
        drop(saved);
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(names(folder.path()), ["file"]);
        assert!(save(folder.path(), "x").is_err());
    }
}
