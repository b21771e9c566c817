//! A package that was looked at: what it says about itself, its files, and the hash by which it is known.

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::Write;

use super::error::SkillError;
use super::folder::{made_parent, parent};
use super::front::{self, SKILL_MD, SkillAbout};
use super::manifest::{self, MANIFEST, SkillManifest};
use super::shelf::sync;
use super::source::{Source, read_through};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Package {
    pub(crate) about: SkillAbout,
    pub(crate) manifest: Option<SkillManifest>,
    pub(crate) files: Vec<SkillFile>,
    pub(crate) bytes: u64,
    pub(crate) installed_hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillFile {
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

/// How far an import is: files, and in which of its two goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportProgress {
    Checked { files: usize, of: usize },
    Written { files: usize, of: usize },
}

/// Reads all of it once, and writes nothing.
pub(crate) fn inspect(
    source: &dyn Source,
    told: &mut dyn FnMut(ImportProgress),
) -> Result<Package, SkillError> {
    let items = source.items();
    let mut whole = Sha256::new();
    let mut files = Vec::with_capacity(items.len());
    let (mut skill_md, mut manifest) = (Vec::new(), None);
    for (at, item) in items.iter().enumerate() {
        let mut own = Sha256::new();
        let mut kept = match item.path.as_str() {
            SKILL_MD | MANIFEST => Some(Vec::new()),
            _ => None,
        };
        whole.update(&item.path);
        whole.update([0]);
        read_through(source, at, &mut |piece| {
            whole.update(piece);
            own.update(piece);
            if let Some(kept) = &mut kept {
                kept.extend_from_slice(piece);
            }
            Ok(())
        })?;
        whole.update([0]);
        match item.path.as_str() {
            SKILL_MD => skill_md = kept.unwrap_or_default(),
            MANIFEST => manifest = kept,
            _ => {}
        }
        files.push(SkillFile {
            path: item.path.clone(),
            bytes: item.bytes,
            sha256: hex(&own.finalize()),
        });
        told(ImportProgress::Checked {
            files: at + 1,
            of: items.len(),
        });
    }
    Ok(Package {
        about: front::read(text(SKILL_MD, &skill_md)?)?,
        manifest: match &manifest {
            Some(bytes) => Some(manifest::read(text(MANIFEST, bytes)?)?),
            None => None,
        },
        bytes: items.iter().map(|item| item.bytes).sum(),
        files,
        installed_hash: hex(&whole.finalize()),
    })
}

/// Writes the files into an empty folder. They must be those that were looked at.
pub(crate) fn unpack(
    source: &dyn Source,
    package: &Package,
    dir: &Dir,
    told: &mut dyn FnMut(ImportProgress),
) -> Result<(), SkillError> {
    for (at, file) in package.files.iter().enumerate() {
        let failed = |error: std::io::Error| SkillError::storage(&file.path, "written", &error);
        let (folder, name) = made_parent(dir, &file.path).map_err(failed)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let mut out = folder.open_with(&name, &options).map_err(failed)?;
        let mut own = Sha256::new();
        read_through(source, at, &mut |piece| {
            own.update(piece);
            out.write_all(piece).map_err(failed)
        })?;
        if hex(&own.finalize()) != file.sha256 {
            return Err(SkillError::package(
                "skill.changed_meanwhile",
                format!(
                    "'{}' was changed while it was imported: try again",
                    file.path
                ),
            ));
        }
        out.sync_all().map_err(failed)?;
        told(ImportProgress::Written {
            files: at + 1,
            of: package.files.len(),
        });
    }
    sync_folders(package, dir);
    Ok(())
}

/// The names of the files are on disk too, not only what is in them.
fn sync_folders(package: &Package, dir: &Dir) {
    let mut folders = BTreeSet::new();
    for file in &package.files {
        let mut rest = file.path.as_str();
        while let Some((folder, _)) = rest.rsplit_once('/') {
            folders.insert(folder);
            rest = folder;
        }
    }
    for folder in folders {
        if let Ok((parent, name)) = parent(dir, folder)
            && let Ok(folder) = parent.open_dir_nofollow(&name)
        {
            sync(&folder);
        }
    }
    sync(dir);
}

pub(crate) fn text<'b>(path: &str, bytes: &'b [u8]) -> Result<&'b str, SkillError> {
    std::str::from_utf8(bytes).map_err(|_| {
        SkillError::package(
            "skill.not_text",
            format!("{path} is no UTF-8 text: save it as UTF-8"),
        )
    })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
