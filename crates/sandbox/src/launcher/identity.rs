//! Who the program is: an ordinary user inside, and outside one who owns nothing.

use std::fs;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::process::{Gid, Pid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::sys::{self, Fork};
use super::{Doing, Result, other};
use crate::layers::Layer;
use crate::wire::Fault;

/// Inside.
pub(super) const UID: u32 = 1000;
/// Outside, where we are root. No distribution gives it to anybody, and containers have it.
const OUTER: u32 = 61_000;

/// Who stands outside for the program's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outer {
    uid: u32,
    gid: u32,
    pub(super) is_root: bool,
}

impl Outer {
    /// Root gives way to somebody without rights. A root who knows no other users, as in some containers, may be an
    /// ordinary user to the rest of the machine, and is treated as one then. If not there is nobody to be.
    pub(super) fn of_this_process() -> Result<Self> {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        let own = Self {
            uid: uid.as_raw(),
            gid: gid.as_raw(),
            is_root: false,
        };
        if !uid.is_root() {
            return Ok(own);
        }
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        let (users, groups) = (read("/proc/self/uid_map"), read("/proc/self/gid_map"));
        match (somebody(&users), somebody(&groups)) {
            (Some(uid), Some(gid)) => Ok(Self {
                uid,
                gid,
                is_root: true,
            }),
            _ if root_is_somebody_else(&users) => Ok(own),
            _ => Err(Fault::Layer {
                layer: Layer::Unprivileged,
                doing: "looking for a user without rights, of whom this user namespace knows none"
                    .to_owned(),
                errno: libc::EPERM,
            }),
        }
    }

    pub(super) const fn owner(self) -> (u32, u32) {
        (self.uid, self.gid)
    }

    /// Makes what is open the program's own.
    pub(super) fn give(self, fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        rustix::fs::fchown(fd, Some(uid), Some(gid))
    }

    /// Tells the kernel who is who in the user namespace of a process that was just made.
    pub(super) fn map(self, process: Pid) -> Result<()> {
        write_maps(process, (UID, UID), (self.uid, self.gid), self.is_root)
    }
}

/// First, first outside, and last of each range of users that a namespace knows.
fn ranges(map: &str) -> Vec<(u64, u64, u64)> {
    let range = |line: &str| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u64>);
        let first = numbers.next()?.ok()?;
        let outside = numbers.next()?.ok()?;
        let count = numbers.next()?.ok()?;
        Some((first, outside, first.checked_add(count)?.checked_sub(1)?))
    };
    map.lines().filter_map(range).collect()
}

/// The one we want, else the last, but never root.
fn somebody(map: &str) -> Option<u32> {
    let ranges = ranges(map);
    let wanted = u64::from(OUTER);
    let has = |(first, _, last): &(u64, u64, u64)| (*first..=*last).contains(&wanted);
    if ranges.iter().any(has) {
        return Some(OUTER);
    }
    let last = ranges.iter().map(|(.., last)| *last).max()?;
    u32::try_from(last).ok().filter(|id| *id != 0)
}

/// To the namespace around this one.
fn root_is_somebody_else(map: &str) -> bool {
    let ranges = ranges(map);
    let root = ranges.iter().find(|(first, ..)| *first == 0);
    root.is_some_and(|(_, outside, _)| *outside != 0)
}

fn write_maps(process: Pid, inside: (u32, u32), outside: (u32, u32), is_root: bool) -> Result<()> {
    let write = |file: &str, text: String| {
        let path = format!("/proc/{}/{file}", process.as_raw_nonzero());
        fs::write(path, text).doing(Layer::UserNamespace, &format!("writing {file}"))
    };
    if !is_root {
        write("setgroups", "deny".to_owned())?;
    }
    write("uid_map", format!("{} {} 1\n", inside.0, outside.0))?;
    write("gid_map", format!("{} {} 1\n", inside.1, outside.1))
}

/// A user namespace that is only a table: files of `owner` on disk are the program's.
pub(super) fn ownership(owner: (u32, u32), outer: Outer) -> Result<OwnedFd> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| other("making a pipe", error))?;
    match sys::fork(libc::CLONE_NEWUSER, None)
        .doing(Layer::UserNamespace, "making a table of owners")?
    {
        Fork::Child => {
            drop(write);
            let _ = rustix::io::read(read, &mut [0; 1]);
            std::process::exit(0)
        }
        Fork::Parent(pid) => {
            let table = write_maps(pid, owner, outer.owner(), true).and_then(|()| {
                let path = format!("/proc/{}/ns/user", pid.as_raw_nonzero());
                fs::File::open(path)
                    .map(OwnedFd::from)
                    .doing(Layer::UserNamespace, "opening a table of owners")
            });
            drop(write);
            let _ = sys::reap(true);
            table
        }
    }
}

/// Becomes the inside user, and keeps for now what it takes to build the room.
pub(super) fn become_user(outer: Outer) -> Result<()> {
    let layer = Layer::Unprivileged;
    rustix::thread::set_keep_capabilities(true).doing(layer, "keeping capabilities")?;
    if outer.is_root {
        rustix::thread::set_thread_groups(&[]).doing(layer, "leaving groups")?;
    }
    let (uid, gid) = (Uid::from_raw(UID), Gid::from_raw(UID));
    rustix::thread::set_thread_res_gid(gid, gid, gid).doing(layer, "changing the group")?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).doing(layer, "changing the user")?;
    let sets = rustix::thread::capabilities(None).doing(layer, "reading capabilities")?;
    let raised = CapabilitySets {
        effective: sets.permitted,
        ..sets
    };
    rustix::thread::set_capabilities(None, raised).doing(layer, "raising capabilities")
}

/// What the kernel keeps count of for each user, in this user namespace: no more of these, and not all the watchers
/// that the user who started us may have. Where `/proc/sys` cannot be written the seccomp filter must do.
pub(super) fn bound_kernel_objects() {
    for (name, most) in [
        ("max_user_namespaces", "0"),
        ("max_inotify_instances", "32"),
        ("max_inotify_watches", "8192"),
    ] {
        let _ = fs::write(format!("/proc/sys/user/{name}"), most);
    }
}

/// Gives up everything, for good.
pub(super) fn drop_everything() -> Result<()> {
    let layer = Layer::Unprivileged;
    for number in 0..64 {
        match drop_from_bounding_set(number) {
            Ok(()) => {}
            Err(rustix::io::Errno::INVAL) => break,
            Err(error) => return Err(error).doing(layer, "emptying the bounding set"),
        }
    }
    rustix::thread::clear_ambient_capability_set().doing(layer, "clearing capabilities")?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).doing(layer, "dropping capabilities")?;
    rustix::thread::set_no_new_privs(true).doing(layer, "forbidding new privileges")
}

fn drop_from_bounding_set(number: u32) -> rustix::io::Result<()> {
    rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(
        1 << number,
    ))
}

/// Whether what is outside can be had at all: a container may know few users.
pub(super) fn describe(outer: Outer) -> String {
    match outer.is_root {
        true => format!("user {UID} inside, {} outside (started by root)", outer.uid),
        false => format!("user {UID} inside, {} outside", outer.uid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_is_never_root() {
        for (map, expected) in [
            ("         0          0 4294967295\n", Some(OUTER)),
            ("0 100000 65536\n", Some(OUTER)),
            ("0 1000 1\n1 100000 999\n", Some(999)),
            ("0 1000 1\n", None),
            ("", None),
            ("x y z\n", None),
        ] {
            assert_eq!(somebody(map), expected, "{map:?}");
        }
    }

    #[test]
    fn root_of_a_namespace_may_be_an_ordinary_user() {
        for (map, expected) in [("0 1000 1\n", true), ("0 0 1\n", false), ("", false)] {
            assert_eq!(root_is_somebody_else(map), expected, "{map:?}");
        }
    }
}
