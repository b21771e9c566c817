//! Watches the program and ends it: at its own end, at a limit, when nobody wants it any more.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};

use super::census::{self, Census, Seen};
use super::disk::Disk;
use super::measure;
use super::sys::{self, Status};
use crate::Limit;
use crate::cgroup::Joined;
use crate::limits::WATCH_EVERY;
use crate::wire::{Bounds, Report, Spec};

pub(super) struct Watcher<'a> {
    limits: Bounds,
    disk: Disk,
    census: Census,
    cgroup: &'a Joined,
    process: Pid,
    started: Instant,
    has_proc: bool,
    ended: Option<Status>,
    report: Report,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(
        spec: &Spec,
        disk: Disk,
        cgroup: &'a Joined,
        process: Pid,
        started: Instant,
        has_proc: bool,
    ) -> Self {
        Self {
            limits: spec.limits,
            disk,
            census: Census::default(),
            cgroup,
            process,
            started,
            has_proc,
            ended: None,
            report: Report::default(),
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
            if self.report.limit.is_none() && !self.report.cancelled && self.disk.is_over(now) {
                self.report.limit = Some(Limit::Disk);
            }
        }
        self.finish()
    }

    fn wait(&self, now: Instant, next_look: Instant) -> Duration {
        let mut until = next_look;
        if let Some(wall) = self.limits.wall_ms {
            let end = self.started.checked_add(Duration::from_millis(wall));
            until = end.map_or(until, |end| until.min(end));
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
            true => self.census.look(),
            false => Seen::default(),
        };
        let usage = &mut self.report.usage;
        let files = measure::used(Path::new("/tmp"));
        let counted = self.cgroup.memory_without_files(files);
        let memory = counted.unwrap_or(seen.resident + seen.kept);
        usage.memory = usage.memory.max(memory);
        usage.processes = usage.processes.max(seen.threads);
        let (reaped, _) = sys::children_usage();
        let by_looking = seen.cpu_of_all.max(reaped + seen.cpu);
        let cpu = self.cgroup.cpu().unwrap_or(by_looking);
        usage.cpu = usage.cpu.max(cpu);

        let over_memory = memory > self.limits.memory
            && (counted.is_some() || seen.kept + census::private_memory() > self.limits.memory);
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

    /// Kills what is left, and says what it was.
    fn finish(mut self) -> Report {
        // A program may give up at the first process that it cannot have, before anybody has looked. Its children
        // are still there, and it was one more.
        if self.has_proc && self.ended.is_some() && self.report.limit.is_none() {
            let together = census::threads() + 1;
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
        if failed && self.disk.has_largest_file() {
            return Some(Limit::FileSize);
        }
        let over = self.disk.tmp_is_full() || self.disk.remains_are_over();
        over.then_some(Limit::Disk)
    }
}
