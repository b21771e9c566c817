//! Files that have no name any more and still take room: open, mapped, or on their way to another process.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::census::{folder_of, numbers, processes, text};

/// What was found at one time.
#[derive(Debug, Default)]
pub(super) struct Nameless {
    pub(super) bytes: u64,
    /// Sockets that are on their way themselves: what waits in them nobody can see.
    pub(super) hidden_sockets: BTreeSet<u64>,
}

/// What of them lies where these folders lie. A file that cannot be looked at counts as the `largest` that there may be.
/// `None` if a process does not let itself be looked at.
pub(super) fn nameless(folders: &[PathBuf], largest: u64) -> Option<Nameless> {
    // Before the descriptors: what is made in between is not taken for hidden.
    let sockets = sockets();
    let device = |folder: &PathBuf| Some(fs::metadata(folder).ok()?.dev());
    let mut found = Found {
        devices: folders.iter().filter_map(device).collect(),
        seen: BTreeSet::new(),
        sockets: BTreeSet::new(),
        bytes: 0,
    };
    let (mut mapped, mut sent) = (BTreeSet::new(), 0);
    for pid in processes() {
        // Threads need not share what they have open.
        for thread in numbers(&format!("/proc/{pid}/task")) {
            sent += found.open_in(&PathBuf::from(format!("/proc/{pid}/task/{thread}")))?;
        }
        let maps = match fs::read(folder_of(pid).join("maps")) {
            Ok(maps) => maps,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return None,
            Err(_) => continue,
        };
        found.mapped_in(&String::from_utf8_lossy(&maps), &mut mapped);
        if let Ok(program) = fs::metadata(folder_of(pid).join("exe")) {
            found.file(&program);
        }
    }
    let unseen = mapped.difference(&found.seen).count() as u64 + sent;
    Some(Nameless {
        bytes: found.bytes.saturating_add(unseen.saturating_mul(largest)),
        hidden_sockets: sockets.difference(&found.sockets).copied().collect(),
    })
}

/// By number; those that wait to be accepted have none yet.
fn sockets() -> BTreeSet<u64> {
    let list = text(Path::new("/proc/self/net/unix"));
    let number = |line: &str| line.split_ascii_whitespace().nth(6)?.parse().ok();
    let numbers = list.lines().skip(1).filter_map(number);
    numbers.filter(|number| *number != 0).collect()
}

struct Found {
    devices: BTreeSet<u64>,
    /// By device and number.
    seen: BTreeSet<(u64, u64)>,
    sockets: BTreeSet<u64>,
    bytes: u64,
}

impl Found {
    /// How many more are on their way through sockets of this thread.
    fn open_in(&mut self, thread: &Path) -> Option<u64> {
        let entries = match fs::read_dir(thread.join("fd")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !is_dying(thread) => {
                return None;
            }
            Err(_) => return Some(0),
        };
        let mut sent = 0;
        for entry in entries.flatten() {
            let Ok(about) = fs::metadata(entry.path()) else {
                continue;
            };
            if about.mode() & libc::S_IFMT == libc::S_IFSOCK && self.sockets.insert(about.ino()) {
                sent += on_the_way(&thread.join("fdinfo").join(entry.file_name()));
            }
            self.file(&about);
        }
        Some(sent)
    }

    fn file(&mut self, about: &fs::Metadata) {
        if about.is_file()
            && about.nlink() == 0
            && self.devices.contains(&about.dev())
            && self.seen.insert((about.dev(), about.ino()))
        {
            self.bytes += about.blocks() * 512;
        }
    }

    fn mapped_in(&self, maps: &str, mapped: &mut BTreeSet<(u64, u64)>) {
        for line in maps.lines().filter(|line| line.ends_with(" (deleted)")) {
            let mut fields = line.split_ascii_whitespace().skip(3);
            let place = fields.next().and_then(|device| {
                let (major, minor) = device.split_once(':')?;
                let number = |text| u32::from_str_radix(text, 16).ok();
                Some(rustix::fs::makedev(number(major)?, number(minor)?))
            });
            let file = fields.next().and_then(|number| number.parse().ok());
            if let (Some(device), Some(file)) = (place, file)
                && self.devices.contains(&device)
            {
                mapped.insert((device, file));
            }
        }
    }
}

fn on_the_way(fdinfo: &Path) -> u64 {
    let list = text(fdinfo);
    let line = list.lines().find_map(|line| line.strip_prefix("scm_fds:"));
    line.and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

/// Without memory it has nothing to hide, it is on its way out.
fn is_dying(thread: &Path) -> bool {
    let Ok(text) = fs::read(thread.join("statm")) else {
        return true;
    };
    text.starts_with(b"0 ")
}
