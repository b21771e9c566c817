//! Names of skills, and paths of their files: the rules of the workspace, and a few more.

use std::collections::HashSet;

use super::error::SkillError;
use crate::limits::MAX_SKILL_NAME_CHARS;
use crate::workspace::{PathFault, WorkspacePath, quoted};

/// What a folder of somebody's work may hold and a package must not.
const CLOSED: [&str; 3] = [".git", ".ssh", ".env"];

/// What file managers leave behind.
const LITTER: [&str; 2] = ["__MACOSX", ".DS_Store"];

pub(crate) fn is_skill_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    !name.is_empty() && name.len() <= MAX_SKILL_NAME_CHARS && name.chars().all(fits)
}

pub(crate) fn check_name(name: &str) -> Result<(), SkillError> {
    match is_skill_name(name) {
        true => Ok(()),
        false => Err(SkillError::request(
            "skill.name_invalid",
            format!(
                "'{}' is no name of a skill: use 1 to {MAX_SKILL_NAME_CHARS} lower-case letters, digits, '-' and '_'",
                quoted(name)
            ),
        )),
    }
}

pub(crate) fn skill_path(text: &str) -> Result<WorkspacePath, SkillError> {
    // A name with a blank at its end would be another file than it looks.
    let path = WorkspacePath::parse(text).map_err(|why| SkillError::path(text, why))?;
    if text.trim() != text {
        let message = format!(
            "'{}' begins or ends with a blank: name the file without it",
            quoted(text)
        );
        return Err(SkillError::package("skill.path_invalid", message));
    }
    let is_closed = |name: &str| {
        CLOSED
            .iter()
            .any(|closed| name.eq_ignore_ascii_case(closed))
    };
    match path.as_str().split('/').find(|name| is_closed(name)) {
        None => Ok(path),
        Some(name) => Err(SkillError::package(
            "skill.path_forbidden",
            format!(
                "'{}' is not taken, since it has '{name}' in its path: leave such files out of the package",
                quoted(text)
            ),
        )),
    }
}

pub(crate) fn is_litter(path: &str) -> bool {
    path.split(['/', '\\']).any(|name| LITTER.contains(&name))
}

/// The paths of one package, none of which stands in the way of another on any file system.
#[derive(Default)]
pub(crate) struct Paths {
    files: HashSet<String>,
    folders: HashSet<String>,
}

impl Paths {
    pub(crate) fn add(&mut self, path: &WorkspacePath) -> Result<(), SkillError> {
        let folded = path.as_str().to_lowercase();
        let Ok(folded) = WorkspacePath::parse(&folded) else {
            return Err(SkillError::path(path.as_str(), PathFault::TooLong));
        };
        let taken = self.folders.contains(folded.as_str())
            || folded.parents().any(|folder| self.files.contains(folder));
        if taken {
            return Err(SkillError::package(
                "skill.path_conflict",
                format!("'{path}' is both a file and a folder of the package: rename one of them"),
            ));
        }
        self.folders.extend(folded.parents().map(str::to_owned));
        if !self.files.insert(folded.as_str().to_owned()) {
            return Err(SkillError::package(
                "skill.path_duplicate",
                format!(
                    "'{path}' is in the package twice, or once more in other letter case: keep one of them"
                ),
            ));
        }
        Ok(())
    }
}
