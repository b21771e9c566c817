//! The workspace: files laid in before the program starts, and brought out when all of it has ended.
//!
//! Nothing of the program runs any more while this collects, so nothing changes under its hands; still it follows no
//! link and takes only plain files.

use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::{Result, other};
use crate::Workspace;
use crate::limits::{MAX_DEPTH, MAX_INODES};
use crate::wire::{Fault, Laid, Listed};

/// How the files were when they were laid in.
#[derive(Debug, Default)]
pub(super) struct Before(Vec<(String, Stamp)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

pub(super) fn lay(laid: &Laid, mut bytes: &[u8]) -> Result<Before> {
    let root = Path::new(Workspace::PATH);
    fs::create_dir_all(root).map_err(|error| other("making the workspace", error))?;
    let mut before = Before::default();
    for (name, length) in &laid.files {
        let fault = |error: io::Error| Fault::Workspace {
            name: name.clone(),
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        };
        let length = usize::try_from(*length).unwrap_or(usize::MAX);
        let (own, rest) = bytes
            .split_at_checked(length)
            .ok_or_else(|| other("laying files into the workspace", "they are not whole"))?;
        bytes = rest;
        let path = root.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(fault)?;
        }
        let mut file = File::create_new(&path).map_err(fault)?;
        file.write_all(own).map_err(fault)?;
        before.0.push((name.clone(), stamp(&file).map_err(fault)?));
    }
    Ok(before)
}

fn stamp(file: &File) -> io::Result<Stamp> {
    let about = file.metadata()?;
    Ok(Stamp {
        inode: about.ino(),
        size: about.len(),
        changed: (about.mtime(), about.mtime_nsec()),
    })
}

/// Writes what is new or changed into `to`, and behind it the list, whose place comes back.
pub(super) fn bring_out(laid: &Laid, before: &Before, to: &OwnedFd) -> Option<(u64, u64)> {
    let to = File::from(to.try_clone().ok()?);
    let mut out = Out {
        laid,
        before,
        to,
        written: 0,
        seen: 0,
        listed: Listed::default(),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(root) = rustix::fs::open(Workspace::PATH, flags, Mode::empty()) {
        out.folder(root, "", 0);
    }
    let list = serde_json::to_vec(&out.listed).ok()?;
    out.to.write_all(&list).ok()?;
    Some((out.written, list.len() as u64))
}

struct Out<'a> {
    laid: &'a Laid,
    before: &'a Before,
    to: File,
    written: u64,
    seen: u64,
    listed: Listed,
}

impl Out<'_> {
    fn folder(&mut self, folder: OwnedFd, path: &str, depth: usize) {
        let Ok(entries) = Dir::read_from(&folder) else {
            return;
        };
        let mut names: Vec<_> = entries
            .flatten()
            .map(|entry| (entry.file_name().to_owned(), entry.file_type()))
            .filter(|(name, _)| !matches!(name.to_bytes(), b"." | b".."))
            .collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, kind) in names {
            self.seen += 1;
            if self.seen > MAX_INODES {
                return;
            }
            let Ok(text) = name.to_str() else {
                self.listed.left += 1;
                continue;
            };
            let path = match path {
                "" => text.to_owned(),
                path => format!("{path}/{text}"),
            };
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            match kind {
                FileType::Directory if depth < MAX_DEPTH => {
                    let flags = flags | OFlags::DIRECTORY;
                    if let Ok(below) =
                        rustix::fs::openat(folder.as_fd(), name.as_c_str(), flags, Mode::empty())
                    {
                        self.folder(below, &path, depth + 1);
                    }
                }
                FileType::RegularFile => {
                    let opened =
                        rustix::fs::openat(folder.as_fd(), name.as_c_str(), flags, Mode::empty());
                    match opened {
                        Ok(file) => self.file(File::from(file), path),
                        Err(_) => self.listed.left += 1,
                    }
                }
                _ => {}
            }
        }
    }

    fn file(&mut self, mut file: File, path: String) {
        let Ok(now) = stamp(&file) else { return };
        let was = self.before.0.iter().find(|(name, _)| *name == path);
        if was.is_some_and(|(_, stamp)| *stamp == now) {
            return;
        }
        if self.listed.files.len() >= self.laid.collect_files {
            self.listed.left += 1;
            return;
        }
        let fits = self.written.saturating_add(now.size) <= self.laid.collect_bytes;
        let at = fits.then_some(self.written);
        if fits {
            match io::copy(&mut file, &mut self.to) {
                Ok(bytes) => self.written += bytes,
                Err(_) => {
                    // What was half written is written over.
                    let _ = self.to.seek(io::SeekFrom::Start(self.written));
                    self.listed.left += 1;
                    return;
                }
            }
        }
        self.listed.files.push((path, now.size, at));
    }
}
