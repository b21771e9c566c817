//! What is to be seen in the room, opened while it can still be named: mounts that are nowhere yet.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags};
use rustix::process::{Gid, Uid};

use super::identity::{self, Outer};
use super::sys::{self, Attributes};
use super::{Doing, Result};
use crate::layers::Layer;
use crate::limits::{MAX_DEPTH, MAX_INODES};
use crate::wire::{Fault, Root};

/// A mount that is nowhere yet, and where it will be.
pub(super) struct Tree {
    pub(super) mount: OwnedFd,
    pub(super) target: PathBuf,
    pub(super) is_folder: bool,
    /// Hides what is below it, and is closed when everything is in its place.
    pub(super) is_cover: bool,
}

pub(super) type Trees = Vec<Tree>;

/// What every program gets to see of the system. A link stays a link, a folder is mounted read-only.
const SYSTEM: [&str; 8] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
];
const SYSTEM_FOLDERS: [&str; 1] = ["/etc/alternatives"];
/// Only where there is a network: what it takes to trust others.
const CERTIFICATES: [&str; 4] = [
    "/etc/ssl/certs",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates/extracted",
];
/// Copied: they are small, and a copy is cheaper than a mount.
const SYSTEM_FILES: [&str; 4] = [
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/ssl/openssl.cnf",
];
const LARGEST_COPY: u64 = 1 << 20;
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Opens the roots of a policy as root, who alone may reach them all and say whose their files shall appear to be.
pub(super) fn open_owned(roots: &[Root], outer: Outer) -> Result<Trees> {
    let mut tables: Vec<((u32, u32), OwnedFd)> = Vec::new();
    let mut trees = Trees::new();
    for root in roots {
        let about = fs::metadata(&root.source).map_err(|error| root_fault(root, &error))?;
        let owner = (about.uid(), about.gid());
        let table = match tables.iter().position(|(known, _)| *known == owner) {
            Some(at) => at,
            None => {
                tables.push((owner, identity::ownership(owner, outer)?));
                tables.len() - 1
            }
        };
        let tree = clone_tree(&root.source).map_err(|errno| errno_fault(root, errno))?;
        let attributes = of_root(root);
        let table = tables.get(table).map(|(_, table)| table.as_fd());
        match sys::mount_setattr(tree.as_fd(), attributes, table) {
            Ok(()) => {}
            // A file system that knows nothing of this. What may be read is read as anybody, what may be written
            // becomes the program's own.
            Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::PERM) => {
                sys::mount_setattr(tree.as_fd(), attributes, None)
                    .map_err(|errno| errno_fault(root, errno))?;
                if root.writable && owner != outer.owner() {
                    hand_over(&root.source, outer).map_err(|error| root_fault(root, &error))?;
                }
            }
            Err(errno) => return Err(errno_fault(root, errno)),
        }
        trees.push(Tree {
            mount: tree,
            target: root.target.clone(),
            is_folder: about.is_dir(),
            is_cover: false,
        });
    }
    Ok(trees)
}

/// By descriptors all the way: whoever can write there may be moving things at this moment.
fn hand_over(root: &Path, outer: Outer) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folders = vec![rustix::fs::open(root, flags, Mode::empty())?];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        outer.give(folder.as_fd())?;
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            seen += 1;
            if seen > MAX_INODES || folders.len() > MAX_DEPTH * 4 {
                return Err(io::Error::other("it holds too many files"));
            }
            match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
                Ok(below) => folders.push(below),
                Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => give_file(&folder, name, outer)?,
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(())
}

/// A file with a second name is left alone: that name may be somebody else's.
fn give_file(folder: &OwnedFd, name: &std::ffi::CStr, outer: Outer) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    if rustix::fs::fstat(&file)?.st_nlink > 1 {
        return Ok(());
    }
    let (uid, gid) = outer.owner();
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::chownat(&file, c"", Some(uid), Some(gid), flags)?;
    Ok(())
}

pub(super) fn open_mine(roots: &[Root]) -> Result<Trees> {
    let mut trees = Trees::new();
    for root in roots {
        let about = fs::metadata(&root.source).map_err(|error| root_fault(root, &error))?;
        let tree = clone_tree(&root.source).map_err(|errno| errno_fault(root, errno))?;
        sys::mount_setattr(tree.as_fd(), of_root(root), None)
            .map_err(|errno| errno_fault(root, errno))?;
        trees.push(Tree {
            mount: tree,
            target: root.target.clone(),
            is_folder: about.is_dir(),
            is_cover: false,
        });
    }
    Ok(trees)
}

const fn of_root(root: &Root) -> Attributes {
    Attributes {
        read_only: !root.writable,
        no_suid: true,
        no_dev: true,
        no_exec: false,
        recursive: true,
    }
}

fn root_fault(root: &Root, error: &io::Error) -> Fault {
    Fault::Root {
        path: root.source.clone(),
        errno: error.raw_os_error().unwrap_or(libc::EIO),
    }
}

fn errno_fault(root: &Root, errno: Errno) -> Fault {
    Fault::Root {
        path: root.source.clone(),
        errno: errno.raw_os_error(),
    }
}

/// An empty folder, in which roots can be placed.
pub(super) fn empty(target: &Path) -> Result<Tree> {
    Ok(Tree {
        mount: memory_fs(1 << 20, 1_000, "0755")?,
        target: target.to_owned(),
        is_folder: true,
        is_cover: true,
    })
}

fn clone_tree(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::mount::open_tree(
        CWD,
        path,
        OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE,
    )
}

pub(super) fn open_system(
    has_network: bool,
    trees: &mut Trees,
    links: &mut Vec<(PathBuf, PathBuf)>,
) -> Result<()> {
    let read_only = Attributes {
        read_only: true,
        no_suid: true,
        no_dev: true,
        no_exec: false,
        recursive: true,
    };
    let certificates = CERTIFICATES.iter().filter(|_| has_network);
    for path in SYSTEM.iter().chain(&SYSTEM_FOLDERS).chain(certificates) {
        let path = Path::new(path);
        let Ok(about) = fs::symlink_metadata(path) else {
            continue;
        };
        if about.is_symlink() {
            if let Ok(target) = fs::read_link(path) {
                links.push((path.to_owned(), target));
            }
        } else if about.is_dir() {
            let tree = clone_tree(path).doing(Layer::Root, "opening the system's folders")?;
            sys::mount_setattr(tree.as_fd(), read_only, None)
                .doing(Layer::Root, "closing the system's folders")?;
            trees.push(Tree {
                mount: tree,
                target: path.to_owned(),
                is_folder: true,
                is_cover: false,
            });
        }
    }
    Ok(())
}

pub(super) fn copies() -> Vec<(&'static str, Vec<u8>)> {
    let small = |path: &&str| fs::metadata(path).is_ok_and(|file| file.len() <= LARGEST_COPY);
    let read = |path| Some((path, fs::read(path).ok()?));
    SYSTEM_FILES
        .into_iter()
        .filter(small)
        .filter_map(read)
        .collect()
}

pub(super) fn open_devices(counts_memory: bool) -> Result<Vec<(&'static str, OwnedFd)>> {
    let attributes = Attributes {
        no_suid: true,
        no_exec: true,
        ..Attributes::default()
    };
    let open = |name| {
        let tree =
            clone_tree(&Path::new("/dev").join(name)).doing(Layer::Root, "opening devices")?;
        sys::mount_setattr(tree.as_fd(), attributes, None).doing(Layer::Root, "closing devices")?;
        Ok((name, tree))
    };
    let wanted = DEVICES
        .into_iter()
        .filter(|name| counts_memory || *name != "zero");
    wanted.map(open).collect()
}

/// Shows processes and nothing else of the kernel.
pub(super) fn own_proc() -> rustix::io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, "subset", "pid")?;
    rustix::mount::fsconfig_create(&context)?;
    rustix::mount::fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    )
}

pub(super) fn memory_fs(size: u64, files: u64, mode: &str) -> Result<OwnedFd> {
    let make = || {
        let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let owner = identity::UID.to_string();
        for (key, value) in [
            ("size", size.to_string().as_str()),
            ("nr_inodes", &files.to_string()),
            ("mode", mode),
            ("uid", &owner),
            ("gid", &owner),
        ] {
            rustix::mount::fsconfig_set_string(&context, key, value)?;
        }
        rustix::mount::fsconfig_create(&context)?;
        rustix::mount::fsmount(
            &context,
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV,
        )
    };
    make().doing(Layer::Root, "making a file system in memory")
}
