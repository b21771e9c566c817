//! The skills of one run: which scopes count, which skill of a name wins, and what the profile lets its agent see.

use std::collections::BTreeMap;

use innkeeper_protocol::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::error::SkillError;
use super::house::{SkillIssue, Skills};
use super::scope::SkillScope;
use crate::instance::AgentError;
use crate::profile::{AgentProfile, PresetMode, SkillRules};
use crate::workspace::quoted;

/// What a run begins with, written down with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunSkills {
    /// Later ones win.
    pub scopes: Vec<SkillScope>,
    /// Those that the agent may see, by name.
    pub effective: Vec<RunSkill>,
    /// Why there are none, where they could not be looked up and the run went without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSkill {
    pub name: String,
    pub description: String,
    pub scope: SkillScope,
    pub installed_hash: String,
    /// To be used only where somebody asks for it: the agent is not told of it by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_on_request: bool,
}

impl RunSkills {
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty() && self.effective.is_empty()
    }

    /// What else hosts are told.
    pub(crate) fn extra(&self) -> Map<String, Json> {
        let issue = self.issue.iter();
        issue
            .map(|issue| ("issue".to_owned(), json!(issue)))
            .collect()
    }

    /// What hosts are told of the scopes beyond those that every run has.
    pub fn refs(&self) -> Json {
        let mut refs = Map::new();
        for scope in &self.scopes {
            match scope {
                SkillScope::Preset { api_id, name } => {
                    refs.insert("preset".to_owned(), json!({"apiId": api_id, "name": name}));
                }
                SkillScope::Character { character_id } => {
                    refs.insert("characterId".to_owned(), json!(character_id));
                }
                SkillScope::Global | SkillScope::Profile { .. } => {}
            }
        }
        Json::Object(refs)
    }
}

/// What the profile says to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    Visible,
    NotVisible,
    Denied,
}

impl SkillRules {
    pub(crate) fn sight(&self, name: &str) -> Sight {
        let lists = |list: &[String]| list.iter().any(|entry| entry == "*" || entry == name);
        match (lists(&self.deny), lists(&self.visible)) {
            (true, _) => Sight::Denied,
            (false, true) => Sight::Visible,
            (false, false) => Sight::NotVisible,
        }
    }
}

/// The scopes of a run: global, preset, profile, character. What the host names must not contradict what is known.
pub(crate) fn scopes(
    profile: &AgentProfile,
    chat_ref: &Json,
    refs: Option<&Json>,
) -> Result<Vec<SkillScope>, AgentError> {
    let refs = Refs::of(refs)?;
    let mut scopes = vec![SkillScope::Global];
    let own = &profile.preset;
    let own = own
        .reference
        .as_ref()
        .filter(|_| own.mode == PresetMode::Ref);
    let own = own.map(|own| (own.api_id.clone(), own.name.clone()));
    if let (Some(given), Some(own)) = (&refs.preset, &own)
        && given != own
    {
        return Err(invalid(
            "agent.skill_scope_preset_mismatch",
            format!(
                "skillScopeRefs.preset is '{}/{}', and the profile '{}' uses '{}/{}': leave it out",
                quoted(&given.0),
                quoted(&given.1),
                profile.id,
                quoted(&own.0),
                quoted(&own.1)
            ),
        ));
    }
    if let Some((api_id, name)) = refs.preset.or(own) {
        scopes.push(SkillScope::Preset { api_id, name });
    }
    scopes.push(SkillScope::Profile {
        profile_id: profile.id.to_string(),
    });
    let chat = chat_ref.get("characterId").and_then(Json::as_str);
    if let (Some(given), Some(chat)) = (&refs.character, chat)
        && given != chat
    {
        return Err(invalid(
            "agent.skill_scope_character_mismatch",
            format!(
                "skillScopeRefs.characterId is '{}', and the chat is one of '{}': leave it out",
                quoted(given),
                quoted(chat)
            ),
        ));
    }
    if let Some(character_id) = refs.character.or_else(|| chat.map(str::to_owned)) {
        scopes.push(SkillScope::Character { character_id });
    }
    for scope in &scopes {
        scope
            .check()
            .map_err(|error| invalid("agent.skill_scope_refs_invalid", error.message))?;
    }
    Ok(scopes)
}

#[derive(Default)]
struct Refs {
    preset: Option<(String, String)>,
    character: Option<String>,
}

impl Refs {
    /// `{preset: {apiId, name}?, characterId?}`, in either spelling.
    fn of(refs: Option<&Json>) -> Result<Self, AgentError> {
        let refs = match refs {
            None | Some(Json::Null) => return Ok(Self::default()),
            Some(Json::Object(refs)) => refs,
            Some(_) => {
                let message = "skillScopeRefs has to be an object with preset and characterId";
                return Err(invalid("agent.skill_scope_refs_invalid", message));
            }
        };
        let either = |of: &Map<String, Json>, one: &str, other: &str| {
            let found = of.get(one).or_else(|| of.get(other));
            found.filter(|value| !value.is_null()).cloned()
        };
        const KNOWN: [&str; 3] = ["preset", "characterId", "character_id"];
        if let Some(unknown) = refs.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            return Err(invalid(
                "agent.skill_scope_refs_invalid",
                format!("skillScopeRefs has no '{}'", quoted(unknown)),
            ));
        }
        let character = match either(refs, "characterId", "character_id") {
            None => None,
            Some(Json::String(id)) if !id.trim().is_empty() => Some(id),
            Some(_) => {
                let message = "skillScopeRefs.characterId has to be a text that is not empty";
                return Err(invalid("agent.skill_scope_character_id_empty", message));
            }
        };
        let preset = match refs.get("preset") {
            None | Some(Json::Null) => None,
            Some(preset) => {
                let text = |value: Option<Json>| match value {
                    Some(Json::String(text)) if !text.trim().is_empty() => Some(text),
                    _ => None,
                };
                let preset = preset.as_object().and_then(|of| {
                    let api_id = text(either(of, "apiId", "api_id"))?;
                    Some((api_id, text(of.get("name").cloned())?))
                });
                Some(preset.ok_or_else(|| {
                    let message = "skillScopeRefs.preset has to be {apiId, name}";
                    invalid("agent.skill_scope_refs_preset_invalid", message)
                })?)
            }
        };
        Ok(Self { preset, character })
    }
}

fn invalid(reason: &str, message: impl Into<String>) -> AgentError {
    AgentError::new(ErrorCode::AgentValidationError, message).because(reason)
}

impl Skills {
    /// What there is in these scopes, the later ones first asked, as far as the rules show it.
    pub(crate) fn effective(
        &self,
        scopes: Vec<SkillScope>,
        rules: &SkillRules,
    ) -> Result<RunSkills, AgentError> {
        let none = |scopes, issue| RunSkills {
            scopes,
            effective: Vec::new(),
            issue,
        };
        if rules.deny.iter().any(|name| name == "*") {
            return Ok(none(scopes, None));
        }
        let named = || rules.visible.iter().filter(|name| *name != "*");
        let (found, issues) = match self.in_scopes(&scopes, rules) {
            Ok(found) => found,
            // A run that needs none of them goes without.
            Err(error) if named().all(|name| rules.sight(name) != Sight::Visible) => {
                return Ok(none(scopes, Some(error.message)));
            }
            Err(error) => return Err(error.into()),
        };
        for name in named() {
            if !found.contains_key(name) && rules.sight(name) == Sight::Visible {
                return Err(missing(name, &issues));
            }
        }
        let effective = found.into_values().collect();
        Ok(RunSkills {
            scopes,
            effective,
            issue: None,
        })
    }

    /// Those that the rules show; others are not even read.
    fn in_scopes(
        &self,
        scopes: &[SkillScope],
        rules: &SkillRules,
    ) -> Result<(BTreeMap<String, RunSkill>, Vec<SkillIssue>), SkillError> {
        let open = self.0.shelf.open()?;
        let (mut found, mut all_issues) = (BTreeMap::new(), Vec::new());
        for scope in scopes {
            let is_visible = |name: &str| rules.sight(name) == Sight::Visible;
            let (skills, issues) = self.of_scope(scope, &open, is_visible)?;
            for package in skills {
                let skill = RunSkill {
                    name: package.about.name.clone(),
                    description: package.about.description.clone(),
                    scope: scope.clone(),
                    installed_hash: package.installed_hash.clone(),
                    is_on_request: package
                        .manifest
                        .as_ref()
                        .is_some_and(|manifest| manifest.allow_implicit_invocation == Some(false)),
                };
                found.insert(skill.name.clone(), skill);
            }
            all_issues.extend(issues);
        }
        Ok((found, all_issues))
    }
}

fn missing(name: &str, issues: &[SkillIssue]) -> AgentError {
    let why = match issues.iter().find(|issue| issue.name == name) {
        Some(issue) => format!("cannot be used: {}", issue.message),
        None => "is not installed: import it, or take it out of skills.visible".to_owned(),
    };
    let message = format!("the skill '{}' that the profile wants {why}", quoted(name));
    AgentError::new(ErrorCode::AgentInvalidProfile, message).because("agent.skill_visible_missing")
}

#[cfg(test)]
#[path = "effective_tests.rs"]
mod tests;
