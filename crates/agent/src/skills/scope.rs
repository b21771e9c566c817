//! For whom a skill is there: everyone, or whoever uses a preset, a profile or a character; and the folder of each.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::SkillError;
use crate::limits::MAX_SCOPE_PART_BYTES;
use crate::workspace::quoted;

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum SkillScope {
    #[default]
    Global,
    Preset {
        #[serde(alias = "api_id")]
        api_id: String,
        name: String,
    },
    Profile {
        #[serde(alias = "profile_id")]
        profile_id: String,
    },
    Character {
        #[serde(alias = "character_id")]
        character_id: String,
    },
}

/// Which scopes are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SkillFilter {
    #[default]
    All,
    Of(SkillScope),
}

impl SkillScope {
    fn kind(&self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Preset { .. } => "preset",
            Self::Profile { .. } => "profile",
            Self::Character { .. } => "character",
        }
    }

    fn parts(&self) -> Vec<&str> {
        match self {
            Self::Global => Vec::new(),
            Self::Preset { api_id, name } => vec![api_id, name],
            Self::Profile { profile_id } => vec![profile_id],
            Self::Character { character_id } => vec![character_id],
        }
    }

    /// Parts that can be told apart: a NUL would make two scopes one.
    pub fn check(&self) -> Result<(), SkillError> {
        for part in self.parts() {
            let why = if part.trim().is_empty() {
                "a part of it is empty"
            } else if part.len() > MAX_SCOPE_PART_BYTES {
                "a part of it is too long"
            } else if part.chars().any(char::is_control) {
                "it holds a control character"
            } else {
                continue;
            };
            return Err(SkillError::request(
                "skill.scope_invalid",
                format!("'{}' is no scope: {why}", quoted(&self.to_string())),
            ));
        }
        Ok(())
    }

    /// The name of its folder.
    pub fn folder(&self) -> String {
        let parts = self.parts();
        if parts.is_empty() {
            return self.kind().to_owned();
        }
        let mut hasher = Sha256::new();
        hasher.update(self.kind());
        for part in parts {
            hasher.update([0]);
            hasher.update(part);
        }
        let digest = hasher.finalize();
        let hex: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
        format!("{}_{hex}", self.kind())
    }
}

impl fmt::Display for SkillScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Preset { api_id, name } => write!(f, "preset:{api_id}/{name}"),
            Self::Profile { profile_id } => write!(f, "profile:{profile_id}"),
            Self::Character { character_id } => write!(f, "character:{character_id}"),
        }
    }
}

/// As people write it: `global`, `preset:openai/My preset`, `profile:writer`, `character:Seraphina`.
impl FromStr for SkillScope {
    type Err = SkillError;

    fn from_str(text: &str) -> Result<Self, SkillError> {
        let scope = match text.split_once(':') {
            None if text == "global" => Some(Self::Global),
            Some(("preset", rest)) => rest.split_once('/').map(|(api_id, name)| Self::Preset {
                api_id: api_id.to_owned(),
                name: name.to_owned(),
            }),
            Some(("profile", id)) => Some(Self::Profile {
                profile_id: id.to_owned(),
            }),
            Some(("character", id)) => Some(Self::Character {
                character_id: id.to_owned(),
            }),
            _ => None,
        };
        let scope = scope.ok_or_else(|| {
            SkillError::request(
                "skill.scope_invalid",
                format!(
                    "'{}' is no scope: write global, preset:<api>/<name>, profile:<id> or character:<id>",
                    quoted(text)
                ),
            )
        })?;
        scope.check()?;
        Ok(scope)
    }
}

impl FromStr for SkillFilter {
    type Err = SkillError;

    fn from_str(text: &str) -> Result<Self, SkillError> {
        match text {
            "all" => Ok(Self::All),
            scope => scope.parse().map(Self::Of),
        }
    }
}

#[cfg(test)]
#[path = "scope_tests.rs"]
mod tests;
