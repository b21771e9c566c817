//! Watches the program and ends it: at its own end, at a limit, when nobody wants it any more.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};

use super::measure;
use super::sys::{self, Status};
use crate::Limit;
use crate::cgroup::Joined;
use crate::limits::{FREE_SOCKETS, MEASURE_EVERY, SOCKET_BUFFER, WATCH_EVERY};
use crate::wire::{Bounds, Report, Spec};

pub(super) struct Watcher<'a> {
    limits: Bounds,
    writable: Vec<PathBuf>,
    cgroup: &'a Joined,
    process: Pid,
    started: Instant,
    has_proc: bool,
    ended: Option<Status>,
    report: Report,
    next_measure: Instant,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(
        spec: &Spec,
        cgroup: &'a Joined,
        process: Pid,
        started: Instant,
        has_proc: bool,
    ) -> Self {
        let writable = spec.roots.iter().filter(|root| root.writable);
        Self {
            limits: spec.limits,
            writable: writable.map(|root| root.target.clone()).collect(),
            cgroup,
            process,
            started,
            has_proc,
            ended: None,
            report: Report::default(),
            next_measure: started + MEASURE_EVERY,
        }
    }

    /// `control` speaks or ends when the program is to be stopped; `alive` ends with the outer process.
    pub(super) fn run_to_end(mut self, control: BorrowedFd<'_>, alive: BorrowedFd<'_>) -> Report {
        let pidfd = rustix::process::pidfd_open(self.process, PidfdFlags::empty()).ok();
        let mut next_look = self.started + WATCH_EVERY;
        while self.ended.is_none() && self.report.limit.is_none() && !self.report.cancelled {
            let now = Instant::now();
            let wait = self.wait(now, next_look);
            let mut polled = vec![
                PollFd::from_borrowed_fd(control, PollFlags::IN),
                PollFd::from_borrowed_fd(alive, PollFlags::IN),
            ];
            if let Some(pidfd) = &pidfd {
                polled.push(PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN));
            }
            let timeout = Timespec::try_from(wait).ok();
            let _ = poll(&mut polled, timeout.as_ref());
            let stirred = |at: usize| polled.get(at).is_some_and(|fd| !fd.revents().is_empty());
            if stirred(1) {
                std::process::exit(1);
            }
            self.report.cancelled = stirred(0);
            self.reap();
            let now = Instant::now();
            if now >= next_look && self.ended.is_none() && !self.report.cancelled {
                self.look();
                next_look = Instant::now() + WATCH_EVERY;
            }
            if self.is_late(now) && self.ended.is_none() {
                self.report.limit = Some(Limit::Wall);
            }
            self.measure(now);
        }
        self.finish()
    }

    fn wait(&self, now: Instant, next_look: Instant) -> Duration {
        let mut until = next_look;
        if let Some(wall) = self.limits.wall_ms {
            until = until.min(self.started + Duration::from_millis(wall));
        }
        until.saturating_duration_since(now)
    }

    fn is_late(&self, now: Instant) -> bool {
        let wall = self.limits.wall_ms.map(Duration::from_millis);
        wall.is_some_and(|wall| now.saturating_duration_since(self.started) >= wall)
    }

    /// As process 1 it is everybody's last parent.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = sys::reap(false) {
            if pid == self.process {
                self.ended = Some(status);
            }
        }
    }

    fn look(&mut self) {
        let seen = match self.has_proc {
            true => Seen::of_all(),
            false => Seen::default(),
        };
        let usage = &mut self.report.usage;
        let files = measure::used(Path::new("/tmp"));
        let counted = self.cgroup.memory_without_files(files);
        let kept = kept_by_the_kernel(sockets());
        let memory = counted.unwrap_or(seen.resident + seen.tables + kept);
        usage.memory = usage.memory.max(memory);
        usage.processes = usage.processes.max(seen.threads);
        let (reaped, _) = sys::children_usage();
        let cpu = self.cgroup.cpu().unwrap_or(reaped + seen.cpu);
        usage.cpu = usage.cpu.max(cpu);

        let over_memory = memory > self.limits.memory
            && (counted.is_some()
                || kept + seen.tables + Seen::private_memory() > self.limits.memory);
        let cpu_limit = self.limits.cpu_ms.map(Duration::from_millis);
        self.report.limit = if self.cgroup.memory_ran_out() || over_memory {
            Some(Limit::Memory)
        } else if seen.threads > self.limits.processes || self.cgroup.processes_ran_out() {
            Some(Limit::Processes)
        } else if cpu_limit.is_some_and(|limit| cpu >= limit) {
            Some(Limit::Cpu)
        } else {
            None
        };
    }

    /// Measuring may take a twentieth of the time, however much there is to measure.
    fn measure(&mut self, now: Instant) {
        if now < self.next_measure || self.report.limit.is_some() {
            return;
        }
        if self.disk_is_over() {
            self.report.limit = Some(Limit::Disk);
        }
        let took = now.elapsed();
        self.next_measure = Instant::now() + MEASURE_EVERY.max(took * 20);
    }

    fn disk_is_over(&self) -> bool {
        if measure::is_full(Path::new("/tmp")) {
            return true;
        }
        if self.writable.is_empty() {
            return false;
        }
        let Some(nameless) = measure::nameless(&self.writable, processes()) else {
            return true;
        };
        let most = self.limits.disk.saturating_sub(nameless);
        nameless > self.limits.disk
            || self.writable.iter().any(|folder| {
                let measured = measure::measure(folder);
                measured.beyond || measured.bytes > most
            })
    }

    /// Kills what is left, and says what it was.
    fn finish(mut self) -> Report {
        // A program may give up at the first process that it cannot have, before anybody has looked. Its children
        // are still there, and it was one more.
        if self.has_proc && self.ended.is_some() && self.report.limit.is_none() {
            let together = Seen::of_all().threads + 1;
            if together > self.limits.processes {
                self.report.limit = Some(Limit::Processes);
            }
        }
        sys::kill_all();
        while let Ok(Some((pid, status))) = sys::reap(true) {
            if pid == self.process && self.ended.is_none() {
                self.ended = Some(status);
            }
        }
        let (cpu, largest_process) = sys::children_usage();
        let usage = &mut self.report.usage;
        usage.wall = self.started.elapsed();
        usage.cpu = usage.cpu.max(self.cgroup.cpu().unwrap_or(cpu));
        usage.memory = usage.memory.max(largest_process);
        match self.ended {
            Some(Status::Exit(code)) => self.report.exit = Some(code),
            Some(Status::Signal(signal)) => self.report.signal = Some(signal),
            None => {}
        }
        if self.report.limit.is_none() && !self.report.cancelled {
            self.report.limit = self.hindsight(largest_process);
        }
        self.report
    }

    /// A limit that the program ran into between two looks.
    fn hindsight(&self, largest_process: u64) -> Option<Limit> {
        let cpu_limit = self.limits.cpu_ms.map(Duration::from_millis);
        let is_signal = |signal| self.report.signal == Some(signal);
        if self.cgroup.memory_ran_out() || largest_process > self.limits.memory {
            return Some(Limit::Memory);
        }
        if self.cgroup.processes_ran_out() {
            return Some(Limit::Processes);
        }
        if is_signal(libc::SIGXCPU) || cpu_limit.is_some_and(|limit| self.report.usage.cpu >= limit)
        {
            return Some(Limit::Cpu);
        }
        if is_signal(libc::SIGXFSZ) {
            return Some(Limit::FileSize);
        }
        let failed = self.report.exit != Some(0);
        let full = |folder: &Path| measure::measure(folder).largest >= self.limits.file_size;
        if failed && (full(Path::new("/tmp")) || self.writable.iter().any(|folder| full(folder))) {
            return Some(Limit::FileSize);
        }
        self.disk_is_over().then_some(Limit::Disk)
    }
}

/// What `/proc` shows of all processes of the room but the first.
#[derive(Debug, Default)]
struct Seen {
    resident: u64,
    /// What the kernel needs to know whose pages are where.
    tables: u64,
    threads: u32,
    cpu: Duration,
}

impl Seen {
    fn of_all() -> Self {
        let page = rustix::param::page_size() as u64;
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let mut seen = Self::default();
        for pid in processes() {
            let Some(stat) = stat(pid) else { continue };
            seen.resident += stat.resident_pages * page;
            seen.tables += tables_of(pid);
            seen.threads += stat.threads;
            seen.cpu += Duration::from_millis(stat.ticks * 1000 / ticks);
        }
        seen
    }

    /// Shared pages are not counted once for each process. Dearer, so only for those who look guilty.
    fn private_memory() -> u64 {
        processes().map(private_memory_of).sum()
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| *pid != 1)
}

struct Stat {
    resident_pages: u64,
    threads: u32,
    ticks: u64,
}

/// The name in the middle may hold anything, brackets and blanks too; what is wanted comes after it.
fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The state is field 3 of the whole line, and the first here.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        ticks: [14, 15, 16, 17].into_iter().filter_map(field).sum(),
        threads: u32::try_from(field(20)?).ok()?,
        resident_pages: field(24)?,
    })
}

/// Sockets of the room, whoever has them open.
fn sockets() -> u64 {
    let count = |file: &str| {
        let text = fs::read(format!("/proc/self/net/{file}")).unwrap_or_default();
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        // The first line is a heading.
        lines.saturating_sub(1) as u64
    };
    ["unix", "tcp", "tcp6", "udp", "udp6"]
        .into_iter()
        .map(count)
        .sum()
}

/// What can wait in them unread belongs to nobody's memory. A few are free; of more, each counts as if it were full.
const fn kept_by_the_kernel(sockets: u64) -> u64 {
    sockets.saturating_sub(FREE_SOCKETS) * SOCKET_BUFFER
}

fn tables_of(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPTE:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn private_memory_of(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
    let share = rollup.ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("Pss:"))?;
        line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    });
    match share {
        Some(kilobytes) => kilobytes * 1024,
        // It does not let itself be looked at: then all of it counts.
        None => stat(pid).map_or(0, |stat| {
            stat.resident_pages * rustix::param::page_size() as u64
        }),
    }
}
