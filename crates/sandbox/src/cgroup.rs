//! Control groups, where one was delegated to us: the kernel itself then bounds memory and processes of a whole
//! program, at once and exactly.
//!
//! Only version 2, into which a process can be born. To move one that lives, as version 1 needs, takes the kernel
//! longer than all the rest together. The sandbox plans a group, the launcher makes it, the room is born in it; the
//! sandbox removes it when everything has ended. Without one the launcher counts by looking, which this backs up.

mod find;

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use find::Cgroups;

use crate::layers::{Layer, LayerState};

/// A group that is to be made for one program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) folder: PathBuf,
    /// For the program, its files in memory, and the process that watches it.
    pub(crate) memory: u64,
    pub(crate) processes: u64,
}

impl Plan {
    /// What cannot be made is done without.
    pub(crate) fn create(&self) -> Joined {
        match self.try_create() {
            Ok(joined) => joined,
            Err(_) => {
                let _ = fs::remove_dir(&self.folder);
                Joined::default()
            }
        }
    }

    fn try_create(&self) -> io::Result<Joined> {
        fs::create_dir(&self.folder)?;
        let set = |file: &str, value: u64| fs::write(self.folder.join(file), value.to_string());
        let open = |file: &str| File::open(self.folder.join(file));
        set("memory.max", self.memory)?;
        // Not every kernel swaps.
        let _ = set("memory.swap.max", 0);
        set("pids.max", self.processes)?;
        Ok(Joined(Some(Files {
            folder: File::open(&self.folder)?,
            memory: open("memory.current")?,
            uses: open("memory.stat")?,
            starved: open("memory.events")?,
            full: open("pids.events")?,
            cpu: open("cpu.stat")?,
        })))
    }

    /// Whether the kernel has killed for memory, asked from outside.
    pub(crate) fn memory_ran_out(&self) -> bool {
        let events = File::open(self.folder.join("memory.events"));
        let kills = events.ok().and_then(|file| value(&file, "oom_kill"));
        kills.is_some_and(|kills| kills > 0)
    }

    /// Whether it is gone. What has just been killed may hold it for a moment.
    pub(crate) fn remove(&self) -> bool {
        match fs::remove_dir(&self.folder) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }
}

/// The group of a program, as files that are open: they can be used when their names cannot be reached any more.
#[derive(Debug, Default)]
pub(crate) struct Joined(Option<Files>);

#[derive(Debug)]
struct Files {
    folder: File,
    memory: File,
    /// What the memory is used for.
    uses: File,
    /// Counts how often the kernel killed for memory.
    starved: File,
    /// Counts how often a process could not be made.
    full: File,
    cpu: File,
}

impl Joined {
    /// For a process that is to be born in it.
    pub(crate) fn folder(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(|files| files.folder.as_fd())
    }

    pub(crate) const fn bounds_memory(&self) -> bool {
        self.0.is_some()
    }

    /// What the program takes, without what the kernel can take back and without the program's files in memory,
    /// which take `files` bytes: these have a limit of their own. Tables and buffers of the kernel do count.
    pub(crate) fn memory_without_files(&self, files: u64) -> Option<u64> {
        let Files { memory, uses, .. } = self.0.as_ref()?;
        let all: u64 = text(memory)?.trim().parse().ok()?;
        let shared = value(uses, "shmem")?;
        let cached = value(uses, "file")?;
        let reclaimable = value(uses, "slab_reclaimable").unwrap_or(0);
        let spared = cached.saturating_sub(shared) + reclaimable + files.min(shared);
        Some(all.saturating_sub(spared))
    }

    pub(crate) fn memory_ran_out(&self) -> bool {
        let kills = self
            .0
            .as_ref()
            .and_then(|files| value(&files.starved, "oom_kill"));
        kills.is_some_and(|kills| kills > 0)
    }

    pub(crate) fn processes_ran_out(&self) -> bool {
        let refused = self.0.as_ref().and_then(|files| value(&files.full, "max"));
        refused.is_some_and(|refused| refused > 0)
    }

    pub(crate) fn cpu(&self) -> Option<Duration> {
        value(&self.0.as_ref()?.cpu, "usage_usec").map(Duration::from_micros)
    }

    pub(crate) fn state(&self) -> LayerState {
        LayerState {
            layer: Layer::Cgroup,
            active: self.0.is_some(),
            detail: match self.0 {
                Some(_) => "version 2: memory, processes",
                None => "none was delegated to us; memory and processes are counted by looking",
            }
            .to_owned(),
        }
    }
}

fn text(mut file: &File) -> Option<String> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.read_to_string(&mut text).ok()?;
    Some(text)
}

/// The number behind a name, a line each.
fn value(file: &File, name: &str) -> Option<u64> {
    let text = text(file)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}
