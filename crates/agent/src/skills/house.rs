//! The skills of a house, for hosts: what there is, and what is in it. Changing them is `import.rs` and `change.rs`.
//!
//! Everything here works on files and may wait for them: whoever is async asks from a thread of its own.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::error::SkillError;
use super::folder::{Folder, open_file};
use super::front::SkillAbout;
use super::index;
use super::manifest::SkillManifest;
use super::pack::pack;
use super::package::{Package, SkillFile, inspect};
use super::path::{check_name, skill_path};
use super::read::{NoPiece, Part, Piece};
use super::scope::{SkillFilter, SkillScope};
use super::shelf::{Open, Shelf, Stray};
use crate::limits::{
    MAX_KNOWN_SKILLS, MAX_SKILL_FILE_BYTES, MAX_SKILL_NAME_CHARS, MAX_SKILL_READ_CHARS,
};
use crate::workspace::quoted;

/// Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct Skills(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) shelf: Shelf,
    known: Mutex<HashMap<Key, Known>>,
}

type Key = (String, String);

/// What was found in a folder, and the mark that it had then.
struct Known {
    mark: [u8; 32],
    package: Arc<Package>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillSummary {
    pub scope: SkillScope,
    #[serde(flatten)]
    pub about: SkillAbout,
    pub display_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<SkillManifest>,
    pub file_count: usize,
    pub total_bytes: u64,
    pub installed_hash: String,
}

impl SkillSummary {
    pub(super) fn of(package: &Package, scope: &SkillScope) -> Self {
        let shown = package.manifest.as_ref();
        let shown = shown.and_then(|manifest| manifest.display_name.clone());
        Self {
            scope: scope.clone(),
            display_name: shown.unwrap_or_else(|| package.about.name.clone()),
            about: package.about.clone(),
            manifest: package.manifest.clone(),
            file_count: package.files.len(),
            total_bytes: package.bytes,
            installed_hash: package.installed_hash.clone(),
        }
    }
}

/// What lies where skills lie and is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillIssue {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<SkillScope>,
    /// The name of the folder.
    pub name: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillList {
    pub skills: Vec<SkillSummary>,
    pub issues: Vec<SkillIssue>,
}

/// A part of a file, for hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillText {
    pub scope: SkillScope,
    pub name: String,
    pub path: String,
    pub sha256: String,
    pub resource_ref: String,
    #[serde(flatten)]
    pub piece: Piece,
}

/// A skill as an archive, in at most [`crate::limits::MAX_SKILL_ARCHIVE_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillArchive {
    /// What it should be called.
    pub file_name: String,
    pub bytes: Vec<u8>,
    pub sha256: String,
}

/// The same, for hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillExport {
    pub file_name: String,
    pub content_base64: String,
    pub sha256: String,
}

impl Skills {
    /// Those below a home, which need not be there yet.
    pub fn new(home: &Path) -> Self {
        Self::with_clock(home, SystemTime::now)
    }

    pub(super) fn with_clock(home: &Path, clock: fn() -> SystemTime) -> Self {
        Self(Arc::new(Inner {
            shelf: Shelf::new(home, clock),
            known: Mutex::default(),
        }))
    }

    /// By scope and name. What cannot be used is told beside the others, not in their place.
    pub fn list(&self, filter: &SkillFilter) -> Result<SkillList, SkillError> {
        let open = self.0.shelf.open()?;
        let (scopes, unknown) = match filter {
            SkillFilter::All => self.0.shelf.scopes()?,
            SkillFilter::Of(scope) => {
                scope.check()?;
                (vec![scope.clone()], Vec::new())
            }
        };
        let mut list = SkillList::default();
        for scope in &scopes {
            let (skills, issues) = self.of_scope(scope, &open, |_| true)?;
            let skills = skills
                .iter()
                .map(|package| SkillSummary::of(package, scope));
            list.skills.extend(skills);
            list.issues.extend(issues);
        }
        list.issues.extend(unknown.into_iter().map(|folder| SkillIssue {
            scope: None,
            message: format!(
                "nobody knows which scope the folder '{folder}' belongs to: import one of its skills into that scope once more, and it is known again"
            ),
            reason: Some("skill.scope_unknown".to_owned()),
            name: folder,
        }));
        Ok(list)
    }

    pub(super) fn of_scope(
        &self,
        scope: &SkillScope,
        open: &Open,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<(Vec<Arc<Package>>, Vec<SkillIssue>), SkillError> {
        let mut skills = Vec::new();
        let strays = self.0.shelf.strays(scope)?;
        let mut issues: Vec<SkillIssue> = strays
            .into_iter()
            .map(|stray| self.no_skill(scope, stray))
            .collect();
        // What nobody wants to see is not read either.
        let names = self.0.shelf.names(scope)?;
        for name in names.into_iter().filter(|name| is_wanted(name)) {
            match self.package(scope, &name, open) {
                Ok(Some((package, _))) => skills.push(package),
                Ok(None) => {}
                Err(error) => issues.push(SkillIssue {
                    scope: Some(scope.clone()),
                    reason: error.reason.map(str::to_owned),
                    message: error.message,
                    name,
                }),
            }
        }
        Ok((skills, issues))
    }

    fn no_skill(&self, scope: &SkillScope, stray: Stray) -> SkillIssue {
        let error = match stray.is_folder {
            false => SkillError::no_folder(&self.0.shelf.shown(scope, &stray.name)),
            true => SkillError::package(
                "skill.name_invalid",
                format!(
                    "the folder '{}' has no name of a skill: use 1 to {MAX_SKILL_NAME_CHARS} lower-case letters, digits, '-' and '_'",
                    quoted(&stray.name)
                ),
            ),
        };
        SkillIssue {
            scope: Some(scope.clone()),
            name: stray.name,
            reason: error.reason.map(str::to_owned),
            message: error.message,
        }
    }

    /// A skill that is installed, whole and as it is now.
    pub(super) fn package(
        &self,
        scope: &SkillScope,
        name: &str,
        _: &Open,
    ) -> Result<Option<(Arc<Package>, Folder)>, SkillError> {
        check_name(name)?;
        let Some(folder) = self.0.shelf.folder(scope, name)? else {
            return Ok(None);
        };
        let key = (scope.folder(), name.to_owned());
        if let Some(package) = folder.mark.and_then(|mark| self.known_as(&key, mark)) {
            return Ok(Some((package, folder)));
        }
        let remembered = folder
            .mark
            .filter(|_| index::IS_SURE)
            .and_then(|mark| index::read(&self.0.shelf.remembered(scope, name)?, name, &mark));
        let is_new = remembered.is_none();
        let package = match remembered {
            Some(package) => Arc::new(package),
            None => Arc::new(inspect(&folder, &mut |_| {})?),
        };
        if package.about.name != name {
            return Err(SkillError::package(
                "skill.name_mismatch",
                format!(
                    "the folder is called '{name}' and the skill in it '{}': give both the same name",
                    package.about.name
                ),
            ));
        }
        if let Some(mark) = folder.mark {
            if is_new && index::IS_SURE {
                // Where nothing can be written, it is looked at again.
                let _ = self
                    .0
                    .shelf
                    .remember(scope, name, &index::written(&package, &mark));
            }
            let mut known = self.known();
            if known.len() >= MAX_KNOWN_SKILLS {
                known.clear();
            }
            known.insert(
                key,
                Known {
                    mark,
                    package: package.clone(),
                },
            );
        }
        Ok(Some((package, folder)))
    }

    fn known_as(&self, key: &Key, mark: [u8; 32]) -> Option<Arc<Package>> {
        let known = self.known();
        let known = known.get(key).filter(|known| known.mark == mark)?;
        Some(known.package.clone())
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Known>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn found(
        &self,
        scope: &SkillScope,
        name: &str,
        open: &Open,
    ) -> Result<(Arc<Package>, Folder), SkillError> {
        scope.check()?;
        let found = self.package(scope, name, open)?;
        found.ok_or_else(|| SkillError::no_skill(name, &scope.to_string()))
    }

    pub fn show(&self, scope: &SkillScope, name: &str) -> Result<SkillSummary, SkillError> {
        let open = self.0.shelf.open()?;
        let (package, _) = self.found(scope, name, &open)?;
        Ok(SkillSummary::of(&package, scope))
    }

    pub fn list_files(&self, scope: &SkillScope, name: &str) -> Result<Vec<SkillFile>, SkillError> {
        let open = self.0.shelf.open()?;
        Ok(self.found(scope, name, &open)?.0.files.clone())
    }

    /// Where its files lie, as people know it.
    pub fn place(&self, scope: &SkillScope, name: &str) -> String {
        self.0.shelf.shown(scope, name)
    }

    /// A part of a file that is text.
    pub fn read_file(
        &self,
        scope: &SkillScope,
        name: &str,
        path: &str,
        part: &Part,
    ) -> Result<SkillText, SkillError> {
        let (path, content, sha256) = self.content(scope, name, path)?;
        let piece = part.of(&content, MAX_SKILL_READ_CHARS);
        let piece = piece.map_err(|why| match why {
            NoPiece::Invalid(error) => error,
            NoPiece::TooLong(asked) => SkillError::request(
                "skill.read_too_large",
                format!(
                    "this part of '{path}' has {asked} characters; at most {MAX_SKILL_READ_CHARS} are read at once: read it in parts"
                ),
            ),
        })?;
        Ok(SkillText {
            scope: scope.clone(),
            resource_ref: reference(name, &path, piece.start_line, piece.end_line),
            name: name.to_owned(),
            path,
            sha256,
            piece,
        })
    }

    /// The text of a file, its path in the one spelling, and its hash.
    pub(super) fn content(
        &self,
        scope: &SkillScope,
        name: &str,
        path: &str,
    ) -> Result<(String, String, String), SkillError> {
        let open = self.0.shelf.open()?;
        scope.check()?;
        check_name(name)?;
        let wanted = requested(path)?;
        let Some(dir) = self.0.shelf.skill(scope, name)? else {
            return Err(SkillError::no_skill(name, &scope.to_string()));
        };
        let read = open_file(&dir, &wanted).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(MAX_SKILL_FILE_BYTES + 1)
                .read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        drop(open);
        let bytes = match read {
            Ok(bytes) if bytes.len() as u64 <= MAX_SKILL_FILE_BYTES => bytes,
            Ok(_) => {
                let message = format!("'{wanted}' is too large to be read");
                return Err(SkillError::request("skill.read_too_large", message));
            }
            Err(error) if is_absent(&error) => return Err(SkillError::no_file(name, &wanted)),
            Err(error) => return Err(SkillError::storage(&wanted, "read", &error)),
        };
        let sha256 = super::change::sha256(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) => Ok((wanted, text, sha256)),
            Err(_) => Err(SkillError::request(
                "skill.not_text",
                format!("'{wanted}' is no UTF-8 text, so it cannot be shown"),
            )),
        }
    }

    pub fn export(&self, scope: &SkillScope, name: &str) -> Result<SkillExport, SkillError> {
        let archive = self.archive(scope, name)?;
        Ok(SkillExport {
            file_name: archive.file_name,
            content_base64: STANDARD.encode(archive.bytes),
            sha256: archive.sha256,
        })
    }

    /// The same skill gives the same bytes. All of them are at hand before anything is done with them: whoever writes them
    /// somewhere may have to wait, and nobody is to wait for that.
    pub fn archive(&self, scope: &SkillScope, name: &str) -> Result<SkillArchive, SkillError> {
        let open = self.0.shelf.open()?;
        let (_, folder) = self.found(scope, name, &open)?;
        let mut bytes = Vec::new();
        let (sha256, _) = pack(name, &folder, &mut bytes)?;
        Ok(SkillArchive {
            file_name: format!("{name}.zip"),
            bytes,
            sha256,
        })
    }
}

/// Not there, or not a file but something that leads elsewhere.
fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;

    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput
    )
}

/// A path that somebody asks for.
pub(super) fn requested(path: &str) -> Result<String, SkillError> {
    let path = skill_path(path).map_err(|error| {
        SkillError::request(error.reason.unwrap_or("skill.path_invalid"), error.message)
    })?;
    Ok(path.as_str().to_owned())
}

pub(crate) fn reference(name: &str, path: &str, first: usize, last: usize) -> String {
    format!("skills/{name}/{path}#L{first}-L{last}")
}
