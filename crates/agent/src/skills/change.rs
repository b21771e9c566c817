//! Changing skills that are there: one of their files, their scope, whether they are there at all.

use cap_std::fs::Dir;
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::builtin::text::count;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::Read as _;

use super::error::SkillError;
use super::folder::open_file;
use super::front::{self, SKILL_MD};
use super::house::{SkillSummary, Skills, requested};
use super::import::{Conflict, ConflictStrategy, InstallAction, Installed, There, decided};
use super::manifest::{self, MANIFEST};
use super::package::{Package, hex};
use super::path::{Paths, check_name, skill_path};
use super::scope::SkillScope;
use super::shelf::Changing;
use super::source::{Source as _, check_size, check_total};
use crate::limits::{MAX_SKILL_FILE_BYTES, MAX_SKILL_FILES, MAX_SKILLS_OF_SCOPE};

/// A file that is to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WriteFile {
    #[serde(default)]
    pub scope: SkillScope,
    pub name: String,
    pub path: String,
    pub content: String,
    /// What the writer believes to be there; nothing if they do not care.
    #[serde(default)]
    pub expected_sha256: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Written {
    pub path: String,
    pub bytes: usize,
    pub chars: usize,
    pub words: usize,
    pub sha256: String,
    pub skill: SkillSummary,
}

impl Skills {
    /// Replaces a file, or adds one. The skill must be a good one afterwards.
    pub fn write_file(&self, wanted: &WriteFile) -> Result<Written, SkillError> {
        let WriteFile { scope, name, .. } = wanted;
        let path = requested(&wanted.path)?;
        let changing = self.0.shelf.change()?;
        let open = self.0.shelf.open()?;
        let (_, folder) = self.found(scope, name, &open)?;
        let dir = self.0.shelf.skill(scope, name)?;
        let dir = dir.ok_or_else(|| SkillError::no_skill(name, &scope.to_string()))?;
        check_expected(&dir, &path, wanted.expected_sha256.as_deref())?;
        let bytes = wanted.content.len() as u64;
        check_size(&path, bytes)?;
        let others = || folder.items().iter().filter(|item| item.path != path);
        check_total(others().map(|item| item.bytes).sum::<u64>() + bytes)?;
        if others().count() >= MAX_SKILL_FILES {
            let message = format!("the skill '{name}' has {MAX_SKILL_FILES} files already");
            return Err(SkillError::package("skill.too_many_files", message));
        }
        let mut paths = Paths::default();
        for item in others() {
            paths.add(&skill_path(&item.path)?)?;
        }
        paths.add(&skill_path(&path)?)?;
        match path.as_str() {
            SKILL_MD => check_same_name(name, &front::read(&wanted.content)?.name)?,
            MANIFEST => drop(manifest::read(&wanted.content)?),
            _ => {}
        }
        // Readers are waited for, and this is one.
        drop(open);
        changing
            .stage()?
            .write_file(&dir, &path, wanted.content.as_bytes())?;
        let counted = count(&wanted.content);
        Ok(Written {
            bytes: counted.bytes,
            chars: counted.chars,
            words: counted.words,
            sha256: sha256(wanted.content.as_bytes()),
            skill: self.show(scope, name)?,
            path,
        })
    }

    /// Also one that cannot be used.
    pub fn delete(&self, scope: &SkillScope, name: &str) -> Result<(), SkillError> {
        scope.check()?;
        check_name(name)?;
        let changing = self.0.shelf.change()?;
        match self.0.shelf.skill(scope, name) {
            Ok(None) => return Err(SkillError::no_skill(name, &scope.to_string())),
            Ok(Some(_)) => {}
            // Whatever lies in its place can be taken away.
            Err(error) if error.code == ErrorCode::SkillInvalidPackage => {}
            Err(error) => return Err(error),
        }
        changing.stage()?.remove(scope, name)
    }

    /// Into another scope. Where the same is there already, it only goes from here.
    pub fn move_to(
        &self,
        name: &str,
        from: &SkillScope,
        to: &SkillScope,
        strategy: Option<ConflictStrategy>,
    ) -> Result<Installed, SkillError> {
        from.check()?;
        to.check()?;
        let changing = self.0.shelf.change()?;
        let moved = match self.there(from, name)? {
            There::Skill(package) => package,
            There::Nothing => return Err(SkillError::no_skill(name, &from.to_string())),
            There::Broken => {
                let message =
                    format!("the skill '{name}' of {from} cannot be used: mend it or delete it");
                return Err(SkillError::package("skill.broken", message));
            }
        };
        let summary = SkillSummary::of(&moved, to);
        if from == to {
            return Ok(Installed {
                action: InstallAction::AlreadyInstalled,
                skill: summary,
            });
        }
        let found = self.found_there(to, name, Some(&moved))?;
        let action = decided(found, strategy, name, to)?;
        if found == Conflict::New {
            self.check_room(to)?;
        }
        carry(&changing, name, (from, to), action)?;
        Ok(Installed {
            action,
            skill: match action {
                InstallAction::Skipped => SkillSummary::of(&moved, from),
                _ => summary,
            },
        })
    }

    /// `moved`: nothing of what cannot be used, which is like no other.
    fn found_there(
        &self,
        to: &SkillScope,
        name: &str,
        moved: Option<&Package>,
    ) -> Result<Conflict, SkillError> {
        Ok(match self.there(to, name)? {
            There::Nothing => Conflict::New,
            There::Skill(there)
                if moved.is_some_and(|moved| there.installed_hash == moved.installed_hash) =>
            {
                Conflict::Same
            }
            There::Skill(_) | There::Broken => Conflict::Different,
        })
    }

    /// All skills of a scope follow what the scope is called now: a preset, a profile or a character was renamed.
    pub fn retarget_scope(
        &self,
        from: &SkillScope,
        to: &SkillScope,
        strategy: Option<ConflictStrategy>,
    ) -> Result<Vec<Installed>, SkillError> {
        if std::mem::discriminant(from) != std::mem::discriminant(to) || *from == SkillScope::Global
        {
            return Err(SkillError::request(
                "skill.retarget_invalid",
                format!(
                    "the skills of {from} cannot become those of {to}: both have to be presets, profiles or characters"
                ),
            ));
        }
        from.check()?;
        to.check()?;
        if from == to {
            return Ok(Vec::new());
        }
        let changing = self.0.shelf.change()?;
        // All or none: nobody else changes anything meanwhile, and what would stop half-way is seen before.
        let mut plan = Vec::new();
        for name in self.0.shelf.names(from)? {
            let moved = match self.there(from, &name)? {
                There::Skill(package) => Some(package),
                There::Broken => None,
                There::Nothing => continue,
            };
            let found = self.found_there(to, &name, moved.as_deref())?;
            let action = decided(found, strategy, &name, to)?;
            plan.push((name, moved, found, action));
        }
        let new = plan
            .iter()
            .filter(|(_, _, found, _)| *found == Conflict::New);
        let room = MAX_SKILLS_OF_SCOPE.saturating_sub(self.0.shelf.names(to)?.len());
        if new.count() > room {
            return Err(SkillError::too_many_skills(to));
        }
        let (mut done, all) = (Vec::new(), plan.len());
        for (at, (name, moved, _, action)) in plan.into_iter().enumerate() {
            carry(&changing, &name, (from, to), action).map_err(|mut error| {
                error.message.push_str(&format!(
                    "; {at} of {all} skills have been moved, the others are where they were"
                ));
                error
            })?;
            // One that cannot be used goes along, and is told of where it is now.
            done.extend(moved.map(|moved| Installed {
                action,
                skill: match action {
                    InstallAction::Skipped => SkillSummary::of(&moved, from),
                    _ => SkillSummary::of(&moved, to),
                },
            }));
        }
        Ok(done)
    }
}

/// Does what was decided about one skill.
fn carry(
    changing: &Changing<'_>,
    name: &str,
    (from, to): (&SkillScope, &SkillScope),
    action: InstallAction,
) -> Result<(), SkillError> {
    let stage = changing.stage()?;
    match action {
        InstallAction::Installed | InstallAction::Replaced => stage.carry(name, from, to),
        InstallAction::AlreadyInstalled => stage.remove(from, name),
        InstallAction::Skipped => Ok(()),
    }
}

fn check_same_name(name: &str, new: &str) -> Result<(), SkillError> {
    match name == new {
        true => Ok(()),
        false => Err(SkillError::package(
            "skill.name_mismatch",
            format!(
                "this {SKILL_MD} is of a skill '{new}', and the skill is called '{name}': keep the name, or import it as a new skill"
            ),
        )),
    }
}

fn check_expected(dir: &Dir, path: &str, expected: Option<&str>) -> Result<(), SkillError> {
    let Some(expected) = expected else {
        return Ok(());
    };
    let mut bytes = Vec::new();
    let there = open_file(dir, path)
        .and_then(|file| file.take(MAX_SKILL_FILE_BYTES + 1).read_to_end(&mut bytes));
    match there {
        Ok(_) if sha256(&bytes).eq_ignore_ascii_case(expected) => Ok(()),
        _ => Err(SkillError::new(
            ErrorCode::SkillStaleFile,
            format!("'{path}' is not what it was when it was read: read it again, then write"),
        )),
    }
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
