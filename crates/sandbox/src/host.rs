//! Starts the launcher and hears from it.

mod plan;

use std::fs::File;
use std::io::{self, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::fs::MemfdFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{Child, Command};

use crate::cgroup::{self, Cgroups};
use crate::launcher::socket;
use crate::limits::{END_GRACE, START_TIMEOUT};
use crate::network::{self, NetworkGuard, SystemResolver};
use crate::remedy::explain;
use crate::wire::{Listed, Message, Report, Spec};
use crate::{
    Collected, LAUNCHER_ARGUMENT, LayerState, Limit, Network, Program, SandboxError,
    SandboxOptions, SandboxPolicy,
};

/// What is learnt once about this machine.
#[derive(Debug, Default)]
pub(crate) struct Host {
    cgroups: OnceLock<Cgroups>,
}

/// A room with a program in it. Dropping it kills the program.
#[derive(Debug)]
pub(crate) struct Room {
    /// Until it is left to itself.
    child: Option<Child>,
    control: UnixDatagram,
    collected: File,
    cgroup: CgroupGuard,
    layers: Vec<LayerState>,
    network: Option<NetworkGuard>,
}

pub(crate) struct Pipes {
    pub(crate) stdin: Sender,
    pub(crate) stdout: Receiver,
    pub(crate) stderr: Receiver,
}

impl Host {
    /// `None` is a trial: everything but a program.
    pub(crate) async fn open(
        &self,
        options: &SandboxOptions,
        program: Option<&Program>,
        policy: &SandboxPolicy,
    ) -> Result<(Room, Pipes), SandboxError> {
        let planned = plan::plan(program, policy, &options.closed)?;
        let mut spec = planned.spec;
        let cgroups = self.cgroups.get_or_init(|| {
            let found = Cgroups::find();
            found.sweep();
            found
        });
        // What lies in memory as files counts as well there, and has a limit of its own.
        let memory = policy.limits.memory.saturating_add(policy.limits.disk);
        spec.cgroup = cgroups.plan(memory, policy.limits.processes);
        let cgroup = CgroupGuard(spec.cgroup.clone());

        let failed = |doing| move |error: io::Error| SandboxError::failed(doing, &error);
        let errno =
            |doing| move |error: rustix::io::Errno| SandboxError::failed(doing, &error.into());
        let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(errno("making pipes"));
        let ((in_read, in_write), (out_read, out_write), (err_read, err_write)) =
            (pipe()?, pipe()?, pipe()?);
        let pipes = Pipes {
            stdin: Sender::from_owned_fd(in_write).map_err(failed("making pipes"))?,
            stdout: Receiver::from_owned_fd(out_read).map_err(failed("making pipes"))?,
            stderr: Receiver::from_owned_fd(err_read).map_err(failed("making pipes"))?,
        };
        let told = told(&spec, policy).map_err(failed("writing down what to do"))?;
        let collected = memory_file().map_err(failed("making a file in memory"))?;
        let (ours, theirs) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(errno("making a socket"))?;

        let launcher = &options.launcher;
        let child = Command::new(launcher)
            .arg(LAUNCHER_ARGUMENT)
            .env_clear()
            .envs(options.launcher_environment.iter().copied())
            .current_dir("/")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| SandboxError::Unavailable {
                layer: crate::Layer::Launcher,
                why: format!("{}: {error}", launcher.display()),
                remedy: "the program file of Innkeeper must stay where it was started from"
                    .to_owned(),
            })?;
        let descriptors = [
            in_read.as_fd(),
            out_write.as_fd(),
            err_write.as_fd(),
            told.as_fd(),
            collected.as_fd(),
        ];
        match socket::send(ours.as_fd(), b"room", &descriptors) {
            // It has died, which is found out next.
            Ok(()) | Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => {}
            Err(error) => return Err(SandboxError::failed("telling it what to do", &error.into())),
        }
        // Packets are packets, whichever of their two kinds of socket carries them.
        let control = std::os::unix::net::UnixDatagram::from(ours);
        let control = control
            .set_nonblocking(true)
            .and_then(|()| UnixDatagram::from_std(control))
            .map_err(failed("making a socket"))?;
        let mut room = Room {
            child: Some(child),
            control,
            collected,
            cgroup,
            layers: Vec::new(),
            network: None,
        };
        // Ours must be closed: the pipes end when the program's ends are.
        drop((in_read, out_write, err_write));
        let first = tokio::time::timeout(START_TIMEOUT, room.hear()).await;
        let (message, descriptors) = first.map_err(|_| SandboxError::Failed {
            why: format!("nothing was started within {} s", START_TIMEOUT.as_secs()),
        })??;
        match message {
            Message::Started { layers } => {
                room.layers = layers;
                if descriptors.len() != planned.doors.len() {
                    return Err(SandboxError::Failed {
                        why: "the network could not be opened: too many open files".to_owned(),
                    });
                }
                let listeners = descriptors.into_iter().map(TcpListener::from);
                let doors: Vec<_> = planned.doors.into_iter().zip(listeners).collect();
                if let Network::Hosts(hosts) = &policy.network
                    && !doors.is_empty()
                {
                    let resolver = Arc::new(SystemResolver);
                    let guard = network::serve(doors, hosts.clone(), resolver);
                    room.network = Some(guard.map_err(failed("opening the network"))?);
                }
                Ok((room, pipes))
            }
            Message::Failed(fault) => {
                room.leave();
                Err(explain(fault, program, policy))
            }
            Message::Ended(_) => Err(SandboxError::Failed {
                why: "the launcher told an end before a beginning".to_owned(),
            }),
        }
    }
}

fn memory_file() -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create(
        "room",
        MemfdFlags::CLOEXEC,
    )?))
}

/// The spec, and the workspace's files behind it.
fn told(spec: &Spec, policy: &SandboxPolicy) -> io::Result<File> {
    let mut file = memory_file()?;
    let text = serde_json::to_vec(spec)?;
    let mut head = (text.len() as u64).to_le_bytes().to_vec();
    head.extend(text);
    file.write_all(&head)?;
    for laid in policy
        .workspace
        .iter()
        .flat_map(|workspace| &workspace.files)
    {
        file.write_all(&laid.bytes)?;
    }
    io::Seek::rewind(&mut file)?;
    Ok(file)
}

impl Room {
    async fn hear(&mut self) -> Result<(Message, Vec<OwnedFd>), SandboxError> {
        let packet = self
            .control
            .async_io(Interest::READABLE, || {
                Ok(socket::receive(self.control.as_fd())?)
            })
            .await;
        match packet {
            Ok((bytes, descriptors)) if !bytes.is_empty() => {
                let message = serde_json::from_slice(&bytes);
                let message = message.map_err(|error| SandboxError::Failed {
                    why: format!("the launcher cannot be understood: {error}"),
                })?;
                Ok((message, descriptors))
            }
            _ => {
                let how = match &mut self.child {
                    Some(child) => match tokio::time::timeout(END_GRACE, child.wait()).await {
                        Ok(Ok(status)) => status.to_string(),
                        _ => "it is still there".to_owned(),
                    },
                    None => "its end was told before".to_owned(),
                };
                Err(SandboxError::Failed {
                    why: format!("the launcher ended without a word ({how})"),
                })
            }
        }
    }

    /// What holds it in.
    pub(crate) fn layers(&self) -> &[LayerState] {
        &self.layers
    }

    /// Asks for the end.
    pub(crate) fn stop(&self) {
        let _ = self.control.shutdown(Shutdown::Write);
    }

    /// Does not ask.
    pub(crate) fn kill(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.start_kill();
        }
    }

    /// May be dropped and called again.
    pub(crate) async fn end(&mut self) -> Result<(Report, Vec<Collected>, usize), SandboxError> {
        let report = loop {
            match self.hear().await {
                Ok((Message::Ended(report), _)) => break report,
                Ok(_) => {}
                // It was in the same group, and the kernel took it for the one to kill.
                Err(_) if self.cgroup.memory_ran_out() => {
                    break Report {
                        limit: Some(Limit::Memory),
                        ..Report::default()
                    };
                }
                Err(error) => return Err(error),
            }
        };
        self.leave();
        let (files, left) = match report.collected {
            Some(place) => self.collected(place),
            None => (Vec::new(), 0),
        };
        Ok((report, files, left))
    }

    /// Of the program nothing is left. What was built around it is taken down by the kernel in its own time, for which
    /// nobody has to wait; this sees to it that it is.
    fn leave(&mut self) {
        let child = self.child.take();
        let mut cgroup = std::mem::take(&mut self.cgroup);
        tokio::spawn(async move {
            if let Some(mut child) = child
                && tokio::time::timeout(END_GRACE, child.wait()).await.is_err()
            {
                let _ = child.start_kill();
                let _ = child.wait().await;
            }
            cgroup.remove().await;
        });
    }

    fn collected(&self, (at, length): (u64, u64)) -> (Vec<Collected>, usize) {
        let read = |at: u64, length: u64| {
            let mut bytes = vec![0; usize::try_from(length).ok()?];
            self.collected.read_exact_at(&mut bytes, at).ok()?;
            Some(bytes)
        };
        let size = self.collected.metadata().map_or(0, |about| about.len());
        if at.saturating_add(length) > size {
            return (Vec::new(), 0);
        }
        let listed = read(at, length).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let listed: Listed = listed.unwrap_or_default();
        let files = listed.files.into_iter().map(|(name, size, at)| Collected {
            name,
            size,
            bytes: at.and_then(|at| read(at, size)),
        });
        (files.collect(), listed.left)
    }
}

/// Removes the groups of a program, at the latest when it goes out of scope.
#[derive(Debug, Default)]
struct CgroupGuard(Option<cgroup::Plan>);

/// What was killed lets go of its group soon.
const TRIES: u32 = 400;
const PAUSE: Duration = Duration::from_millis(5);

impl CgroupGuard {
    fn memory_ran_out(&self) -> bool {
        self.0.as_ref().is_some_and(cgroup::Plan::memory_ran_out)
    }

    async fn remove(&mut self) {
        for _ in 0..TRIES {
            match &self.0 {
                Some(plan) if !plan.remove() => tokio::time::sleep(PAUSE).await,
                _ => break,
            }
        }
        self.0 = None;
    }
}

impl Drop for CgroupGuard {
    fn drop(&mut self) {
        let Some(plan) = self.0.take() else { return };
        if plan.remove() {
            return;
        }
        // The program is being killed just now. Nobody waits for this thread.
        std::thread::spawn(move || {
            for _ in 0..TRIES {
                if plan.remove() {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        });
    }
}
