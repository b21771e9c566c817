//! Bringing skills in: looked at first, then there wholly or not at all. Nothing is fetched from the network.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use serde::{Deserialize, Serialize};

use super::archive::Archive;
use super::error::SkillError;
use super::folder::Folder;
use super::house::{SkillSummary, Skills};
use super::package::{ImportProgress, Package, SkillFile, inspect, unpack};
use super::scope::SkillScope;
use super::source::{Inline, InlineFile, Source, decoded};
use crate::limits::{MAX_SKILL_ARCHIVE_BYTES, MAX_SKILLS_OF_SCOPE};

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ImportInput {
    InlineFiles {
        files: Vec<InlineFile>,
    },
    Directory {
        path: PathBuf,
    },
    ArchiveFile {
        path: PathBuf,
    },
    ArchiveBase64 {
        #[serde(alias = "file_name")]
        file_name: String,
        #[serde(alias = "content_base64")]
        content_base64: String,
    },
}

/// What to do about a skill of the same name that is not the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictStrategy {
    Skip,
    Replace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Conflict {
    New,
    Same,
    Different,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallAction {
    Installed,
    Replaced,
    /// The same is there already; of a move, it is gone from where it was.
    AlreadyInstalled,
    Skipped,
}

/// What an import would bring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportPreview {
    pub skill: SkillSummary,
    pub files: Vec<SkillFile>,
    pub conflict: ConflictFound,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictFound {
    pub kind: Conflict,
    /// Of what is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_hash: Option<String>,
}

/// What came of it. `skill` is what is there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Installed {
    pub action: InstallAction,
    pub skill: SkillSummary,
}

impl ImportInput {
    /// A folder, or else an archive.
    pub fn at(path: &Path) -> Self {
        match path.is_dir() {
            true => Self::Directory {
                path: path.to_owned(),
            },
            false => Self::ArchiveFile {
                path: path.to_owned(),
            },
        }
    }

    fn open(&self) -> Result<Box<dyn Source>, SkillError> {
        Ok(match self {
            Self::InlineFiles { files } => Box::new(Inline::of(files)?),
            Self::Directory { path } => Box::new(Folder::at(path)?),
            Self::ArchiveFile { path } => Box::new(Archive::at(path)?),
            Self::ArchiveBase64 {
                file_name,
                content_base64,
            } => {
                let most = MAX_SKILL_ARCHIVE_BYTES / 3 * 4 + 4;
                if content_base64.len() as u64 > most {
                    return Err(SkillError::package(
                        "skill.archive_too_large",
                        format!(
                            "the archive is larger than {} MiB",
                            MAX_SKILL_ARCHIVE_BYTES >> 20
                        ),
                    ));
                }
                Box::new(Archive::of_bytes(decoded(file_name, content_base64)?)?)
            }
        })
    }
}

impl Skills {
    /// Writes nothing.
    pub fn preview_import(
        &self,
        input: &ImportInput,
        target: &SkillScope,
    ) -> Result<ImportPreview, SkillError> {
        target.check()?;
        let source = input.open()?;
        let package = inspect(&*source, &mut |_| {})?;
        let conflict = self.conflict(&package, target)?;
        Ok(ImportPreview {
            skill: SkillSummary::of(&package, target),
            files: package.files,
            conflict,
        })
    }

    pub fn install_import(
        &self,
        input: &ImportInput,
        target: &SkillScope,
        strategy: Option<ConflictStrategy>,
    ) -> Result<Installed, SkillError> {
        self.install_import_told(input, target, strategy, &mut |_| {})
    }

    /// The same, telling how far it is.
    pub fn install_import_told(
        &self,
        input: &ImportInput,
        target: &SkillScope,
        strategy: Option<ConflictStrategy>,
        told: &mut dyn FnMut(ImportProgress),
    ) -> Result<Installed, SkillError> {
        target.check()?;
        let source = input.open()?;
        let package = inspect(&*source, told)?;
        let changing = self.0.shelf.change()?;
        let name = &package.about.name;
        let found = self.conflict(&package, target)?;
        let action = decided(found.kind, strategy, name, target)?;
        if matches!(action, InstallAction::Installed | InstallAction::Replaced) {
            if found.kind == Conflict::New {
                self.check_room(target)?;
            }
            let stage = changing.stage()?;
            unpack(&*source, &package, &stage.new_skill()?, told)?;
            stage.install(target, name)?;
        } else {
            changing.stage()?.claim(target)?;
        }
        let skill = match action {
            // What is there was left as it is.
            InstallAction::Skipped => self.show(target, name)?,
            _ => SkillSummary::of(&package, target),
        };
        Ok(Installed { action, skill })
    }

    pub(super) fn check_room(&self, scope: &SkillScope) -> Result<(), SkillError> {
        match self.0.shelf.names(scope)?.len() < MAX_SKILLS_OF_SCOPE {
            true => Ok(()),
            false => Err(SkillError::too_many_skills(scope)),
        }
    }

    fn conflict(
        &self,
        package: &Package,
        target: &SkillScope,
    ) -> Result<ConflictFound, SkillError> {
        let there = self.there(target, &package.about.name)?;
        Ok(match there {
            There::Nothing => ConflictFound {
                kind: Conflict::New,
                installed_hash: None,
            },
            // It can only be replaced.
            There::Broken => ConflictFound {
                kind: Conflict::Different,
                installed_hash: None,
            },
            There::Skill(there) => ConflictFound {
                kind: match there.installed_hash == package.installed_hash {
                    true => Conflict::Same,
                    false => Conflict::Different,
                },
                installed_hash: Some(there.installed_hash.clone()),
            },
        })
    }

    pub(super) fn there(&self, scope: &SkillScope, name: &str) -> Result<There, SkillError> {
        let open = self.0.shelf.open()?;
        match self.package(scope, name, &open) {
            Ok(None) => Ok(There::Nothing),
            Ok(Some((package, _))) => Ok(There::Skill(package)),
            Err(error) if error.code == ErrorCode::SkillInvalidPackage => Ok(There::Broken),
            Err(error) => Err(error),
        }
    }
}

/// What lies in the place of a skill.
pub(super) enum There {
    Nothing,
    Skill(Arc<Package>),
    /// Something that cannot be used.
    Broken,
}

pub(super) fn decided(
    found: Conflict,
    strategy: Option<ConflictStrategy>,
    name: &str,
    target: &SkillScope,
) -> Result<InstallAction, SkillError> {
    match (found, strategy) {
        (Conflict::New, _) => Ok(InstallAction::Installed),
        (Conflict::Same, _) => Ok(InstallAction::AlreadyInstalled),
        (Conflict::Different, Some(ConflictStrategy::Skip)) => Ok(InstallAction::Skipped),
        (Conflict::Different, Some(ConflictStrategy::Replace)) => Ok(InstallAction::Replaced),
        (Conflict::Different, None) => Err(SkillError::new(
            ErrorCode::SkillConflict,
            format!(
                "the scope {target} has another skill '{name}' already: say whether to replace it or to skip this one"
            ),
        )),
    }
}
