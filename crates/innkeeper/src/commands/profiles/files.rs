//! Where profiles lie: which file each id comes from, and which files of the same id are not used.
//!
//! The order is that of the agents' crate: the project's folder before the house's; in a folder the file that is named
//! after the profile, then others by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use innkeeper_agent::AgentProfile;
use innkeeper_agent::limits::{MAX_PROFILE_BYTES, MAX_PROFILE_FILES};

use crate::home::Home;

#[derive(Default)]
pub(super) struct Files {
    /// By the id inside; the first one counts.
    by_id: BTreeMap<String, Vec<PathBuf>>,
    /// Folders with more files than are looked at.
    pub(super) crowded: Vec<PathBuf>,
}

impl Files {
    /// Blocks.
    pub(super) fn of(home: &Home, project: &str) -> Self {
        let mut files = Self::default();
        let projects = home.path().join("projects").join(project);
        for folder in [projects, home.path().to_owned()] {
            files.look_into(&folder.join("agent_profiles"));
        }
        files
    }

    fn look_into(&mut self, folder: &Path) {
        // A folder that cannot be read is told by whoever looks for profiles in it.
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        let mut stems = BTreeSet::new();
        let mut is_crowded = false;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".json"));
            let Some(stem) = stem.filter(|stem| !stem.is_empty() && !stem.starts_with('.')) else {
                continue;
            };
            stems.insert(stem.to_owned());
            if stems.len() > MAX_PROFILE_FILES {
                is_crowded = true;
                stems.pop_last();
            }
        }
        if is_crowded {
            self.crowded.push(folder.to_owned());
        }
        let mut here: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for stem in stems {
            let path = folder.join(format!("{stem}.json"));
            let Some(id) = id_in(&path) else { continue };
            let of_id = here.entry(id.clone()).or_default();
            match id == stem {
                true => of_id.insert(0, path),
                false => of_id.push(path),
            }
        }
        for (id, paths) in here {
            self.by_id.entry(id).or_default().extend(paths);
        }
    }

    /// Where the profile lies; nothing where it is built in.
    pub(super) fn path(&self, id: &str) -> Option<&Path> {
        Some(self.by_id.get(id)?.first()?)
    }

    /// Files of the same id that are not used.
    pub(super) fn hidden(&self, id: &str) -> &[PathBuf] {
        let all = self.by_id.get(id).map(Vec::as_slice).unwrap_or_default();
        all.get(1..).unwrap_or_default()
    }

    pub(super) fn all_hidden(&self) -> impl Iterator<Item = (&str, &Path, &[PathBuf])> {
        self.by_id.iter().filter_map(|(id, paths)| {
            let (used, hidden) = paths.split_first()?;
            (!hidden.is_empty()).then_some((id.as_str(), used.as_path(), hidden))
        })
    }
}

/// Of a file that can be used.
fn id_in(path: &Path) -> Option<String> {
    // Neither a link, which is not followed, nor a pipe, which would be waited for.
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let most = u64::try_from(MAX_PROFILE_BYTES).unwrap_or(u64::MAX);
    File::open(path)
        .ok()?
        .take(most.saturating_add(1))
        .read_to_string(&mut text)
        .ok()?;
    if text.len() > MAX_PROFILE_BYTES {
        return None;
    }
    let reading = AgentProfile::read(&text, None).ok()?;
    Some(reading.profile.id.to_string())
}
