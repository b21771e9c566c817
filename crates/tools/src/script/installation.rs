//! Which folders an installed interpreter needs, beside those of the system. Decides how little of a person's
//! folders a script gets to see because an interpreter is installed there.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::limits::MAX_LINK_HOPS;

/// What every program sees in any case.
const SYSTEM: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];

/// Folders of package managers in which everything leans on everything, and nothing is anybody's own.
const STORES: &[&str] = &["/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew"];

/// What belongs to an interpreter below its prefix; the rest may be anything, as in `~/.local`.
const PARTS: &[&str] = &[
    "bin",
    "lib",
    "lib64",
    "libexec",
    "pyvenv.cfg",
    "share/zoneinfo",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
];

/// What an interpreter says of itself.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Installation {
    pub(super) executable: PathBuf,
    /// Where it is installed; a virtual environment has two.
    #[serde(default)]
    pub(super) prefixes: Vec<PathBuf>,
    /// Files and folders that it needs by name, wherever they are.
    #[serde(default)]
    pub(super) named: Vec<PathBuf>,
}

impl Installation {
    /// Files and folders to be read, each there, none in another. Nothing of it holds a closed folder.
    pub(super) fn needs(&self, closed: &[PathBuf]) -> Vec<PathBuf> {
        let closed: Vec<_> = closed.iter().flat_map(|path| both(path)).collect();
        let holds_none = |folder: &Path| {
            folder.parent().is_some() && !closed.iter().any(|closed| closed.starts_with(folder))
        };
        let is_open = |folder: &Path| both(folder).all(|folder| holds_none(&folder));
        let hops = hops(&self.executable);
        // A program in `bin` has its libraries in the `lib` beside it.
        let beside = hops
            .iter()
            .filter_map(|hop| hop.parent())
            .filter(|folder| folder.ends_with("bin"))
            .filter_map(Path::parent);
        let prefixes = self.prefixes.iter().map(PathBuf::as_path).chain(beside);
        let parts = prefixes
            .flat_map(both)
            .filter(|prefix| is_open(prefix))
            .flat_map(|prefix| PARTS.iter().map(move |part| prefix.join(part)));
        let named = self.named.iter().flat_map(|path| both(path));
        let mut needed = Vec::new();
        for path in parts.chain(named).chain(hops.iter().cloned()) {
            let store = STORES.iter().find(|store| path.starts_with(store));
            let path = store.map_or(path, PathBuf::from);
            if path.is_absolute() && !lies_in_system(&path) && is_open(&path) && path.exists() {
                needed.push(path);
            }
        }
        needed.sort();
        // Sorted, a folder stands before what is in it.
        needed.dedup_by(|later, earlier| later.starts_with(&*earlier));
        needed
    }
}

/// A path as it is written, and where it really is.
fn both(path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let real = path.canonicalize().ok().filter(|real| real != path);
    std::iter::once(path.to_owned()).chain(real)
}

/// Whether it can be started with nothing but what the system has: all links lead to the system.
pub(super) fn is_of_the_system(path: &Path) -> bool {
    hops(path).iter().all(|hop| lies_in_system(hop))
}

fn lies_in_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

/// The file and everything that its link leads to, each as it is written and where it really is.
fn hops(path: &Path) -> Vec<PathBuf> {
    let mut hops = Vec::new();
    let mut at = path.to_owned();
    for _ in 0..MAX_LINK_HOPS {
        let folder = at.parent().and_then(|folder| folder.canonicalize().ok());
        let real = folder
            .zip(at.file_name())
            .map(|(folder, name)| folder.join(name));
        hops.push(at.clone());
        hops.extend(real.filter(|real| *real != at));
        let Ok(target) = at.read_link() else { break };
        let folder = at.parent().unwrap_or(Path::new("/"));
        at = without_dots(&folder.join(target));
    }
    hops
}

fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
#[path = "installation_tests.rs"]
mod tests;
