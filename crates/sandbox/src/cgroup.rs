//! Control groups, where they can be had: the kernel itself then bounds memory and processes of a whole program.
//!
//! Version 2 where a group was delegated to us, version 1 where we may write to it. The sandbox plans a group, the
//! launcher makes it and the program enters it; the sandbox removes it when everything has ended. Without them the
//! launcher counts by looking, which is what this backs up.

mod find;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use find::Cgroups;

use crate::layers::{Layer, LayerState};

/// Groups that are to be made for one program.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) groups: Vec<Group>,
    pub(crate) memory: u64,
    pub(crate) processes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) folder: PathBuf,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Version 2, with both controllers.
    Unified,
    /// Version 1.
    Memory,
    Pids,
}

impl Plan {
    /// Makes the groups. One that cannot be made is done without.
    pub(crate) fn create(&self) -> Joined {
        let mut joined = Joined::default();
        for group in &self.groups {
            if self.create_one(group, &mut joined).is_err() {
                let _ = fs::remove_dir(&group.folder);
            }
        }
        joined
    }

    fn create_one(&self, group: &Group, joined: &mut Joined) -> io::Result<()> {
        fs::create_dir(&group.folder)?;
        let set = |file: &str, value: u64| fs::write(group.folder.join(file), value.to_string());
        let open = |file: &str| File::open(group.folder.join(file));
        let (memory, peak, starved, full) = match group.kind {
            Kind::Unified => {
                set("memory.max", self.memory)?;
                // Not everywhere.
                let _ = set("memory.swap.max", 0);
                set("pids.max", self.processes)?;
                (
                    open("memory.current").ok(),
                    open("memory.peak").ok(),
                    Some(open("memory.events")?),
                    Some(open("pids.events")?),
                )
            }
            Kind::Memory => {
                set("memory.limit_in_bytes", self.memory)?;
                let _ = set("memory.memsw.limit_in_bytes", self.memory);
                (
                    open("memory.usage_in_bytes").ok(),
                    open("memory.max_usage_in_bytes").ok(),
                    Some(open("memory.oom_control")?),
                    None,
                )
            }
            Kind::Pids => {
                set("pids.max", self.processes)?;
                (None, None, None, Some(open("pids.events")?))
            }
        };
        let procs = OpenOptions::new()
            .write(true)
            .open(group.folder.join("cgroup.procs"))?;
        if group.kind == Kind::Unified {
            joined.cpu = open("cpu.stat").ok();
        }
        joined.procs.push(procs);
        joined.kinds.push(group.kind);
        joined.memory = memory.or(joined.memory.take());
        joined.peak = peak.or(joined.peak.take());
        joined.starved = starved.or(joined.starved.take());
        joined.full = full.or(joined.full.take());
        Ok(())
    }

    /// Whether all of it is gone. What has just been killed may hold a group for a moment.
    pub(crate) fn remove(&self) -> bool {
        let mut gone = true;
        for group in &self.groups {
            match fs::remove_dir(&group.folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => gone = false,
            }
        }
        gone
    }
}

/// The groups of a program, as files that are open: they can be used when their names cannot be reached any more.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    kinds: Vec<Kind>,
    procs: Vec<File>,
    memory: Option<File>,
    peak: Option<File>,
    /// Counts how often the kernel killed for memory.
    starved: Option<File>,
    /// Counts how often a process could not be made.
    full: Option<File>,
    cpu: Option<File>,
}

impl Joined {
    /// Puts the calling process in.
    pub(crate) fn enter(&self) -> io::Result<()> {
        for mut procs in &self.procs {
            procs.write_all(b"0\n")?;
        }
        Ok(())
    }

    pub(crate) const fn bounds_memory(&self) -> bool {
        self.starved.is_some()
    }

    /// What the program's own memory and its files in memory take together, and what the kernel keeps for it.
    pub(crate) fn memory(&self) -> Option<u64> {
        number(self.memory.as_ref()?)
    }

    pub(crate) fn peak_memory(&self) -> Option<u64> {
        number(self.peak.as_ref()?)
    }

    pub(crate) fn memory_ran_out(&self) -> bool {
        let kills = self
            .starved
            .as_ref()
            .and_then(|file| value(file, "oom_kill"));
        kills.is_some_and(|kills| kills > 0)
    }

    pub(crate) fn processes_ran_out(&self) -> bool {
        let refused = self.full.as_ref().and_then(|file| value(file, "max"));
        refused.is_some_and(|refused| refused > 0)
    }

    pub(crate) fn cpu(&self) -> Option<Duration> {
        value(self.cpu.as_ref()?, "usage_usec").map(Duration::from_micros)
    }

    pub(crate) fn state(&self) -> LayerState {
        let detail = match (self.kinds.contains(&Kind::Unified), self.kinds.as_slice()) {
            (true, _) => "version 2: memory, processes".to_owned(),
            (false, []) => {
                "no group that we may write to; memory and processes are counted by looking"
                    .to_owned()
            }
            (false, kinds) => {
                let names = kinds.iter().map(|kind| match kind {
                    Kind::Pids => "processes",
                    _ => "memory",
                });
                format!("version 1: {}", names.collect::<Vec<_>>().join(", "))
            }
        };
        LayerState {
            layer: Layer::Cgroup,
            active: !self.kinds.is_empty(),
            detail,
        }
    }
}

fn text(mut file: &File) -> Option<String> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    Some(text)
}

fn number(file: &File) -> Option<u64> {
    text(file)?.trim().parse().ok()
}

/// The number behind a name, a line each.
fn value(file: &File, name: &str) -> Option<u64> {
    let text = text(file)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}
