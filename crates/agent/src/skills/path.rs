//! Names of skills, and paths of their files: the rules of the workspace, and a few more.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization as _;

use super::error::SkillError;
use crate::limits::MAX_SKILL_NAME_CHARS;
use crate::workspace::{WorkspacePath, quoted};

/// What a folder of somebody's work may hold and a package must not.
const CLOSED: [&str; 3] = [".git", ".ssh", ".env"];

/// Names that lead to no file on Windows, with whatever ending.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

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
    let is_blank = |text: &str| text.trim() != text;
    if is_blank(text) || is_blank(path.as_str()) {
        let message = format!(
            "'{}' begins or ends with a blank: name the file without it",
            quoted(text)
        );
        return Err(SkillError::package("skill.path_invalid", message));
    }
    for name in path.as_str().split('/') {
        check_part(text, name)?;
    }
    Ok(path)
}

/// One name of a path: the same file on every system, and none that a package must not bring.
fn check_part(path: &str, name: &str) -> Result<(), SkillError> {
    let invalid = |why: &str| {
        let message = format!("'{}' {why}: rename it", quoted(path));
        Err(SkillError::package("skill.path_invalid", message))
    };
    if name.contains(':') {
        return invalid("has a colon in a name, which is no part of a name on every system");
    }
    if name.ends_with(['.', ' ']) {
        return invalid(
            "has a name that ends with a dot or a blank, which some systems leave away",
        );
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    if is_device(stem) {
        return invalid("has the name of a device of Windows");
    }
    match CLOSED
        .iter()
        .any(|closed| name.eq_ignore_ascii_case(closed))
    {
        false => Ok(()),
        true => Err(SkillError::package(
            "skill.path_forbidden",
            format!(
                "'{}' is not taken, since it has '{name}' in its path: leave such files out of the package",
                quoted(path)
            ),
        )),
    }
}

fn is_device(stem: &str) -> bool {
    let numbered = |kind: &str| {
        let start = stem.get(..kind.len());
        let is_kind = start.is_some_and(|start| start.eq_ignore_ascii_case(kind));
        let number = stem.get(kind.len()..).unwrap_or_default();
        is_kind && matches!(number.as_bytes(), [b'1'..=b'9'])
    };
    DEVICES
        .iter()
        .any(|device| stem.eq_ignore_ascii_case(device))
        || numbered("com")
        || numbered("lpt")
}

pub(crate) fn is_litter(path: &str) -> bool {
    path.split(['/', '\\']).any(|name| LITTER.contains(&name))
}

/// The paths of one package, none of which stands in the way of another on any file system.
#[derive(Default)]
pub(crate) struct Paths {
    files: HashSet<String>,
    /// How each is spelled.
    folders: HashMap<String, String>,
}

/// What file systems take for the same that do not tell letter case, or ways to write an accent, apart.
fn folded(path: &str) -> String {
    path.nfd()
        .collect::<String>()
        .to_lowercase()
        .nfc()
        .collect()
}

impl Paths {
    pub(crate) fn add(&mut self, path: &WorkspacePath) -> Result<(), SkillError> {
        let own = folded(path.as_str());
        let is_taken = self.folders.contains_key(&own)
            || path
                .parents()
                .any(|folder| self.files.contains(&folded(folder)));
        if is_taken {
            return Err(SkillError::package(
                "skill.path_conflict",
                format!("'{path}' is both a file and a folder of the package: rename one of them"),
            ));
        }
        for folder in path.parents() {
            let spelling = self.folders.entry(folded(folder));
            let spelling = spelling.or_insert_with(|| folder.to_owned());
            if spelling != folder {
                return Err(SkillError::package(
                    "skill.path_duplicate",
                    format!(
                        "'{path}' lies in a folder that is spelled '{spelling}' elsewhere in the package: spell it the same"
                    ),
                ));
            }
        }
        if !self.files.insert(own) {
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
