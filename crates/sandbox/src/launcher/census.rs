//! What all processes of the room take together, as far as `/proc` shows it. The first process is ours and not counted.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::limits::{FREE_SOCKETS, SOCKET_BUFFER, WAITING_DATAGRAMS};

/// Counts again and again, and remembers who was there.
#[derive(Debug, Default)]
pub(super) struct Census {
    /// Processor time of those that live, by number and time of birth.
    known: HashMap<(u32, u64), u64>,
    /// Of all that were ever seen: who vanishes without being waited for takes nothing back.
    spent: u64,
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Pages that are there, those shared counted for each.
    pub(super) resident: u64,
    /// What the kernel keeps for them: tables of pages, pages swapped out, what waits in sockets.
    pub(super) kept: u64,
    pub(super) threads: u32,
    /// Of those that live, and of the children that they waited for.
    pub(super) cpu: Duration,
    /// Of all that were ever seen.
    pub(super) cpu_of_all: Duration,
}

impl Census {
    pub(super) fn look(&mut self) -> Seen {
        let page = rustix::param::page_size() as u64;
        let mut seen = Seen {
            kept: kept_in_sockets(),
            ..Seen::default()
        };
        let (mut ticks, mut alive) = (0, HashMap::new());
        for pid in processes() {
            let Some(process) = Process::read(pid) else {
                continue;
            };
            seen.resident += process.resident_pages * page;
            seen.kept += process.kept();
            seen.threads += process.threads;
            ticks += process.own_ticks + process.children_ticks;
            let who = (pid, process.born);
            let before = self.known.get(&who).copied().unwrap_or(0);
            self.spent += process.own_ticks.saturating_sub(before);
            alive.insert(who, process.own_ticks);
        }
        self.known = alive;
        seen.cpu = time(ticks);
        seen.cpu_of_all = time(self.spent);
        seen
    }
}

fn time(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1))
}

/// Processes and threads just now.
pub(super) fn threads() -> u32 {
    let processes = processes().filter_map(Process::read);
    processes.map(|process| process.threads).sum()
}

/// Shared pages are not counted once for each process. Dearer, so only for those who look guilty.
pub(super) fn private_memory() -> u64 {
    let processes = processes().filter_map(Process::read);
    processes.map(|process| process.private_memory()).sum()
}

pub(super) fn processes() -> impl Iterator<Item = u32> {
    numbers("/proc").filter(|pid| *pid != 1)
}

pub(super) fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Where a process shows itself. When its first thread has left it shows nothing, but the others do.
pub(super) fn folder_of(pid: u32) -> PathBuf {
    let own = PathBuf::from(format!("/proc/{pid}"));
    let has_left = |folder: &PathBuf| {
        let stat = fields(folder);
        stat.is_none_or(|fields| matches!(fields.first().map(String::as_str), Some("Z" | "X")))
    };
    if !has_left(&own) {
        return own;
    }
    let threads = numbers(&format!("/proc/{pid}/task"));
    let mut folders = threads.map(|thread| own.join(format!("task/{thread}")));
    folders.find(|folder| !has_left(folder)).unwrap_or(own)
}

/// Names in it are the program's own choice, and need not be text. What cannot be read is empty.
pub(super) fn text(file: &Path) -> String {
    let bytes = fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The name in the middle of the line may hold anything, brackets and blanks too; what is wanted comes after it.
fn fields(folder: &Path) -> Option<Vec<String>> {
    let text = text(&folder.join("stat"));
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_ascii_whitespace().map(str::to_owned).collect())
}

struct Process {
    folder: PathBuf,
    resident_pages: u64,
    threads: u32,
    own_ticks: u64,
    children_ticks: u64,
    born: u64,
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let whole = fields(&PathBuf::from(format!("/proc/{pid}")))?;
        // The state is field 3 of the whole line, and the first here.
        let field = |fields: &[String], number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let threads = u32::try_from(field(&whole, 20)?).ok()?;
        let has_left = matches!(whole.first().map(String::as_str), Some("Z" | "X"));
        let folder = match has_left && threads > 1 {
            true => folder_of(pid),
            false => PathBuf::from(format!("/proc/{pid}")),
        };
        let resident_pages = match has_left {
            true => fields(&folder).and_then(|of_thread| field(&of_thread, 24)),
            false => field(&whole, 24),
        };
        Some(Self {
            folder,
            resident_pages: resident_pages.unwrap_or(0),
            threads,
            own_ticks: [14, 15]
                .into_iter()
                .filter_map(|at| field(&whole, at))
                .sum(),
            children_ticks: [16, 17]
                .into_iter()
                .filter_map(|at| field(&whole, at))
                .sum(),
            born: field(&whole, 22)?,
        })
    }

    fn kept(&self) -> u64 {
        let status = text(&self.folder.join("status"));
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok())
        };
        let kept = ["VmPTE:", "VmSwap:"].into_iter().filter_map(kilobytes);
        kept.sum::<u64>() * 1024
    }

    fn private_memory(&self) -> u64 {
        let rollup = text(&self.folder.join("smaps_rollup"));
        let line = rollup.lines().find(|line| line.starts_with("Pss:"));
        let share = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
        match share {
            Some(kilobytes) => kilobytes * 1024,
            // It does not let itself be looked at: then all of it counts.
            None => self.resident_pages * rustix::param::page_size() as u64,
        }
    }
}

/// What can wait in sockets unread belongs to nobody's memory. A few are free; of more, each counts as if it were full.
fn kept_in_sockets() -> u64 {
    let mut streams = 0_u64;
    let mut datagrams = 0_u64;
    for line in text(Path::new("/proc/self/net/unix")).lines().skip(1) {
        match line.split_ascii_whitespace().nth(4) {
            Some("0002") => datagrams += 1,
            _ => streams += 1,
        }
    }
    for file in ["tcp", "tcp6", "udp", "udp6"] {
        let text = fs::read(format!("/proc/self/net/{file}")).unwrap_or_default();
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        // The first line is a heading.
        streams += lines.saturating_sub(1) as u64;
    }
    let counted = streams.saturating_sub(FREE_SOCKETS) + datagrams * WAITING_DATAGRAMS;
    counted * SOCKET_BUFFER
}
