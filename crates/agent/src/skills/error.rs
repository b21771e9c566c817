//! What can go wrong with skills: one sentence with place, cause and remedy, under a stable code.

use std::io;

use innkeeper_protocol::ErrorCode;
use innkeeper_tools::ToolError;

use super::scope::SkillScope;
use crate::instance::AgentError;
use crate::limits::MAX_SKILLS_OF_SCOPE;
use crate::workspace::{PathFault, quoted};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SkillError {
    pub code: ErrorCode,
    pub message: String,
    /// A finer, stable name.
    pub reason: Option<&'static str>,
}

impl SkillError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            reason: None,
        }
    }

    pub(crate) fn because(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }

    /// A package that cannot be taken.
    pub(crate) fn package(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::SkillInvalidPackage, message).because(reason)
    }

    pub(crate) fn request(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::SkillInvalidRequest, message).because(reason)
    }

    pub(crate) fn path(text: &str, why: PathFault) -> Self {
        // A skill has other files than a workspace.
        let why = why
            .to_string()
            .replace("output/main.md", "references/more.md");
        let message = format!("'{}' is no path of a file: {why}", quoted(text));
        Self::package("skill.path_invalid", message)
    }

    /// The disk, not the skill, has to be mended.
    pub(crate) fn storage(place: &str, doing: &str, error: &io::Error) -> Self {
        Self::new(
            ErrorCode::SkillStorageFailed,
            format!(
                "'{}' cannot be {doing} ({error}): check the folder, its permissions and the disk",
                quoted(place)
            ),
        )
    }

    /// Something lies in the place of a skill, and is no folder.
    pub(crate) fn no_folder(place: &str) -> Self {
        Self::package(
            "skill.not_plain",
            format!(
                "'{}' is a link or no folder: put the folder itself there, or delete it",
                quoted(place)
            ),
        )
    }

    pub(crate) fn no_skill(name: &str, scope: &str) -> Self {
        Self::new(
            ErrorCode::SkillNotFound,
            format!(
                "there is no skill '{}' in the scope {}: `innkeeper skills list` shows those there are",
                quoted(name),
                quoted(scope)
            ),
        )
    }

    pub(crate) fn too_many_skills(scope: &SkillScope) -> Self {
        Self::request(
            "skill.too_many_skills",
            format!(
                "the scope {scope} has room for {MAX_SKILLS_OF_SCOPE} skills: delete some first"
            ),
        )
    }

    pub(crate) fn no_file(name: &str, path: &str) -> Self {
        Self::new(
            ErrorCode::SkillNotFound,
            format!(
                "the skill '{}' has no file '{}': begin with SKILL.md, which names the others",
                quoted(name),
                quoted(path)
            ),
        )
        .because("skill.file_not_found")
    }
}

impl From<SkillError> for ToolError {
    fn from(error: SkillError) -> Self {
        let told = Self::new(error.code, error.message);
        match error.reason {
            Some(reason) => told.because(reason),
            None => told.because(error.code.as_str()),
        }
    }
}

impl From<SkillError> for AgentError {
    fn from(error: SkillError) -> Self {
        let told = Self::new(error.code, error.message);
        match error.reason {
            Some(reason) => told.because(reason),
            None => told,
        }
    }
}
