//! Models and the channels that lead to them. A key can be set, and never be read.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use innkeeper_tools::Secret;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::asked::{nothing, wrong};
use crate::app::App;
use crate::auth::{MayAdmin, MayRead, MayRun};
use crate::guard::{Body, PathOf, QueryOf};
use crate::house::House;
use crate::model_desk::{
    ChannelAbout, ModelAnswer, ModelList, ModelQuestion, NewChannel, ProviderAbout, secret,
};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(providers))
        .routes(routes!(test))
        .routes(routes!(add))
        .routes(routes!(read, remove))
        .routes(routes!(set_key))
}

/// Channels in their order, what they serve and what they lack. No server is asked.
#[utoipa::path(get, path = "/api/v1/models", tag = "models", operation_id = "listModels",
    responses((status = 200, body = ModelList), Problem))]
async fn list(may: MayRead) -> Result<Json<ModelList>, Problem> {
    Ok(Json(may.house.models.list().await?))
}

#[derive(Serialize, ToSchema)]
#[schema(as = Providers)]
struct AllProviders {
    providers: Vec<ProviderAbout>,
}

/// Whom a channel can be made for.
#[utoipa::path(get, path = "/api/v1/models/providers", tag = "models", operation_id = "listProviders",
    responses((status = 200, body = AllProviders), Problem))]
async fn providers(may: MayRead) -> Result<Json<AllProviders>, Problem> {
    let providers = may.house.models.providers().await?;
    Ok(Json(AllProviders { providers }))
}

/// Asks it one thing and measures the reply, which costs what it costs.
#[utoipa::path(post, path = "/api/v1/models/test", tag = "models", operation_id = "testModel",
    request_body = ModelQuestion, responses((status = 200, body = ModelAnswer), Problem))]
async fn test(
    State(app): State<App>,
    may: MayRun,
    Body(asked): Body<ModelQuestion>,
) -> Result<Json<ModelAnswer>, Problem> {
    const LONGEST: usize = 16_000;
    let prompt = asked.prompt.as_deref().unwrap_or("-");
    if prompt.is_empty() || prompt.chars().nth(LONGEST).is_some() {
        return Err(wrong(format!("prompt: 1 to {LONGEST} characters")));
    }
    let cancel = app.closing.child_token();
    let _gone = cancel.clone().drop_guard();
    Ok(Json(may.house.models.test(asked, cancel).await?))
}

/// One more, from the next start of the server on for runs, at once for `test`.
#[utoipa::path(post, path = "/api/v1/models/channels", tag = "models", operation_id = "addChannel",
    request_body = NewChannel, responses((status = 201, body = ChannelAbout), Problem))]
async fn add(
    _may: MayAdmin,
    own: MayRead,
    Body(asked): Body<NewChannel>,
) -> Result<(StatusCode, Json<ChannelAbout>), Problem> {
    let name = asked.name.clone().unwrap_or_else(|| asked.provider.clone());
    own.house.models.add(asked).await?;
    let added = find(&own.house, &name).await?;
    Ok((StatusCode::CREATED, Json(added)))
}

#[utoipa::path(get, path = "/api/v1/models/channels/{channel}", tag = "models", operation_id = "readChannel",
    params(("channel" = String, Path)), responses((status = 200, body = ChannelAbout), Problem))]
async fn read(may: MayRead, PathOf(name): PathOf<String>) -> Result<Json<ChannelAbout>, Problem> {
    Ok(Json(find(&may.house, &name).await?))
}

async fn find(house: &House, name: &str) -> Result<ChannelAbout, Problem> {
    let all = house.models.list().await?.channels;
    let found = all.into_iter().find(|channel| channel.name == name);
    found.ok_or_else(|| nothing(format!("there is no channel '{}'", name.escape_debug())))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Keep {
    /// Leave its key among the secrets.
    keep_key: Option<bool>,
}

/// With its key, unless that is to stay or another channel uses it.
#[utoipa::path(delete, path = "/api/v1/models/channels/{channel}", tag = "models", operation_id = "removeChannel",
    params(("channel" = String, Path), Keep), responses((status = 204), Problem))]
async fn remove(
    _may: MayAdmin,
    own: MayRead,
    PathOf(name): PathOf<String>,
    QueryOf(asked): QueryOf<Keep>,
) -> Result<StatusCode, Problem> {
    find(&own.house, &name).await?;
    let keeps = asked.keep_key.unwrap_or_default();
    own.house.models.remove(name, keeps).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChannelKey)]
struct Key {
    #[serde(deserialize_with = "secret")]
    #[schema(value_type = String, write_only)]
    key: Secret,
}

/// Another key in the place of the one that is kept for the channel. It is never told again.
#[utoipa::path(put, path = "/api/v1/models/channels/{channel}/key", tag = "models", operation_id = "setChannelKey",
    params(("channel" = String, Path)), request_body = Key, responses((status = 204), Problem))]
async fn set_key(
    _may: MayAdmin,
    own: MayRead,
    PathOf(name): PathOf<String>,
    Body(asked): Body<Key>,
) -> Result<StatusCode, Problem> {
    find(&own.house, &name).await?;
    own.house.models.set_key(name, asked.key).await?;
    Ok(StatusCode::NO_CONTENT)
}
