//! What this process has used so far.

use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::Failed;

/// The system's part included.
pub fn processor() -> Result<Duration, Failed> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name before it may hold anything.
    let (_, fields) = stat
        .rsplit_once(')')
        .ok_or("the system does not tell the time used")?;
    let ticks = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<u64>);
    Ok(Duration::from_millis(
        ticks.sum::<Result<u64, _>>()?.saturating_mul(10),
    ))
}

/// In KB.
pub fn resident(field: &str) -> Result<usize, Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number
        .ok_or("the system does not tell how much memory is used")?
        .parse()?)
}

/// As many connections as the system lets one process have.
pub fn open_many() -> Result<(), Failed> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}
