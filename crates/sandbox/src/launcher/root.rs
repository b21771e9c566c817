//! The root that the program sees: a skeleton in memory, onto which only what was granted is mounted.
//!
//! Everything that is to be seen is opened first, as mounts that are nowhere yet; then the skeleton takes the place
//! of the old root, which is let go of. Nothing of the old root can be named afterwards.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, MoveMountFlags, UnmountFlags};

use super::identity::{self, Outer};
use super::sys::{self, Attributes};
use super::trees::{self, Trees};
use super::{Doing, Result};
use crate::layers::Layer;
use crate::limits::MAX_INODES;
use crate::wire::{Fault, Root};

/// Any folder of the old root will do to put the new one on for a moment.
const FOOTHOLDS: [&str; 4] = ["/tmp", "/run", "/mnt", "/usr"];

const CLOSED: Attributes = Attributes {
    read_only: true,
    no_suid: true,
    no_dev: true,
    no_exec: false,
    recursive: false,
};

/// What the room is to have beside the roots.
pub(super) struct Plan<'a> {
    pub(super) roots: &'a [Root],
    pub(super) covers: &'a [PathBuf],
    pub(super) hosts: &'a str,
    pub(super) has_network: bool,
    pub(super) disk: u64,
    /// The kernel itself counts what the program takes.
    pub(super) counts_memory: bool,
}

/// Builds the root and steps into it. `opened` are the roots if somebody else has opened them.
/// Says whether there is a `/proc`, or why not.
pub(super) fn enter(
    plan: &Plan<'_>,
    opened: Trees,
    outer: Outer,
) -> Result<std::result::Result<(), Errno>> {
    let layer = Layer::Root;
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .doing(layer, "keeping mounts private")?;

    let mut trees = match outer.is_root {
        true => opened,
        false => trees::open_mine(plan.roots)?,
    };
    let mut links = Vec::new();
    trees::open_system(plan.has_network, &mut trees, &mut links)?;
    for cover in plan.covers {
        trees.push(trees::empty(cover)?);
    }
    let copies = trees::copies();
    let devices = trees::open_devices(plan.counts_memory)?;
    let proc = trees::own_proc();
    let skeleton = trees::memory_fs(8 << 20, 10_000, "0755")?;
    let tmp = trees::memory_fs(plan.disk, MAX_INODES, "0700")?;

    let foothold = FOOTHOLDS.iter().find(|path| Path::new(path).is_dir());
    let foothold = foothold
        .ok_or(Errno::NOENT)
        .doing(layer, "finding a folder to stand on")?;
    place(&skeleton, Path::new(foothold)).doing(layer, "mounting the skeleton")?;
    rustix::process::chdir(*foothold).doing(layer, "entering the skeleton")?;

    for folder in ["dev", "etc", "proc", "tmp"] {
        make_folder(Path::new(folder)).doing(layer, "making folders")?;
    }
    for (link, target) in links {
        symlink(target, inside(&link)).doing(layer, "making links")?;
    }
    trees.sort_by_key(|tree| tree.target.components().count());
    // Before the roots: one of them may lie below.
    place(&tmp, Path::new("tmp")).doing(layer, "mounting /tmp")?;
    make_folder(Path::new("tmp/.shm")).doing(layer, "making /dev/shm")?;
    for tree in &trees {
        let target = inside(&tree.target);
        let made = match tree.is_folder {
            true => make_folder(&target),
            false => make_file(&target),
        };
        let fault = |errno: i32| Fault::Root {
            path: tree.target.clone(),
            errno,
        };
        made.map_err(|error| fault(error.raw_os_error().unwrap_or(libc::EIO)))?;
        place(&tree.mount, &target).map_err(|errno| fault(errno.raw_os_error()))?;
    }
    for cover in trees.iter().filter(|tree| tree.is_cover) {
        sys::mount_setattr(cover.mount.as_fd(), CLOSED, None).doing(layer, "closing covers")?;
    }
    for (name, device) in &devices {
        let target = Path::new("dev").join(name);
        make_file(&target).doing(layer, "making devices")?;
        place(device, &target).doing(layer, "mounting devices")?;
    }
    if !plan.counts_memory {
        make_zeros(Path::new("dev/zero")).doing(layer, "making devices")?;
    }
    for (link, target) in [
        ("dev/fd", "/proc/self/fd"),
        ("dev/stdin", "/proc/self/fd/0"),
        ("dev/stdout", "/proc/self/fd/1"),
        ("dev/stderr", "/proc/self/fd/2"),
        ("dev/shm", "/tmp/.shm"),
    ] {
        symlink(target, link).doing(layer, "making links")?;
    }
    let has_proc = proc.and_then(|proc| place(&proc, Path::new("proc")));
    write_etc(plan.hosts, copies).doing(layer, "writing /etc")?;

    rustix::process::pivot_root(".", ".").doing(layer, "changing the root")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).doing(layer, "letting go of the old root")?;
    rustix::process::chdir("/").doing(layer, "entering the root")?;
    let root = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .doing(layer, "opening the root")?;
    sys::mount_setattr(root.as_fd(), CLOSED, None).doing(layer, "closing the root")?;
    Ok(has_proc)
}

fn inside(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

/// Where nobody counts memory that belongs to no process: mapping the real device would give any amount of it. A file
/// that is nothing but a hole reads the same.
fn make_zeros(path: &Path) -> io::Result<()> {
    let most = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
    fs::File::create(path)?.set_len(most.unwrap_or(u64::MAX).min(1 << 60))
}

fn place(mount: &OwnedFd, target: &Path) -> rustix::io::Result<()> {
    rustix::mount::move_mount(
        mount,
        "",
        CWD,
        target,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
}

fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
}

fn make_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        make_folder(folder)?;
    }
    match fs::File::create_new(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop),
    }
}

fn write_etc(hosts: &str, copies: Vec<(&str, Vec<u8>)>) -> io::Result<()> {
    let id = identity::UID;
    let passwd =
        format!("guest:x:{id}:{id}:guest:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n");
    for (name, text) in [
        ("etc/passwd", passwd.as_str()),
        ("etc/group", &format!("guest:x:{id}:\nnogroup:x:65534:\n")),
        ("etc/hostname", "innkeeper\n"),
        ("etc/hosts", hosts),
        (
            "etc/nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\n",
        ),
    ] {
        fs::write(name, text)?;
    }
    for (path, bytes) in copies {
        let path = inside(Path::new(path));
        make_file(&path)?;
        fs::write(path, bytes)?;
    }
    Ok(())
}
