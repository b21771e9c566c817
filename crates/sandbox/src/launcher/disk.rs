//! Keeps the folders that the program may change, and `/tmp`, within their limit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::measure;
use super::nameless::nameless;
use super::sys;
use crate::limits::{MAX_MEASURE_EVERY, MEASURE_EVERY};
use crate::wire::{Bounds, Spec};

pub(super) struct Disk {
    limits: Bounds,
    writable: Vec<PathBuf>,
    measured: Instant,
    took: Duration,
    /// Room on the disks when it was last measured, and how much more may be written.
    free: u64,
    left: u64,
    /// The same when it began.
    free_at_start: u64,
    held_at_start: u64,
    hidden_sockets: BTreeSet<u64>,
    hides: bool,
    stopped: Option<Instant>,
}

impl Disk {
    /// Before anything has begun. A folder that is over its limit already is an error, with what is in it if that can
    /// be told.
    pub(super) fn begin(spec: &Spec) -> Result<Self, (PathBuf, Option<u64>)> {
        let mut held_at_start = 0;
        for root in spec.roots.iter().filter(|root| root.writable) {
            let measured = measure::measure(&root.target);
            if measured.beyond || measured.bytes > spec.limits.disk {
                let bytes = (!measured.beyond).then_some(measured.bytes);
                return Err((root.source.clone(), bytes));
            }
            held_at_start = held_at_start.max(measured.bytes);
        }
        let writable = spec.roots.iter().filter(|root| root.writable);
        let writable: Vec<PathBuf> = writable.map(|root| root.target.clone()).collect();
        let free = measure::free(&writable);
        Ok(Self {
            limits: spec.limits,
            writable,
            measured: Instant::now(),
            took: Duration::ZERO,
            free,
            left: spec.limits.disk - held_at_start,
            free_at_start: free,
            held_at_start,
            hidden_sockets: BTreeSet::new(),
            hides: false,
            stopped: None,
        })
    }

    /// Whether it is over by now. Measures now and then, and at once when much was written; it takes a part of the
    /// time only, however much there is to measure.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.measured);
        let is_due = since >= (self.took * 20).clamp(MEASURE_EVERY, MAX_MEASURE_EVERY);
        let lost = self.free.saturating_sub(measure::free(&self.writable));
        let is_urgent = lost > self.left / 2 && since >= self.took * 2;
        if !is_due && !is_urgent {
            return false;
        }
        let over = self.tmp_is_full() || self.folders_are_over();
        self.measured = Instant::now();
        self.took = self.measured.saturating_duration_since(now);
        over
    }

    pub(super) fn tmp_is_full(&self) -> bool {
        measure::is_full(Path::new("/tmp"))
    }

    /// Everything stands still for a moment if the disk has lost more than can be found: somebody may be moving
    /// things behind our back.
    fn folders_are_over(&mut self) -> bool {
        if self.writable.is_empty() {
            return false;
        }
        let Some(held) = self.held() else { return true };
        let lost = self.free_at_start.saturating_sub(self.free);
        let explained = held.saturating_sub(self.held_at_start);
        let is_strange = lost > explained.saturating_add(self.limits.disk / 2);
        let was_stopped = self
            .stopped
            .is_some_and(|at| at.elapsed() < MAX_MEASURE_EVERY);
        if held <= self.limits.disk && is_strange && !was_stopped {
            sys::stop_all();
            let held = self.held();
            sys::continue_all();
            self.stopped = Some(Instant::now());
            return held.is_none_or(|held| held > self.limits.disk);
        }
        held > self.limits.disk
    }

    /// Whether what stays behind is over. Nothing runs any more, so what has no name is gone.
    pub(super) fn remains_are_over(&self) -> bool {
        let over = |folder: &PathBuf| {
            let measured = measure::measure(folder);
            measured.beyond || measured.bytes > self.limits.disk
        };
        self.writable.iter().any(over)
    }

    /// The most that is held by one folder, with all that has no name; `None` if nobody can tell.
    fn held(&mut self) -> Option<u64> {
        self.free = measure::free(&self.writable);
        let nameless = nameless(&self.writable, self.limits.file_size)?;
        // One that stays on its way may be there to hide something, or belong to somebody outside.
        self.hides = !nameless.hidden_sockets.is_disjoint(&self.hidden_sockets);
        self.hidden_sockets = nameless.hidden_sockets;
        let mut most = 0;
        for folder in &self.writable {
            let measured = measure::measure(folder);
            if measured.beyond {
                return None;
            }
            most = most.max(measured.bytes.saturating_add(nameless.bytes));
        }
        self.left = self.limits.disk.saturating_sub(most);
        Some(most)
    }

    /// Whether a file is as large as one may be.
    pub(super) fn has_largest_file(&self) -> bool {
        let full = |folder: &Path| measure::measure(folder).largest >= self.limits.file_size;
        full(Path::new("/tmp")) || self.writable.iter().any(|folder| full(folder))
    }
}
