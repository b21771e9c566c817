//! Where groups can be made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Plan;
use crate::limits::WATCHER_MEMORY;

/// The folder below which we may make groups of our own, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Cgroups(Option<PathBuf>);

/// The kernel takes no larger number.
const MOST_PROCESSES: u64 = 4 << 20;

static NEXT: AtomicU64 = AtomicU64::new(0);

impl Cgroups {
    /// Looks where this process is and tries. Blocking.
    pub(crate) fn find() -> Self {
        let (Ok(mounts), Ok(own)) = (
            fs::read_to_string("/proc/self/mountinfo"),
            fs::read_to_string("/proc/self/cgroup"),
        ) else {
            return Self::default();
        };
        let folder = place(&read_mounts(&mounts), &own).filter(|folder| {
            delegate(folder).is_ok() && is_usable(folder, &["memory.max", "pids.max"])
        });
        Self(folder)
    }

    /// A name that nobody else has: of this process, and of no earlier one that had its number.
    pub(crate) fn plan(&self, memory: u64, processes: u32) -> Option<Plan> {
        let name = format!(
            "innkeeper-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        Some(Plan {
            folder: self.0.as_ref()?.join(name),
            memory: memory.saturating_add(WATCHER_MEMORY),
            // The one who watches, and one more than is allowed, so that it can be seen.
            processes: (u64::from(processes) + 2).min(MOST_PROCESSES),
        })
    }

    /// Removes what a process that died has left.
    pub(crate) fn sweep(&self) {
        let Some(folder) = &self.0 else { return };
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let owner = name
                .to_str()
                .and_then(|name| name.strip_prefix("innkeeper-")?.split('-').next());
            let is_dead = owner.is_some_and(|pid| {
                pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()
            });
            if is_dead {
                // One that is in use cannot be removed.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// Mounts of version 2: the group that is its root, and where it is.
fn read_mounts(text: &str) -> Vec<(String, PathBuf)> {
    let read = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let before: Vec<&str> = before.split(' ').collect();
        let is_ours = after.split(' ').next()? == "cgroup2";
        is_ours.then_some(((*before.get(3)?).to_owned(), PathBuf::from(before.get(4)?)))
    };
    text.lines().filter_map(read).collect()
}

/// Where the group of this process is to be found.
fn place(mounts: &[(String, PathBuf)], own: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.iter().find_map(|(root, point)| {
        let below = match root.as_str() {
            "/" => path,
            root => path.strip_prefix(root)?,
        };
        Some(point.join(below.trim_start_matches('/')))
    })
}

/// Lets groups below have controllers. A group with processes of its own cannot do that: if we are alone in one that
/// was given to us, we move aside.
fn delegate(folder: &Path) -> io::Result<()> {
    let controllers = fs::read_to_string(folder.join("cgroup.controllers"))?;
    let has = |name| controllers.split_ascii_whitespace().any(|one| one == name);
    if !has("memory") || !has("pids") {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    let enable = || fs::write(folder.join("cgroup.subtree_control"), "+memory +pids");
    if enable().is_ok() {
        return Ok(());
    }
    let here = fs::read_to_string(folder.join("cgroup.procs"))?;
    let own = std::process::id().to_string();
    if here.lines().any(|pid| pid != own) {
        return Err(io::Error::from(io::ErrorKind::ResourceBusy));
    }
    let aside = folder.join("keeper");
    match fs::create_dir(&aside) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => fs::write(aside.join("cgroup.procs"), own)?,
    }
    enable()
}

fn is_usable(folder: &Path, files: &[&str]) -> bool {
    let trial = folder.join(format!(
        "innkeeper-{}-trial{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    ));
    if fs::create_dir(&trial).is_err() {
        return false;
    }
    let writable = |file: &&str| {
        fs::OpenOptions::new()
            .write(true)
            .open(trial.join(file))
            .is_ok()
    };
    let usable = files.iter().chain(&["cgroup.procs"]).all(writable);
    let _ = fs::remove_dir(&trial);
    usable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_where_it_is_mounted() {
        let hybrid = "\
31 25 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 25 0:28 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
33 25 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        let container = "\
31 25 0:27 /docker/abc /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup rw,nsdelegate";
        for (mounts, own, expected) in [
            (
                hybrid,
                "4:memory:/a/b\n0::/x\n",
                Some("/sys/fs/cgroup/unified/x"),
            ),
            (hybrid, "4:memory:/a/b\n", None),
            (
                container,
                "0::/docker/abc/run\n",
                Some("/sys/fs/cgroup/run"),
            ),
            (container, "0::/elsewhere\n", None),
            ("", "0::/x\n", None),
        ] {
            let found = place(&read_mounts(mounts), own);
            assert_eq!(found, expected.map(PathBuf::from), "{own:?}");
        }
    }
}
