//! `agents/tauritavern.json`: what a package may say to programs. What nobody knows in it is refused.

use serde::{Deserialize, Serialize};

use super::error::SkillError;
use crate::limits::{MAX_SKILL_NOTES_CHARS, MAX_SKILL_WORD_CHARS, MAX_SKILL_WORDS};
use crate::workspace::quoted;

pub const MANIFEST: &str = "agents/tauritavern.json";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SkillManifest {
    pub version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_kind: Option<String>,
    /// Whether an agent may use it without being told to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_implicit_invocation: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recommended_tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended_context: Option<RecommendedContext>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecommendedContext {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_budget_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_mode: Option<String>,
}

pub(crate) fn read(text: &str) -> Result<SkillManifest, SkillError> {
    let manifest: SkillManifest =
        serde_json::from_str(text).map_err(|error| invalid(quoted(&error.to_string())))?;
    if manifest.version != 1 {
        return Err(invalid(format!(
            "its version is {}, and only 1 is known",
            manifest.version
        )));
    }
    let context = manifest.recommended_context.as_ref();
    let words = [
        &manifest.display_name,
        &manifest.source_kind,
        &context.and_then(|context| context.preferred_mode.clone()),
    ];
    let lists = [&manifest.recommended_tools, &manifest.tags];
    let is_long = |text: &String| text.chars().nth(MAX_SKILL_WORD_CHARS).is_some();
    let notes = manifest.notes.iter();
    if words.into_iter().flatten().any(is_long)
        || lists.into_iter().flatten().any(is_long)
        || lists.iter().any(|list| list.len() > MAX_SKILL_WORDS)
        || notes
            .clone()
            .any(|notes| notes.chars().nth(MAX_SKILL_NOTES_CHARS).is_some())
    {
        return Err(invalid(format!(
            "words have at most {MAX_SKILL_WORD_CHARS} characters, lists {MAX_SKILL_WORDS} entries, notes {MAX_SKILL_NOTES_CHARS} characters"
        )));
    }
    Ok(manifest)
}

fn invalid(why: String) -> SkillError {
    SkillError::package(
        "skill.manifest_invalid",
        format!("{MANIFEST} cannot be used: {why}"),
    )
}
