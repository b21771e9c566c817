//! What went wrong in the launcher, for people: the layer, the cause, and what to do about it.

use std::io;

use crate::wire::Fault;
use crate::{Layer, Program, SandboxError, SandboxPolicy};

pub(crate) fn explain(
    fault: Fault,
    program: Option<&Program>,
    policy: &SandboxPolicy,
) -> SandboxError {
    let words = |errno| io::Error::from_raw_os_error(errno).to_string();
    match fault {
        Fault::Layer {
            layer,
            doing,
            errno,
        } if is_shortage(layer, errno) => SandboxError::Failed {
            why: format!("{layer}: {doing}: {}", words(errno)),
        },
        Fault::Layer {
            layer,
            doing,
            errno,
        } => SandboxError::Unavailable {
            layer,
            why: format!("{doing}: {}", words(errno)),
            remedy: remedy(layer, errno),
        },
        Fault::Root { path, errno } => SandboxError::Root {
            path,
            why: words(errno),
        },
        Fault::Full { path, bytes } => SandboxError::Root {
            path,
            why: match bytes {
                Some(bytes) => format!(
                    "it holds {bytes} bytes already, more than the {} that are allowed",
                    policy.limits.disk
                ),
                None => "it cannot be measured: it is closed, too deep, or holds too many files".to_owned(),
            },
        },
        Fault::Program { errno } => SandboxError::Program {
            path: program.map(|program| program.path.clone()).unwrap_or_default(),
            why: match errno {
                libc::ENOENT => "it, or the interpreter that it names, is not there inside the sandbox; its folder must be among the roots".to_owned(),
                libc::ENOEXEC => "it is no program for this machine".to_owned(),
                libc::E2BIG => "its arguments and its environment are too long".to_owned(),
                errno => words(errno),
            },
        },
        Fault::Directory { errno } => SandboxError::Policy {
            why: format!(
                "the working folder {} cannot be entered: {}",
                policy.directory.clone().unwrap_or_default().display(),
                words(errno)
            ),
        },
        Fault::Workspace { name, errno } => SandboxError::Policy {
            why: format!("the file {name} cannot be laid into the workspace: {}", words(errno)),
        },
        Fault::Other { why } => SandboxError::Failed { why },
    }
}

/// It may work the next time. That there may be no more namespaces is said by the same words, but is a setting.
const fn is_shortage(layer: Layer, errno: i32) -> bool {
    match errno {
        libc::ENOMEM | libc::EAGAIN | libc::EMFILE | libc::ENFILE => true,
        libc::ENOSPC | libc::EUSERS => {
            !matches!(layer, Layer::UserNamespace | Layer::OtherNamespaces)
        }
        _ => false,
    }
}

fn remedy(layer: Layer, errno: i32) -> String {
    match (layer, errno) {
        (_, libc::ENOSYS) => "it needs Linux 5.12 or newer; in a container, its seccomp profile may forbid the call".to_owned(),
        (Layer::Unprivileged, _) => {
            "give the container or user namespace more users than root (`/etc/subuid`, `/etc/subgid`, `--userns`), or run Innkeeper as an ordinary user".to_owned()
        }
        (Layer::UserNamespace | Layer::OtherNamespaces | Layer::Root, _) => {
            "user namespaces must be allowed: `sysctl -w user.max_user_namespaces=15000`, on Debian `sysctl -w kernel.unprivileged_userns_clone=1`, on Ubuntu `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`; in Docker or Podman start the container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`".to_owned()
        }
        (Layer::Proc, _) => {
            "a container hides parts of /proc: start it with `--security-opt systempaths=unconfined`, or give it a writable cgroup with memory and pids".to_owned()
        }
        (Layer::Seccomp, _) => "the kernel must be built with CONFIG_SECCOMP_FILTER".to_owned(),
        _ => "`innkeeper doctor` shows what this machine has".to_owned(),
    }
}
