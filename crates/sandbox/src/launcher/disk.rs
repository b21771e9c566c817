//! Keeps the folders that the program may change, and `/tmp`, within their limit.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::measure;
use super::nameless::nameless;
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
}

impl Disk {
    pub(super) fn new(spec: &Spec, now: Instant) -> Self {
        let writable = spec.roots.iter().filter(|root| root.writable);
        let writable: Vec<PathBuf> = writable.map(|root| root.target.clone()).collect();
        Self {
            limits: spec.limits,
            free: measure::free(&writable),
            writable,
            measured: now,
            took: Duration::ZERO,
            left: spec.limits.disk,
        }
    }

    /// A folder that is over its limit before anything has begun, and what is in it.
    pub(super) fn over_at_start(spec: &Spec) -> Option<(PathBuf, Option<u64>)> {
        let mut writable = spec.roots.iter().filter(|root| root.writable);
        writable.find_map(|root| {
            let measured = measure::measure(&root.target);
            let over = measured.beyond || measured.bytes > spec.limits.disk;
            let bytes = (!measured.beyond).then_some(measured.bytes);
            over.then(|| (root.source.clone(), bytes))
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

    pub(super) fn folders_are_over(&mut self) -> bool {
        if self.writable.is_empty() {
            return false;
        }
        self.free = measure::free(&self.writable);
        let Some(nameless) = nameless(&self.writable, self.limits.file_size) else {
            return true;
        };
        let mut most = 0;
        for folder in &self.writable {
            let measured = measure::measure(folder);
            if measured.beyond {
                return true;
            }
            most = most.max(measured.bytes.saturating_add(nameless));
        }
        self.left = self.limits.disk.saturating_sub(most);
        most > self.limits.disk
    }

    /// Whether a file is as large as one may be.
    pub(super) fn has_largest_file(&self) -> bool {
        let full = |folder: &Path| measure::measure(folder).largest >= self.limits.file_size;
        full(Path::new("/tmp")) || self.writable.iter().any(|folder| full(folder))
    }
}
