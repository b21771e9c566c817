//! A plugin's folder on disk, and the promise that nothing outside of it is read.
//!
//! Owns the bounded walk, the checks on paths and the reading of files; nothing in here is ever run.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::place::Place;
use super::problem::{Code, Report};
use crate::limits::{MAX_PLUGIN_DEPTH, MAX_PLUGIN_FILES};

/// Folders that belong to tools of the author; what is in them is not looked at.
const NOISE: &[&str] = &[
    "node_modules",
    ".git",
    ".venv",
    "venv",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
];

pub(super) struct Folder {
    /// Absolute, without links.
    pub(super) root: PathBuf,
    /// The same, as a handle that opens nothing outside, whatever is swapped for a link meanwhile.
    dir: Dir,
}

impl Folder {
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        let root = path.canonicalize()?;
        match root.is_dir() {
            true => Ok(Self {
                dir: Dir::open_ambient_dir(&root, ambient_authority())?,
                root,
            }),
            false => Err(std::io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Goes through all files once: not too many, and no link that leads out. Gives a number that differs when a file
    /// has come, gone or changed.
    pub(super) fn survey(&self, report: &mut Report) -> u64 {
        let mut stamp = 0_u64;
        let mut open = vec![(PathBuf::new(), 0)];
        let mut count = 0;
        while let Some((relative, depth)) = open.pop() {
            let entries = match fs::read_dir(self.root.join(&relative)) {
                Ok(entries) => entries,
                Err(error) => {
                    report.enter(shown(&relative));
                    report.about_file(Code::Unreadable, None, unreadable(&error));
                    continue;
                }
            };
            for entry in entries.flatten() {
                count += 1;
                if count > MAX_PLUGIN_FILES {
                    report.enter("");
                    report.about_file(
                        Code::TooManyFiles,
                        None,
                        format!(
                            "the folder holds more than {MAX_PLUGIN_FILES} files; keep data elsewhere, \
                             and dependencies in node_modules or .venv, which are not counted"
                        ),
                    );
                    return stamp;
                }
                let path = relative.join(entry.file_name());
                // A sum, since nobody says in which order they come.
                stamp = stamp.wrapping_add(stamp_of(&path, &entry));
                match entry.file_type() {
                    Ok(kind) if kind.is_symlink() => self.check_link(&path, report),
                    Ok(kind) if kind.is_dir() && !is_noise(&entry.file_name()) => {
                        if depth == MAX_PLUGIN_DEPTH {
                            report.enter(shown(&path));
                            report.about_file(
                                Code::TooManyFiles,
                                None,
                                format!("folders nest deeper than {MAX_PLUGIN_DEPTH}"),
                            );
                            return stamp;
                        }
                        open.push((path, depth + 1));
                    }
                    _ => {}
                }
            }
        }
        stamp
    }

    /// Files with this ending in a folder and in the folders right below it, in order.
    pub(super) fn files_ending(&self, entry: &Path, ending: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = Vec::new();
        self.list(entry, ending, &mut files, Some(&mut folders));
        for below in folders {
            self.list(&below, ending, &mut files, None);
        }
        files.sort();
        files
    }

    fn list(
        &self,
        relative: &Path,
        ending: &str,
        files: &mut Vec<PathBuf>,
        mut folders: Option<&mut Vec<PathBuf>>,
    ) {
        let Ok(entries) = fs::read_dir(self.root.join(relative)) else {
            return;
        };
        for entry in entries.flatten().take(MAX_PLUGIN_FILES) {
            let name = entry.file_name();
            let path = relative.join(&name);
            if name.to_string_lossy().ends_with(ending) {
                files.push(path);
            } else if let Some(folders) = folders.as_deref_mut()
                && entry.file_type().is_ok_and(|kind| kind.is_dir())
                && !is_noise(&name)
            {
                folders.push(path);
            }
        }
    }

    fn check_link(&self, relative: &Path, report: &mut Report) {
        let message = match self.root.join(relative).canonicalize() {
            Ok(target) if target.starts_with(&self.root) => return,
            Ok(_) => "this link leads out of the plugin's folder; put a copy here instead",
            Err(_) => "this link leads nowhere; remove it or repair it",
        };
        report.enter(shown(relative));
        report.about_file(Code::LinkOutside, None, message);
    }

    /// Where a path of a manifest leads, if it stays in the folder. It need not exist.
    pub(super) fn inside(&self, path: &str) -> Result<PathBuf, Escape> {
        let relative = lexical(path)?;
        // A link on the way may lead out although the words do not: look at the part that exists.
        let mut existing = self.root.join(&relative);
        loop {
            match existing.canonicalize() {
                Ok(real) if real.starts_with(&self.root) => return Ok(relative),
                Ok(_) => return Err(Escape::Link),
                Err(_) if existing.symlink_metadata().is_ok() => return Err(Escape::Link),
                Err(_) if existing.pop() => {}
                Err(_) => return Err(Escape::Link),
            }
        }
    }

    /// A path from a manifest that must lead to something in the folder.
    pub(super) fn existing(
        &self,
        place: &Place<'_>,
        path: &str,
        kind: Kind,
        report: &mut Report,
    ) -> Option<PathBuf> {
        let relative = match self.inside(path) {
            Ok(relative) => relative,
            Err(escape) => {
                report.problem(place, Code::PathOutside, escape.message(path));
                return None;
            }
        };
        let full = self.root.join(&relative);
        let found = match kind {
            Kind::Folder => full.is_dir(),
            Kind::File => full.is_file(),
        };
        if !found {
            let what = match kind {
                Kind::Folder => "folder",
                Kind::File => "file",
            };
            report.problem(
                place,
                Code::PathMissing,
                format!("there is no {what} '{path}' in the plugin; create it or correct the path"),
            );
        }
        found.then_some(relative)
    }

    /// The text of a file, which the report has already entered. Nothing is opened that is too large or no
    /// plain file: a pipe would never end.
    pub(super) fn read(
        &self,
        relative: &Path,
        limit: usize,
        report: &mut Report,
    ) -> Option<String> {
        let path = self.root.join(relative);
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) => {
                report.about_file(Code::Unreadable, None, unreadable(&error));
                return None;
            }
        };
        let Ok(inner) = real.strip_prefix(&self.root) else {
            let message = "this link leads out of the plugin's folder; put a copy here instead";
            report.about_file(Code::LinkOutside, None, message);
            return None;
        };
        let read = || -> std::io::Result<Option<Vec<u8>>> {
            let about = self.dir.metadata(inner)?;
            if !about.is_file() {
                return Err(std::io::Error::other("it is no plain file"));
            }
            if about.len() > limit as u64 {
                return Ok(None);
            }
            let mut bytes = Vec::new();
            let file = self.dir.open(inner)?;
            file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
            Ok(Some(bytes).filter(|bytes| bytes.len() <= limit))
        };
        match read() {
            Ok(Some(bytes)) => match String::from_utf8(bytes) {
                Ok(text) => Some(text.trim_start_matches('\u{feff}').to_owned()),
                Err(_) => {
                    report.about_file(
                        Code::NotText,
                        None,
                        "this is no UTF-8 text; save it as UTF-8",
                    );
                    None
                }
            },
            Ok(None) => {
                let message = format!("the file is larger than {} KiB", limit / 1024);
                report.about_file(Code::TooLarge, None, message);
                None
            }
            Err(error) => {
                report.about_file(Code::Unreadable, None, unreadable(&error));
                None
            }
        }
    }
}

/// By name, size and time of the last change. Of a folder the name is enough: what is in it counts for itself.
fn stamp_of(path: &Path, entry: &fs::DirEntry) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    if let Ok(about) = fs::metadata(entry.path())
        && about.is_file()
    {
        about.len().hash(&mut hasher);
        about.modified().ok().hash(&mut hasher);
    }
    hasher.finish()
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    File,
    Folder,
}

/// How a path tried to leave the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    Absolute,
    Upwards,
    Link,
}

impl Escape {
    pub(super) fn message(self, path: &str) -> String {
        match self {
            Self::Absolute => {
                format!("'{path}' is absolute; write it relative to the plugin's folder")
            }
            Self::Upwards => format!("'{path}' leads out of the plugin's folder"),
            Self::Link => {
                format!("'{path}' passes through a link that leads out of the plugin's folder")
            }
        }
    }
}

/// By words alone: `./a/../b` is `b`. Both slashes count, so that a manifest means the same everywhere.
fn lexical(path: &str) -> Result<PathBuf, Escape> {
    let path = path.replace('\\', "/");
    let drive = path.as_bytes().get(1) == Some(&b':');
    if path.starts_with('/') || path.starts_with('~') || drive || path.contains('\0') {
        return Err(Escape::Absolute);
    }
    let mut clean = PathBuf::new();
    for part in Path::new(&path).components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !clean.pop() {
                    return Err(Escape::Upwards);
                }
            }
            Component::RootDir | Component::Prefix(_) => return Err(Escape::Absolute),
        }
    }
    Ok(clean)
}

pub(super) fn is_noise(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| NOISE.contains(&name))
}

/// As it stands in messages: with forward slashes.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

pub(super) fn unreadable(error: &std::io::Error) -> String {
    format!("it cannot be read: {error}")
}
