//! The answers of whoever publishes for a run.

use innkeeper_agent::instance::HostAnswer;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CommitId, RunId};
use serde::Deserialize;
use serde_json::Value;

use super::{Dto, unknown};
use crate::house::House;
use crate::problem::Problem;

pub(super) async fn run(command: &str, dto: Dto, house: &House) -> Result<Value, Problem> {
    match command {
        "resolve_agent_chat_commit" => commit(dto.read()?, house).await,
        "resolve_agent_persistent_state_metadata_update" => {
            let asked: Metadata = dto.read()?;
            let error = asked.error.map(words);
            let resolved = house
                .agents
                .resolve_metadata(&asked.run_id, &asked.update_id, error);
            resolved.await?;
            Ok(Value::Null)
        }
        _ => Err(unknown(command)),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commit {
    run_id: RunId,
    commit_id: CommitId,
    message_id: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    run_id: RunId,
    update_id: String,
    error: Option<Value>,
}

async fn commit(asked: Commit, house: &House) -> Result<Value, Problem> {
    let answer = match (asked.message_id, asked.error) {
        (Some(message_id), None) => HostAnswer::Saved {
            // Of a tavern it is where the message stands in the chat.
            message_index: message_id.parse().ok(),
            message_id,
        },
        (None, Some(error)) => HostAnswer::Failed(words(error)),
        _ => {
            return Err(Problem::new(
                ErrorCode::AgentValidationError,
                "a commit is answered with messageId or with error, and not with both",
            ));
        }
    };
    let resolved = house
        .agents
        .resolve_commit(&asked.run_id, &asked.commit_id, answer);
    resolved.await?;
    Ok(Value::Null)
}

/// Pages report a text, or an error with a message in it.
fn words(error: Value) -> String {
    match error {
        Value::String(text) => text,
        error => match error.get("message").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => error.to_string(),
        },
    }
}
