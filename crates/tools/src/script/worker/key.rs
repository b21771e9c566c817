//! What makes two workers the same: what they are started with.

use super::WorkerSpec;
use crate::Revision;
use crate::script::{EnvironmentValue, ScriptJob, ScriptLimits};

/// Keeps what it was made from, to be compared with: a short sum would tell one person's worker from another's only
/// most of the time.
pub(super) struct Key {
    owner: String,
    stamp: u64,
    sources: Revision,
    concurrency: usize,
    job: ScriptJob,
}

impl Key {
    pub(super) fn of(worker: &WorkerSpec) -> Self {
        Self {
            owner: worker.owner.clone(),
            stamp: worker.stamp,
            sources: worker.sources,
            concurrency: worker.concurrency,
            job: worker.job.clone(),
        }
    }

    pub(super) fn fits(&self, worker: &WorkerSpec) -> bool {
        let (mine, other) = (&self.job, &worker.job);
        // Each call has a timeout of its own.
        let limits = ScriptLimits {
            timeout: other.limits.timeout,
            ..mine.limits
        };
        self.owner == worker.owner
            && self.stamp == worker.stamp
            && self.sources == worker.sources
            && self.concurrency == worker.concurrency
            && mine.program == other.program
            && mine.arguments == other.arguments
            && mine.directory == other.directory
            && mine.reach == other.reach
            && limits == other.limits
            && same(&mine.environment, &other.environment)
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    pub(super) fn stamp(&self) -> u64 {
        self.stamp
    }
}

fn same(one: &[(String, EnvironmentValue)], other: &[(String, EnvironmentValue)]) -> bool {
    let pairs = || one.iter().zip(other);
    one.len() == other.len()
        && pairs().all(|((name, value), (other_name, other_value))| {
            name == other_name && value.expose() == other_value.expose()
        })
}
