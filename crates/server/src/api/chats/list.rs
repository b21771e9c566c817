//! Which chats there are; making, renaming and deleting them.

use axum::Json;
use axum::http::StatusCode;
use innkeeper_protocol::ErrorCode;
use innkeeper_store::{ChatCursor, ChatFilter, ChatKind, ChatPlace, NewChat};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Chat, wrong_ref};
use crate::app::App;
use crate::auth::{MayRead, MayRun};
use crate::chats::{self, Wanted, place_of, taken};
use crate::guard::{Body, PathOf, QueryOf};
use crate::problem::Problem;

const MOST: usize = 200;
const USUAL: usize = 50;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(read, change, delete))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    kind: Option<Kind>,
    character_id: Option<String>,
    /// With `beforeChatId`: only those that were changed earlier.
    #[param(format = DateTime)]
    before_updated_at: Option<String>,
    before_chat_id: Option<String>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schema(as = ChatKindName)]
enum Kind {
    Character,
    Group,
    Session,
}

impl From<Kind> for ChatKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Character => Self::Character,
            Kind::Group => Self::Group,
            Kind::Session => Self::Session,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ChatPage)]
struct Page {
    chats: Vec<Chat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<Cursor>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ChatCursor)]
struct Cursor {
    #[schema(format = DateTime)]
    before_updated_at: String,
    before_chat_id: String,
}

/// The newest change first.
#[utoipa::path(get, path = "/api/v1/chats", tag = "chats", operation_id = "listChats", params(Query),
    responses((status = 200, body = Page), Problem))]
async fn list(may: MayRead, QueryOf(query): QueryOf<Query>) -> Result<Json<Page>, Problem> {
    let wrong = |message: String| Problem::new(ErrorCode::HttpInvalidRequest, message);
    let limit = query.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(wrong(format!("limit: 1 to {MOST}, not {limit}")));
    }
    let before = match (query.before_updated_at, query.before_chat_id) {
        (None, None) => None,
        (Some(at), Some(id)) => Some(ChatCursor {
            updated_at: at
                .parse::<Timestamp>()
                .map_err(|_| wrong("beforeUpdatedAt: no time like 2026-01-31T12:00:00Z".into()))?,
            id,
        }),
        _ => {
            return Err(wrong(
                "beforeUpdatedAt and beforeChatId belong together; give both or neither".into(),
            ));
        }
    };
    let filter = ChatFilter {
        kind: query.kind.map(ChatKind::from),
        owner: query.character_id,
        before,
        limit,
    };
    let records = may.house.store().chats().list(&filter).await?;
    let last = records.last().filter(|_| records.len() == limit);
    let next_cursor = last.map(|last| Cursor {
        before_updated_at: last.updated_at.to_string(),
        before_chat_id: last.id.clone(),
    });
    let chats: Result<Vec<Chat>, Problem> = records.iter().map(Chat::of).collect();
    Ok(Json(Page {
        chats: chats?,
        next_cursor,
    }))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewChat)]
struct Asked {
    /// `{kind: character, characterId, fileName}` or `{kind: group, chatId}`; a session with an agent if left out.
    #[schema(value_type = Option<Object>)]
    chat_ref: Option<Value>,
    /// `character_name` and `user_name` are who speaks.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// As taverns write them: `{name, is_user, mes, …}`.
    #[schema(value_type = Option<Vec<Object>>)]
    messages: Option<Vec<Map<String, Value>>>,
}

/// Empty, or with what it begins with.
#[utoipa::path(post, path = "/api/v1/chats", tag = "chats", operation_id = "createChat", request_body = Asked,
    responses((status = 201, body = Chat), Problem))]
async fn create(
    may: MayRun,
    Body(asked): Body<Asked>,
) -> Result<(StatusCode, Json<Chat>), Problem> {
    let id = uuid::Uuid::now_v7().simple();
    let (id, place) = match asked.chat_ref {
        Some(chat_ref) => {
            let place = place_of(&chat_ref).ok_or_else(wrong_ref)?;
            // Whoever names a group by its id finds its runs by that id as well.
            let id = match place.kind {
                ChatKind::Group => place.name.clone(),
                _ => format!("chat_{id}"),
            };
            (id, place)
        }
        None => {
            let id = format!("session_{id}");
            let place = ChatPlace {
                kind: ChatKind::Session,
                owner: String::new(),
                name: id.clone(),
            };
            (id, place)
        }
    };
    let mut messages = Vec::new();
    for message in asked.messages.unwrap_or_default() {
        messages.push(super::messages::checked(message)?.to_string().into());
    }
    let metadata = Value::Object(asked.metadata.unwrap_or_default());
    let made = may.house.store().chats().create(NewChat {
        id,
        place,
        metadata: metadata.to_string().into(),
        messages,
        created_at: Timestamp::now(),
    });
    let made = made.await?.ok_or_else(taken)?;
    Ok((StatusCode::CREATED, Json(Chat::of(&made)?)))
}

#[utoipa::path(get, path = "/api/v1/chats/{chatId}", tag = "chats", operation_id = "readChat",
    params(("chatId" = String, Path)), responses((status = 200, body = Chat), Problem))]
async fn read(may: MayRead, PathOf(id): PathOf<String>) -> Result<Json<Chat>, Problem> {
    let chat = chats::get(may.house.store().chats(), &id).await?;
    Ok(Json(Chat::of(&chat)?))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ChatChange)]
struct Changed {
    /// Only if it is still at this version.
    version: Option<u64>,
    /// In the place of what it says now, whole.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// Another name.
    #[schema(value_type = Option<Object>)]
    chat_ref: Option<Value>,
}

/// Its name, or what is noted of it. Runs and memory stay with it, since its id does.
#[utoipa::path(patch, path = "/api/v1/chats/{chatId}", tag = "chats", operation_id = "changeChat",
    params(("chatId" = String, Path)), request_body = Changed, responses((status = 200, body = Chat), Problem))]
async fn change(
    may: MayRun,
    PathOf(id): PathOf<String>,
    Body(asked): Body<Changed>,
) -> Result<Json<Chat>, Problem> {
    let place = match asked.chat_ref {
        None => None,
        Some(chat_ref) => Some(place_of(&chat_ref).ok_or_else(wrong_ref)?),
    };
    let metadata = asked.metadata.map(Value::Object);
    let wanted = Wanted {
        base: asked.version,
        metadata: metadata.map(|metadata| metadata.to_string().into()),
        place,
        ..Wanted::default()
    };
    let made = chats::edit(may.house.store().chats(), &id, wanted).await?;
    Ok(Json(Chat::of(&made)?))
}

/// With its messages and all that extensions keep beside it. Its runs stay until they are deleted.
#[utoipa::path(delete, path = "/api/v1/chats/{chatId}", tag = "chats", operation_id = "deleteChat",
    params(("chatId" = String, Path)), responses((status = 204, description = "Gone"), Problem))]
async fn delete(may: MayRun, PathOf(id): PathOf<String>) -> Result<StatusCode, Problem> {
    match may.house.store().chats().remove(&id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(chats::no_chat(&id)),
    }
}
