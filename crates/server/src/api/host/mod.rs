//! The server's side of the host API: one address for each command, with the names and shapes that tavern front ends know.
//!
//! `web/host` calls them; docs/host-api.md has them all. `runs.rs` starts, reads and steers runs, `bridge.rs` takes the answers of
//! whoever publishes for them, `resume.rs` goes on with them, `profiles.rs`, `prompts.rs` and `keep.rs` are agents, what they are told and
//! what is kept, `chats.rs` and `sessions.rs` the chats of this house.

mod bridge;
mod chats;
mod keep;
mod profiles;
mod prompts;
mod resume;
mod runs;
mod sessions;

use std::sync::Arc;

use axum::Json;
use innkeeper_protocol::ErrorCode;
use innkeeper_store::Scope;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::MayRead;
use crate::guard::{Body, PathOf};
use crate::house::House;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(invoke))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = HostCommand)]
struct Asked {
    /// What the command takes; left out for those that take nothing.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    dto: Value,
    /// For tools of a page: the channel on which it is called back.
    channel: Option<String>,
}

/// What a command gives is told in docs/host-api.md. Some need a token that may run things.
#[utoipa::path(post, path = "/api/v1/host/{command}", tag = "host", operation_id = "invokeHostCommand",
    params(("command" = String, Path, example = "list_agent_runs")), request_body = Asked,
    responses((status = 200, body = Value, description = "Whatever the command gives"), Problem))]
async fn invoke(
    may: MayRead,
    PathOf(command): PathOf<String>,
    Body(asked): Body<Asked>,
) -> Result<Json<Value>, Problem> {
    let scope = scope(&command).ok_or_else(|| unknown(&command))?;
    may.identity.check(scope)?;
    let house = may.house;
    let dto = Dto(asked.dto);
    let done = match (command.as_str(), asked.channel) {
        ("register_agent_extension_tool", Some(channel)) => {
            house.extensions.register(dto.read()?, &channel)
        }
        (name, _) => match name {
            name if name.contains("session") => sessions::run(name, dto, house).await,
            name if name.contains("prompt_assembly") => prompts::run(name, dto, house).await,
            name if name.contains("profile") || name == "resolve_agent_system_prompt" => {
                profiles::run(name, dto, house).await
            }
            name if RESUMING.contains(&name) => resume::run(name, dto, &house).await,
            name if name.contains("prune")
                || name.contains("settings")
                || name.contains("states") =>
            {
                keep::run(name, dto, house).await
            }
            name if name.contains("extension_tool") => runs::run(name, dto, &house).await,
            name if name.starts_with("resolve_") => bridge::run(name, dto, &house).await,
            name if OF_CHATS.iter().any(|(known, _)| *known == name) => {
                chats::run(name, dto, &house).await
            }
            name => runs::run(name, dto, &house).await,
        },
    };
    done.map(Json)
}

/// Every command there is, and how far somebody must be allowed to go.
const COMMANDS: &[(&str, Scope)] = &[
    ("start_agent_run", Scope::Run),
    ("cancel_agent_run", Scope::Run),
    ("submit_agent_run_guidance", Scope::Run),
    ("list_agent_runs", Scope::Read),
    ("read_agent_run_events", Scope::Read),
    ("read_agent_workspace_file", Scope::Read),
    ("read_agent_model_turn", Scope::Read),
    ("read_agent_task_detail", Scope::Read),
    ("resume_agent_run", Scope::Run),
    ("fork_agent_run", Scope::Run),
    ("approve_agent_tool_call", Scope::Run),
    ("read_agent_run_diff", Scope::Read),
    ("rollback_agent_run", Scope::Run),
    ("list_agent_tool_specs", Scope::Read),
    ("resolve_agent_chat_commit", Scope::Run),
    ("resolve_agent_persistent_state_metadata_update", Scope::Run),
    ("prune_agent_chat_persistent_states", Scope::Run),
    ("copy_agent_chat_persistent_states", Scope::Run),
    ("get_tauritavern_settings", Scope::Read),
    ("plan_agent_run_prune", Scope::Read),
    ("apply_agent_run_prune", Scope::Run),
    ("list_agent_profiles", Scope::Read),
    ("load_agent_profile", Scope::Read),
    ("diagnose_agent_profile", Scope::Read),
    ("resolve_agent_system_prompt", Scope::Read),
    ("save_agent_profile", Scope::Run),
    ("delete_agent_profile", Scope::Run),
    ("repair_agent_profile_file", Scope::Run),
    ("retarget_agent_profile_preset_refs", Scope::Run),
    ("update_tauritavern_settings", Scope::Admin),
    ("read_agent_run_checkpoint", Scope::Read),
    ("settle_agent_chat_presentation", Scope::Read),
    ("prepare_agent_prompt_assembly", Scope::Read),
    ("read_agent_prompt_assembly_request", Scope::Read),
    ("resolve_agent_prompt_assembly", Scope::Run),
    ("register_agent_extension_tool", Scope::Run),
    ("set_agent_extension_tool_enabled", Scope::Run),
    ("resolve_agent_extension_tool_call", Scope::Run),
    ("create_agent_session", Scope::Run),
    ("list_agent_sessions", Scope::Read),
    ("read_agent_session", Scope::Read),
    ("send_agent_session_message", Scope::Run),
    ("delete_agent_session", Scope::Run),
    ("load_agent_session_profile", Scope::Read),
    ("save_agent_session_profile", Scope::Run),
];

const OF_CHATS: &[(&str, Scope)] = &[
    ("read_chat_stable_id", Scope::Read),
    ("read_chat_summary", Scope::Read),
    ("read_chat_metadata", Scope::Read),
    ("set_chat_metadata_extension", Scope::Run),
    ("search_chat_messages", Scope::Read),
    ("find_last_chat_message", Scope::Read),
    ("read_chat_history_tail", Scope::Read),
    ("read_chat_history_before", Scope::Read),
    ("list_chat_store_keys", Scope::Read),
    ("read_chat_store_json", Scope::Read),
    ("write_chat_store_json", Scope::Run),
    ("update_chat_store_json", Scope::Run),
    ("delete_chat_store_json", Scope::Run),
    ("rename_chat_store_key", Scope::Run),
];

const RESUMING: [&str; 3] = [
    "read_agent_run_checkpoint",
    "resume_agent_run",
    "settle_agent_chat_presentation",
];

fn scope(command: &str) -> Option<Scope> {
    let mut all = COMMANDS.iter().chain(OF_CHATS);
    let found = all.find(|(name, _)| *name == command);
    found.map(|(_, scope)| *scope)
}

fn unknown(command: &str) -> Problem {
    let command: String = command.chars().take(80).collect();
    Problem::new(
        ErrorCode::HttpNotFound,
        format!("there is no command '{command}'; docs/host-api.md has them all"),
    )
}

/// What a command was given.
struct Dto(Value);

impl Dto {
    fn read<T: DeserializeOwned>(self) -> Result<T, Problem> {
        // Lists could pass for objects whose fields are counted.
        if self.0.is_array() {
            return Err(Problem::new(
                ErrorCode::AgentValidationError,
                "dto: an object is wanted, not a list",
            ));
        }
        serde_json::from_value(self.0)
            .map_err(|error| Problem::new(ErrorCode::AgentValidationError, format!("dto: {error}")))
    }
}

fn told(result: impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(result)
        .map_err(|error| Problem::new(ErrorCode::HttpInternal, error.to_string()))
}

/// Files are read and written by threads that may wait.
async fn off_the_road<T: Send + 'static>(
    house: Arc<House>,
    work: impl FnOnce(&House) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(move || work(&house)).await;
    done.map_err(|error| Problem::new(ErrorCode::HttpInternal, error.to_string()))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_is_there_twice() {
        let all: Vec<_> = COMMANDS.iter().chain(OF_CHATS).collect();
        for (at, (name, _)) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
