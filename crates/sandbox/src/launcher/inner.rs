//! The inner process: the first of its PID namespace. Builds the room, starts the program, watches it, tells its end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::process::{DumpableBehavior, Signal};

use super::disk::Disk;
use super::outer::Handed;
use super::{Doing, Result, collect, identity, network, payload, root, socket, watch};
use crate::layers::{Layer, LayerState};
use crate::wire::{Fault, Message, Report};

/// `alive` ends with the outer process.
pub(super) fn main(handed: Handed, alive: OwnedFd) -> ! {
    let control = match rustix::io::fcntl_dupfd_cloexec(&handed.control, 3) {
        Ok(control) => control,
        Err(_) => std::process::exit(1),
    };
    match live(handed, control.as_fd(), alive) {
        Ok(report) => socket::tell(control.as_fd(), &Message::Ended(report), &[]),
        Err(fault) => socket::tell(control.as_fd(), &Message::Failed(fault), &[]),
    }
    // With it goes whatever is left in the namespace.
    std::process::exit(0)
}

fn live(handed: Handed, control: BorrowedFd<'_>, alive: OwnedFd) -> Result<Report> {
    let Handed {
        spec,
        files,
        stdio,
        collected,
        trees,
        cgroup,
        outer,
        ..
    } = handed;
    identity::become_user(outer)?;
    // Changing the user has undone both.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    rustix::system::sethostname(b"innkeeper").doing(Layer::OtherNamespaces, "naming the host")?;

    identity::bound_kernel_objects();

    let doors = network::open(&spec.doors)?;
    let plan = root::Plan {
        roots: &spec.roots,
        covers: &spec.covers,
        hosts: &spec.hosts,
        has_network: !spec.doors.is_empty(),
        disk: spec.limits.disk,
        counts_memory: cgroup.bounds_memory(),
    };
    let proc = root::enter(&plan, trees, outer)?;
    if proc.is_err() && !cgroup.bounds_memory() {
        return Err(Fault::Layer {
            layer: Layer::Proc,
            doing: "mounting /proc".to_owned(),
            errno: proc.err().map_or(0, rustix::io::Errno::raw_os_error),
        });
    }
    let disk = Disk::begin(&spec).map_err(|(path, bytes)| Fault::Full { path, bytes })?;
    let before = match &spec.workspace {
        Some(laid) => collect::lay(laid, &files)?,
        None => collect::Before::default(),
    };
    drop(files);

    let started = Instant::now();
    // The program is a copy of this process, and has nothing to give up any more.
    identity::drop_everything()?;
    let program = payload::start(&spec, stdio, &cgroup)?;
    let layers = vec![
        state(Layer::UserNamespace, identity::describe(outer)),
        state(
            Layer::OtherNamespaces,
            "mount, PID, network, IPC, UTS, cgroup",
        ),
        state(Layer::Root, "only what was granted"),
        LayerState {
            layer: Layer::Proc,
            active: proc.is_ok(),
            detail: match proc {
                Ok(()) => "own processes only".to_owned(),
                Err(errno) => format!("cannot be mounted here: {errno}"),
            },
        },
        state(Layer::Unprivileged, "no capabilities, no new privileges"),
        state(Layer::Seccomp, program.seccomp.clone()),
        program.landlock.clone(),
        state(Layer::Rlimits, "processor time, processes, files, sizes"),
        cgroup.state(),
    ];
    let sockets: Vec<_> = doors.iter().map(AsFd::as_fd).collect();
    socket::tell(control, &Message::Started { layers }, &sockets);
    drop(doors);

    let watcher = watch::Watcher::new(&spec, disk, &cgroup, program.process, started, proc.is_ok());
    let mut report = watcher.run_to_end(control, alive.as_fd());
    if let Some(laid) = &spec.workspace
        && !report.cancelled
    {
        report.collected = collect::bring_out(laid, &before, &collected);
    }
    Ok(report)
}

fn state(layer: Layer, detail: impl Into<String>) -> LayerState {
    LayerState {
        layer,
        active: true,
        detail: detail.into(),
    }
}
