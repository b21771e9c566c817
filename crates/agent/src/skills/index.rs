//! What was found in a skill, written down for the next process: it need not be hashed again while nobody touches it.
//!
//! It counts as long as the mark of the folder is the same, which is made of the names, lengths and times of all its files.
//! Whatever else stands there is no error: the skill is looked at again.

use std::io::{self, Read as _};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::folder::open_file;
use super::package::{Package, hex};
use super::scope::SkillScope;
use super::shelf::{Shelf, made, write};
use crate::limits::MAX_SKILL_INDEX_BYTES;

/// Beside what is installed: a folder for each scope, a file for each skill.
const INDEX: &str = "index";

/// Whether a mark tells every change: only where files have a time that nobody can set.
pub(super) const IS_SURE: bool = cfg!(unix);

const VERSION: u32 = 1;

#[derive(Serialize)]
struct Entry<'p> {
    version: u32,
    mark: String,
    package: &'p Package,
}

#[derive(Deserialize)]
struct Known {
    version: u32,
    mark: String,
    package: Package,
}

pub(super) fn written(package: &Package, mark: &[u8; 32]) -> Vec<u8> {
    let entry = Entry {
        version: VERSION,
        mark: hex(mark),
        package,
    };
    serde_json::to_vec(&entry).unwrap_or_default()
}

pub(super) fn read(bytes: &[u8], name: &str, mark: &[u8; 32]) -> Option<Package> {
    let read: Known = serde_json::from_slice(bytes).ok()?;
    let is_it =
        read.version == VERSION && read.mark == hex(mark) && read.package.about.name == name;
    is_it.then_some(read.package)
}

impl Shelf {
    /// What was written down about a skill. What cannot be read was never known.
    pub(crate) fn remembered(&self, scope: &SkillScope, name: &str) -> Option<Vec<u8>> {
        let dir = self.dir(&[INDEX, &scope.folder()]).ok()??;
        let file = open_file(&dir, &format!("{name}.json")).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_SKILL_INDEX_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .ok()?;
        (bytes.len() <= MAX_SKILL_INDEX_BYTES).then_some(bytes)
    }

    /// Written beside its place first: whoever reads it meanwhile finds the old one or the new one.
    pub(crate) fn remember(&self, scope: &SkillScope, name: &str, about: &[u8]) -> io::Result<()> {
        if about.len() > MAX_SKILL_INDEX_BYTES {
            return Ok(());
        }
        let Some(root) = self.dir(&[])? else {
            return Ok(());
        };
        let dir = made(&made(&root, INDEX)?, &scope.folder())?;
        let beside = format!(".{}", Uuid::now_v7().simple());
        let kept = write(&dir, &beside, about)
            .and_then(|()| dir.rename(&beside, &dir, format!("{name}.json")));
        if kept.is_err() {
            let _ = dir.remove_file(&beside);
        }
        kept
    }

    /// What stays behind is believed by nobody.
    pub(crate) fn forget(&self, scope: &SkillScope, name: &str) {
        if let Ok(Some(dir)) = self.dir(&[INDEX, &scope.folder()]) {
            let _ = dir.remove_file(format!("{name}.json"));
        }
    }
}
