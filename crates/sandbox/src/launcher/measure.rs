//! How much lies in a folder that the program can change. Never trusts what it finds there.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use crate::limits::{MAX_DEPTH, MAX_INODES};

/// What was found, or that it is more than anybody counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) bytes: u64,
    /// The largest file, by its length.
    pub(super) largest: u64,
    /// Too many files, too deep, or closed to whoever measures.
    pub(super) beyond: bool,
}

pub(super) fn measure(folder: &Path) -> Measured {
    let mut measured = Measured {
        bytes: 0,
        largest: 0,
        beyond: false,
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(top) = rustix::fs::open(folder, flags, Mode::empty()) else {
        measured.beyond = true;
        return measured;
    };
    let mut seen = 0;
    let mut linked = BTreeSet::new();
    // One open folder a level: a path of any length can be walked, and the depth is bounded.
    let mut open: Vec<(OwnedFd, Vec<std::ffi::CString>)> = Vec::new();
    match list(top, &mut measured, &mut seen, &mut linked) {
        Some(level) => open.push(level),
        None => return measured,
    }
    while let Some((folder, below)) = open.last_mut() {
        let Some(name) = below.pop() else {
            open.pop();
            continue;
        };
        let next = match rustix::fs::openat(folder.as_fd(), name.as_c_str(), flags, Mode::empty()) {
            Ok(next) => next,
            // Gone meanwhile, or no folder any more.
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
                continue;
            }
            Err(_) => {
                measured.beyond = true;
                return measured;
            }
        };
        if open.len() >= MAX_DEPTH {
            measured.beyond = true;
            return measured;
        }
        match list(next, &mut measured, &mut seen, &mut linked) {
            Some(level) => open.push(level),
            None => return measured,
        }
    }
    measured
}

fn list(
    folder: OwnedFd,
    measured: &mut Measured,
    seen: &mut u64,
    linked: &mut BTreeSet<(u64, u64)>,
) -> Option<(OwnedFd, Vec<std::ffi::CString>)> {
    let mut below = Vec::new();
    let Ok(entries) = Dir::read_from(&folder) else {
        measured.beyond = true;
        return None;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        *seen += 1;
        if *seen > MAX_INODES {
            measured.beyond = true;
            return None;
        }
        let Ok(about) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        // A file of many names is one file.
        if about.st_nlink < 2 || linked.insert((about.st_dev, about.st_ino)) {
            measured.bytes += about.st_blocks.unsigned_abs() * 512;
        }
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => below.push(name.to_owned()),
            FileType::RegularFile => {
                measured.largest = measured.largest.max(about.st_size.unsigned_abs());
            }
            _ => {}
        }
    }
    Some((folder, below))
}

/// Bytes that lie in a file system in memory.
pub(super) fn used(folder: &Path) -> u64 {
    let used = |about: rustix::fs::StatFs| {
        let blocks = about.f_blocks.saturating_sub(about.f_bfree);
        blocks.saturating_mul(about.f_bsize.unsigned_abs())
    };
    rustix::fs::statfs(folder).map_or(0, used)
}

/// Room that is left where these folders lie.
pub(super) fn free(folders: &[PathBuf]) -> u64 {
    let free = |folder: &PathBuf| {
        let about = rustix::fs::statfs(folder).ok()?;
        Some(about.f_bfree.saturating_mul(about.f_bsize.unsigned_abs()))
    };
    folders.iter().filter_map(free).sum()
}

/// A file system in memory that is full.
pub(super) fn is_full(folder: &Path) -> bool {
    let full = |file: File| {
        let about = rustix::fs::fstatfs(&file).ok()?;
        Some(about.f_bavail == 0 || about.f_ffree == 0)
    };
    File::open(folder).ok().and_then(full).unwrap_or_default()
}
