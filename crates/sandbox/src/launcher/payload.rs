//! The program: from a copy of the inner process to what was asked for, giving up everything on the way.

use std::ffi::CString;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, Signal};
use serde::{Deserialize, Serialize};

use super::sys::{self, Fork};
use super::{Doing, Result, landlock, other, seccomp};
use crate::cgroup::Joined;
use crate::layers::{Layer, LayerState};
use crate::wire::{Bounds, Fault, Spec};

pub(super) struct Started {
    pub(super) process: Pid,
    pub(super) landlock: LayerState,
    pub(super) seccomp: String,
}

/// What the copy has to say before it becomes the program.
#[derive(Serialize, Deserialize)]
enum Note {
    Ready {
        landlock: LayerState,
        seccomp: String,
    },
    Failed(Fault),
}

pub(super) fn start(spec: &Spec, stdio: [OwnedFd; 3], cgroup: &Joined) -> Result<Started> {
    let (hear, say) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| other("making a pipe", error))?;
    match sys::fork(0, None).map_err(|error| other("starting the program", error))? {
        Fork::Child => {
            drop(hear);
            let fault = become_program(spec, &stdio, cgroup, &say);
            note(&say, &Note::Failed(fault));
            std::process::exit(127)
        }
        Fork::Parent(process) => {
            drop(say);
            drop(stdio);
            listen(hear, process)
        }
    }
}

/// The pipe ends when the program has taken over.
fn listen(hear: OwnedFd, process: Pid) -> Result<Started> {
    let mut text = String::new();
    std::fs::File::from(hear)
        .read_to_string(&mut text)
        .map_err(|error| other("starting the program", error))?;
    let mut started = None;
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Note::Ready { landlock, seccomp }) => {
                started = Some(Started {
                    process,
                    landlock,
                    seccomp,
                });
            }
            Ok(Note::Failed(fault)) => return Err(fault),
            Err(error) => return Err(other("starting the program", error)),
        }
    }
    started.ok_or_else(|| other("starting the program", "it was killed on the way"))
}

fn note(say: &OwnedFd, note: &Note) {
    if let Ok(mut line) = serde_json::to_vec(note) {
        line.push(b'\n');
        let _ = rustix::io::write(say, &line);
    }
}

/// Returns only with what went wrong.
fn become_program(spec: &Spec, stdio: &[OwnedFd; 3], cgroup: &Joined, say: &OwnedFd) -> Fault {
    match strip(spec, stdio, cgroup, say) {
        Ok((program, arguments, environment)) => Fault::Program {
            errno: sys::exec(&program, &arguments, &environment).raw_os_error(),
        },
        Err(fault) => fault,
    }
}

type Image = (CString, Vec<CString>, Vec<CString>);

fn strip(spec: &Spec, stdio: &[OwnedFd; 3], cgroup: &Joined, say: &OwnedFd) -> Result<Image> {
    let image = image(spec)?;
    let filter = seccomp::filter(!spec.doors.is_empty(), cgroup.bounds_memory());
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    rustix::process::setsid().map_err(|error| other("leaving the session", error))?;
    sys::be_nice(5);
    // Should the machine run out of memory, it is this that goes.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    bound(&spec.limits).doing(Layer::Rlimits, "setting limits")?;
    rustix::process::chdir(&spec.directory).map_err(|errno| Fault::Directory {
        errno: errno.raw_os_error(),
    })?;
    let landlock = landlock::restrict(spec);
    let seccomp = seccomp::describe();
    note(say, &Note::Ready { landlock, seccomp });
    for (number, fd) in (0..).zip(stdio) {
        sys::install_fd(fd.as_fd(), number).map_err(|error| other("connecting pipes", error))?;
    }
    sys::forget_signals();
    seccomp::restrict(&filter)?;
    if spec.program.is_none() {
        std::process::exit(0);
    }
    Ok(image)
}

fn image(spec: &Spec) -> Result<Image> {
    let text = |bytes: &[u8]| {
        CString::new(bytes).map_err(|_| Fault::Other {
            why: "an argument or a variable has a NUL character in it".to_owned(),
        })
    };
    let program = spec.program.as_deref().unwrap_or(Path::new(""));
    let program = text(program.as_os_str().as_bytes())?;
    let mut arguments = vec![program.clone()];
    for argument in &spec.arguments {
        arguments.push(text(argument.as_bytes())?);
    }
    let mut environment = Vec::new();
    for (name, value) in spec.environment.iter() {
        environment.push(text(format!("{name}={value}").as_bytes())?);
    }
    Ok((program, arguments, environment))
}

/// One more process than is allowed can be made, so that it can be seen.
fn bound(limits: &Bounds) -> rustix::io::Result<()> {
    let processes = u64::from(limits.processes) + 2;
    let seconds = limits.cpu_ms.map(|ms| ms.div_ceil(1000) + 1);
    for (resource, most) in [
        (Resource::Nproc, Some(processes)),
        (Resource::Nofile, Some(u64::from(limits.open_files))),
        (Resource::Fsize, Some(limits.file_size)),
        (Resource::Cpu, seconds),
        // 0 would still feed a program that collects cores, outside.
        (Resource::Core, Some(1)),
        (Resource::Memlock, Some(1 << 20)),
        (Resource::Msgqueue, Some(0)),
        (Resource::Rtprio, Some(0)),
        (Resource::Nice, Some(0)),
        (Resource::Sigpending, Some(1024)),
    ] {
        if let Some(most) = most {
            // What is bounded more tightly already stays so; nobody may raise it any more.
            let present = rustix::process::getrlimit(resource).maximum;
            let most = Some(present.map_or(most, |present| most.min(present)));
            let limit = Rlimit {
                current: most,
                maximum: most,
            };
            rustix::process::setrlimit(resource, limit)?;
        }
    }
    Ok(())
}
