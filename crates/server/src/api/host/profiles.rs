//! Agents: who there is, and what they are told.

use std::sync::Arc;

use innkeeper_agent::profile::{PresetRef, ProfileError, Profiles, RepairAction, Unseen};
use innkeeper_protocol::Locale;
use innkeeper_tools::{ProjectId, UserId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dto, off_the_road, told, unknown};
use crate::house::House;
use crate::problem::Problem;

pub(super) async fn run(command: &str, dto: Dto, house: Arc<House>) -> Result<Value, Problem> {
    let command = command.to_owned();
    off_the_road(house, move |house| {
        let profiles = house
            .agents
            .profiles_of(&UserId::default(), &ProjectId::default());
        done(&command, dto, &profiles)
    })
    .await
}

fn done(command: &str, dto: Dto, profiles: &Profiles) -> Result<Value, Problem> {
    match command {
        "list_agent_profiles" => told(profiles.list()?),
        "load_agent_profile" => {
            let asked: Which = dto.read()?;
            let found = profiles.find(&asked.profile_id, None)?;
            Ok(json!({ "profile": found.map(|found| found.profile.to_json()) }))
        }
        "diagnose_agent_profile" => {
            let asked: Which = dto.read()?;
            told(profiles.diagnose(&asked.profile_id, None, &Unseen)?)
        }
        "resolve_agent_system_prompt" => {
            let asked: Option<WhichIfAny> = dto.read()?;
            let id = asked.and_then(|asked| asked.profile_id);
            let prompt = profiles.resolve_system_prompt(id.as_deref(), Locale::En)?;
            Ok(json!({ "agentSystemPrompt": prompt }))
        }
        "save_agent_profile" => {
            let asked: Save = dto.read()?;
            profiles.save_json(&asked.profile, None)?;
            Ok(Value::Null)
        }
        "delete_agent_profile" => {
            let asked: Which = dto.read()?;
            profiles.delete(&asked.profile_id)?;
            Ok(Value::Null)
        }
        "repair_agent_profile_file" => {
            let asked: Repair = dto.read()?;
            let action = RepairAction::named(&asked.action)?;
            profiles.repair_file(&asked.profile_id, action)?;
            Ok(Value::Null)
        }
        "retarget_agent_profile_preset_refs" => {
            let asked: Retarget = dto.read()?;
            told(profiles.retarget_preset_refs(&asked.from, &asked.to, &Unseen)?)
        }
        _ => Err(unknown(command)),
    }
}

/// In the place of the one of that name.
pub(super) fn save(house: &House, profile: &Value) -> Result<(), Problem> {
    let profiles = house
        .agents
        .profiles_of(&UserId::default(), &ProjectId::default());
    profiles.save_json(profile, None)?;
    Ok(())
}

impl From<ProfileError> for Problem {
    fn from(error: ProfileError) -> Self {
        let problem = Self::new(error.code(), error.to_string());
        match error.reason() {
            Some(reason) => problem.because(reason),
            None => problem,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Which {
    profile_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WhichIfAny {
    profile_id: Option<String>,
}

#[derive(Deserialize)]
struct Save {
    profile: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Repair {
    profile_id: String,
    action: String,
}

#[derive(Deserialize)]
struct Retarget {
    from: PresetRef,
    to: PresetRef,
}
