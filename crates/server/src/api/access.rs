//! Who else may come in: tokens and codes.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use innkeeper_protocol::ErrorCode;
use innkeeper_store::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::MayAdmin;
use crate::guard::{Body, PathOf};
use crate::limits::CODE_LIFE;
use crate::problem::Problem;

/// A hundred years.
const MAX_TOKEN_SECONDS: u64 = 3_153_600_000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(tokens, make_token))
        .routes(routes!(revoke_token))
        .routes(routes!(make_code))
}

/// How far somebody may go. Each includes the ones before it.
#[derive(Serialize, Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum ScopeName {
    Read,
    Run,
    Admin,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Read => Self::Read,
            ScopeName::Run => Self::Run,
            ScopeName::Admin => Self::Admin,
        }
    }
}

impl From<Scope> for ScopeName {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Read => Self::Read,
            Scope::Run => Self::Run,
            Scope::Admin => Self::Admin,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Token {
    id: String,
    name: String,
    user: String,
    scope: ScopeName,
    #[schema(value_type = String, format = DateTime)]
    created_at: jiff::Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<jiff::Timestamp>,
    /// To the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    used_at: Option<jiff::Timestamp>,
}

impl From<innkeeper_store::AccessToken> for Token {
    fn from(token: innkeeper_store::AccessToken) -> Self {
        Self {
            id: token.id,
            name: token.name,
            user: token.user,
            scope: token.scope.into(),
            created_at: token.created_at,
            expires_at: token.expires_at,
            used_at: token.used_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
struct Tokens {
    tokens: Vec<Token>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewToken {
    /// For whom or what it is.
    #[schema(min_length = 1, max_length = 100)]
    name: String,
    scope: ScopeName,
    /// It lives until it is revoked if nothing is said.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 3_153_600_000u64)]
    expires_in_seconds: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MadeToken {
    /// Told this once.
    token: String,
    #[serde(flatten)]
    kept: Token,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewCode {
    #[schema(min_length = 1, max_length = 100)]
    name: String,
    scope: ScopeName,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MadeCode {
    /// Told this once; it becomes a token once.
    code: String,
    expires_in_seconds: u64,
}

/// Those of the same person, without their secrets.
#[utoipa::path(get, path = "/api/v1/access/tokens", tag = "access", operation_id = "listTokens",
    responses((status = 200, body = Tokens), Problem))]
async fn tokens(State(app): State<App>, may: MayAdmin) -> Result<Json<Tokens>, Problem> {
    let tokens = app.doorkeeper.access().tokens().await?;
    let own = tokens
        .into_iter()
        .filter(|token| token.user == may.identity.user);
    Ok(Json(Tokens {
        tokens: own.map(Token::from).collect(),
    }))
}

#[utoipa::path(post, path = "/api/v1/access/tokens", tag = "access", operation_id = "makeToken",
    request_body = NewToken, responses((status = 201, body = MadeToken), Problem))]
async fn make_token(
    State(app): State<App>,
    may: MayAdmin,
    Body(asked): Body<NewToken>,
) -> Result<(StatusCode, Json<MadeToken>), Problem> {
    let name = named(&asked.name)?;
    if let Some(seconds) = asked.expires_in_seconds
        && !(1..=MAX_TOKEN_SECONDS).contains(&seconds)
    {
        return Err(Problem::new(
            ErrorCode::HttpInvalidRequest,
            format!("expiresInSeconds: 1 to {MAX_TOKEN_SECONDS}, not {seconds}"),
        ));
    }
    let life = asked.expires_in_seconds.map(Duration::from_secs);
    let user = &may.identity.user;
    let issued = app
        .doorkeeper
        .issue(name, user, asked.scope.into(), life, app.now());
    let issued = issued.await?;
    let made = MadeToken {
        token: issued.token.expose().to_owned(),
        kept: issued.kept.into(),
    };
    Ok((StatusCode::CREATED, Json(made)))
}

/// It opens nothing from now on.
#[utoipa::path(delete, path = "/api/v1/access/tokens/{id}", tag = "access", operation_id = "revokeToken",
    params(("id" = String, Path, description = "The token's public part")),
    responses((status = 204), Problem))]
async fn revoke_token(
    State(app): State<App>,
    may: MayAdmin,
    PathOf(id): PathOf<String>,
) -> Result<StatusCode, Problem> {
    let access = app.doorkeeper.access();
    let kept = access.token(&id).await?;
    let is_own = kept.is_some_and(|(kept, _)| kept.user == may.identity.user);
    if !is_own || !access.revoke_token(&id).await? {
        return Err(Problem::new(
            ErrorCode::HttpNotFound,
            format!("there is no token '{id}'"),
        ));
    }
    Ok(StatusCode::NO_CONTENT)
}

/// For another device of the same person.
#[utoipa::path(post, path = "/api/v1/access/codes", tag = "access", operation_id = "makeCode",
    request_body = NewCode, responses((status = 201, body = MadeCode), Problem))]
async fn make_code(
    State(app): State<App>,
    may: MayAdmin,
    Body(asked): Body<NewCode>,
) -> Result<(StatusCode, Json<MadeCode>), Problem> {
    let name = named(&asked.name)?;
    let user = &may.identity.user;
    let made = app
        .doorkeeper
        .code(name, user, asked.scope.into(), CODE_LIFE, app.now());
    let code = made.await?;
    let made = MadeCode {
        code: code.text().expose().to_owned(),
        expires_in_seconds: CODE_LIFE.as_secs(),
    };
    Ok((StatusCode::CREATED, Json(made)))
}

fn named(name: &str) -> Result<&str, Problem> {
    let name = name.trim();
    let is_fine = !name.is_empty()
        && name.chars().count() <= innkeeper_store::limits::MAX_ACCESS_NAME_CHARS
        && !name.chars().any(char::is_control);
    is_fine.then_some(name).ok_or_else(|| {
        Problem::new(
            ErrorCode::HttpInvalidRequest,
            "name: 1 to 100 characters that can be shown",
        )
    })
}
