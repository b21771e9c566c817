//! A process and all that it started, as one thing that can be ended.

/// Ends the whole process group when it goes out of scope, unless [`Group::end`] has done so before.
///
/// A process that leaves its group on purpose (`setsid`) is out of reach: only a sandbox can hold it.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg(unix)]
    leader: std::sync::Mutex<Option<rustix::process::Pid>>,
}

#[cfg(unix)]
impl Group {
    /// `child` must have been started with `process_group(0)`.
    pub(super) fn of(child: &tokio::process::Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self {
            leader: std::sync::Mutex::new(id.and_then(rustix::process::Pid::from_raw)),
        }
    }

    /// Call it at the latest right after the leader was reaped: while others of the group live its number is not
    /// given to anyone else, and just afterwards it is not either.
    pub(super) fn end(&self) {
        let leader = match self.leader.lock() {
            Ok(mut leader) => leader.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if let Some(leader) = leader {
            // Nobody left is the only way in which this can fail, and it is what we want.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

/// Elsewhere only the process itself is ended, by `kill_on_drop`.
#[cfg(not(unix))]
impl Group {
    pub(super) fn of(_: &tokio::process::Child) -> Self {
        Self {}
    }

    pub(super) fn end(&self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}
