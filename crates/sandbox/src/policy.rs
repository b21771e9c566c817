//! What a program may touch and how much of everything it may use. States intent, not how it is kept to that.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::{
    DEFAULT_CPU, DEFAULT_DISK_BYTES, DEFAULT_FILE_BYTES, DEFAULT_MEMORY_BYTES, DEFAULT_OPEN_FILES,
    DEFAULT_OUTPUT_BYTES, DEFAULT_PROCESSES, DEFAULT_STDERR_KEPT, DEFAULT_WALL,
};

/// The program and what it is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Absolute. Must lie in what the system has (`/usr`, …) or in a root of the policy.
    pub path: PathBuf,
    pub arguments: Vec<String>,
}

impl Program {
    pub fn new<A: Into<String>>(
        path: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            path: path.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        }
    }
}

/// All that a program may reach, beside what every program needs to start: the read-only directories of the
/// system, a private `/tmp` and `/dev`, and the `/proc` of its own processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxPolicy {
    /// Files and folders it may read, at the same place as outside. They must exist.
    pub read: Vec<PathBuf>,
    /// Folders it may change, at the same place as outside. They must exist.
    pub write: Vec<PathBuf>,
    pub network: Network,
    /// Its whole environment; nothing is inherited.
    pub environment: Environment,
    /// Where it starts: in a root, or below `/tmp`. `/tmp` if nothing is said.
    pub directory: Option<PathBuf>,
    /// Laid into [`Workspace::PATH`] before it starts, and what is collected from there when it has ended.
    pub workspace: Option<Workspace>,
    pub limits: Limits,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    None,
    /// Only these, by way of a proxy.
    Hosts(Vec<HostGrant>),
}

/// A host that may be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostGrant {
    /// `api.example.com`, `*.example.com`, or an address. `*` stands for any text.
    pub host: String,
    /// 80 and 443 if empty.
    pub ports: Vec<u16>,
    /// It may stand for an address of this machine or of the network behind it.
    pub private: bool,
}

impl HostGrant {
    pub fn new(host: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            ports: Vec::new(),
            private: false,
        }
    }
}

/// Names and values. A name that stands here twice has its last value. Not printed: values may be secret.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Environment(Vec<(String, String)>);

impl Environment {
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let name = name.into();
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value.into()));
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let mut environment = Self::default();
        for (name, value) in variables {
            environment.set(name, value);
        }
        environment
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// A folder of its own that vanishes with the program. It lies in memory, and counts for `limits.disk`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workspace {
    /// Names relative to it; folders in between are made.
    pub files: Vec<WorkspaceFile>,
    /// What is brought out: files that were not laid in, or are no longer as they were.
    pub collect_files: usize,
    /// All of them together; a file that does not fit is named but not brought out.
    pub collect_bytes: u64,
}

impl Workspace {
    pub const PATH: &'static str = "/tmp/work";
}

#[derive(Clone, PartialEq, Eq)]
pub struct WorkspaceFile {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl fmt::Debug for WorkspaceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.bytes.len())
    }
}

/// How much of everything. All processes of the program count together, unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From its start to its end; `None` for one that stays.
    pub wall: Option<Duration>,
    /// Time on all processors.
    pub cpu: Option<Duration>,
    pub memory: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Of each process.
    pub open_files: u32,
    /// Largest single file.
    pub file_size: u64,
    /// What lies in `/tmp` and `/dev/shm`, and what lies in each writable folder.
    pub disk: u64,
    /// What may be printed, to stdout and to stderr each.
    pub output: u64,
    /// How much of the end of stderr is kept.
    pub stderr_kept: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Some(DEFAULT_WALL),
            cpu: Some(DEFAULT_CPU),
            memory: DEFAULT_MEMORY_BYTES,
            processes: DEFAULT_PROCESSES,
            open_files: DEFAULT_OPEN_FILES,
            file_size: DEFAULT_FILE_BYTES,
            disk: DEFAULT_DISK_BYTES,
            output: DEFAULT_OUTPUT_BYTES,
            stderr_kept: DEFAULT_STDERR_KEPT,
        }
    }
}
