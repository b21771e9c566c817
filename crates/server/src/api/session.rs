//! Coming in and going out: a pairing code or a password becomes a token, and a session of the web app.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use innkeeper_protocol::ErrorCode;
use innkeeper_store::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::{Identity, Paired, session_cookie};
use crate::guard::{Body, Peer};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(pair))
        .routes(routes!(sign_in))
}

/// For whoever has come in, however far they may go.
pub(super) fn own_routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(who, sign_out))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Pairing {
    /// As it was printed, in any case.
    #[schema(example = "QK7M-2TRX-9ZPA")]
    code: String,
    /// Also as a cookie that only this server's own page can use.
    #[serde(default)]
    session: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SignIn {
    name: String,
    password: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CameIn {
    /// Told this once. Absent for a session: the browser has it, and no script sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(flatten)]
    who: Who,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Who {
    /// The token's public part.
    token_id: String,
    user: String,
    #[schema(value_type = String, example = "run")]
    scope: Scope,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<jiff::Timestamp>,
}

/// A pairing code becomes a token, once.
#[utoipa::path(post, path = "/api/v1/session/pair", tag = "session", operation_id = "pair",
    request_body = Pairing, responses((status = 200, body = CameIn), Problem))]
async fn pair(
    State(app): State<App>,
    peer: Peer,
    Body(asked): Body<Pairing>,
) -> Result<Response, Problem> {
    let now = app.now();
    app.rates.check_wrong(peer, now)?;
    match app.doorkeeper.redeem(&asked.code, now).await? {
        Some(paired) => Ok(came_in(&app, paired, asked.session)),
        None => {
            app.rates.wrong(peer, now);
            Err(Problem::new(
                ErrorCode::HttpPairingRefused,
                "this code is wrong, has expired or was used already; `innkeeper access pair` makes a new one",
            ))
        }
    }
}

/// Where there are several people: a session for whoever knows the password.
#[utoipa::path(post, path = "/api/v1/session", tag = "session", operation_id = "signIn",
    request_body = SignIn, responses((status = 200, body = CameIn), Problem))]
async fn sign_in(
    State(app): State<App>,
    peer: Peer,
    Body(asked): Body<SignIn>,
) -> Result<Response, Problem> {
    if !app.options.many_people {
        return Err(Problem::new(
            ErrorCode::HttpNotFound,
            "this server is for one person and has no passwords; open a link that `innkeeper access pair` prints",
        ));
    }
    let now = app.now();
    app.rates.check_wrong(peer, now)?;
    match app
        .doorkeeper
        .sign_in(&asked.name, asked.password, now)
        .await?
    {
        Some(paired) => Ok(came_in(&app, paired, true)),
        None => {
            app.rates.wrong(peer, now);
            Err(Problem::new(
                ErrorCode::HttpPairingRefused,
                "name and password do not fit",
            ))
        }
    }
}

fn came_in(app: &App, paired: Paired, session: bool) -> Response {
    let port = app.names.port();
    let cookie = session.then(|| session_cookie(Some(&paired.token), port, false));
    let cookie = cookie.flatten().map(|value| (header::SET_COOKIE, value));
    let token = (!session).then(|| paired.token.expose().to_owned());
    let who = Who {
        token_id: paired.kept.id,
        user: paired.kept.user,
        scope: paired.kept.scope,
        expires_at: paired.kept.expires_at,
    };
    (AppendHeaders(cookie), Json(CameIn { token, who })).into_response()
}

/// Who the server takes you for.
#[utoipa::path(get, path = "/api/v1/session", tag = "session", operation_id = "readSession",
    responses((status = 200, body = Who), Problem))]
async fn who(State(app): State<App>, identity: Identity) -> Result<Json<Who>, Problem> {
    let kept = app.doorkeeper.access().token(&identity.token).await?;
    let expires_at = kept.and_then(|(kept, _)| kept.expires_at);
    Ok(Json(Who {
        token_id: identity.token,
        user: identity.user,
        scope: identity.scope,
        expires_at,
    }))
}

/// The token that is shown opens nothing from now on.
#[utoipa::path(delete, path = "/api/v1/session", tag = "session", operation_id = "signOut",
    responses((status = 204), Problem))]
async fn sign_out(State(app): State<App>, identity: Identity) -> Result<Response, Problem> {
    app.doorkeeper
        .access()
        .revoke_token(&identity.token)
        .await?;
    let cookie = session_cookie(None, app.names.port(), false);
    let cookie = cookie.map(|value| (header::SET_COOKIE, value));
    Ok((StatusCode::NO_CONTENT, AppendHeaders(cookie)).into_response())
}
