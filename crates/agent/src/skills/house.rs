//! The skills of a house, for hosts: what there is, and what is in it. Changing them is `import.rs` and `change.rs`.
//!
//! Everything here works on files and may wait for them: whoever is async asks from a thread of its own.

use std::collections::HashMap;
use std::io::{Read as _, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::error::SkillError;
use super::folder::{Folder, open_file};
use super::front::SkillAbout;
use super::manifest::SkillManifest;
use super::pack::pack;
use super::package::{Package, SkillFile, inspect};
use super::path::{check_name, skill_path};
use super::read::{NoPiece, Part, Piece};
use super::scope::{SkillFilter, SkillScope};
use super::shelf::{Open, Shelf};
use crate::limits::{MAX_KNOWN_SKILLS, MAX_SKILL_FILE_BYTES, MAX_SKILL_READ_CHARS};

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

/// A skill as an archive.
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
        Self(Arc::new(Inner {
            shelf: Shelf::new(home),
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
            let (skills, issues) = self.of_scope(scope, &open)?;
            let skills = skills
                .iter()
                .map(|package| SkillSummary::of(package, scope));
            list.skills.extend(skills);
            list.issues.extend(issues);
        }
        list.issues.extend(unknown.into_iter().map(|folder| SkillIssue {
            scope: None,
            message: format!(
                "nobody knows which scope the folder '{folder}' belongs to: import its skills anew and remove it"
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
    ) -> Result<(Vec<Arc<Package>>, Vec<SkillIssue>), SkillError> {
        let (mut skills, mut issues) = (Vec::new(), Vec::new());
        for name in self.0.shelf.names(scope)? {
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
        if let Some(mark) = folder.mark
            && let Some(known) = self.known().get(&key)
            && known.mark == mark
        {
            return Ok(Some((known.package.clone(), folder)));
        }
        let package = Arc::new(inspect(&folder, &mut |_| {})?);
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

    /// The same skill gives the same bytes.
    pub fn export(&self, scope: &SkillScope, name: &str) -> Result<SkillExport, SkillError> {
        let mut bytes = Vec::new();
        let (file_name, sha256) = self.export_into(scope, name, &mut bytes)?;
        Ok(SkillExport {
            file_name,
            content_base64: STANDARD.encode(bytes),
            sha256,
        })
    }

    /// Gives the name that the archive should have, and its hash.
    pub fn export_into(
        &self,
        scope: &SkillScope,
        name: &str,
        out: &mut dyn Write,
    ) -> Result<(String, String), SkillError> {
        let open = self.0.shelf.open()?;
        let (_, folder) = self.found(scope, name, &open)?;
        let (sha256, _) = pack(name, &folder, out)?;
        Ok((format!("{name}.zip"), sha256))
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
