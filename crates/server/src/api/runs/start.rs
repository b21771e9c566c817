//! A run from its beginning.

use axum::Json;
use axum::http::StatusCode;
use innkeeper_agent::instance::{RunHandle, StartPrompt, StartRun};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::Presentation;
use innkeeper_tools::ProjectId;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::shapes::runs as shape;
use crate::app::App;
use crate::auth::MayRun;
use crate::chats;
use crate::guard::Body;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(start))
}

/// Exactly one of `message`, `messages` and `promptSnapshot`. In a chat of this house, named by `stableChatId` or `chatRef`, a `message` is
/// said in it, and nothing at all asks for an answer to what is there.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = StartRun)]
struct Asked {
    /// The built-in writer if none is named.
    profile_id: Option<String>,
    /// What a person says.
    message: Option<String>,
    /// A conversation in the chat form, the newest last.
    #[schema(value_type = Option<Vec<Object>>)]
    messages: Option<Vec<Value>>,
    /// In one of the forms that hosts send.
    #[schema(value_type = Option<Object>)]
    prompt_snapshot: Option<Value>,
    #[schema(value_type = Option<Object>)]
    chat_ref: Option<Value>,
    stable_chat_id: Option<String>,
    generation_type: Option<String>,
    presentation: Option<PresentationName>,
    /// Wins over everything that names a model.
    model: Option<String>,
    #[schema(minimum = 1)]
    max_rounds: Option<u32>,
    project: Option<String>,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schema(as = PresentationChoice)]
enum PresentationName {
    Foreground,
    Background,
}

/// On disk, and at work, when it is answered.
#[utoipa::path(post, path = "/api/v1/runs", tag = "runs", operation_id = "startRun",
    request_body = Asked, responses((status = 201, body = shape::RunHandle), Problem))]
async fn start(
    may: MayRun,
    Body(asked): Body<Asked>,
) -> Result<(StatusCode, Json<RunHandle>), Problem> {
    let house = &may.house;
    let chat = chats::chat_of(
        house,
        asked.chat_ref.as_ref(),
        asked.stable_chat_id.as_deref(),
    );
    let handle = match chat.await? {
        Some(chat) if asked.messages.is_none() && asked.prompt_snapshot.is_none() => {
            let said = asked.message.clone();
            let asked = wanted(asked, None)?;
            chats::start(house, chat, said.as_deref(), asked).await?
        }
        _ => {
            let prompt = prompt(&asked)?;
            house.agents.start(wanted(asked, Some(prompt))?).await?
        }
    };
    Ok((StatusCode::CREATED, Json(handle)))
}

fn prompt(asked: &Asked) -> Result<StartPrompt, Problem> {
    match (&asked.message, &asked.messages, &asked.prompt_snapshot) {
        (Some(message), None, None) => Ok(StartPrompt::Message(message.clone())),
        (None, Some(messages), None) => Ok(StartPrompt::Conversation(messages.clone())),
        (None, None, Some(snapshot)) => Ok(StartPrompt::Snapshot(snapshot.clone())),
        _ => Err(Problem::new(
            ErrorCode::HttpInvalidRequest,
            "give one of message, messages and promptSnapshot, and only one",
        )),
    }
}

fn wanted(asked: Asked, prompt: Option<StartPrompt>) -> Result<StartRun, Problem> {
    let wrong = |message: &str| Problem::new(ErrorCode::HttpInvalidRequest, message);
    let project = match asked.project {
        None => ProjectId::default(),
        Some(name) => ProjectId::try_from(name.as_str())
            .map_err(|_| wrong("project: no name that a project can have"))?,
    };
    Ok(StartRun {
        profile_id: asked.profile_id,
        prompt,
        chat_ref: asked.chat_ref,
        stable_chat_id: asked.stable_chat_id,
        generation_type: asked.generation_type,
        presentation: asked.presentation.map(|name| match name {
            PresentationName::Foreground => Presentation::Foreground,
            PresentationName::Background => Presentation::Background,
        }),
        model: asked.model,
        max_rounds: asked.max_rounds,
        project,
        ..StartRun::default()
    })
}
