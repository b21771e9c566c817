//! File handles: connections take as many as may be, and leave some to everything else.

use crate::limits::SPARED_HANDLES;

/// How many connections there may be of those that are wanted. What the system lets this process have is asked for first.
#[cfg(unix)]
pub(crate) fn connections(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let now = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: now.maximum,
        maximum: now.maximum,
    };
    let may = match setrlimit(Resource::Nofile, all) {
        Ok(()) => now.maximum,
        Err(_) => now.current,
    };
    within(wanted, may)
}

#[cfg(not(unix))]
pub(crate) fn connections(wanted: usize) -> usize {
    within(wanted, None)
}

/// `may`: nothing where there is no limit.
fn within(wanted: usize, may: Option<u64>) -> usize {
    let Some(may) = may else {
        return wanted;
    };
    let room = may.saturating_sub(SPARED_HANDLES).max(may / 2);
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    if room < wanted {
        tracing::warn!(
            connections = room,
            wanted,
            "the system lets this process have few files open; raise `ulimit -n` for more connections"
        );
    }
    wanted.min(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_handles_are_left_to_the_house() {
        for (may, connections) in [
            (None, 4_096),
            (Some(1_000_000), 4_096),
            (Some(1_024), 768),
            (Some(256), 128),
            (Some(0), 0),
        ] {
            assert_eq!(within(4_096, may), connections, "{may:?}");
        }
    }
}
