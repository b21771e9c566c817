//! How the prompt of a run comes to be: from what the tavern would send now, or built by the page with the preset of the profile.

use std::sync::Arc;

use innkeeper_agent::profile::PresetMode;
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::{ProjectId, UserId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dto, off_the_road, unknown};
use crate::house::House;
use crate::problem::Problem;

const DEFAULT: &str = "default-writer";

pub(super) async fn run(command: &str, dto: Dto, house: Arc<House>) -> Result<Value, Problem> {
    match command {
        "prepare_agent_prompt_assembly" => {
            let asked: Prepare = dto.read()?;
            off_the_road(house, move |house| prepare(house, asked)).await
        }
        // Runs of this house ask for no prompt in the middle: agents that are called begin with what they are given.
        "read_agent_prompt_assembly_request" | "resolve_agent_prompt_assembly" => {
            let asked: OfAssembly = dto.read()?;
            Err(Problem::new(
                ErrorCode::AgentNotFound,
                format!(
                    "the run '{}' waits for no prompt '{}'",
                    asked.run_id.chars().take(80).collect::<String>(),
                    asked.assembly_id.chars().take(80).collect::<String>()
                ),
            )
            .because("agent.prompt_assembly_request_missing"))
        }
        _ => Err(unknown(command)),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prepare {
    profile_id: Option<String>,
    generation_type: Option<String>,
    frozen_run_input_snapshot: Value,
    json_schema: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfAssembly {
    run_id: String,
    assembly_id: String,
}

fn prepare(house: &House, asked: Prepare) -> Result<Value, Problem> {
    if !asked.frozen_run_input_snapshot.is_object() {
        return Err(Problem::new(
            ErrorCode::AgentValidationError,
            "frozenRunInputSnapshot must be an object",
        )
        .because("agent.frozen_run_input_snapshot_invalid"));
    }
    let id = asked.profile_id.as_deref().unwrap_or(DEFAULT);
    let profiles = house
        .agents
        .profiles_of(&UserId::default(), &ProjectId::default());
    let snapshot = house.tools.registry().snapshot();
    let profile = profiles.load(id, Some(&*snapshot))?.profile;
    let policy = json!(profile.context);
    let kind = match profile.preset.mode {
        PresetMode::CurrentPromptSnapshot => {
            return Ok(json!({
                "mode": "currentPromptSnapshot",
                "contextPolicy": policy,
                "assembly": { "mode": "currentPromptSnapshot", "contextPolicy": policy },
            }));
        }
        PresetMode::Ref => "preset",
        PresetMode::None => "none",
    };
    let generation_type = asked.generation_type.as_deref().unwrap_or("normal");
    let model = json!({
        "mode": profile.model.mode,
        "connectionRef": profile.model.connection_ref,
        "modelId": profile.model.model_id,
    });
    let mut request = json!({
        "kind": "tauritavern.agentPromptAssemblyRequest",
        "version": 1,
        "profileId": id,
        "generationType": generation_type,
        "requestKind": kind,
        "preset": profile.preset.reference,
        "contextPolicy": policy,
        "model": model,
        "frozenRunInputSnapshot": asked.frozen_run_input_snapshot,
    });
    if let Some(schema) = asked.json_schema {
        request["jsonSchema"] = schema;
    }
    Ok(json!({
        "mode": "frontendPromptAssembly",
        "request": request,
        "assembly": {
            "mode": "frontendPromptAssembly",
            "preset": profile.preset.reference,
            "contextPolicy": policy,
        },
    }))
}
