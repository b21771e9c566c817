//! Where groups can be made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Group, Kind, Plan};

/// Folders below which we may make groups of our own.
#[derive(Debug, Default)]
pub(crate) struct Cgroups {
    parents: Vec<Group>,
}

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
        let mounts = read_mounts(&mounts);
        let own = read_own(&own);
        if let Some(folder) = place(&mounts, &own, "")
            && delegate(&folder).is_ok()
            && is_usable(&folder, &["memory.max", "pids.max"])
        {
            let kind = Kind::Unified;
            return Self {
                parents: vec![Group { folder, kind }],
            };
        }
        let mut parents = Vec::new();
        for (controller, kind, file) in [
            ("memory", Kind::Memory, "memory.limit_in_bytes"),
            ("pids", Kind::Pids, "pids.max"),
        ] {
            if let Some(folder) = place(&mounts, &own, controller)
                && is_usable(&folder, &[file])
            {
                parents.push(Group { folder, kind });
            }
        }
        Self { parents }
    }

    /// A name that nobody else has: of this process, and of no earlier one that had its number.
    pub(crate) fn plan(&self, memory: u64, processes: u32) -> Option<Plan> {
        if self.parents.is_empty() {
            return None;
        }
        let name = format!(
            "innkeeper-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let groups = self.parents.iter().map(|parent| Group {
            folder: parent.folder.join(&name),
            kind: parent.kind,
        });
        Some(Plan {
            groups: groups.collect(),
            memory,
            // One more than is allowed, so that it can be seen.
            processes: u64::from(processes) + 1,
        })
    }

    /// Removes what a process that died has left.
    pub(crate) fn sweep(&self) {
        for parent in &self.parents {
            let entries = fs::read_dir(&parent.folder).into_iter().flatten().flatten();
            for entry in entries {
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
}

/// A mount of a hierarchy: its controllers (none for version 2), the group that is its root, and where it is.
struct Mount {
    controllers: Vec<String>,
    root: String,
    point: PathBuf,
}

fn read_mounts(text: &str) -> Vec<Mount> {
    let read = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let before: Vec<&str> = before.split(' ').collect();
        let mut after = after.split(' ');
        let controllers = match after.next()? {
            "cgroup2" => vec![String::new()],
            "cgroup" => after.nth(1)?.split(',').map(str::to_owned).collect(),
            _ => return None,
        };
        Some(Mount {
            controllers,
            root: (*before.get(3)?).to_owned(),
            point: PathBuf::from(before.get(4)?),
        })
    };
    text.lines().filter_map(read).collect()
}

/// The group of this process in each hierarchy.
fn read_own(text: &str) -> Vec<(Vec<String>, String)> {
    let read = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let controllers = parts.nth(1)?.split(',').map(str::to_owned).collect();
        Some((controllers, parts.next()?.to_owned()))
    };
    text.lines().filter_map(read).collect()
}

/// `""` is version 2.
fn place(mounts: &[Mount], own: &[(Vec<String>, String)], controller: &str) -> Option<PathBuf> {
    let has = |list: &[String]| list.iter().any(|name| name == controller);
    let (_, path) = own.iter().find(|(controllers, _)| has(controllers))?;
    let mount = mounts.iter().find(|mount| has(&mount.controllers))?;
    let below = match mount.root.as_str() {
        "/" => path.as_str(),
        root => path.strip_prefix(root)?,
    };
    Some(mount.point.join(below.trim_start_matches('/')))
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
        for (mounts, own, controller, expected) in [
            (
                hybrid,
                "4:memory:/a/b\n0::/\n",
                "memory",
                Some("/sys/fs/cgroup/memory/a/b"),
            ),
            (
                hybrid,
                "4:memory:/a/b\n8:pids:/\n",
                "pids",
                Some("/sys/fs/cgroup/pids/"),
            ),
            (hybrid, "0::/x\n", "", Some("/sys/fs/cgroup/unified/x")),
            (hybrid, "0::/x\n", "memory", None),
            (
                container,
                "0::/docker/abc/run\n",
                "",
                Some("/sys/fs/cgroup/run"),
            ),
            (container, "0::/elsewhere\n", "", None),
        ] {
            let found = place(&read_mounts(mounts), &read_own(own), controller);
            assert_eq!(found, expected.map(PathBuf::from), "{own:?} {controller}");
        }
    }
}
