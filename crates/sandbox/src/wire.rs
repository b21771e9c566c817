//! What the sandbox tells its launcher, and what it is told back.
//!
//! The two are the same build of the same code, so this needs no versions. One [`Spec`] goes in, in a file in memory
//! with the workspace's files behind it; [`Message`]s come back, one a packet, the first perhaps with descriptors.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Environment, Layer, LayerState, Limit, Usage};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    /// `None` is a trial: everything but the program.
    pub(crate) program: Option<PathBuf>,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Environment,
    pub(crate) directory: PathBuf,
    pub(crate) roots: Vec<Root>,
    /// Folders inside that are to be empty, but for roots below them.
    pub(crate) covers: Vec<PathBuf>,
    /// Listening sockets to be opened inside and handed out; without any there is no network.
    pub(crate) doors: Vec<SocketAddrV4>,
    /// `/etc/hosts` inside.
    pub(crate) hosts: String,
    pub(crate) limits: Bounds,
    pub(crate) workspace: Option<Laid>,
    pub(crate) cgroup: Option<crate::cgroup::Plan>,
}

/// One place that the program may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Root {
    pub(crate) source: PathBuf,
    /// Where it is inside.
    pub(crate) target: PathBuf,
    pub(crate) writable: bool,
}

/// [`crate::Limits`] as far as the launcher keeps them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Bounds {
    pub(crate) wall_ms: Option<u64>,
    pub(crate) cpu_ms: Option<u64>,
    pub(crate) memory: u64,
    pub(crate) processes: u32,
    pub(crate) open_files: u32,
    pub(crate) file_size: u64,
    pub(crate) disk: u64,
}

/// A workspace; the bytes of its files follow the spec in this order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Laid {
    pub(crate) files: Vec<(String, u64)>,
    pub(crate) collect_files: usize,
    pub(crate) collect_bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The program runs. Comes with the descriptors of the doors.
    Started {
        layers: Vec<LayerState>,
    },
    /// Nothing was run.
    Failed(Fault),
    Ended(Report),
}

/// Why nothing was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Fault {
    Layer {
        layer: Layer,
        doing: String,
        errno: i32,
    },
    Root {
        path: PathBuf,
        errno: i32,
    },
    /// A folder that may be written to holds too much already; how much, if it could be measured.
    Full {
        path: PathBuf,
        bytes: Option<u64>,
    },
    Program {
        errno: i32,
    },
    Directory {
        errno: i32,
    },
    Workspace {
        name: String,
        errno: i32,
    },
    Other {
        why: String,
    },
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) exit: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) limit: Option<Limit>,
    pub(crate) cancelled: bool,
    pub(crate) usage: Usage,
    /// Where in the file for what was collected its list is, as [`Listed`] in JSON.
    pub(crate) collected: Option<(u64, u64)>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Listed {
    /// Name, size, and where its bytes are.
    pub(crate) files: Vec<(String, u64, Option<u64>)>,
    pub(crate) left: usize,
}
