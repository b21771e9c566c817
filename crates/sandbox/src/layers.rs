//! What keeps a program in, layer by layer: which there are, and which hold on this machine.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The platform has what the sandbox is made of.
    Platform,
    Launcher,
    UserNamespace,
    OtherNamespaces,
    /// A root of its own with only what was granted.
    Root,
    /// The `/proc` of its own processes.
    Proc,
    Unprivileged,
    Seccomp,
    Landlock,
    Rlimits,
    /// Memory and processes bounded by the kernel, for all processes together.
    Cgroup,
}

impl Layer {
    pub const ALL: [Self; 11] = [
        Self::Platform,
        Self::Launcher,
        Self::UserNamespace,
        Self::OtherNamespaces,
        Self::Root,
        Self::Proc,
        Self::Unprivileged,
        Self::Seccomp,
        Self::Landlock,
        Self::Rlimits,
        Self::Cgroup,
    ];

    /// Without it nothing is run.
    pub const fn is_required(self) -> bool {
        !matches!(self, Self::Proc | Self::Landlock | Self::Cgroup)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Launcher => "launcher",
            Self::UserNamespace => "user_namespace",
            Self::OtherNamespaces => "other_namespaces",
            Self::Root => "root",
            Self::Proc => "proc",
            Self::Unprivileged => "unprivileged",
            Self::Seccomp => "seccomp",
            Self::Landlock => "landlock",
            Self::Rlimits => "rlimits",
            Self::Cgroup => "cgroup",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Platform => "platform",
            Self::Launcher => "launcher",
            Self::UserNamespace => "user namespace",
            Self::OtherNamespaces => "mount, PID, network, IPC and UTS namespaces",
            Self::Root => "root of its own",
            Self::Proc => "/proc of its own",
            Self::Unprivileged => "unprivileged user without capabilities",
            Self::Seccomp => "seccomp filter",
            Self::Landlock => "Landlock",
            Self::Rlimits => "resource limits",
            Self::Cgroup => "cgroup",
        })
    }
}

/// How one layer stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerState {
    pub layer: Layer,
    pub active: bool,
    /// What exactly is active (`ABI 7`, `version 2`), or why it is not.
    pub detail: String,
}

/// What a trial run on this machine has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Strength {
    /// Programs can be run: every required layer holds.
    pub usable: bool,
    pub layers: Vec<LayerState>,
    /// What to do, where it is not usable.
    pub remedy: Option<String>,
}
