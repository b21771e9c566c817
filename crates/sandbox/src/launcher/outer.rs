//! The outer process: makes the namespaces, tells the kernel who is who in them, and waits.
//!
//! It is the one process of a room that is not in it. When it dies the room dies with it.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use super::identity::Outer;
use super::sys::{self, Fork};
use super::trees::{self, Trees};
use super::{Doing, Result, inner, other, socket};
use crate::layers::Layer;
use crate::limits::{MAX_SPEC_BYTES, MAX_WORKSPACE_BYTES};
use crate::wire::{Fault, Message, Spec};

/// What the inner process starts with.
pub(super) struct Handed {
    pub(super) spec: Spec,
    /// The bytes of the workspace's files, one behind the other.
    pub(super) files: Vec<u8>,
    pub(super) control: OwnedFd,
    pub(super) stdio: [OwnedFd; 3],
    pub(super) collected: OwnedFd,
    /// The roots of the policy, opened by who may.
    pub(super) trees: Trees,
    pub(super) cgroup: crate::cgroup::Joined,
    pub(super) outer: Outer,
}

pub(super) fn main() -> i32 {
    // Whatever leaked into this process goes no further.
    if sys::close_from(3).is_err() {
        return 1;
    }
    let control = sys::take_fd(0);
    let mut handed = match receive(control) {
        Ok(handed) => handed,
        Err((control, fault)) => {
            socket::tell(control.as_fd(), &Message::Failed(fault), &[]);
            return 1;
        }
    };
    match open_room(&mut handed) {
        Ok((Fork::Child, alive)) => inner::main(handed, alive),
        Ok((Fork::Parent(_), alive)) => {
            // Only the inner process speaks from now on; its end must be the end of the line.
            drop(handed);
            let _ = sys::reap(true);
            drop(alive);
            0
        }
        Err(fault) => {
            socket::tell(handed.control.as_fd(), &Message::Failed(fault), &[]);
            1
        }
    }
}

fn receive(control: OwnedFd) -> std::result::Result<Handed, (OwnedFd, Fault)> {
    let received = socket::receive(control.as_fd());
    let read = || -> Result<_> {
        let (_, descriptors) = received.map_err(|error| other("reading what to do", error))?;
        let [stdin, stdout, stderr, spec, collected] = <[OwnedFd; 5]>::try_from(descriptors)
            .map_err(|_| other("reading what to do", "descriptors are missing"))?;
        let (spec, files) = read_spec(spec)?;
        let outer = Outer::of_this_process()?;
        Ok((spec, files, [stdin, stdout, stderr], collected, outer))
    };
    match read() {
        Ok((spec, files, stdio, collected, outer)) => Ok(Handed {
            spec,
            files,
            control,
            stdio,
            collected,
            trees: Trees::default(),
            cgroup: crate::cgroup::Joined::default(),
            outer,
        }),
        Err(fault) => Err((control, fault)),
    }
}

fn read_spec(file: OwnedFd) -> Result<(Spec, Vec<u8>)> {
    let mut bytes = Vec::new();
    let most = MAX_SPEC_BYTES + MAX_WORKSPACE_BYTES + 8;
    std::fs::File::from(file)
        .take(most as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| other("reading what to do", error))?;
    let torn = || other("reading what to do", "it is not whole");
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(torn)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| torn())?;
    let (spec, files) = rest.split_at_checked(length).ok_or_else(torn)?;
    let spec = serde_json::from_slice(spec).map_err(|error| other("reading what to do", error))?;
    Ok((spec, files.to_vec()))
}

/// The inner process lives as long as the pipe that comes back is open.
fn open_room(handed: &mut Handed) -> Result<(Fork, OwnedFd)> {
    let _ = rustix::process::setsid();
    if let Some(plan) = &handed.spec.cgroup {
        handed.cgroup = plan.create();
    }
    if handed.outer.is_root {
        handed.trees = trees::open_owned(&handed.spec.roots, handed.outer)?;
        // `/dev/stdout` opens a pipe once more, which only its owner may.
        for stream in &handed.stdio {
            handed
                .outer
                .give(stream.as_fd())
                .map_err(|error| other("handing over the pipes", error))?;
        }
    }
    let (go, ready) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| other("making a pipe", error))?;
    let namespaces = libc::CLONE_NEWUSER | NAMESPACES;
    let mut child = sys::fork(namespaces, handed.cgroup.folder());
    if child.is_err() && handed.cgroup.folder().is_some() {
        // The group could be made, yet nobody may be born there.
        handed.cgroup = crate::cgroup::Joined::default();
        child = sys::fork(namespaces, None);
    }
    let child = match child {
        Ok(fork) => fork,
        Err(error) => {
            // Which of them is it?
            let layer = match sys::fork(libc::CLONE_NEWUSER, None) {
                Ok(Fork::Child) => std::process::exit(0),
                Ok(Fork::Parent(_)) => Layer::OtherNamespaces,
                Err(_) => Layer::UserNamespace,
            };
            return Err(error).doing(layer, "making namespaces");
        }
    };
    match child {
        Fork::Child => {
            drop(ready);
            // Nothing can be done before the kernel knows who is who; nothing is to be done if that failed.
            match rustix::io::read(&go, &mut [0; 1]) {
                Ok(1) => Ok((Fork::Child, go)),
                _ => std::process::exit(1),
            }
        }
        Fork::Parent(pid) => {
            drop(go);
            handed.outer.map(pid)?;
            rustix::io::write(&ready, &[1]).map_err(|error| other("starting", error))?;
            Ok((Fork::Parent(pid), ready))
        }
    }
}

const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;
