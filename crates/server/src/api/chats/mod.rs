//! Chats that the house keeps itself, and their messages.

mod branch;
mod list;
mod messages;

use innkeeper_protocol::ErrorCode;
use innkeeper_store::ChatRecord;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::chats::{parsed, ref_of};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(list::routes())
        .merge(messages::routes())
        .merge(branch::routes())
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Chat {
    /// Stays, whatever the chat is called; also its `stableChatId`.
    chat_id: String,
    /// `character`, `group` or `session`.
    kind: &'static str,
    /// `{kind: character, characterId, fileName}`, `{kind: group, chatId}`, or null for a session.
    chat_ref: Value,
    message_count: u64,
    /// Counts changes. Sent back with a change, it makes sure that nobody else has made one meanwhile.
    version: u64,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    #[schema(value_type = Object)]
    metadata: Value,
}

impl Chat {
    pub(crate) fn of(record: &ChatRecord) -> Result<Self, Problem> {
        Ok(Self {
            chat_id: record.id.clone(),
            kind: record.place.kind.as_str(),
            chat_ref: ref_of(&record.place),
            message_count: record.messages,
            version: record.version,
            created_at: record.created_at.to_string(),
            updated_at: record.updated_at.to_string(),
            metadata: parsed(&record.metadata)?,
        })
    }
}

/// What a place says of itself, where it is one.
fn wrong_ref() -> Problem {
    Problem::new(
        ErrorCode::AgentValidationError,
        "chatRef: write {kind: 'character', characterId, fileName} or {kind: 'group', chatId}",
    )
    .because("agent.invalid_chat_ref")
}
