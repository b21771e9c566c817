//! The messages of a chat.

use axum::Json;
use axum::http::StatusCode;
use innkeeper_agent::chat::{ChatView, Role};
use innkeeper_protocol::ErrorCode;
use innkeeper_store::MessageChange;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::{MayRead, MayRun};
use crate::chats::{self, Said, Wanted, plain};
use crate::guard::{Body, PathOf, QueryOf};
use crate::limits::CHAT_PAGE;
use crate::problem::Problem;

const USUAL: usize = 50;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list, append))
        .routes(routes!(replace, remove))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    /// The first one; counted from 0. If left out, the newest ones are given.
    from: Option<u64>,
    /// Only those before this one, the nearest to it.
    before: Option<u64>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MessagePage)]
struct Page {
    messages: Vec<Numbered>,
    /// All that the chat has.
    total: u64,
    version: u64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ChatMessage)]
struct Numbered {
    index: u64,
    #[schema(value_type = Object)]
    message: Value,
}

/// Oldest first.
#[utoipa::path(get, path = "/api/v1/chats/{chatId}/messages", tag = "chats", operation_id = "listMessages",
    params(("chatId" = String, Path), Query), responses((status = 200, body = Page), Problem))]
async fn list(
    may: MayRead,
    PathOf(id): PathOf<String>,
    QueryOf(query): QueryOf<Query>,
) -> Result<Json<Page>, Problem> {
    let wrong = |message: String| Problem::new(ErrorCode::HttpInvalidRequest, message);
    let limit = query.limit.unwrap_or(USUAL);
    if !(1..=CHAT_PAGE).contains(&limit) {
        return Err(wrong(format!("limit: 1 to {CHAT_PAGE}, not {limit}")));
    }
    let store = may.house.store().chats();
    let chat = chats::get(store, &id).await?;
    let (from, limit) = match (query.from, query.before) {
        (Some(_), Some(_)) => {
            return Err(wrong("give from or before, not both".to_owned()));
        }
        (Some(from), None) => (from, limit),
        (None, before) => {
            let end = before.map_or(chat.messages, |before| before.min(chat.messages));
            let from = end.saturating_sub(limit as u64);
            (from, usize::try_from(end - from).unwrap_or(limit))
        }
    };
    let read = chats::read(store, &id, from, limit).await?;
    let numbered = read.messages.into_iter().zip(read.first..);
    Ok(Json(Page {
        messages: numbered
            .map(|(message, index)| Numbered { index, message })
            .collect(),
        total: chat.messages,
        version: chat.version,
    }))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewMessage)]
struct Asked {
    /// As taverns write it: `{name, is_user, is_system, mes, …}`.
    #[schema(value_type = Option<Object>)]
    message: Option<Map<String, Value>>,
    /// In the place of `message`: what is said.
    text: Option<String>,
    /// Who says it: `user` if nothing is said.
    role: Option<RoleName>,
    name: Option<String>,
    /// Only if the chat is still at this version.
    version: Option<u64>,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schema(as = MessageRole)]
enum RoleName {
    User,
    Assistant,
    System,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MessagePlace)]
struct Place {
    index: u64,
    version: u64,
}

/// At the end of the chat. Nobody answers by that: start a run for it.
#[utoipa::path(post, path = "/api/v1/chats/{chatId}/messages", tag = "chats", operation_id = "appendMessage",
    params(("chatId" = String, Path)), request_body = Asked, responses((status = 201, body = Place), Problem))]
async fn append(
    may: MayRun,
    PathOf(id): PathOf<String>,
    Body(asked): Body<Asked>,
) -> Result<(StatusCode, Json<Place>), Problem> {
    let base = asked.version;
    let message = asked.message()?;
    let wanted = Wanted {
        base,
        messages: vec![MessageChange::Append(message.to_string().into())],
        ..Wanted::default()
    };
    let made = chats::edit(may.house.store().chats(), &id, wanted).await?;
    let place = Place {
        index: made.messages.saturating_sub(1),
        version: made.version,
    };
    Ok((StatusCode::CREATED, Json(place)))
}

impl Asked {
    fn message(self) -> Result<Value, Problem> {
        let wrong = |message: &str| Problem::new(ErrorCode::HttpInvalidRequest, message);
        match (self.message, self.text) {
            (Some(_), None) if self.role.is_some() || self.name.is_some() => {
                Err(wrong("role and name belong to text; a message has its own"))
            }
            (Some(message), None) => checked(message),
            (None, Some(text)) => {
                let role = match self.role.unwrap_or(RoleName::User) {
                    RoleName::User => Role::User,
                    RoleName::Assistant => Role::Assistant,
                    RoleName::System => Role::System,
                };
                let usual = match role {
                    Role::User => "User",
                    Role::Assistant => "Assistant",
                    Role::System => "System",
                };
                Ok(plain(&Said {
                    role,
                    name: self.name.as_deref().unwrap_or(usual),
                    text: &text,
                    at: Timestamp::now(),
                }))
            }
            _ => Err(wrong("give message or text, and only one")),
        }
    }
}

/// A message that agents can read.
pub(super) fn checked(message: Map<String, Value>) -> Result<Value, Problem> {
    let message = Value::Object(message);
    let read = ChatView::of_snapshot(std::slice::from_ref(&message));
    match read.map(|view| view.messages().len()) {
        Ok(1) => Ok(message),
        _ => Err(Problem::new(
            ErrorCode::AgentValidationError,
            "a message has its text in 'mes', as taverns write it: {name, is_user, mes}",
        )
        .because("agent.chat_message_invalid_json")),
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ReplacedMessage)]
struct Replaced {
    #[schema(value_type = Object)]
    message: Map<String, Value>,
    version: Option<u64>,
}

/// Whole: what it says of a run is lost unless it is sent along.
#[utoipa::path(put, path = "/api/v1/chats/{chatId}/messages/{index}", tag = "chats", operation_id = "replaceMessage",
    params(("chatId" = String, Path), ("index" = u64, Path)), request_body = Replaced,
    responses((status = 200, body = Place), Problem))]
async fn replace(
    may: MayRun,
    PathOf((id, index)): PathOf<(String, u64)>,
    Body(asked): Body<Replaced>,
) -> Result<Json<Place>, Problem> {
    let message = checked(asked.message)?;
    let wanted = Wanted {
        base: asked.version,
        messages: vec![MessageChange::Replace {
            at: index,
            message: message.to_string().into(),
        }],
        ..Wanted::default()
    };
    let made = chats::edit(may.house.store().chats(), &id, wanted).await?;
    Ok(Json(Place {
        index,
        version: made.version,
    }))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Removal {
    /// All behind it go too.
    and_after: Option<bool>,
    version: Option<u64>,
}

/// What agents remember of the chat goes back to the newest message that stays.
#[utoipa::path(delete, path = "/api/v1/chats/{chatId}/messages/{index}", tag = "chats", operation_id = "deleteMessage",
    params(("chatId" = String, Path), ("index" = u64, Path), Removal),
    responses((status = 204, description = "Gone"), Problem))]
async fn remove(
    may: MayRun,
    PathOf((id, index)): PathOf<(String, u64)>,
    QueryOf(asked): QueryOf<Removal>,
) -> Result<StatusCode, Problem> {
    let mut changes = vec![MessageChange::Remove { at: index }];
    if asked.and_after == Some(true) {
        changes.push(MessageChange::Truncate { from: index });
    }
    let wanted = Wanted {
        base: asked.version,
        messages: changes,
        ..Wanted::default()
    };
    chats::edit(may.house.store().chats(), &id, wanted).await?;
    Ok(StatusCode::NO_CONTENT)
}
