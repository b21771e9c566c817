//! Which runs stay, and what chats remember.

use std::sync::Arc;

use innkeeper_agent::instance::{ChatName, RetentionQuery, RetentionSettings};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Dto, off_the_road, told, unknown};
use crate::house::House;
use crate::problem::Problem;

pub(super) async fn run(command: &str, dto: Dto, house: Arc<House>) -> Result<Value, Problem> {
    let laid_down = off_the_road(house.clone(), |house| house.settings.retention()).await?;
    let retention = house.agents.retention().with_settings(laid_down);
    match command {
        "get_tauritavern_settings" => Ok(settings(laid_down)),
        "update_tauritavern_settings" => {
            let asked: Settings = dto.read()?;
            let patch = asked.agent.retention.camel();
            let wanted = laid_down.patched(&patch)?;
            off_the_road(house, move |house| house.settings.set_retention(wanted)).await?;
            Ok(settings(wanted))
        }
        "plan_agent_run_prune" => {
            let query = RetentionQuery::parse(&dto.0, laid_down)?;
            told(retention.plan(&query).await?)
        }
        "apply_agent_run_prune" => {
            let query = RetentionQuery::parse(&dto.0, laid_down)?;
            told(retention.apply(&query, &|_| {}).await?)
        }
        "prune_agent_chat_persistent_states" => {
            let asked: Prune = dto.read()?;
            let chat = asked.chat.name();
            told(
                house
                    .agents
                    .prune_chat_states(&chat, &asked.candidate_state_ids)
                    .await?,
            )
        }
        "copy_agent_chat_persistent_states" => {
            let asked: Copy = dto.read()?;
            let from = ChatName {
                chat_ref: asked.source_chat_ref,
                stable_chat_id: asked.source_stable_chat_id,
            };
            let to = ChatName {
                chat_ref: asked.target_chat_ref,
                stable_chat_id: asked.target_stable_chat_id,
            };
            told(house.agents.copy_chat_states(&from, &to).await?)
        }
        _ => Err(unknown(command)),
    }
}

fn settings(laid_down: RetentionSettings) -> Value {
    json!({ "agent": { "retention": {
        "auto_prune_enabled": laid_down.auto_prune_enabled,
        "keep_recent_terminal_runs": laid_down.keep_recent_terminal_runs,
        "keep_full_recent_runs": laid_down.keep_full_recent_runs,
    } } })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    agent: OfAgents,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfAgents {
    retention: Patch,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    auto_prune_enabled: Option<Value>,
    keep_recent_terminal_runs: Option<Value>,
    keep_full_recent_runs: Option<Value>,
}

impl Patch {
    fn camel(self) -> Value {
        json!({
            "autoPruneEnabled": self.auto_prune_enabled,
            "keepRecentTerminalRuns": self.keep_recent_terminal_runs,
            "keepFullRecentRuns": self.keep_full_recent_runs,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chat {
    chat_ref: Value,
    stable_chat_id: String,
}

impl Chat {
    fn name(self) -> ChatName {
        ChatName {
            chat_ref: self.chat_ref,
            stable_chat_id: self.stable_chat_id,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prune {
    #[serde(flatten)]
    chat: Chat,
    candidate_state_ids: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Copy {
    source_chat_ref: Value,
    source_stable_chat_id: String,
    target_chat_ref: Value,
    target_stable_chat_id: String,
}
