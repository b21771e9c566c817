//! `[scripts]`: how much a plugin's script may use. That it runs in the sandbox is no setting.

use std::time::Duration;

use innkeeper_tools::script::ScriptLimits;
use serde::Deserialize;

use crate::limits::{
    MAX_SCRIPT_CPU_SECONDS, MAX_SCRIPT_MB, MAX_SCRIPT_OPEN_FILES, MAX_SCRIPT_PARALLEL,
    MAX_SCRIPT_PROCESSES, MIN_SCRIPT_MEMORY_MB, MIN_SCRIPT_OPEN_FILES,
};

pub(super) const KEYS: &[&str] = &[
    "memory_mb",
    "processes",
    "cpu_seconds",
    "disk_mb",
    "open_files",
    "file_mb",
    "parallel",
];

/// What stood here before there was a sandbox.
pub(super) const GONE: (&str, (&str, &str)) = (
    "sandbox",
    (
        "scripts always run in the sandbox now, and not at all where there is none; remove this line",
        "脚本现在总在沙箱中运行，没有沙箱则不运行；请删除这一行",
    ),
);

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Scripts {
    memory_mb: Option<Between<MIN_SCRIPT_MEMORY_MB, MAX_SCRIPT_MB>>,
    processes: Option<Between<1, MAX_SCRIPT_PROCESSES>>,
    cpu_seconds: Option<Between<1, MAX_SCRIPT_CPU_SECONDS>>,
    disk_mb: Option<Between<1, MAX_SCRIPT_MB>>,
    open_files: Option<Between<MIN_SCRIPT_OPEN_FILES, MAX_SCRIPT_OPEN_FILES>>,
    file_mb: Option<Between<1, MAX_SCRIPT_MB>>,
    parallel: Option<Between<1, MAX_SCRIPT_PARALLEL>>,
}

impl Scripts {
    pub(crate) fn limits(&self) -> ScriptLimits {
        let usual = ScriptLimits::default();
        let bytes = |megabytes: u32| u64::from(megabytes) << 20;
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        ScriptLimits {
            memory_bytes: self.memory_mb.map_or(usual.memory_bytes, |n| bytes(n.0)),
            processes: self.processes.map_or(usual.processes, |n| n.0),
            cpu: self.cpu_seconds.map_or(usual.cpu, |n| seconds(n.0)),
            disk_bytes: self.disk_mb.map_or(usual.disk_bytes, |n| bytes(n.0)),
            open_files: self.open_files.map_or(usual.open_files, |n| n.0),
            file_bytes: self.file_mb.map_or(usual.file_bytes, |n| bytes(n.0)),
            ..usual
        }
    }

    /// Scripts at the same time, where something is said about it.
    pub(crate) fn parallel(&self) -> Option<usize> {
        self.parallel.map(|n| n.0 as usize)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "i64")]
struct Between<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> TryFrom<i64> for Between<MIN, MAX> {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        let fits = |number: &u32| (MIN..=MAX).contains(number);
        let checked = u32::try_from(number).ok().filter(fits);
        let wrong = || format!("expected a number from {MIN} to {MAX}, found {number}");
        checked.map(Self).ok_or_else(wrong)
    }
}
