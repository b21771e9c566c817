//! A chat that goes another way from some message on, with what agents remember up to there.

use axum::Json;
use axum::http::StatusCode;
use innkeeper_agent::instance::ChatName;
use innkeeper_protocol::ErrorCode;
use innkeeper_store::{ChatKind, ChatPlace, NewChat};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Chat, wrong_ref};
use crate::app::App;
use crate::auth::MayRun;
use crate::chats::{self, place_of, ref_of, taken};
use crate::guard::{Body, PathOf};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(branch))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Branch)]
struct Asked {
    /// The name of the new chat; for a session there is none.
    #[schema(value_type = Option<Object>)]
    chat_ref: Option<Value>,
    /// The last message that goes along; all of them if left out.
    up_to: Option<u64>,
}

/// The other chat stays as it is.
#[utoipa::path(post, path = "/api/v1/chats/{chatId}/branch", tag = "chats", operation_id = "branchChat",
    params(("chatId" = String, Path)), request_body = Asked, responses((status = 201, body = Chat), Problem))]
async fn branch(
    may: MayRun,
    PathOf(id): PathOf<String>,
    Body(asked): Body<Asked>,
) -> Result<(StatusCode, Json<Chat>), Problem> {
    let store = may.house.store().chats();
    let chat = chats::get(store, &id).await?;
    let count = match asked.up_to {
        None => chat.messages,
        Some(last) if last < chat.messages => last + 1,
        Some(last) => {
            return Err(Problem::new(
                ErrorCode::ChatMessageNotFound,
                format!("upTo: the chat has no message {last}; they are counted from 0"),
            ));
        }
    };
    let (new_id, place) = match (&chat.place.kind, asked.chat_ref) {
        (ChatKind::Session, None) => {
            let id = format!("session_{}", uuid::Uuid::now_v7().simple());
            let place = ChatPlace {
                name: id.clone(),
                ..chat.place.clone()
            };
            (id, place)
        }
        (ChatKind::Character | ChatKind::Group, Some(chat_ref)) => {
            let place = place_of(&chat_ref).ok_or_else(wrong_ref)?;
            let id = match place.kind {
                ChatKind::Group => place.name.clone(),
                _ => format!("chat_{}", uuid::Uuid::now_v7().simple()),
            };
            (id, place)
        }
        _ => return Err(wrong_ref()),
    };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let read = chats::read(store, &id, 0, limit).await?;
    let messages = read.messages.iter();
    let made = store.create(NewChat {
        id: new_id,
        place,
        metadata: chat.metadata.clone(),
        messages: messages.map(|message| message.to_string().into()).collect(),
        created_at: Timestamp::now(),
    });
    let made = made.await?.ok_or_else(taken)?;
    let name = |id: &str, place: &ChatPlace| ChatName {
        chat_ref: ref_of(place),
        stable_chat_id: id.to_owned(),
    };
    let (from, to) = (name(&chat.id, &chat.place), name(&made.id, &made.place));
    let copied = may.house.agents.copy_chat_states(&from, &to).await;
    if let Err(error) = copied {
        // Without its memory it would not be what was asked for.
        store.remove(&made.id).await?;
        return Err(error.into());
    }
    Ok((StatusCode::CREATED, Json(Chat::of(&made)?)))
}
