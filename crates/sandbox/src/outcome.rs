//! What came of a program.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub end: End,
    /// The beginning of it, up to the limit.
    pub stdout: Vec<u8>,
    /// The end of it.
    pub stderr: Vec<u8>,
    pub stdout_truncated: bool,
    pub stderr_truncated: bool,
    pub usage: Usage,
    /// What was found in the workspace.
    pub files: Vec<Collected>,
    /// Files were left in the workspace that could not be brought out: too many of them.
    pub files_left: usize,
}

/// How it ended. Whichever it is, nothing of the program is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// It went over a limit. Where the limit only refuses (open files, …) the program's own end is told too.
    Limit {
        limit: Limit,
        exit: Option<i32>,
    },
    Cancelled,
}

impl End {
    pub const fn limit(self) -> Option<Limit> {
        match self {
            Self::Limit { limit, .. } => Some(limit),
            _ => None,
        }
    }

    pub const fn is_success(self) -> bool {
        matches!(self, Self::Exit(0))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Wall,
    Cpu,
    Memory,
    Processes,
    OpenFiles,
    FileSize,
    Disk,
    Output,
}

impl Limit {
    pub const ALL: [Self; 8] = [
        Self::Wall,
        Self::Cpu,
        Self::Memory,
        Self::Processes,
        Self::OpenFiles,
        Self::FileSize,
        Self::Disk,
        Self::Output,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::OpenFiles => "open_files",
            Self::FileSize => "file_size",
            Self::Disk => "disk",
            Self::Output => "output",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What it took. Zero where it could not be learnt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    pub wall: Duration,
    pub cpu: Duration,
    /// The most memory at one time.
    pub memory: u64,
    /// The most processes and threads that were seen at one time.
    pub processes: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Relative to the workspace, with `/`.
    pub name: String,
    pub size: u64,
    /// `None`: it did not fit.
    pub bytes: Option<Vec<u8>>,
}
